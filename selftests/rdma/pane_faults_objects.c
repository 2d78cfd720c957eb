// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Contexts, domains, regions, windows, address handles, groups */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_faults.h"

/* ---- contexts and domains -------------------------------------------- */

static int call_open(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->ctx, ibv_open_device(st->d.own.ctx->device));
}

static void undo_open(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_close_device(STAGE(ctx)->ctx));
}

static int call_close(void *ctx)
{
	return ibv_close_device(STAGE(ctx)->ctx);
}

static int call_pd(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->spare_pd, ibv_alloc_pd(st->d.own.ctx));
}

static void undo_pd(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_dealloc_pd(STAGE(ctx)->spare_pd));
}

static int call_dealloc_pd(void *ctx)
{
	return ibv_dealloc_pd(STAGE(ctx)->spare_pd);
}

static int call_xrcd(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->new_xrcd, xrcd_open(st->d.own.ctx));
}

static void undo_xrcd(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_close_xrcd(STAGE(ctx)->new_xrcd));
}

static int call_close_xrcd(void *ctx)
{
	return ibv_close_xrcd(STAGE(ctx)->new_xrcd);
}

/* ---- regions --------------------------------------------------------- */

static int reg(struct stage *st, size_t len, int access)
{
	return MAKE(st->mr, ibv_reg_mr(st->d.own.pd, st->big.addr, len,
				       access));
}

static int call_reg_small(void *ctx)
{
	return reg(ctx, 100, MR_BINDABLE | RIGHTS_ALL);
}

static int call_reg_big(void *ctx)
{
	return reg(ctx, BIG_LEN, MR_BINDABLE | RIGHTS_ALL);
}

static int call_reg_odp(void *ctx)
{
	return reg(ctx, BIG_LEN, MR_BINDABLE | RIGHTS_ALL |
		   IBV_ACCESS_ON_DEMAND);
}

static void undo_reg(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_dereg_mr(STAGE(ctx)->mr));
}

static int call_dereg(void *ctx)
{
	return ibv_dereg_mr(STAGE(ctx)->mr);
}

/*
 * A region whose change failed is either as before, or gone but for its object:
 * in either case it can be deregistered.
 */
static int call_rereg(void *ctx)
{
	struct stage *st = ctx;

	switch (ibv_rereg_mr(st->mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			     IBV_REREG_MR_CHANGE_PD |
			     IBV_REREG_MR_CHANGE_ACCESS, st->pd,
			     st->big.addr + 4096, BIG_LEN - 4096,
			     MR_BINDABLE)) {
	case 0:
		return 0;
	case IBV_REREG_MR_ERR_INPUT:
		return EINVAL;
	default:
		return errno;
	}
}

static void undo_rereg(void *ctx, bool done)
{
	undo_reg(ctx, true);
}

static int call_advise(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_sge sge = {
		.addr = (uintptr_t)st->big.addr,
		.length = BIG_LEN,
		.lkey = st->mr->lkey,
	};

	return ibv_advise_mr(st->d.own.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

/* ---- windows --------------------------------------------------------- */

static int call_mw1(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->mw, ibv_alloc_mw(st->d.own.pd, IBV_MW_TYPE_1));
}

static int call_mw2(void *ctx)
{
	struct stage *st = ctx;

	return MAKE(st->mw, ibv_alloc_mw(st->d.own.pd, IBV_MW_TYPE_2));
}

static void undo_mw(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_dealloc_mw(STAGE(ctx)->mw));
}

/* Deallocated while it is bound */
static int prepare_bound(void *ctx)
{
	struct stage *st = ctx;

	CHECK_OK(call_mw2(ctx));
	mw_bind(&st->d.o, st->mw, &st->d.mem, 0, 4096, RIGHTS_RW);
	return 0;
}

static int call_dealloc_mw(void *ctx)
{
	return ibv_dealloc_mw(STAGE(ctx)->mw);
}

/* ---- address handles and groups -------------------------------------- */

static int call_ah(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_ah_attr attr = ah_attr_to(&st->d.own, &st->d.peer.gid);

	return MAKE(st->ah, ibv_create_ah(st->d.own.pd, &attr));
}

static void undo_ah(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_destroy_ah(STAGE(ctx)->ah));
}

static int call_destroy_ah(void *ctx)
{
	return ibv_destroy_ah(STAGE(ctx)->ah);
}

/* 239.7.7.7, as the GIDs of RoCE v2 have it */
static const union ibv_gid group = {
	.raw = { [10] = 0xff, 0xff, 239, 7, 7, 7 },
};

static int call_attach(void *ctx)
{
	return ibv_attach_mcast(STAGE(ctx)->ud, &group, 0);
}

static void undo_attach(void *ctx, bool done)
{
	if (done)
		CHECK_OK(ibv_detach_mcast(STAGE(ctx)->ud, &group, 0));
}

static int call_detach(void *ctx)
{
	return ibv_detach_mcast(STAGE(ctx)->ud, &group, 0);
}

static const struct fault_call calls[] = {
	{ "open_device", NULL, call_open, undo_open, .any_error = true },
	{ "close_device", call_open, call_close, undo_open, .removes = true },
	{ "alloc_pd", NULL, call_pd, undo_pd },
	{ "dealloc_pd", call_pd, call_dealloc_pd, undo_pd, .removes = true },
	{ "open_xrcd", NULL, call_xrcd, undo_xrcd },
	{ "close_xrcd", call_xrcd, call_close_xrcd, undo_xrcd,
	  .removes = true },
	{ "reg_mr, within a page", NULL, call_reg_small, undo_reg },
	{ "reg_mr, many pages", NULL, call_reg_big, undo_reg },
	{ "rereg_mr", call_reg_small, call_rereg, undo_rereg },
	{ "dereg_mr", call_reg_small, call_dereg, undo_reg, .removes = true },
	{ "reg_mr, on demand", NULL, call_reg_odp, undo_reg },
	{ "advise_mr", call_reg_odp, call_advise, undo_rereg },
	{ "alloc_mw, type 1", NULL, call_mw1, undo_mw },
	{ "alloc_mw, type 2", NULL, call_mw2, undo_mw },
	{ "dealloc_mw, bound", prepare_bound, call_dealloc_mw, undo_mw,
	  .removes = true },
	{ "create_ah", NULL, call_ah, undo_ah },
	{ "destroy_ah", call_ah, call_destroy_ah, undo_ah, .removes = true },
	{ "attach_mcast", NULL, call_attach, undo_attach },
	{ "detach_mcast", call_attach, call_detach, undo_attach,
	  .removes = true },
};

const struct faults_list faults_objects = { calls, ARRAY_SIZE(calls) };
