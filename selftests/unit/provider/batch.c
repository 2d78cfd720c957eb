// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ibv_wr_ interface: all of a batch is posted, or nothing */
#include <errno.h>

#include "tests.h"

#define ALL_OPS (0x3ff | IBV_QP_EX_WITH_ATOMIC_WRITE)

static uint8_t data[1024];
static struct pane_ah ah = { .number = 0x55 };
static struct ibv_mr mr = { .lkey = 0x1000, .pd = &pd.ibv_pd };
static struct ibv_mw mw1 = { .type = IBV_MW_TYPE_1, .pd = &pd.ibv_pd };
static struct ibv_mw mw2 = { .type = IBV_MW_TYPE_2, .pd = &pd.ibv_pd };
static struct ibv_mw_bind_info bind_info = {
	.mr = &mr,
	.addr = 1,
	.length = 2,
	.mw_access_flags = IBV_ACCESS_REMOTE_READ,
};

static struct ibv_qp_ex *new_qp_ex(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(new_qp(type, ops));

	if (!qp)
		ksft_exit_fail_msg("no ibv_wr_ interface\n");
	kernel_qp.ctl->sq_flags = PANE_NEED_DOORBELL;
	mw2.rkey = 0xabcdef12;
	return qp;
}

static void put_in_six_requests(struct ibv_qp_ex *qp)
{
	struct ibv_data_buf bufs[] = {
		{ .addr = data, .length = 200 },
		{ .addr = data + 200, .length = 56 },
	};

	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 9, 10, 11);
	qp->wr_id = 2;
	ibv_wr_send_imm(qp, 0x1234);
	ibv_wr_set_sge_list(qp, KERNEL_MAX_SGE, four_sges);
	ibv_wr_send_inv(qp, 0x77);
	ibv_wr_set_inline_data_list(qp, ARRAY_SIZE(bufs), bufs);
	ibv_wr_rdma_write(qp, 5, 6);
	ibv_wr_bind_mw(qp, &mw2, 0x34, &bind_info);
	ibv_wr_local_inv(qp, 0xabcdef34);
}

static void check_sends(void)
{
	const struct pane_sq_wqe *w = kernel_wqe(0);

	CHECK_EQ(w->wr_id, 1);
	CHECK_EQ(w->opcode, PANE_WR_SEND);
	CHECK_EQ(w->flags, PANE_WR_SIGNALED);
	CHECK_EQ(w->num_sge, 1);
	CHECK_EQ(w->sge[0].lkey, 9);
	CHECK_EQ(w->sge[0].addr, 10);
	CHECK_EQ(w->sge[0].length, 11);
	w = kernel_wqe(1);
	CHECK_EQ(w->wr_id, 2);
	CHECK_EQ(w->opcode, PANE_WR_SEND_IMM);
	CHECK_EQ(w->ex, 0x1234);
	CHECK_EQ(w->num_sge, KERNEL_MAX_SGE);
	CHECK(!memcmp(w->sge, four_sges, sizeof(four_sges)));
	w = kernel_wqe(2);
	CHECK_EQ(w->opcode, PANE_WR_SEND_INV);
	CHECK_EQ(w->flags, PANE_WR_SIGNALED | PANE_WR_INLINE);
	CHECK_EQ(w->ex, 0x77);
	CHECK_EQ(w->rdma.inline_len, KERNEL_MAX_INLINE);
	CHECK_EQ(w->num_sge, 0);
	CHECK(!memcmp(w->sge, data, KERNEL_MAX_INLINE));
}

static void check_others(void)
{
	const struct pane_sq_wqe *w = kernel_wqe(3);

	CHECK_EQ(w->opcode, PANE_WR_WRITE);
	CHECK_EQ(w->rdma.rkey, 5);
	CHECK_EQ(w->rdma.remote_addr, 6);
	CHECK_EQ(w->num_sge, 0);
	w = kernel_wqe(4);
	CHECK_EQ(w->opcode, PANE_WR_BIND_MW);
	CHECK_EQ(w->bind.rkey, 0xabcdef34);
	CHECK_EQ(w->bind.mw_rkey >> 8, 0xabcdef);
	w = kernel_wqe(5);
	CHECK_EQ(w->opcode, PANE_WR_LOCAL_INV);
	CHECK_EQ(w->ex, 0xabcdef34);
}

void test_batch(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_RC, ALL_OPS);
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 5;
	kernel_fill_rings(0xee);
	ibv_wr_start(qp);
	put_in_six_requests(qp);
	/* until it is complete nobody sees anything of it */
	CHECK_EQ(mw2.rkey, 0xabcdef12);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);
	CHECK_EQ(doorbell.send, 0);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(kernel_qp.ctl->sq_prod, 6);
	CHECK_EQ(doorbell.send, 1);
	CHECK_EQ(mw2.rkey, 0xabcdef34);
	check_sends();
	check_others();

	/* atomics, and a batch without a request */
	ibv_wr_start(qp);
	ibv_wr_atomic_cmp_swp(qp, 1, 2, 3, 4);
	ibv_wr_set_sge(qp, 1, 2, 8);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(kernel_wqe(6)->atomic.rkey, 1);
	CHECK_EQ(kernel_wqe(6)->atomic.remote_addr, 2);
	CHECK_EQ(kernel_wqe(6)->atomic.compare_add, 3);
	CHECK_EQ(kernel_wqe(6)->atomic.swap, 4);
	CHECK_EQ(doorbell.send, 2);
	ibv_wr_start(qp);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(doorbell.send, 2);
	end_qp(&qp->qp_base);
}

/* ---- errors ------------------------------------------------------------ */

static void too_many_sges(struct ibv_qp_ex *qp)
{
	ibv_wr_set_sge_list(qp, KERNEL_MAX_SGE + 1, four_sges);
}

static void long_inline(struct ibv_qp_ex *qp)
{
	ibv_wr_set_inline_data(qp, data, KERNEL_MAX_INLINE + 1);
}

static void longest_inline(struct ibv_qp_ex *qp)
{
	struct ibv_data_buf bufs[] = {
		{ .addr = data, .length = 200 },
		{ .addr = data, .length = SIZE_MAX },
	};

	ibv_wr_set_inline_data_list(qp, ARRAY_SIZE(bufs), bufs);
}

static void inline_read(struct ibv_qp_ex *qp)
{
	ibv_wr_rdma_read(qp, 1, 2);
	ibv_wr_set_inline_data(qp, data, 4);
}

static void data_of_invalidate(struct ibv_qp_ex *qp)
{
	ibv_wr_local_inv(qp, 1);
	ibv_wr_set_sge(qp, 1, 2, 3);
}

static void data_of_bind(struct ibv_qp_ex *qp)
{
	ibv_wr_bind_mw(qp, &mw2, 1, &bind_info);
	ibv_wr_set_sge(qp, 1, 2, 3);
}

static void bind_nothing(struct ibv_qp_ex *qp)
{
	ibv_wr_bind_mw(qp, NULL, 1, &bind_info);
}

static void bind_type1(struct ibv_qp_ex *qp)
{
	ibv_wr_bind_mw(qp, &mw1, 1, &bind_info);
}

static void bind_other_pd(struct ibv_qp_ex *qp)
{
	mr.pd = &other_pd.ibv_pd;
	ibv_wr_bind_mw(qp, &mw2, 1, &bind_info);
	mr.pd = &pd.ibv_pd;
}

static void bind_solicited(struct ibv_qp_ex *qp)
{
	qp->wr_flags = IBV_SEND_SOLICITED;
	ibv_wr_bind_mw(qp, &mw2, 1, &bind_info);
	qp->wr_flags = 0;
}

static void unknown_flag(struct ibv_qp_ex *qp)
{
	qp->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(qp);
	qp->wr_flags = 0;
}

static void address_of_rc(struct ibv_qp_ex *qp)
{
	ibv_wr_set_ud_addr(qp, &ah.ibv_ah, 1, 2);
}

static void srqn_of_rc(struct ibv_qp_ex *qp)
{
	ibv_wr_set_xrc_srqn(qp, 1);
}

/* the first error counts */
static void too_many_requests(struct ibv_qp_ex *qp)
{
	unsigned int i;

	for (i = 0; i < KERNEL_SLOTS; i++)
		ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, KERNEL_MAX_SGE + 1, four_sges);
}

static const struct {
	const char *name;
	void (*put_in)(struct ibv_qp_ex *qp);
	int expected;
} errors[] = {
	{ "too many elements", too_many_sges, EINVAL },
	{ "too much inline data", long_inline, EINVAL },
	{ "a length of inline data that wraps", longest_inline, EINVAL },
	{ "READ with inline data", inline_read, EINVAL },
	{ "LOCAL_INV with data", data_of_invalidate, EINVAL },
	{ "bind with data", data_of_bind, EINVAL },
	{ "bind of no window", bind_nothing, EINVAL },
	{ "bind of a type 1 window", bind_type1, EINVAL },
	{ "bind to a region of another domain", bind_other_pd, EPERM },
	{ "solicited bind", bind_solicited, EINVAL },
	{ "unknown flag", unknown_flag, EINVAL },
	{ "address on RC", address_of_rc, EINVAL },
	{ "SRQ number on RC", srqn_of_rc, EINVAL },
	{ "more than the ring holds", too_many_requests, ENOMEM },
};

/* One good request, what is wrong, and another good one: none is posted. */
void test_batch_errors(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_RC, ALL_OPS);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		unsigned int failures = unit_failures;

		ibv_wr_start(qp);
		ibv_wr_send(qp);
		errors[i].put_in(qp);
		ibv_wr_send(qp);
		CHECK_EQ(ibv_wr_complete(qp), errors[i].expected);
		CHECK_EQ(kernel_qp.ctl->sq_prod, 0);
		CHECK_EQ(doorbell.send, 0);
		CHECK_EQ(mw2.rkey, 0xabcdef12);
		if (unit_failures > failures)
			unit_note("%s\n", errors[i].name);
	}

	/* a setter without a request */
	ibv_wr_start(qp);
	ibv_wr_set_sge(qp, 1, 2, 3);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);

	qp->qp_base.state = IBV_QPS_RESET;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	qp->qp_base.state = IBV_QPS_RTS;

	doorbell.err = ENODEV;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	CHECK_EQ(ibv_wr_complete(qp), ENODEV);
	end_qp(&qp->qp_base);
}

void test_batch_abandoned(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_RC, ALL_OPS);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_bind_mw(qp, &mw2, 0x99, &bind_info);
	ibv_wr_abort(qp);
	CHECK_EQ(mw2.rkey, 0xabcdef12);
	/* keys of that batch are not handed out by the next one */
	ibv_wr_start(qp);
	qp->wr_id = 8;
	ibv_wr_send(qp);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(mw2.rkey, 0xabcdef12);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 1);
	CHECK_EQ(kernel_wqe(0)->wr_id, 8);

	/* bind, invalidate, bind of one window in one batch */
	ibv_wr_start(qp);
	ibv_wr_bind_mw(qp, &mw2, 1, &bind_info);
	ibv_wr_local_inv(qp, 0xabcdef01);
	ibv_wr_bind_mw(qp, &mw2, 2, &bind_info);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(mw2.rkey, 0xabcdef02);
	end_qp(&qp->qp_base);
}

static void check_word(const struct pane_sq_wqe *w, const void *word)
{
	CHECK_EQ(w->opcode, PANE_WR_ATOMIC_WRITE);
	CHECK_EQ(w->flags, PANE_WR_INLINE);
	CHECK_EQ(w->num_sge, 0);
	CHECK_EQ(w->rdma.inline_len, 8);
	CHECK(!memcmp(w->sge, word, 8));
}

static int batch_atomic_write(struct ibv_qp_ex *qp)
{
	ibv_wr_start(qp);
	ibv_wr_atomic_write(qp, 5, 64, data);
	return ibv_wr_complete(qp);
}

/* The word is taken when the request is, whatever becomes of it meanwhile. */
void test_batch_atomic_write(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_RC, ALL_OPS);
	uint64_t word = 0x0102030405060708, was = word;

	kernel_fill_rings(0xee);
	ibv_wr_start(qp);
	ibv_wr_atomic_write(qp, 5, 64, &word);
	word = 0;
	CHECK(!ibv_wr_complete(qp));
	check_word(kernel_wqe(0), &was);
	CHECK_EQ(kernel_wqe(0)->rdma.rkey, 5);
	CHECK_EQ(kernel_wqe(0)->rdma.remote_addr, 64);

	/* not on a device that has none, nor when the ring is full */
	context.caps &= ~CAP_ATOMIC_WRITE;
	CHECK_EQ(batch_atomic_write(qp), EINVAL);
	context.caps = KERNEL_CAPS;
	kernel_qp.ctl->sq_cons = 1;
	while (kernel_qp.ctl->sq_prod < KERNEL_SLOTS + 1)
		if (!CHECK(!batch_atomic_write(qp)))
			break;
	CHECK_EQ(batch_atomic_write(qp), ENOMEM);
	end_qp(&qp->qp_base);

	/* nor where others have no such packet */
	qp = new_qp_ex(IBV_QPT_UC, IBV_QP_EX_WITH_SEND);
	CHECK_EQ(batch_atomic_write(qp), EINVAL);
	end_qp(&qp->qp_base);
}

#ifdef HAVE_IBV_WR_FLUSH
static int batch_flush(struct ibv_qp_ex *qp, size_t len)
{
	ibv_wr_start(qp);
	ibv_wr_flush(qp, 5, 64, len, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	return ibv_wr_complete(qp);
}

void test_batch_flush(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_RC, ALL_OPS |
					 IBV_QP_EX_WITH_FLUSH);
	const struct pane_sq_wqe *w = kernel_wqe(0);

	kernel_fill_rings(0xee);
	qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	ibv_wr_start(qp);
	ibv_wr_flush(qp, 5, 64, 4096, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(w->opcode, PANE_WR_FLUSH);
	CHECK_EQ(w->flags, PANE_WR_SIGNALED);
	CHECK_EQ(w->flush.rkey, 5);
	CHECK_EQ(w->flush.remote_addr, 64);
	CHECK_EQ(w->flush.length, 4096);
	CHECK_EQ(w->flush.type, PANE_FLUSH_GLOBAL);
	CHECK_EQ(w->flush.level, PANE_FLUSH_MR);
	CHECK(!w->num_sge && !w->ex && !w->flush.srqn && !w->flush.reserved);

	CHECK(!batch_flush(qp, UINT32_MAX));
	CHECK_EQ(batch_flush(qp, 1ULL << 32), EINVAL);
	context.caps &= ~CAP_FLUSH_GLOBAL;
	CHECK_EQ(batch_flush(qp, 1), EINVAL);
	context.caps = KERNEL_CAPS;
	ibv_wr_start(qp);
	ibv_wr_flush(qp, 5, 64, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_sge(qp, 1, 2, 8);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 2);
	end_qp(&qp->qp_base);

	qp = new_qp_ex(IBV_QPT_XRC_SEND, IBV_QP_EX_WITH_FLUSH);
	ibv_wr_start(qp);
	ibv_wr_flush(qp, 5, 64, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_xrc_srqn(qp, 9);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(kernel_wqe(0)->flush.srqn, 9);
	end_qp(&qp->qp_base);
}
#endif

void test_batch_datagrams(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_UD, IBV_QP_EX_WITH_SEND |
					 IBV_QP_EX_WITH_SEND_WITH_IMM);
	const struct pane_sq_wqe *w = kernel_wqe(0);

	qp->wr_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	/* no address, at the end and in the middle, and an empty one */
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, &ah.ibv_ah, 1, 2);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, NULL, 1, 2);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	/* what other types have */
	ibv_wr_start(qp);
	ibv_wr_rdma_read(qp, 1, 2);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, &ah.ibv_ah, 1, 2);
	ibv_wr_set_inline_data(qp, data, 3);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(w->ud.ah, 0x55);
	CHECK_EQ(w->ud.remote_qpn, 1);
	CHECK_EQ(w->ud.remote_qkey, 2);
	CHECK_EQ(w->ud.inline_len, 3);
	CHECK_EQ(w->flags, PANE_WR_SOLICITED | PANE_WR_INLINE);
	end_qp(&qp->qp_base);
}

void test_batch_xrc(void)
{
	struct ibv_qp_ex *qp = new_qp_ex(IBV_QPT_XRC_SEND, ALL_OPS);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_xrc_srqn(qp, 8);
	ibv_wr_atomic_fetch_add(qp, 1, 2, 3);
	ibv_wr_set_xrc_srqn(qp, 9);
	CHECK(!ibv_wr_complete(qp));
	CHECK_EQ(kernel_wqe(0)->rdma.srqn, 8);
	CHECK_EQ(kernel_wqe(1)->atomic.srqn, 9);
	CHECK_EQ(kernel_wqe(1)->atomic.compare_add, 3);

	ibv_wr_start(qp);
	ibv_wr_atomic_write(qp, 5, 64, data);
	ibv_wr_set_xrc_srqn(qp, 10);
	CHECK(!ibv_wr_complete(qp));
	check_word(kernel_wqe(2), data);
	CHECK_EQ(kernel_wqe(2)->rdma.srqn, 10);

	ibv_wr_start(qp);
	ibv_wr_local_inv(qp, 1);
	ibv_wr_set_xrc_srqn(qp, 8);
	CHECK_EQ(ibv_wr_complete(qp), EINVAL);
	end_qp(&qp->qp_base);
}
