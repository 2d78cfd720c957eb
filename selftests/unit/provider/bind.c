// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Binding windows: type 2 by a send request, type 1 by ibv_bind_mw() */
#include <errno.h>

#include "tests.h"

static struct ibv_mr mr;
static struct ibv_mw mw1, mw2;
static struct ibv_mw_bind_info good;

static void make_objects(void)
{
	mr = (struct ibv_mr) { .lkey = 0x1000, .pd = &pd.ibv_pd };
	mw1 = (struct ibv_mw) {
		.type = IBV_MW_TYPE_1,
		.rkey = 0x11111111,
		.pd = &pd.ibv_pd,
	};
	mw2 = (struct ibv_mw) {
		.type = IBV_MW_TYPE_2,
		.rkey = 0xabcdef12,
		.pd = &pd.ibv_pd,
	};
	good = (struct ibv_mw_bind_info) {
		.mr = &mr,
		.addr = 0x2000,
		.length = 0x3000,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
}

static struct ibv_send_wr bind2_wr(void)
{
	return (struct ibv_send_wr) {
		.wr_id = 5,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.bind_mw = { .mw = &mw2, .rkey = 0x33333399,
			     .bind_info = good },
	};
}

void test_bind2(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct pane_sq_wqe *w = kernel_wqe(0);
	struct ibv_send_wr wr;

	make_objects();
	wr = bind2_wr();
	kernel_fill_rings(0xee);
	CHECK(!post(qp, &wr));
	/* of the new key the low byte is the caller's */
	CHECK_EQ(mw2.rkey, 0xabcdef99);
	CHECK_EQ(w->wr_id, 5);
	CHECK_EQ(w->opcode, PANE_WR_BIND_MW);
	CHECK_EQ(w->flags, PANE_WR_SIGNALED | PANE_WR_FENCE);
	CHECK(!w->ex && !w->num_sge);
	CHECK_EQ(w->bind.addr, 0x2000);
	CHECK_EQ(w->bind.length, 0x3000);
	CHECK_EQ(w->bind.mw_rkey >> 8, 0xabcdef);
	CHECK_EQ(w->bind.rkey, 0xabcdef99);
	CHECK_EQ(w->bind.lkey, 0x1000);
	CHECK_EQ(w->bind.access, IBV_ACCESS_REMOTE_READ);
	end_qp(qp);
}

/* Nothing is posted, and the window keeps its key. */
static void check_bind2(struct ibv_send_wr *wr, int expected)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);

	CHECK_EQ(post(qp, wr), expected);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);
	CHECK_EQ(mw2.rkey, 0xabcdef12);
	end_qp(qp);
}

void test_bind2_refused(void)
{
	struct ibv_send_wr wr;

	make_objects();
	wr = bind2_wr();
	wr.bind_mw.mw = NULL;
	check_bind2(&wr, EINVAL);
	wr = bind2_wr();
	wr.bind_mw.mw = &mw1;
	check_bind2(&wr, EINVAL);
	wr = bind2_wr();
	wr.bind_mw.bind_info.mr = NULL;
	check_bind2(&wr, EINVAL);
	wr = bind2_wr();
	wr.bind_mw.bind_info.length = 0;
	check_bind2(&wr, EINVAL);

	wr = bind2_wr();
	mr.pd = &other_pd.ibv_pd;
	check_bind2(&wr, EPERM);
	mr.pd = &pd.ibv_pd;
	mw2.pd = &other_pd.ibv_pd;
	check_bind2(&wr, EPERM);
	/* the QP is the odd one */
	mr.pd = &other_pd.ibv_pd;
	check_bind2(&wr, EPERM);
}

static struct ibv_mw_bind bind1(void)
{
	return (struct ibv_mw_bind) {
		.wr_id = 5,
		.send_flags = IBV_SEND_FENCE,
		.bind_info = good,
	};
}

void test_bind1(void)
{
	struct ibv_qp *qp = new_qp_in(&pd.ibv_pd, IBV_QPT_RC, 0, 1);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	const struct pane_bind_mw *req = &doorbell.last_bind;
	struct ibv_mw_bind bind;

	make_objects();
	bind = bind1();
	mw1.handle = 33;
	doorbell.new_rkey = 0x22222222;
	CHECK(!post(qp, &send));
	CHECK(!pane_bind_mw(qp, &mw1, &bind));
	CHECK_EQ(doorbell.bind, 1);
	CHECK_EQ(mw1.rkey, 0x22222222);
	CHECK_EQ(req->qp_num, KERNEL_QPN);
	CHECK_EQ(req->wr_id, 5);
	CHECK_EQ(req->addr, 0x2000);
	CHECK_EQ(req->length, 0x3000);
	CHECK_EQ(req->access, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(req->lkey, 0x1000);
	CHECK_EQ(req->rkey, 0x11111111);
	CHECK_EQ(req->flags, PANE_WR_FENCE | PANE_WR_SIGNALED |
		 PANE_BIND_BY_HANDLE);
	CHECK_EQ(req->mw_handle, 33);
	CHECK(!req->comp_mask && !req->reserved);

	/* it took an index of the ring, as requests do */
	CHECK_EQ(kernel_qp.ctl->sq_prod, 2);
	send.wr_id = 77;
	CHECK(!post(qp, &send));
	CHECK_EQ(kernel_qp.ctl->sq_prod, 3);
	CHECK_EQ(kernel_wqe(2)->wr_id, 77);
	end_qp(qp);
}

/* Length 0, with a region or without */
void test_bind1_unbind(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_mw_bind bind;

	make_objects();
	bind = bind1();
	bind.bind_info.length = 0;
	CHECK(!pane_bind_mw(qp, &mw1, &bind));
	CHECK_EQ(doorbell.last_bind.length, 0);

	bind.bind_info = (struct ibv_mw_bind_info) {};
	doorbell.last_bind.lkey = 99;
	CHECK(!pane_bind_mw(qp, &mw1, &bind));
	CHECK_EQ(doorbell.last_bind.lkey, 0);
	CHECK_EQ(doorbell.last_bind.length, 0);

	bind.bind_info.length = 1;
	CHECK_EQ(pane_bind_mw(qp, &mw1, &bind), EINVAL);
	CHECK_EQ(doorbell.bind, 2);
	end_qp(qp);
}

static void check_bind1(struct ibv_mw *mw, const struct ibv_mw_bind *bind,
			int expected)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_mw_bind copy = *bind;

	CHECK_EQ(pane_bind_mw(qp, mw, &copy), expected);
	CHECK_EQ(doorbell.bind, 0);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);
	end_qp(qp);
}

static void check_bind1_by(enum ibv_qp_type type, enum ibv_qp_state state)
{
	struct ibv_mw_bind bind = bind1();
	struct ibv_qp *qp = new_qp(type, 0);

	qp->state = state;
	CHECK_EQ(pane_bind_mw(qp, &mw1, &bind), EINVAL);
	CHECK_EQ(doorbell.bind, 0);
	end_qp(qp);
}

void test_bind1_refused(void)
{
	struct ibv_mw_bind bind;

	make_objects();
	bind = bind1();
	check_bind1(&mw2, &bind, EINVAL);
	bind.send_flags = IBV_SEND_INLINE;
	check_bind1(&mw1, &bind, EINVAL);
	bind.send_flags = IBV_SEND_SOLICITED;
	check_bind1(&mw1, &bind, EINVAL);
	bind = bind1();
	mr.pd = &other_pd.ibv_pd;
	check_bind1(&mw1, &bind, EPERM);
	mr.pd = &pd.ibv_pd;
	mw1.pd = &other_pd.ibv_pd;
	check_bind1(&mw1, &bind, EPERM);
	mr.pd = &other_pd.ibv_pd;
	check_bind1(&mw1, &bind, EPERM);
	make_objects();
	check_bind1_by(IBV_QPT_RC, IBV_QPS_INIT);
	check_bind1_by(IBV_QPT_UD, IBV_QPS_RTS);
}

/* The kernel's refusal, and a ring without a free index */
void test_bind1_full(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_mw_bind bind;
	unsigned int i;

	make_objects();
	bind = bind1();
	doorbell.err = ENOMEM;
	CHECK_EQ(pane_bind_mw(qp, &mw1, &bind), ENOMEM);
	CHECK_EQ(mw1.rkey, 0x11111111);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);
	doorbell.err = 0;

	for (i = 0; i < KERNEL_SLOTS; i++)
		CHECK(!post(qp, &send));
	CHECK_EQ(pane_bind_mw(qp, &mw1, &bind), ENOMEM);
	CHECK_EQ(doorbell.bind, 0);
	end_qp(qp);
}
