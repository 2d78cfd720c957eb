// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What distinguishes the types of windows: how they are allocated and bound,
 * who may use them, and what becomes of them with a QP. Their keys, and what a
 * bind does to what is bound, are in pane_mw_rkey.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		9000

/* The window of most tests, and the owner's memory it is over */
static uint64_t win_va(const struct duo *d)
{
	return region_at(&d->mem, WIN_OFF);
}

static struct ibv_mw *win_open(struct duo *d)
{
	return mw_open(d->own.pd, pane_cfg.mw_type);
}

static void win_bind(struct duo *d, struct endpoint *o, struct ibv_mw *mw)
{
	mw_bind(o, mw, &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
}

static void win_check(struct duo *d, struct endpoint *p, struct ibv_mw *mw)
{
	duo_check_access(d, p, win_va(d), mw->rkey, WIN_OFF, WIN_LEN);
}

/* ---- allocation ------------------------------------------------------ */

static void test_capabilities(const void *arg)
{
	const unsigned int type2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				   IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct ibv_device_attr attr;
	struct node n;

	node_open_owner(&n);
	CHECK_OK(ibv_query_device(n.ctx, &attr));
	CHECK(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW, "flags %#x",
	      attr.device_cap_flags);
	CHECK(attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS,
	      "flags %#x", attr.device_cap_flags);
	/* o10-37.2.31 */
	CHECK((attr.device_cap_flags & type2) == IBV_DEVICE_MEM_WINDOW_TYPE_2A ||
	      (attr.device_cap_flags & type2) == IBV_DEVICE_MEM_WINDOW_TYPE_2B,
	      "flags %#x", attr.device_cap_flags);
	CHECK(attr.max_mw >= 1 << 20, "%d", attr.max_mw);
	node_close(&n);
}

static unsigned int type2_capability(struct node *n)
{
	struct ibv_device_attr attr;

	CHECK_OK(ibv_query_device(n->ctx, &attr));
	return attr.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

/* What the device makes of them changes only while there are none */
static void test_type2_choice(const void *arg)
{
	struct ibv_device *dev = pane_devices[0];
	struct ibv_mw *mw1, *mw2;
	struct node n;

	if (!pane_mw2_choice)
		pane_skip("the device leaves no choice");
	node_open_owner(&n);
	mw1 = mw_open(n.pd, IBV_MW_TYPE_1);
	CHECK_OK(pane_mw2_write(dev, "2A"));
	CHECK_EQ(type2_capability(&n), IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	mw2 = mw_open(n.pd, IBV_MW_TYPE_2);
	CHECK_EQ(pane_mw2_write(dev, "2B"), EBUSY);
	CHECK_OK(pane_mw2_write(dev, "2A"));
	CHECK_EQ(type2_capability(&n), IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	mw_close(mw2);
	CHECK_EQ(pane_mw2_write(dev, "2C"), EINVAL);
	CHECK_EQ(pane_mw2_write(dev, "1"), EINVAL);
	CHECK_OK(pane_mw2_write(dev, "2B"));
	CHECK_EQ(type2_capability(&n), IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	mw2 = mw_open(n.pd, IBV_MW_TYPE_2);
	CHECK_EQ(pane_mw2_write(dev, "2A"), EBUSY);
	mw_close(mw2);
	mw_close(mw1);
	node_close(&n);
}

static void test_alloc(const void *arg)
{
	struct ibv_mw *mw, *other;
	struct node n;

	node_open_owner(&n);
	mw = mw_open(n.pd, pane_cfg.mw_type);
	other = mw_open(n.pd, pane_cfg.mw_type);
	CHECK_EQ(mw->type, pane_cfg.mw_type);
	CHECK(mw->pd == n.pd && mw->context == n.ctx, "not as allocated");
	CHECK(mw->rkey && mw->rkey != other->rkey, "keys %#x %#x", mw->rkey,
	      other->rkey);
	mw_close(mw);
	mw_close(other);
	node_close(&n);
}

static void test_unbound(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = win_open(&d);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, win_va(&d), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&d, win_va(&d), mw->rkey), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&d, 0, mw->rkey), IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	mw_close(mw);
	duo_close(&d);
}

/* ---- the path of the bind -------------------------------------------- */

static void test_type1_by_request(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;
	struct req req = { .opcode = IBV_WR_BIND_MW };
	uint32_t rkey;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	rkey = mw->rkey;
	req.mw = mw;
	req.rkey = rkey;
	req.bind = bind_info(&d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	CHECK_EQ(ep_post(&d.o, &req, 1), EINVAL);
	CHECK_EQ(mw->rkey, rkey);
	CHECK_EQ(ep_state(&d.o), IBV_QPS_RTS);
	win_bind(&d, &d.o, mw);
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_close(&d);
}

static void test_type2_by_call(const void *arg)
{
	struct ibv_mw_bind bind = {};
	struct ibv_mw *mw;
	struct duo d;
	uint32_t rkey;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	rkey = mw->rkey;
	bind.bind_info = bind_info(&d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	CHECK_EQ(ibv_bind_mw(d.o.qp, mw, &bind), EINVAL);
	/* past the check that the library makes itself */
	CHECK_EQ(d.own.ctx->ops.bind_mw(d.o.qp, mw, &bind), EINVAL);
	CHECK_EQ(mw->rkey, rkey);
	win_bind(&d, &d.o, mw);
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_close(&d);
}

/* Windows belong to connected QPs */
static void test_ud_refuses(const void *arg)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = 1 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	struct ibv_mw_bind bind = {};
	struct ibv_mw *mw1, *mw2;
	struct ibv_qp *qp;
	struct duo d;

	duo_open(&d);
	mw1 = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw2 = mw_open(d.own.pd, IBV_MW_TYPE_2);
	init.send_cq = d.o.scq;
	init.recv_cq = d.o.rcq;
	qp = ibv_create_qp(d.own.pd, &init);
	CHECK(qp, "%s", strerror(errno));
	attr.qp_state = IBV_QPS_INIT;
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			       IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));

	bind.bind_info = bind_info(&d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	CHECK_EQ(ibv_bind_mw(qp, mw1, &bind), EINVAL);
	wr.bind_mw.mw = mw2;
	wr.bind_mw.bind_info = bind.bind_info;
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = mw2->rkey;
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);

	CHECK_OK(ibv_destroy_qp(qp));
	mw_close(mw1);
	mw_close(mw2);
	duo_close(&d);
}

/* ---- who may access -------------------------------------------------- */

/* Another QP of the window's PD: type 1 yes (C10-76.2.1), type 2 no */
static void test_other_qp(const void *arg)
{
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct duo d;
	uint64_t before;

	duo_open(&d);
	duo_link(&d, &o, &p);
	mw = win_open(&d);
	win_bind(&d, &d.o, mw);
	before = counter_read(&d.own, "access_qp");
	if (mw_is_type2(mw)) {
		CHECK_EQ(ep_write(&p, &d.buf, 8, win_va(&d), mw->rkey),
			 IBV_WC_REM_ACCESS_ERR);
		CHECK_EQ(counter_read(&d.own, "access_qp"), before + 1);
		CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	} else {
		win_check(&d, &p, mw);
		CHECK_EQ(counter_read(&d.own, "access_qp"), before);
	}
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_unlink(&o, &p);
	duo_close(&d);
}

static void test_other_pd(const void *arg)
{
	struct endpoint o, p;
	struct ibv_pd *pd;
	struct ibv_mw *mw;
	struct duo d;
	uint64_t pds, qps;

	duo_open(&d);
	pd = ibv_alloc_pd(d.own.ctx);
	CHECK(pd, "%s", strerror(errno));
	ep_open(&o, &d.own, pd);
	ep_open(&p, &d.peer, d.peer.pd);
	ep_connect(&o, &p);
	mw = win_open(&d);
	win_bind(&d, &d.o, mw);
	pds = counter_read(&d.own, "access_pd");
	qps = counter_read(&d.own, "access_qp");
	CHECK_EQ(ep_write(&p, &d.buf, 8, win_va(&d), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	/* 2A would not have looked at the PD */
	if (mw_is_type2(mw) && pane_mw2_letter == 'A')
		CHECK_EQ(counter_read(&d.own, "access_qp"), qps + 1);
	else
		CHECK_EQ(counter_read(&d.own, "access_pd"), pds + 1);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_unlink(&o, &p);
	CHECK_OK(ibv_dealloc_pd(pd));
	duo_close(&d);
}

/* ---- zero-based ------------------------------------------------------ */

static void test_zero_based(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = win_open(&d);
	mw_bind(&d.o, mw, &d.mem, WIN_OFF, WIN_LEN,
		RIGHTS_RW | IBV_ACCESS_ZERO_BASED);
	duo_check_access(&d, &d.p, 0, mw->rkey, WIN_OFF, WIN_LEN);
	duo_check_access(&d, &d.p, 10, mw->rkey, WIN_OFF + 10, WIN_LEN - 10);
	duo_check_access(&d, &d.p, WIN_LEN - 1, mw->rkey, WIN_OFF + WIN_LEN - 1,
			 1);
	fill_pattern(d.mem.addr, d.mem.len, 0);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, win_va(&d), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	mw_close(mw);
	duo_close(&d);
}

/* ---- windows and the states of a QP ---------------------------------- */

/* A type 2 window is free for another QP; a type 1 window never noticed */
static void check_after_qp(struct duo *d, struct endpoint *o,
			   struct endpoint *p, struct ibv_mw *mw)
{
	if (mw_is_type2(mw)) {
		CHECK_OK(ibv_dereg_mr(d->mem.mr));
		d->mem.mr = ibv_reg_mr(d->own.pd, d->mem.addr, d->mem.len,
				       MR_BINDABLE);
		CHECK(d->mem.mr, "%s", strerror(errno));
		CHECK_EQ(duo_probe(d, win_va(d), mw->rkey),
			 IBV_WC_REM_ACCESS_ERR);
		win_bind(d, o, mw);
	}
	duo_check_access(d, p, win_va(d), mw->rkey, WIN_OFF, WIN_LEN);
}

static void test_destroy_qp(const void *arg)
{
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	duo_link(&d, &o, &p);
	mw = win_open(&d);
	win_bind(&d, &o, mw);
	if (mw_is_type2(mw) && pane_mw2_letter == 'A') {
		CHECK_EQ(ibv_destroy_qp(o.qp), EBUSY);
		duo_check_access(&d, &p, win_va(&d), mw->rkey, WIN_OFF,
				 WIN_LEN);
		mw_unbind(&o, mw);
	}
	duo_unlink(&o, &p);	/* o10-2.2.5 */
	check_after_qp(&d, &d.o, &d.p, mw);
	mw_close(mw);
	duo_close(&d);
}

static void test_reset(const void *arg)
{
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	duo_link(&d, &o, &p);
	mw = win_open(&d);
	win_bind(&d, &o, mw);
	ep_modify(&o, IBV_QPS_RESET);
	check_after_qp(&d, &d.o, &d.p, mw);
	/* and on the same QP */
	if (mw_is_type2(mw)) {
		mw_unbind(&d.o, mw);
		ep_reconnect(&o, &p);
		check_after_qp(&d, &o, &p, mw);
	}
	mw_close(mw);
	duo_unlink(&o, &p);
	duo_close(&d);
}

/* A WRITE to a QP that takes no requests any more */
static void write_unanswered(struct endpoint *p, const struct region *from,
			     uint64_t raddr, uint32_t rkey)
{
	struct req req = req_remote(IBV_WR_RDMA_WRITE, from, 8, raddr, rkey);
	struct node *owner = p->remote->node;
	struct spin spin = {};
	uint64_t before;

	if (p->type != IBV_QPT_UC) {
		CHECK_EQ(ep_do(p, req), IBV_WC_RETRY_EXC_ERR);
		return;
	}
	before = counter_read(owner, "rx_qp_state");
	req.flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(p, &req, 1));
	CHECK_WC(p->scq, 0, IBV_WC_SUCCESS, NULL);
	while (counter_read(owner, "rx_qp_state") == before)
		spin_turn(&spin);
}

static void test_err(const void *arg)
{
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	duo_link(&d, &o, &p);
	/* the peer finds out by time-out that nobody answers */
	p.timeout = 1;
	p.retry_cnt = 1;
	ep_reconnect(&o, &p);
	mw = win_open(&d);
	win_bind(&d, &o, mw);
	ep_modify(&o, IBV_QPS_ERR);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	write_unanswered(&p, &d.buf, win_va(&d), mw->rkey);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	if (mw_is_type2(mw))
		CHECK_EQ(duo_probe(&d, win_va(&d), mw->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	else
		win_check(&d, &d.p, mw);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	mw_close(mw);
	duo_unlink(&o, &p);
	duo_close(&d);
}

static void list(void)
{
	pane_test(0, test_capabilities, NULL, "capability bits of windows");
	pane_test(0, test_type2_choice, NULL,
		  "2A or 2B: changed only while there are no windows of type 2");
	pane_test(V_TYPES, test_alloc, NULL, "allocation");
	pane_test(V_TYPES | V_PATHS | V_QPS, test_unbound, NULL,
		  "state after alloc: no access");
	pane_test(V_APIS | V_QPS, test_type1_by_request, NULL,
		  "wrong path: type 1 in a work request, EINVAL");
	pane_test(V_QPS, test_type2_by_call, NULL,
		  "wrong path: type 2 in ibv_bind_mw, EINVAL");
	pane_test(0, test_ud_refuses, NULL, "QP types: UD refuses at post");
	/* type 2 with XRC is in pane_mw_xrc */
	pane_test(V_TYPES | V_PATHS | V_RC | V_UC, test_other_qp, NULL,
		  "who may access: another QP of the PD");
	pane_test(V_T1 | V_XRC, test_other_qp, NULL,
		  "who may access: another QP of the PD");
	pane_test(V_TYPES | V_PATHS | V_RC | V_UC, test_other_pd, NULL,
		  "who may access: a QP of another PD");
	pane_test(V_T1 | V_XRC, test_other_pd, NULL,
		  "who may access: a QP of another PD");
	pane_test(V_TYPES | V_APIS | V_QPS, test_zero_based, NULL,
		  "zero-based");
	pane_test(V_TYPES | V_QPS, test_destroy_qp, NULL,
		  "destroy QP while bound");
	pane_test(V_TYPES | V_QPS, test_reset, NULL, "QP to RESET while bound");
	pane_test(V_TYPES | V_QPS, test_err, NULL, "QP to ERR while bound");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
