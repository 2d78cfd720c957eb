// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>

#include "../kselftest.h"
#include "pane_hostile.h"

static void victim_open(struct victim *v)
{
	duo_open(&v->d);
	v->mw1 = mw_open(v->d.own.pd, IBV_MW_TYPE_1);
	v->mw2 = mw_open(v->d.own.pd, IBV_MW_TYPE_2);
	mw_bind(&v->d.o, v->mw1, &v->d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	mw_bind(&v->d.o, v->mw2, &v->d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
}

/* Nothing has happened to it, and nothing is in its way */
static void victim_close(struct victim *v)
{
	uint64_t va = region_at(&v->d.mem, WIN_OFF);

	CHECK(has_pattern(v->d.mem.addr, DUO_LEN, 0), "neighbour's memory");
	duo_check_access(&v->d, &v->d.p, va, v->mw1->rkey, WIN_OFF, WIN_LEN);
	duo_check_access(&v->d, &v->d.p, va, v->mw2->rkey, WIN_OFF, WIN_LEN);
	CHECK_EQ(ibv_dereg_mr(v->d.mem.mr), EBUSY);
	mw_unbind(&v->d.o, v->mw1);
	mw_unbind(&v->d.o, v->mw2);
	mw_close(v->mw1);
	mw_close(v->mw2);
	duo_close(&v->d);
}

void hostile_open(struct hostile *h)
{
	memset(h, 0, sizeof(*h));
	duo_open(&h->d);
	raw_open(&h->qp, &h->d.own, h->d.own.pd, h->d.o.scq, h->d.o.rcq);
	raw_reconnect(&h->qp, &h->d.p);
	h->pd2 = ibv_alloc_pd(h->d.own.ctx);
	CHECK(h->pd2, "%s", strerror(errno));
	region_open(&h->other, h->pd2, DUO_LEN, 0, MR_BINDABLE | RIGHTS_ALL);
	h->mw1 = mw_open(h->d.own.pd, IBV_MW_TYPE_1);
	h->mw2 = mw_open(h->d.own.pd, IBV_MW_TYPE_2);
	h->foreign = mw_open(h->pd2, IBV_MW_TYPE_2);
	victim_open(&h->victim);
}

struct pane_sq_wqe *hostile_bind(struct hostile *h)
{
	struct pane_sq_wqe *w = raw_slot(&h->qp, 0);

	memset(w, 0, h->qp.ring.sq_stride);
	w->wr_id = 1;
	w->opcode = PANE_WR_BIND_MW;
	w->flags = PANE_WR_SIGNALED;
	w->bind.addr = region_at(&h->d.mem, WIN_OFF);
	w->bind.length = WIN_LEN;
	w->bind.mw_rkey = h->mw2->rkey;
	w->bind.rkey = h->mw2->rkey;
	w->bind.lkey = h->d.mem.mr->lkey;
	w->bind.access = RIGHTS_RW;
	return w;
}

/* What it tried has not harmed itself either: a good bind is as good as ever */
void hostile_close(struct hostile *h)
{
	uint64_t va = region_at(&h->d.mem, WIN_OFF);
	uint32_t rkey = h->mw2->rkey;

	raw_reconnect(&h->qp, &h->d.p);
	hostile_bind(h);
	CHECK_OK(raw_push(&h->qp, 1));
	CHECK_WC(h->qp.scq, 1, IBV_WC_SUCCESS, NULL);
	CHECK_EQ(ep_write(&h->d.p, &h->d.buf, WIN_LEN, va, rkey),
		 IBV_WC_SUCCESS);
	CHECK_EQ(ep_write(&h->d.p, &h->d.buf, WIN_LEN + 1, va, rkey),
		 IBV_WC_REM_ACCESS_ERR);

	victim_close(&h->victim);
	mw_close(h->mw1);
	mw_close(h->mw2);
	mw_close(h->foreign);
	raw_close(&h->qp);
	region_close(&h->other);
	CHECK_OK(ibv_dealloc_pd(h->pd2));
	duo_close(&h->d);
}
