// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that no provider would post: each wrong in one thing. The kernel's
 * own checks hold, the neighbour notices nothing, and the queue pair is of use
 * again after a reset.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_hostile.h"

/* ---- requests that are wrong in one thing ---------------------------- */

/* As a good LOCAL_INV, if only the key were */
static struct pane_sq_wqe *inv_wqe(struct hostile *h)
{
	struct pane_sq_wqe *w = raw_slot(&h->qp, 0);

	memset(w, 0, h->qp.ring.sq_stride);
	w->wr_id = 1;
	w->opcode = PANE_WR_LOCAL_INV;
	w->flags = PANE_WR_SIGNALED;
	w->ex = h->mw2->rkey;
	return w;
}

/* As a good message to the peer, who has no receive request for it */
static struct pane_sq_wqe *send_wqe(struct hostile *h)
{
	struct pane_sq_wqe *w = raw_slot(&h->qp, 0);

	memset(w, 0, h->qp.ring.sq_stride);
	w->wr_id = 1;
	w->opcode = PANE_WR_SEND;
	w->flags = PANE_WR_SIGNALED;
	w->num_sge = 1;
	w->sge[0].addr = region_at(&h->d.mem, 0);
	w->sge[0].length = 8;
	w->sge[0].lkey = h->d.mem.mr->lkey;
	return w;
}

static void bind_type1(struct hostile *h)
{
	hostile_bind(h)->bind.mw_rkey = h->mw1->rkey;
}

static void bind_length_0(struct hostile *h)
{
	hostile_bind(h)->bind.length = 0;
}

static void bind_foreign_window(struct hostile *h)
{
	hostile_bind(h)->bind.mw_rkey = h->foreign->rkey;
}

static void bind_foreign_mr(struct hostile *h)
{
	struct pane_sq_wqe *w = hostile_bind(h);

	w->bind.lkey = h->other.mr->lkey;
	w->bind.addr = region_at(&h->other, 0);
}

static void bind_victims_window(struct hostile *h)
{
	hostile_bind(h)->bind.mw_rkey = h->victim.mw2->rkey;
}

static void bind_victims_type1(struct hostile *h)
{
	hostile_bind(h)->bind.mw_rkey = h->victim.mw1->rkey;
}

static void bind_victims_mr(struct hostile *h)
{
	struct pane_sq_wqe *w = hostile_bind(h);

	w->bind.lkey = h->victim.d.mem.mr->lkey;
	w->bind.addr = region_at(&h->victim.d.mem, 0);
}

static void bind_range(struct hostile *h)
{
	hostile_bind(h)->bind.length = -1;
}

static void bind_rights(struct hostile *h)
{
	hostile_bind(h)->bind.access = -1;
}

static void bind_inline(struct hostile *h)
{
	hostile_bind(h)->flags |= PANE_WR_INLINE;
}

static void bind_solicited(struct hostile *h)
{
	hostile_bind(h)->flags |= PANE_WR_SOLICITED;
}

static void bind_flag(struct hostile *h)
{
	hostile_bind(h)->flags |= 0x8000;
}

static void bind_sge(struct hostile *h)
{
	hostile_bind(h)->num_sge = 1;
}

static void inv_free(struct hostile *h)
{
	inv_wqe(h);
}

static void inv_type1(struct hostile *h)
{
	inv_wqe(h)->ex = h->mw1->rkey;
}

static void inv_victims(struct hostile *h)
{
	inv_wqe(h)->ex = h->victim.mw2->rkey;
}

static void inv_victims_type1(struct hostile *h)
{
	inv_wqe(h)->ex = h->victim.mw1->rkey;
}

static void inv_victims_mr(struct hostile *h)
{
	inv_wqe(h)->ex = h->victim.d.mem.mr->rkey;
}

static void inv_inline(struct hostile *h)
{
	inv_wqe(h)->flags |= PANE_WR_INLINE;
}

static void inv_reserved(struct hostile *h)
{
	inv_wqe(h)->rdma.reserved[2] = 1;
}

static void inv_sge(struct hostile *h)
{
	inv_wqe(h)->num_sge = 200;
}

/* The bind that only PANE_DB_BIND_MW makes, with a key of its own choice */
static void opcode_bind_type1(struct hostile *h)
{
	hostile_bind(h)->opcode = PANE_WR_USER_MAX;
}

/* Fast registration: its request holds a pointer in the kernel */
static void opcode_reg_mr(struct hostile *h)
{
	struct pane_sq_wqe *w = hostile_bind(h);

	w->opcode = PANE_WR_USER_MAX + 1;
	w->bind.addr = (uintptr_t)h;
}

static void opcode_next(struct hostile *h)
{
	hostile_bind(h)->opcode = PANE_WR_USER_MAX + 2;
}

static void opcode_last(struct hostile *h)
{
	hostile_bind(h)->opcode = 255;
}

static void send_sges(struct hostile *h)
{
	send_wqe(h)->num_sge = 255;
}

static void send_one_sge_more(struct hostile *h)
{
	/* more than asked for may have been given */
	send_wqe(h)->num_sge = 100;
}

static void send_inline_long(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->flags |= PANE_WR_INLINE;
	w->num_sge = 0;
	w->rdma.inline_len = h->qp.ring.max_inline + 1;
}

static void send_inline_huge(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->flags |= PANE_WR_INLINE;
	w->num_sge = 0;
	w->rdma.inline_len = -1;
}

static void send_too_long(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->num_sge = 4;
	for (unsigned int i = 0; i < 4; i++) {
		w->sge[i] = w->sge[0];
		w->sge[i].length = -1;
	}
}

static void send_window_key(struct hostile *h)
{
	send_wqe(h)->sge[0].lkey = h->victim.mw1->rkey;
}

static void send_victims_memory(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->sge[0].lkey = h->victim.d.mem.mr->lkey;
	w->sge[0].addr = region_at(&h->victim.d.mem, 0);
}

static void send_kernel_key(struct hostile *h)
{
	send_wqe(h)->sge[0].lkey = 0;
}

static void read_inline(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->opcode = PANE_WR_READ;
	w->flags |= PANE_WR_INLINE;
}

static void read_into_victim(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	/* from the peer, who lends its memory */
	w->opcode = PANE_WR_READ;
	w->rdma.remote_addr = region_at(&h->d.buf, 0);
	w->rdma.rkey = h->d.buf.mr->rkey;
	w->sge[0].lkey = h->victim.d.mem.mr->lkey;
	w->sge[0].addr = region_at(&h->victim.d.mem, 0);
}

static void atomic_short(struct hostile *h)
{
	struct pane_sq_wqe *w = send_wqe(h);

	w->opcode = PANE_WR_FETCH_ADD;
	w->sge[0].length = 7;
}

/**
 * struct wqe_row - a request and its answer
 * @name: what is wrong
 * @fill: fills the next slot
 * @status: of the completion
 * @verr: the reason in it
 */
struct wqe_row {
	const char *name;
	void (*fill)(struct hostile *h);
	enum ibv_wc_status status;
	enum pane_vendor_err verr;
};

#define ROW(what, fn, status_, verr_) \
	{ what, fn, IBV_WC_##status_, PANE_VERR_##verr_ }
#define BIND(what, fn, verr_) \
	ROW("BIND " what, bind_##fn, MW_BIND_ERR, BIND_##verr_)
#define INV(what, fn, verr_) \
	ROW("LOCAL_INV " what, inv_##fn, MW_BIND_ERR, INV_##verr_)
#define WQE(what, fn, verr_) \
	ROW(what, fn, LOC_QP_OP_ERR, WQE_##verr_)

static const struct wqe_row wqe_rows[] = {
	BIND("of type 1", type1, MW),
	BIND("of length 0", length_0, LENGTH),
	BIND("window of another PD", foreign_window, PD),
	BIND("to MR of another PD", foreign_mr, PD),
	BIND("neighbour's window", victims_window, PD),
	BIND("neighbour's type 1 window", victims_type1, MW),
	BIND("to neighbour's MR", victims_mr, PD),
	BIND("of length ~0", range, RANGE),
	BIND("with rights ~0", rights, FLAGS),
	WQE("BIND inline", bind_inline, FLAGS),
	WQE("BIND solicited", bind_solicited, FLAGS),
	WQE("BIND with an unknown flag", bind_flag, FLAGS),
	WQE("BIND with an SGE", bind_sge, SGE),
	INV("free window", free, STATE),
	INV("type 1", type1, TYPE),
	INV("neighbour's window", victims, QP),
	INV("neighbour's type 1 window", victims_type1, TYPE),
	INV("neighbour's MR", victims_mr, TYPE),
	WQE("LOCAL_INV inline", inv_inline, FLAGS),
	WQE("LOCAL_INV with a reserved member", inv_reserved, RESERVED),
	WQE("LOCAL_INV with SGEs", inv_sge, SGE),
	WQE("opcode of a type 1 bind", opcode_bind_type1, OPCODE),
	WQE("opcode of fast registration", opcode_reg_mr, OPCODE),
	WQE("opcode behind all", opcode_next, OPCODE),
	WQE("opcode 255", opcode_last, OPCODE),
	WQE("SEND with 255 SGEs", send_sges, SGE),
	WQE("SEND with 100 SGEs", send_one_sge_more, SGE),
	ROW("SEND inline, too long", send_inline_long, LOC_LEN_ERR, WQE_LENGTH),
	ROW("SEND inline, length ~0", send_inline_huge, LOC_LEN_ERR,
	    WQE_LENGTH),
	ROW("SEND of 16 GiB", send_too_long, LOC_LEN_ERR, WQE_LENGTH),
	ROW("SEND by a window's key", send_window_key, LOC_PROT_ERR, LKEY),
	ROW("SEND of neighbour's memory", send_victims_memory, LOC_PROT_ERR,
	    LKEY),
	ROW("SEND by the kernel's key", send_kernel_key, LOC_PROT_ERR, LKEY),
	WQE("READ inline", read_inline, FLAGS),
	ROW("READ into neighbour's memory", read_into_victim, LOC_PROT_ERR,
	    LKEY),
	ROW("atomic of 7 bytes", atomic_short, LOC_LEN_ERR, WQE_LENGTH),
};

static void test_wqe(const void *arg)
{
	const struct wqe_row *row = arg;
	struct hostile h;
	struct ibv_wc wc;

	hostile_open(&h);
	CHECK_OK(ibv_dereg_mr(h.d.buf.mr));
	h.d.buf.mr = ibv_reg_mr(h.d.peer.pd, h.d.buf.addr, DUO_LEN,
				IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL);
	CHECK(h.d.buf.mr, "%s", strerror(errno));
	row->fill(&h);
	CHECK_OK(raw_push(&h.qp, 1));
	CHECK_WC(h.qp.scq, 1, row->status, &wc);
	CHECK_EQ(wc.vendor_err, row->verr);
	CHECK_EQ(raw_state(&h.qp), IBV_QPS_ERR);
	hostile_close(&h);
}

/* ---- the call for type 1 windows ------------------------------------- */

static struct pane_bind_mw bind_call(struct hostile *h)
{
	return (struct pane_bind_mw) {
		.qp_num = h->qp.qpn,
		.wr_id = 1,
		.addr = region_at(&h->d.mem, WIN_OFF),
		.length = WIN_LEN,
		.lkey = h->d.mem.mr->lkey,
		.rkey = h->mw1->rkey,
		.access = RIGHTS_RW,
		.flags = PANE_WR_SIGNALED,
	};
}

static int bind_post(struct hostile *h, struct pane_bind_mw *b)
{
	int ret = raw_ring(&h->qp, PANE_DB_BIND_MW, (unsigned long)b);

	if (!ret)
		h->qp.ctl->sq_prod = ++h->qp.sq_prod;
	return ret;
}

/* What the call refuses itself: nothing is posted */
static void test_call_refused(const void *arg)
{
	struct pane_bind_mw b;
	struct hostile h;
	struct ibv_wc wc;

	hostile_open(&h);
	b = bind_call(&h);
	b.comp_mask = 1;
	CHECK_EQ(bind_post(&h, &b), EOPNOTSUPP);
	b = bind_call(&h);
	b.flags |= PANE_WR_INLINE;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	b = bind_call(&h);
	b.flags |= PANE_WR_SOLICITED;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	b = bind_call(&h);
	b.flags |= 1 << 30;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	b = bind_call(&h);
	b.reserved = 1;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	/* another context's QP, none, one out of range */
	b = bind_call(&h);
	b.qp_num = h.victim.d.o.qp->qp_num;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	b.qp_num = 0;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	b.qp_num = -1;
	CHECK_EQ(bind_post(&h, &b), EINVAL);
	CHECK_EQ(raw_ring(&h.qp, PANE_DB_BIND_MW, 0), EFAULT);
	CHECK_EQ(raw_ring(&h.qp, PANE_DB_BIND_MW, -4096), EFAULT);
	CHECK_EQ(raw_ring(&h.qp, PANE_DB_SEND, h.victim.d.o.qp->qp_num),
		 EINVAL);
	CHECK_EQ(raw_ring(&h.qp, PANE_DB_RECV, h.victim.d.o.qp->qp_num),
		 EINVAL);
	CHECK_EQ(raw_ring(&h.qp, _IO(PANE_DB_IOC_MAGIC, 77), 0), ENOTTY);
	CHECK_EQ(ibv_poll_cq(h.qp.scq, 1, &wc), 0);
	CHECK_EQ(raw_state(&h.qp), IBV_QPS_RTS);
	hostile_close(&h);
}

/* What the completion refuses */
static void bind_refused(struct hostile *h, struct pane_bind_mw *b,
			 enum pane_vendor_err verr)
{
	struct ibv_wc wc;

	CHECK_OK(bind_post(h, b));
	CHECK_WC(h->qp.scq, 1, IBV_WC_MW_BIND_ERR, &wc);
	CHECK_EQ(wc.vendor_err, verr);
	raw_reconnect(&h->qp, &h->d.p);
}

static void test_call_keys(const void *arg)
{
	struct pane_bind_mw b;
	struct hostile h;

	hostile_open(&h);
	b = bind_call(&h);
	b.rkey = h.mw2->rkey;
	bind_refused(&h, &b, PANE_VERR_BIND_MW);
	b = bind_call(&h);
	b.rkey = h.victim.mw1->rkey;
	bind_refused(&h, &b, PANE_VERR_BIND_PD);
	/* an unbind would do harm, too */
	b = bind_call(&h);
	b.rkey = h.victim.mw1->rkey;
	b.length = 0;
	bind_refused(&h, &b, PANE_VERR_BIND_PD);
	b = bind_call(&h);
	b.lkey = h.victim.d.mem.mr->lkey;
	b.addr = region_at(&h.victim.d.mem, 0);
	bind_refused(&h, &b, PANE_VERR_BIND_PD);
	b = bind_call(&h);
	CHECK_OK(bind_post(&h, &b));
	CHECK_WC(h.qp.scq, 1, IBV_WC_SUCCESS, NULL);
	CHECK_EQ(ep_write(&h.d.p, &h.d.buf, WIN_LEN, b.addr, b.rkey),
		 IBV_WC_SUCCESS);
	hostile_close(&h);
}

/* One request more than the queue holds, and the key goes back */
static void test_call_full(const void *arg)
{
	struct pane_bind_mw b;
	struct hostile h;
	struct ibv_wc wc;

	hostile_open(&h);
	raw_modify(&h.qp, IBV_QPS_SQD);
	b = bind_call(&h);
	for (unsigned int i = 0; i < h.qp.ring.sq_count; i++)
		CHECK_OK(bind_post(&h, &b));
	for (unsigned int i = 0; i < 1000; i++)
		CHECK_EQ(bind_post(&h, &b), ENOMEM);
	CHECK_EQ(ibv_poll_cq(h.qp.scq, 1, &wc), 0);
	raw_modify(&h.qp, IBV_QPS_RTS);
	for (unsigned int i = 0; i < h.qp.ring.sq_count; i++)
		CHECK_WC(h.qp.scq, 1, IBV_WC_SUCCESS, NULL);
	hostile_close(&h);
}

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(wqe_rows); i++)
		pane_test(0, test_wqe, &wqe_rows[i], "own ring: %s",
			  wqe_rows[i].name);
	pane_test(0, test_call_refused, NULL, "own bind call: refused at once");
	pane_test(0, test_call_keys, NULL, "own bind call: keys of others");
	pane_test(0, test_call_full, NULL, "own bind call: queue full");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
