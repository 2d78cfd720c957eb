// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalidation by LOCAL_INV and by a peer's SEND_WITH_INV: each target, what a
 * success is, what a refusal looks like on both sides, and that a refused one
 * changes nothing.
 */
#include <errno.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		5000
#define SEND_LEN	100
#define RECV_ID		77

/**
 * struct inval_case - an invalidate to be refused
 * @d: it goes through this pair: posted by @d.o, or sent to it
 * @o2: owner's end of another connection
 * @p2: peer's end of it
 * @mw: a type 2 window, bound on @o2
 * @mw2: another window, if the row makes one
 * @key: to invalidate
 */
struct inval_case {
	struct duo d;
	struct endpoint o2, p2;
	struct ibv_mw *mw;
	struct ibv_mw *mw2;
	uint32_t key;
};

struct inval_row {
	const char *name;
	enum pane_vendor_err verr;
	void (*aim)(struct inval_case *c);
};

static uint64_t win_va(const struct duo *d)
{
	return region_at(&d->mem, WIN_OFF);
}

static void win_bind(struct duo *d, struct endpoint *o, struct ibv_mw *mw)
{
	mw_bind(o, mw, &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
}

/* ---- targets that are refused ---------------------------------------- */

static void aim_other_qp(struct inval_case *c)
{
	c->key = c->mw->rkey;
}

static void aim_other_byte(struct inval_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_2);
	win_bind(&c->d, &c->d.o, c->mw2);
	c->key = c->mw2->rkey ^ 1;
}

static void aim_never_bound(struct inval_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_2);
	c->key = c->mw2->rkey;
}

static void aim_twice(struct inval_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_2);
	win_bind(&c->d, &c->d.o, c->mw2);
	c->key = c->mw2->rkey;
	CHECK_EQ(ep_local_inv(&c->d.o, c->key), IBV_WC_SUCCESS);
}

static void aim_deallocated(struct inval_case *c)
{
	struct ibv_mw *mw = mw_open(c->d.own.pd, IBV_MW_TYPE_2);

	win_bind(&c->d, &c->d.o, mw);
	c->key = mw->rkey;
	mw_close(mw);
}

static void aim_type1(struct inval_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_1);
	win_bind(&c->d, &c->d.o, c->mw2);
	c->key = c->mw2->rkey;
}

static void aim_type1_unbound(struct inval_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_1);
	c->key = c->mw2->rkey;
}

/* The one that all windows here are bound to */
static void aim_mr_with_windows(struct inval_case *c)
{
	c->key = c->d.mem.mr->rkey;
}

static void aim_mr(struct inval_case *c)
{
	mw_unbind(&c->o2, c->mw);
	c->key = c->d.mem.mr->rkey;
}

static void aim_unknown(struct inval_case *c)
{
	c->key = c->mw->rkey ^ 0x35791300;
}

static void aim_zero(struct inval_case *c)
{
	c->key = 0;
}

static void aim_ones(struct inval_case *c)
{
	c->key = 0xffffffff;
}

static const struct inval_row inval_rows[] = {
	{ "bound on another QP", PANE_VERR_INV_QP, aim_other_qp },
	{ "bound, another byte", PANE_VERR_INV_KEY, aim_other_byte },
	{ "never bound", PANE_VERR_INV_STATE, aim_never_bound },
	{ "twice", PANE_VERR_INV_STATE, aim_twice },
	{ "deallocated", PANE_VERR_INV_KEY, aim_deallocated },
	{ "type 1", PANE_VERR_INV_TYPE, aim_type1 },
	{ "type 1, unbound", PANE_VERR_INV_TYPE, aim_type1_unbound },
	{ "MR", PANE_VERR_INV_TYPE, aim_mr },
	{ "MR with bound windows", PANE_VERR_INV_TYPE, aim_mr_with_windows },
	{ "key unknown", PANE_VERR_INV_KEY, aim_unknown },
	{ "key 0", PANE_VERR_INV_KEY, aim_zero },
	{ "key ~0", PANE_VERR_INV_KEY, aim_ones },
};

static void case_open(struct inval_case *c, const struct inval_row *row)
{
	memset(c, 0, sizeof(*c));
	duo_open(&c->d);
	duo_link(&c->d, &c->o2, &c->p2);
	c->mw = mw_open(c->d.own.pd, IBV_MW_TYPE_2);
	win_bind(&c->d, &c->o2, c->mw);
	row->aim(c);
}

/* All that was bound is so still; what was not can be */
static void case_close(struct inval_case *c, const struct inval_row *row)
{
	ep_reconnect(&c->d.o, &c->d.p);
	if (row->aim == aim_mr)
		win_bind(&c->d, &c->o2, c->mw);
	duo_check_access(&c->d, &c->p2, win_va(&c->d), c->mw->rkey, WIN_OFF,
			 WIN_LEN);
	if (c->mw2) {
		win_bind(&c->d, &c->d.o, c->mw2);
		duo_check_access(&c->d, &c->d.p, win_va(&c->d), c->mw2->rkey,
				 WIN_OFF, WIN_LEN);
		mw_close(c->mw2);
	}
	mw_close(c->mw);
	duo_unlink(&c->o2, &c->p2);
	duo_close(&c->d);
}

/* Before the QP that had the failure is reset: type 2 windows there go then */
static void case_untouched(struct inval_case *c, const struct inval_row *row)
{
	if (row->aim == aim_mr)
		return;
	CHECK_EQ(ibv_dereg_mr(c->d.mem.mr), EBUSY);
	if (row->aim == aim_type1)
		duo_check_access(&c->d, &c->p2, win_va(&c->d), c->mw2->rkey,
				 WIN_OFF, WIN_LEN);
	if (row->aim != aim_other_byte)
		return;
	/* its QP is in error, so try to find it bound by binding it */
	CHECK_EQ(mw_try_bind(&c->o2, c->mw2,
			     &(struct ibv_mw_bind_info) {
				.mr = c->d.mem.mr,
				.addr = win_va(&c->d),
				.length = 1,
			     }), IBV_WC_MW_BIND_ERR);
	ep_reconnect(&c->o2, &c->p2);
	win_bind(&c->d, &c->o2, c->mw);
}

static void test_local_inv_refused(const void *arg)
{
	const struct inval_row *row = arg;
	struct inval_case c;
	struct req req = { .opcode = IBV_WR_LOCAL_INV, .id = 5 };
	uint64_t refused, done;
	struct ibv_wc wc;

	case_open(&c, row);
	refused = counter_read(&c.d.own, "inv_refused");
	done = counter_read(&c.d.own, "mw_invalidated");
	req.ex = c.key;
	/* told of though it is unsignaled */
	CHECK_OK(ep_post(&c.d.o, &req, 1));
	CHECK_WC(c.d.o.scq, 5, IBV_WC_MW_BIND_ERR, &wc);
	CHECK_EQ(wc.vendor_err, row->verr);
	CHECK_EQ(ep_state(&c.d.o), IBV_QPS_ERR);
	CHECK_EQ(counter_read(&c.d.own, "inv_refused"), refused + 1);
	CHECK_EQ(counter_read(&c.d.own, "mw_invalidated"), done);
	case_untouched(&c, row);
	case_close(&c, row);
}

static struct req send_inv(const struct region *from, size_t len, uint32_t key)
{
	struct req req = req_remote(IBV_WR_SEND_WITH_INV, from, len, 0, 0);

	req.ex = key;
	if (!len)
		req.addr = NULL;
	return req;
}

static void recv_post(struct duo *d, size_t len)
{
	CHECK_OK(ep_post_recv(&d->o, RECV_ID, len ? d->mem.addr : NULL, len,
			      d->mem.mr->lkey));
}

static void test_send_inv_refused(const void *arg)
{
	const struct inval_row *row = arg;
	struct inval_case c;
	uint64_t refused, done, naks;
	struct ibv_wc wc;

	case_open(&c, row);
	refused = counter_read(&c.d.own, "inv_refused");
	done = counter_read(&c.d.own, "mw_invalidated");
	naks = counter_read(&c.d.own, "sent_rem_access");
	recv_post(&c.d, SEND_LEN);
	CHECK_EQ(ep_do(&c.d.p, send_inv(&c.d.buf, SEND_LEN, c.key)),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_WC(c.d.o.rcq, RECV_ID, IBV_WC_REM_INV_REQ_ERR, &wc);
	CHECK(!(wc.wc_flags & IBV_WC_WITH_INV), "flags %#x", wc.wc_flags);
	CHECK_EQ(ep_recv_state(&c.d.o), IBV_QPS_ERR);
	CHECK_EQ(ep_state(&c.d.p), IBV_QPS_ERR);
	CHECK_EQ(counter_read(&c.d.own, "inv_refused"), refused + 1);
	CHECK_EQ(counter_read(&c.d.own, "mw_invalidated"), done);
	CHECK_EQ(counter_read(&c.d.own, "sent_rem_access"), naks + 1);
	case_untouched(&c, row);
	case_close(&c, row);
}

/* ---- the target that is not ------------------------------------------ */

static void check_free(struct duo *d, struct ibv_mw *mw, uint32_t key)
{
	CHECK_OK(ibv_dereg_mr(d->mem.mr));
	d->mem.mr = ibv_reg_mr(d->own.pd, d->mem.addr, d->mem.len,
			       MR_BINDABLE);
	CHECK(d->mem.mr, "%s", strerror(errno));
	CHECK_EQ(duo_probe(d, win_va(d), key), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ep_state(&d->o), IBV_QPS_RTS);
	win_bind(d, &d->o, mw);
	duo_check_access(d, &d->p, win_va(d), mw->rkey, WIN_OFF, WIN_LEN);
	CHECK_EQ(ep_write(&d->p, &d->buf, 1, win_va(d), key),
		 IBV_WC_REM_ACCESS_ERR);
}

static void test_local_inv(const void *arg)
{
	struct req req = {
		.opcode = IBV_WR_LOCAL_INV,
		.flags = IBV_SEND_SIGNALED,
		.id = 6,
	};
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint64_t done;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	done = counter_read(&d.own, "mw_invalidated");
	req.ex = mw->rkey;
	CHECK_OK(ep_post(&d.o, &req, 1));
	CHECK_WC(d.o.scq, 6, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_LOCAL_INV);
	CHECK(!(wc.wc_flags & IBV_WC_WITH_INV), "flags %#x", wc.wc_flags);
	CHECK_EQ(counter_read(&d.own, "mw_invalidated"), done + 1);
	check_free(&d, mw, req.ex);
	mw_close(mw);
	duo_close(&d);
}

struct send_row {
	const char *name;
	size_t len;
};

static const struct send_row send_rows[] = {
	{ "without data", 0 },
	{ "one packet", SEND_LEN },
	{ "several packets", 3000 },
};

/* The receive completion says what was invalidated, in host order */
static void test_send_inv(const void *arg)
{
	const struct send_row *row = arg;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint64_t done;
	struct duo d;
	uint32_t key;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	key = mw->rkey;
	done = counter_read(&d.own, "mw_invalidated");
	recv_post(&d, row->len);
	fill_pattern(d.buf.addr, d.buf.len, 3);
	CHECK_EQ(ep_do(&d.p, send_inv(&d.buf, row->len, key)),
		 IBV_WC_SUCCESS);
	CHECK_WC(d.o.rcq, RECV_ID, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, row->len);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, key);
	CHECK(has_pattern(d.mem.addr, row->len, 3), "other data");
	CHECK_EQ(counter_read(&d.own, "mw_invalidated"), done + 1);
	check_free(&d, mw, key);
	mw_close(mw);
	duo_close(&d);
}

/* The same of a CQ that is read by the extended interface */
static void test_send_inv_cq_ex(const void *arg)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_BYTE_LEN,
	};
	struct ibv_poll_cq_attr poll_attr = {};
	struct ibv_cq_ex *cqx;
	struct ibv_cq *rcq;
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	ep_open(&o, &d.own, d.own.pd);
	ep_open(&p, &d.peer, d.peer.pd);
	CHECK_OK(ibv_destroy_qp(o.qp));
	cqx = ibv_create_cq_ex(d.own.ctx, &cq_attr);
	CHECK(cqx, "%s", strerror(errno));
	rcq = o.rcq;
	o.rcq = ibv_cq_ex_to_cq(cqx);
	ep_make_qp(&o);
	ep_connect(&o, &p);

	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &o, mw);
	CHECK_OK(ep_post_recv(&o, RECV_ID, NULL, 0, 0));
	CHECK_EQ(ep_do(&p, send_inv(&d.buf, 0, mw->rkey)), IBV_WC_SUCCESS);
	/* acknowledged, so it is there */
	CHECK_OK(ibv_start_poll(cqx, &poll_attr));
	CHECK_EQ(cqx->wr_id, RECV_ID);
	CHECK_EQ(cqx->status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_wc_read_wc_flags(cqx), IBV_WC_WITH_INV);
	CHECK_EQ(ibv_wc_read_invalidated_rkey(cqx), mw->rkey);
	ibv_end_poll(cqx);

	mw_close(mw);
	CHECK_OK(ibv_destroy_qp(o.qp));
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cqx)));
	o.rcq = rcq;
	ep_make_qp(&o);
	duo_unlink(&o, &p);
	duo_close(&d);
}

/* Only what was invalidated is told of as such */
static void test_no_inv_flag(const void *arg)
{
	struct ibv_wc wc;
	struct req req;
	struct duo d;

	duo_open(&d);
	req = req_remote(IBV_WR_SEND, &d.buf, SEND_LEN, 0, 0);
	recv_post(&d, SEND_LEN);
	CHECK_EQ(ep_do(&d.p, req), IBV_WC_SUCCESS);
	CHECK_WC(d.o.rcq, RECV_ID, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.wc_flags, 0);
	req.opcode = IBV_WR_SEND_WITH_IMM;
	req.ex = 0xabcd;
	recv_post(&d, SEND_LEN);
	CHECK_EQ(ep_do(&d.p, req), IBV_WC_SUCCESS);
	CHECK_WC(d.o.rcq, RECV_ID, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(be32toh(wc.imm_data), 0xabcd);
	duo_close(&d);
}

/* The data of a SEND_WITH_INV that is too long never gets to the invalidate */
static void test_send_inv_too_long(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	recv_post(&d, SEND_LEN - 1);
	CHECK_EQ(ep_do(&d.p, send_inv(&d.buf, SEND_LEN, mw->rkey)),
		 IBV_WC_REM_INV_REQ_ERR);
	CHECK_WC(d.o.rcq, RECV_ID, IBV_WC_LOC_LEN_ERR, NULL);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	mw_close(mw);
	duo_close(&d);
}

/* UC has no such packet; nor has a QP that is asked to be able to send one */
static void test_send_inv_uc(const void *arg)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV,
	};
	struct ibv_mw *mw;
	struct req req;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	req = send_inv(&d.buf, SEND_LEN, mw->rkey);
	CHECK_EQ(ep_post(&d.p, &req, 1), EINVAL);
	CHECK_EQ(ep_state(&d.p), IBV_QPS_RTS);
	duo_check_access(&d, &d.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	init.pd = d.own.pd;
	init.send_cq = d.o.scq;
	init.recv_cq = d.o.rcq;
	errno = 0;
	CHECK(!ibv_create_qp_ex(d.own.ctx, &init), "created");
	CHECK_EQ(errno, EOPNOTSUPP);
	mw_close(mw);
	duo_close(&d);
}

/* ---- states and flags ------------------------------------------------ */

static void test_flushed(const void *arg)
{
	struct ibv_mw *mw;
	uint64_t refused;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	refused = counter_read(&d.own, "inv_refused");
	ep_modify(&d.o, IBV_QPS_ERR);
	CHECK_EQ(ep_local_inv(&d.o, mw->rkey), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(counter_read(&d.own, "inv_refused"), refused);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	mw_close(mw);
	duo_close(&d);
}

static void test_inline_refused(const void *arg)
{
	struct req req = {
		.opcode = IBV_WR_LOCAL_INV,
		.flags = IBV_SEND_INLINE,
	};
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	req.ex = mw->rkey;
	CHECK_EQ(ep_post(&d.o, &req, 1), EINVAL);
	duo_check_access(&d, &d.p, win_va(&d), mw->rkey, WIN_OFF, WIN_LEN);
	req.flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
	req.id = 8;
	CHECK_OK(ep_post(&d.o, &req, 1));
	CHECK_WC(d.o.scq, 8, IBV_WC_SUCCESS, NULL);
	mw_close(mw);
	duo_close(&d);
}

/* What stands behind a refused LOCAL_INV is flushed */
static void test_flushes(const void *arg)
{
	struct req reqs[3] = {};
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &d.o, mw);
	reqs[0].opcode = IBV_WR_LOCAL_INV;
	reqs[0].id = 1;
	reqs[0].ex = mw->rkey ^ 1;
	reqs[1].opcode = IBV_WR_LOCAL_INV;
	reqs[1].id = 2;
	reqs[1].ex = mw->rkey;
	reqs[2] = req_remote(IBV_WR_SEND, &d.mem, 1, 0, 0);
	reqs[2].id = 3;
	CHECK_OK(ep_post(&d.o, reqs, 3));
	CHECK_WC(d.o.scq, 1, IBV_WC_MW_BIND_ERR, NULL);
	CHECK_WC(d.o.scq, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	CHECK_WC(d.o.scq, 3, IBV_WC_WR_FLUSH_ERR, NULL);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(V_T2 | V_APIS | V_PATHS | V_QPS, test_local_inv, NULL,
		  "LOCAL_INV: bound on its QP");
	for (unsigned int i = 0; i < ARRAY_SIZE(inval_rows); i++)
		pane_test(V_T2 | V_QPS, test_local_inv_refused, &inval_rows[i],
			  "LOCAL_INV refused: %s", inval_rows[i].name);
	for (unsigned int i = 0; i < ARRAY_SIZE(send_rows); i++)
		pane_test(V_T2 | V_APIS | V_PATHS | V_RC | V_XRC,
			  test_send_inv, &send_rows[i],
			  "SEND_WITH_INV: bound on its QP, %s",
			  send_rows[i].name);
	pane_test(0, test_send_inv_cq_ex, NULL,
		  "SEND_WITH_INV: read from an extended CQ");
	for (unsigned int i = 0; i < ARRAY_SIZE(inval_rows); i++) {
		/* which QP's windows XRC reaches is in pane_mw_xrc */
		bool xrc = inval_rows[i].aim != aim_other_qp;

		pane_test(V_T2 | V_RC | (xrc ? V_XRC : 0),
			  test_send_inv_refused, &inval_rows[i],
			  "SEND_WITH_INV refused: %s", inval_rows[i].name);
	}
	pane_test(V_APIS | V_UC, test_send_inv_uc, NULL,
		  "SEND_WITH_INV refused at post");
	pane_test(V_APIS | V_QPS, test_no_inv_flag, NULL,
		  "other sends have no IBV_WC_WITH_INV");
	pane_test(V_RC | V_XRC, test_send_inv_too_long, NULL,
		  "SEND_WITH_INV too long for its receive");
	pane_test(V_APIS | V_QPS, test_flushed, NULL,
		  "LOCAL_INV in ERR: flushed");
	pane_test(V_APIS | V_QPS, test_inline_refused, NULL,
		  "LOCAL_INV: INLINE refused, FENCE not");
	pane_test(V_APIS | V_QPS, test_flushes, NULL,
		  "failed LOCAL_INV: what follows is flushed");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
