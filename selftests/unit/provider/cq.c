// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completions: polling in both interfaces, arming, resizing */
#include <errno.h>
#include <pthread.h>

#include "tests.h"

static struct ibv_cq_ex *new_cq(int cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq_ex *cq;

	cq = pane_create_cq_ex(&context.vctx.context, &attr);
	if (!cq)
		ksft_exit_fail_msg("no CQ\n");
	return cq;
}

static void end_cq(struct ibv_cq_ex *cq)
{
	CHECK(!pane_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* A completion in which every member has a value of its own */
static void complete(uint64_t wr_id, uint8_t flags)
{
	struct pane_cqe cqe = {
		.wr_id = wr_id,
		.byte_len = 44,
		.ex = 0xaabb,
		.qp_num = KERNEL_QPN,
		.src_qp = 6,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.flags = flags,
		.sl = 3,
		.pkey_index = 1,
		.vendor_err = 2,
	};

	kernel_complete(&cqe);
}

static void check_wc(const struct ibv_wc *wc, uint64_t wr_id)
{
	CHECK_EQ(wc->wr_id, wr_id);
	CHECK_EQ(wc->status, IBV_WC_SUCCESS);
	CHECK_EQ(wc->opcode, IBV_WC_RECV);
	CHECK_EQ(wc->vendor_err, 2);
	CHECK_EQ(wc->byte_len, 44);
	CHECK_EQ(wc->invalidated_rkey, 0xaabb);
	CHECK_EQ(wc->qp_num, KERNEL_QPN);
	CHECK_EQ(wc->src_qp, 6);
	CHECK_EQ(wc->pkey_index, 1);
	CHECK_EQ(wc->sl, 3);
	CHECK(!wc->slid && !wc->dlid_path_bits);
}

void test_poll(void)
{
	struct ibv_cq_ex *cq_ex = new_cq(4);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	struct ibv_wc wc[8];
	unsigned int i;

	CHECK_EQ(pane_poll_cq(cq, 8, wc), 0);
	CHECK_EQ(kernel_cq.ctl->cons, 0);
	complete(1, PANE_CQE_INV | PANE_CQE_GRH);
	complete(2, PANE_CQE_IMM);
	complete(3, 0);
	CHECK_EQ(pane_poll_cq(cq, 0, wc), 0);
	CHECK_EQ(pane_poll_cq(cq, 1, wc), 1);
	CHECK_EQ(kernel_cq.ctl->cons, 1);
	check_wc(&wc[0], 1);
	CHECK_EQ(wc[0].wc_flags, IBV_WC_WITH_INV | IBV_WC_GRH);
	CHECK_EQ(pane_poll_cq(cq, 8, wc), 2);
	check_wc(&wc[0], 2);
	CHECK_EQ(wc[0].wc_flags, IBV_WC_WITH_IMM);
	check_wc(&wc[1], 3);
	CHECK_EQ(wc[1].wc_flags, 0);
	CHECK_EQ(kernel_cq.ctl->cons, 3);

	/* round and round */
	for (i = 0; i < 20; i++) {
		complete(100 + i, 0);
		CHECK_EQ(pane_poll_cq(cq, 8, wc), 1);
		CHECK_EQ(wc[0].wr_id, 100 + i);
	}
	CHECK_EQ(pane_poll_cq(cq, 8, wc), 0);
	end_cq(cq_ex);
}

/* Long ago; what the ring holds is of the lap before. */
static void set_cq_index(struct ibv_cq_ex *cq, uint32_t index)
{
	uint32_t i;

	for (i = index - kernel_cq.count; i != index; i++)
		kernel_cq.ring[i % kernel_cq.count].seq = i + 1;
	kernel_cq.prod = index;
	kernel_cq.ctl->cons = index;
	to_pane_cq_ex(cq)->cons = index;
}

void test_poll_index_wraps(void)
{
	struct ibv_cq_ex *cq = new_cq(4);
	struct ibv_wc wc[8];
	unsigned int i;

	set_cq_index(cq, -6);
	for (i = 0; i < 12; i += 2) {
		CHECK_EQ(pane_poll_cq(ibv_cq_ex_to_cq(cq), 8, wc), 0);
		complete(i, 0);
		complete(i + 1, 0);
		CHECK_EQ(pane_poll_cq(ibv_cq_ex_to_cq(cq), 8, wc), 2);
		CHECK_EQ(wc[0].wr_id, i);
		CHECK_EQ(wc[1].wr_id, i + 1);
	}
	CHECK_EQ(kernel_cq.ctl->cons, 6);
	end_cq(cq);
}

static void check_current(struct ibv_cq_ex *cq, uint64_t wr_id)
{
	CHECK_EQ(cq->wr_id, wr_id);
	CHECK_EQ(cq->status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	CHECK_EQ(ibv_wc_read_vendor_err(cq), 2);
	CHECK_EQ(ibv_wc_read_byte_len(cq), 44);
	CHECK_EQ(ibv_wc_read_invalidated_rkey(cq), 0xaabb);
	CHECK_EQ(ibv_wc_read_qp_num(cq), KERNEL_QPN);
	CHECK_EQ(ibv_wc_read_src_qp(cq), 6);
	CHECK_EQ(ibv_wc_read_sl(cq), 3);
	CHECK_EQ(ibv_wc_read_slid(cq), 0);
	CHECK_EQ(ibv_wc_read_dlid_path_bits(cq), 0);
}

/* An entry is given back when the next one is asked for, or at the end. */
void test_poll_extended(void)
{
	struct ibv_cq_ex *cq = new_cq(4);
	struct ibv_poll_cq_attr attr = {};

	CHECK_EQ(ibv_start_poll(cq, &attr), ENOENT);
	complete(4, PANE_CQE_INV | PANE_CQE_GRH);
	complete(5, 0);
	CHECK(!ibv_start_poll(cq, &attr));
	check_current(cq, 4);
	CHECK_EQ(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_INV | IBV_WC_GRH);
	CHECK_EQ(kernel_cq.ctl->cons, 0);
	CHECK(!ibv_next_poll(cq));
	check_current(cq, 5);
	CHECK_EQ(kernel_cq.ctl->cons, 1);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	CHECK_EQ(kernel_cq.ctl->cons, 1);
	ibv_end_poll(cq);
	CHECK_EQ(kernel_cq.ctl->cons, 2);

	CHECK_EQ(ibv_start_poll(cq, &attr), ENOENT);
	attr.comp_mask = 1;
	CHECK_EQ(ibv_start_poll(cq, &attr), EINVAL);
	end_cq(cq);
}

/* Of a QP that was reset: as if they were not there */
void test_poll_void(void)
{
	struct ibv_cq_ex *cq = new_cq(8);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[8];

	complete(1, PANE_CQE_VOID);
	CHECK_EQ(pane_poll_cq(ibv_cq_ex_to_cq(cq), 8, wc), 0);
	complete(2, PANE_CQE_VOID | PANE_CQE_IMM);
	complete(3, 0);
	complete(4, PANE_CQE_VOID);
	complete(5, 0);
	CHECK_EQ(pane_poll_cq(ibv_cq_ex_to_cq(cq), 8, wc), 2);
	CHECK_EQ(wc[0].wr_id, 3);
	CHECK_EQ(wc[1].wr_id, 5);
	CHECK_EQ(kernel_cq.ctl->cons, 5);

	complete(6, PANE_CQE_VOID);
	complete(7, 0);
	complete(8, PANE_CQE_VOID);
	complete(9, 0);
	CHECK(!ibv_start_poll(cq, &attr));
	CHECK_EQ(cq->wr_id, 7);
	CHECK(!ibv_next_poll(cq));
	CHECK_EQ(cq->wr_id, 9);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_EQ(kernel_cq.ctl->cons, 9);
	end_cq(cq);
}

/* A request for any completion is not taken back by one for solicited ones. */
void test_arm(void)
{
	struct ibv_cq_ex *cq_ex = new_cq(4);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);

	CHECK(!pane_req_notify_cq(cq, 1));
	CHECK_EQ(kernel_cq.ctl->arm, PANE_CQ_ARM_SOLICITED);
	CHECK(!pane_req_notify_cq(cq, 0));
	CHECK(kernel_cq.ctl->arm & PANE_CQ_ARM_NEXT);
	CHECK(!pane_req_notify_cq(cq, 1));
	CHECK(kernel_cq.ctl->arm & PANE_CQ_ARM_NEXT);
	end_cq(cq_ex);
}

static struct ibv_cq *polled_cq;
static pthread_t poller;
static struct ibv_wc polled[8];
static int num_polled;

static void *poll_once(void *arg)
{
	(void)arg;
	num_polled = pane_poll_cq(polled_cq, 8, polled);
	return NULL;
}

/*
 * The kernel has filled the new ring already, and puts more into it: another
 * thread, which would go to sleep if it found nothing more, has to find all.
 */
static void while_resizing(void)
{
	complete(102, 0);
	CHECK(!pthread_create(&poller, NULL, poll_once, NULL));
}

/* No completion is lost, and none comes twice. */
void test_resize(void)
{
	struct ibv_cq_ex *cq = new_cq(4);
	struct ibv_wc wc[8];
	unsigned int i;

	polled_cq = ibv_cq_ex_to_cq(cq);
	complete(100, 0);
	complete(101, 0);
	kernel_cq.during_resize = while_resizing;
	CHECK(!pane_resize_cq(polled_cq, 16));
	kernel_cq.during_resize = NULL;
	CHECK(!pthread_join(poller, NULL));
	CHECK_EQ(num_polled, 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(polled[i].wr_id, 100 + i);
	CHECK_EQ(kernel_cq.count, 16);
	complete(103, 0);
	CHECK_EQ(pane_poll_cq(polled_cq, 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 103);
	/* all of the new ring is in use */
	for (i = 0; i < 16; i++)
		complete(200 + i, 0);
	for (i = 0; i < 16; i++) {
		CHECK_EQ(pane_poll_cq(polled_cq, 1, wc), 1);
		CHECK_EQ(wc[0].wr_id, 200 + i);
	}
	CHECK_EQ(kernel_cq.ctl->cons, kernel_cq.prod);
	end_cq(cq);
}

static void check_refused(struct ibv_cq_init_attr_ex attr)
{
	attr.cqe = 4;
	errno = 0;
	CHECK(!pane_create_cq_ex(&context.vctx.context, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
}

void test_cq_attributes(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq;

	check_refused((struct ibv_cq_init_attr_ex) {
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN });
	check_refused((struct ibv_cq_init_attr_ex) {
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN });
	check_refused((struct ibv_cq_init_attr_ex) { .comp_mask = 1 << 20 });

	cq = pane_create_cq_ex(&context.vctx.context, &attr);
	if (!CHECK(cq))
		return;
	CHECK(!to_pane_cq_ex(cq)->lock.needed);
	/* what was not asked for cannot be read */
	CHECK(!cq->read_byte_len && !cq->read_qp_num && cq->read_opcode);
	end_cq(cq);
}
