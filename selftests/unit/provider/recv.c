// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive requests, and shared receive queues */
#include <errno.h>

#include "tests.h"

static void post_all(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		     unsigned int n)
{
	struct ibv_recv_wr *bad;

	while (n--)
		CHECK(!pane_post_recv(qp, wr, &bad));
	bad = NULL;
	CHECK_EQ(pane_post_recv(qp, wr, &bad), ENOMEM);
	CHECK(bad == wr);
}

void test_recv(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_recv_wr wr = {
		.wr_id = 3,
		.sg_list = four_sges,
		.num_sge = KERNEL_MAX_SGE,
	};
	const struct pane_rq_wqe *w = kernel_rwqe(0);
	struct ibv_recv_wr *bad = NULL;

	kernel_fill_rings(0xee);
	qp->state = IBV_QPS_RESET;
	CHECK_EQ(pane_post_recv(qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	qp->state = IBV_QPS_INIT;
	CHECK(!pane_post_recv(qp, &wr, &bad));
	CHECK_EQ(kernel_qp.ctl->rq_prod, 1);
	CHECK_EQ(w->wr_id, 3);
	CHECK_EQ(w->num_sge, KERNEL_MAX_SGE);
	CHECK_EQ(w->reserved, 0);
	CHECK(!memcmp(w->sge, four_sges, sizeof(four_sges)));

	wr.num_sge = KERNEL_MAX_SGE + 1;
	CHECK_EQ(pane_post_recv(qp, &wr, &bad), EINVAL);
	wr.num_sge = -1;
	CHECK_EQ(pane_post_recv(qp, &wr, &bad), EINVAL);
	wr.num_sge = 0;
	post_all(qp, &wr, KERNEL_SLOTS - 1);
	end_qp(qp);
}

void test_recv_doorbell(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_recv_wr second = {};
	struct ibv_recv_wr first = { .next = &second };
	struct ibv_recv_wr *bad = NULL;

	CHECK(!pane_post_recv(qp, &first, &bad));
	CHECK_EQ(doorbell.recv, 0);
	kernel_qp.ctl->rq_flags = PANE_NEED_DOORBELL;
	CHECK(!pane_post_recv(qp, &first, &bad));
	CHECK_EQ(doorbell.recv, 1);
	CHECK_EQ(doorbell.send, 0);
	doorbell.err = ENODEV;
	CHECK_EQ(pane_post_recv(qp, &first, &bad), ENODEV);
	CHECK(bad == &first);
	end_qp(qp);
}

void test_recv_reset(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_recv_wr wr = {};

	post_all(qp, &wr, KERNEL_SLOTS);
	kernel_qp.ctl->rq_cons = 3;
	CHECK(!pane_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK_EQ(kernel_qp.ctl->rq_prod, 3);
	qp->state = IBV_QPS_INIT;
	post_all(qp, &wr, KERNEL_SLOTS);

	/* other changes, and states that are not in the mask, do nothing */
	attr.qp_state = IBV_QPS_RTR;
	CHECK(!pane_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RESET;
	CHECK(!pane_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS));
	CHECK_EQ(kernel_qp.ctl->rq_prod, 3 + KERNEL_SLOTS);
	end_qp(qp);
}

void test_xrc_target(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_XRC_RECV, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr wr = {}, *bad = NULL;

	CHECK_EQ(post(qp, &send), EINVAL);
	CHECK_EQ(pane_post_recv(qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	CHECK(!pane_modify_qp(qp, &attr, IBV_QP_STATE));
	end_qp(qp);
}

void test_srq(void)
{
	struct ibv_srq_init_attr init = {};
	struct ibv_srq *srq = pane_create_srq(&pd.ibv_pd, &init);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = four_sges,
				  .num_sge = 2 };
	struct ibv_recv_wr *bad = NULL;
	unsigned int i;

	if (!CHECK(srq))
		return;
	CHECK_EQ(init.attr.max_wr, KERNEL_SLOTS);
	CHECK_EQ(init.attr.max_sge, KERNEL_MAX_SGE);
	for (i = 0; i < KERNEL_SLOTS; i++)
		CHECK(!pane_post_srq_recv(srq, &wr, &bad));
	CHECK_EQ(((struct pane_rq_wqe *)kernel_srq.rq)->wr_id, 5);
	CHECK_EQ(pane_post_srq_recv(srq, &wr, &bad), ENOMEM);
	CHECK(bad == &wr);
	CHECK_EQ(kernel_srq.ctl->prod, KERNEL_SLOTS);
	kernel_srq.ctl->cons = 1;
	CHECK(!pane_post_srq_recv(srq, &wr, &bad));
	CHECK(!pane_destroy_srq(srq));
}

static int resize(struct ibv_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return pane_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

/* What waits is found, and posting goes on, in the new ring */
void test_srq_resize(void)
{
	struct ibv_srq_init_attr init = {};
	struct ibv_srq_attr both = { .max_wr = 16, .srq_limit = 17 };
	struct ibv_srq *srq = pane_create_srq(&pd.ibv_pd, &init);
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad = NULL;
	const uint32_t stride = sizeof(struct pane_rq_wqe) +
				KERNEL_MAX_SGE * sizeof(struct pane_sge);

	if (!CHECK(srq))
		return;
	kernel_srq.ctl->cons = 0;
	for (wr.wr_id = 0; wr.wr_id < 8; wr.wr_id++)
		CHECK(!pane_post_srq_recv(srq, &wr, &bad));
	CHECK_EQ(resize(srq, 4), EINVAL);
	CHECK_EQ(pane_modify_srq(srq, &both, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		 EINVAL);
	CHECK_EQ(pane_post_srq_recv(srq, &wr, &bad), ENOMEM);
	kernel_srq.ctl->cons = 3;
	CHECK(!resize(srq, 32));
	CHECK_EQ(kernel_srq.ctl->cons, 3);
	for (; wr.wr_id < 3 + 32; wr.wr_id++)
		CHECK(!pane_post_srq_recv(srq, &wr, &bad));
	CHECK_EQ(pane_post_srq_recv(srq, &wr, &bad), ENOMEM);
	CHECK_EQ(kernel_srq.ctl->prod, 3 + 32);
	for (uint32_t i = 3; i < 3 + 32; i++) {
		struct pane_rq_wqe *w = (void *)(kernel_srq.rq +
						 i % 32 * stride);

		CHECK_EQ(w->wr_id, i);
	}
	kernel_srq.ctl->cons = kernel_srq.ctl->prod - 2;
	CHECK(!resize(srq, 2));
	CHECK_EQ(pane_post_srq_recv(srq, &wr, &bad), ENOMEM);
	kernel_srq.ctl->cons++;
	CHECK(!pane_post_srq_recv(srq, &wr, &bad));
	/* what was posted to the old ring would never be taken */
	kernel_srq.ctl->cons++;
	kernel_srq.lies = true;
	CHECK_EQ(resize(srq, 4), EPROTO);
	kernel_srq.lies = false;
	CHECK_EQ(pane_post_srq_recv(srq, &wr, &bad), ENOMEM);
	CHECK(!pane_destroy_srq(srq));
}
