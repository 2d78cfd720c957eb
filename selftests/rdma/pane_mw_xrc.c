// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Type 2 windows and XRC. A QP that sends receives nothing, so a window that is
 * bound on it is for what comes from the host it is connected to: to XRC QPs
 * that receive, for an SRQ of the window's PD.
 */
#include <errno.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		5000
#define RECV_ID		77

/**
 * struct link - a connection beside that of the window
 * @o: owner's end
 * @p: peer's end
 * @node: the peer, if it is not that of the window
 * @pd: domain of @o, if it is not the window's
 * @buf: peer's memory
 */
struct link {
	struct endpoint o, p;
	struct node node;
	struct ibv_pd *pd;
	struct region buf;
};

/**
 * struct link_row - how the connection differs
 * @name: from whom, to what
 * @type: of it
 * @other_pd: the owner's end is of another PD
 * @other_host: the peer is the owner itself
 * @counter: the reason why it is refused; NULL if it is not
 */
struct link_row {
	const char *name;
	enum ibv_qp_type type;
	bool other_pd;
	bool other_host;
	const char *counter;
};

static const struct link_row link_rows[] = {
	{ "another XRC QP, same host", IBV_QPT_XRC_SEND, false, false, NULL },
	{ "another XRC QP, other host", IBV_QPT_XRC_SEND, false, true,
	  "access_qp" },
	{ "an SRQ of another PD, same host", IBV_QPT_XRC_SEND, true, false,
	  "access_pd" },
	{ "RC, same host", IBV_QPT_RC, false, false, "access_qp" },
	{ "UC, same host", IBV_QPT_UC, false, false, "access_qp" },
};

static void link_open(struct link *l, struct duo *d, const struct link_row *row)
{
	struct node *from = &d->peer;

	memset(l, 0, sizeof(*l));
	if (row->other_pd) {
		l->pd = ibv_alloc_pd(d->own.ctx);
		CHECK(l->pd, "%s", strerror(errno));
	}
	if (row->other_host) {
		node_open_owner(&l->node);
		from = &l->node;
	}
	region_open(&l->buf, from->pd, DUO_LEN, 0, IBV_ACCESS_LOCAL_WRITE);
	ep_open_type(&l->o, &d->own, l->pd ?: d->own.pd, row->type);
	ep_open_type(&l->p, from, from->pd, row->type);
	ep_connect(&l->o, &l->p);
}

static void link_close(struct link *l)
{
	duo_unlink(&l->o, &l->p);
	region_close(&l->buf);
	if (l->pd)
		CHECK_OK(ibv_dealloc_pd(l->pd));
	if (l->node.ctx)
		node_close(&l->node);
}

static uint64_t win_va(const struct duo *d)
{
	return region_at(&d->mem, WIN_OFF);
}

static struct ibv_mw *win_open(struct duo *d, struct endpoint *o)
{
	struct ibv_mw *mw = mw_open(d->own.pd, IBV_MW_TYPE_2);

	mw_bind(o, mw, &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	return mw;
}

/* ---- access ---------------------------------------------------------- */

static void link_write(struct duo *d, struct link *l, uint32_t rkey,
		       const char *counter)
{
	uint64_t before;

	if (!counter) {
		duo_check_access(d, &l->p, win_va(d), rkey, WIN_OFF, WIN_LEN);
		return;
	}
	before = counter_read(&d->own, counter);
	fill_pattern(d->mem.addr, d->mem.len, 0);
	fill_pattern(l->buf.addr, l->buf.len, 1);
	CHECK_EQ(ep_write(&l->p, &l->buf, WIN_LEN, win_va(d), rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(counter_read(&d->own, counter), before + 1);
	CHECK(has_pattern(d->mem.addr, d->mem.len, 0), "memory changed");
}

static void test_access(const void *arg)
{
	const struct link_row *row = arg;
	struct ibv_mw *mw;
	struct link l;
	struct duo d;

	duo_open(&d);
	link_open(&l, &d, row);
	mw = win_open(&d, &d.o);
	link_write(&d, &l, mw->rkey, row->counter);
	duo_check_access(&d, &d.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	mw_close(mw);
	link_close(&l);
	duo_close(&d);
}

/* What was bound on an RC QP is for that alone */
static void test_bound_on_rc(const void *arg)
{
	struct ibv_mw *mw;
	struct link l;
	struct duo d;

	duo_open(&d);
	link_open(&l, &d, &(struct link_row) { .type = IBV_QPT_RC });
	mw = win_open(&d, &l.o);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, win_va(&d), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	duo_check_access(&d, &l.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	mw_close(mw);
	link_close(&l);
	duo_close(&d);
}

/* The end of the QP it is bound on is its end for all */
static void test_reset(const void *arg)
{
	struct ibv_mw *mw;
	struct link l;
	struct duo d;

	duo_open(&d);
	link_open(&l, &d, &link_rows[0]);
	mw = win_open(&d, &l.o);
	duo_check_access(&d, &d.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	ep_modify(&l.o, IBV_QPS_RESET);
	link_write(&d, &(struct link) { .p = d.p, .buf = d.buf }, mw->rkey,
		   "access_key");
	mw_close(mw);
	link_close(&l);
	duo_close(&d);
}

/* ---- invalidation ---------------------------------------------------- */

/* Post a SEND_WITH_INV; how it ended at the owner */
static struct ibv_wc link_send_inv(struct link *l, uint32_t rkey,
				   enum ibv_wc_status status)
{
	struct req req = { .opcode = IBV_WR_SEND_WITH_INV, .ex = rkey };
	struct ibv_wc wc;

	CHECK_OK(ep_post_recv(&l->o, RECV_ID, NULL, 0, 0));
	CHECK_EQ(ep_do(&l->p, req), status);
	cq_wait(l->o.rcq, &wc);
	CHECK_EQ(wc.wr_id, RECV_ID);
	CHECK_EQ(wc.qp_num, ep_recv_qp(&l->o)->qp_num);
	return wc;
}

static void inv_refused(struct duo *d, struct link *l, uint32_t rkey)
{
	struct ibv_wc wc = link_send_inv(l, rkey, IBV_WC_REM_ACCESS_ERR);

	CHECK_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(ep_recv_state(&l->o), IBV_QPS_ERR);
	CHECK_EQ(ibv_dereg_mr(d->mem.mr), EBUSY);
	duo_check_access(d, &d->p, win_va(d), rkey, WIN_OFF, WIN_LEN);
}

static void inv_done(struct duo *d, struct link *l, uint32_t rkey)
{
	struct ibv_wc wc = link_send_inv(l, rkey, IBV_WC_SUCCESS);

	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, rkey);
	CHECK_EQ(ep_write(&d->p, &d->buf, 1, win_va(d), rkey),
		 IBV_WC_REM_ACCESS_ERR);
}

/* Who may access may invalidate */
static void test_send_inv(const void *arg)
{
	const struct link_row *row = arg;
	struct ibv_mw *mw;
	struct link l;
	struct duo d;

	duo_open(&d);
	link_open(&l, &d, row);
	mw = win_open(&d, &d.o);
	if (row->counter)
		inv_refused(&d, &l, mw->rkey);
	else
		inv_done(&d, &l, mw->rkey);
	mw_close(mw);
	link_close(&l);
	duo_close(&d);
}

static void test_send_inv_rc(const void *arg)
{
	struct ibv_mw *mw;
	struct link l, xrc;
	struct duo d;

	duo_open(&d);
	link_open(&l, &d, &(struct link_row) { .type = IBV_QPT_RC });
	link_open(&xrc, &d, &link_rows[0]);
	mw = win_open(&d, &l.o);
	CHECK_EQ(link_send_inv(&xrc, mw->rkey, IBV_WC_REM_ACCESS_ERR).status,
		 IBV_WC_REM_INV_REQ_ERR);
	duo_check_access(&d, &l.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	mw_close(mw);
	link_close(&xrc);
	link_close(&l);
	duo_close(&d);
}

/* ---- what receives binds nothing ------------------------------------- */

static void test_tgt_posts_nothing(const void *arg)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	struct ibv_mw_bind bind = {};
	struct ibv_mw *mw1, *mw2;
	struct duo d;

	duo_open(&d);
	mw1 = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw2 = mw_open(d.own.pd, IBV_MW_TYPE_2);
	bind.bind_info = bind_info(&d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	CHECK_EQ(ibv_bind_mw(d.o.tgt, mw1, &bind), EINVAL);
	wr.bind_mw.mw = mw2;
	wr.bind_mw.rkey = mw2->rkey;
	wr.bind_mw.bind_info = bind.bind_info;
	CHECK_EQ(ibv_post_send(d.o.tgt, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = mw2->rkey;
	CHECK_EQ(ibv_post_send(d.o.tgt, &wr, &bad), EINVAL);
	mw_close(mw1);
	mw_close(mw2);
	duo_close(&d);
}

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(link_rows); i++) {
		const struct link_row *row = &link_rows[i];

		pane_test(V_T2 | V_XRC, test_access, row,
			  "bound on an XRC QP: access by %s", row->name);
		if (row->type != IBV_QPT_UC)
			pane_test(V_T2 | V_XRC, test_send_inv, row,
				  "bound on an XRC QP: SEND_WITH_INV by %s",
				  row->name);
	}
	pane_test(V_T2 | V_XRC, test_bound_on_rc, NULL,
		  "bound on an RC QP: access by XRC");
	pane_test(V_T2 | V_XRC, test_send_inv_rc, NULL,
		  "bound on an RC QP: SEND_WITH_INV by XRC");
	pane_test(V_T2 | V_XRC, test_reset, NULL,
		  "bound on an XRC QP: its reset is the end for all");
	pane_test(V_XRC, test_tgt_posts_nothing, NULL,
		  "QP types: XRC_RECV refuses at post");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
