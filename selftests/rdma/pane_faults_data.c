// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests: whatever fails on the way, the peer's memory and the status agree */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_faults.h"

/* ---- data ------------------------------------------------------------ */

/* A shortage delays what is sent, and no more */
static int moved(enum ibv_wc_status status)
{
	CHECK_EQ(status, IBV_WC_SUCCESS);
	return 0;
}

static int prepare_data(void *ctx)
{
	static unsigned int seed;
	struct stage *st = ctx;

	fill_pattern(st->d.buf.addr, WIN_LEN, ++seed);
	memset(st->d.mem.addr, 0, DUO_LEN);
	return 0;
}

static int prepare_read(void *ctx)
{
	static unsigned int seed;
	struct stage *st = ctx;

	fill_pattern(st->d.mem.addr + WIN_OFF, WIN_LEN, ++seed);
	memset(st->d.buf.addr, 0, WIN_LEN);
	return 0;
}

static bool bytes_same(struct stage *st, size_t len)
{
	return !memcmp(st->d.mem.addr + WIN_OFF, st->d.buf.addr, len);
}

static int call_write(void *ctx)
{
	struct stage *st = ctx;

	return moved(ep_write(&st->d.p, &st->d.buf, WIN_LEN, win_va(st),
			      st->win->rkey));
}

static int call_read(void *ctx)
{
	struct stage *st = ctx;

	return moved(ep_read(&st->d.p, &st->d.buf, WIN_LEN, win_va(st),
			     st->win->rkey));
}

static void undo_long(void *ctx, bool done)
{
	CHECK(bytes_same(ctx, WIN_LEN), "other data");
}

static int call_write_short(void *ctx)
{
	struct stage *st = ctx;

	return moved(ep_write(&st->d.p, &st->d.buf, 100, win_va(st),
			      st->win->rkey));
}

static void undo_short(void *ctx, bool done)
{
	struct stage *st = ctx;

	CHECK(bytes_same(st, 100), "other data");
	CHECK(!st->d.mem.addr[WIN_OFF + 100], "written behind it");
}

static int call_send(void *ctx)
{
	struct stage *st = ctx;
	int err = ep_post_recv(&st->d.o, 5, st->d.mem.addr + WIN_OFF, WIN_LEN,
			       st->d.mem.mr->lkey);

	CHECK_OK(err);
	return moved(ep_do(&st->d.p, req_remote(IBV_WR_SEND, &st->d.buf,
						WIN_LEN, 0, 0)));
}

static void undo_send(void *ctx, bool done)
{
	CHECK_WC(STAGE(ctx)->d.o.rcq, 5, IBV_WC_SUCCESS, NULL);
	undo_long(ctx, done);
}

static int prepare_atomic(void *ctx)
{
	struct stage *st = ctx;

	*(uint64_t *)(st->d.mem.addr + WIN_OFF) = 41;
	return 0;
}

static int call_atomic(void *ctx)
{
	struct stage *st = ctx;
	struct req req = req_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, &st->d.buf, 8,
				    win_va(st), st->win->rkey);

	req.compare_add = 1;
	return moved(ep_do(&st->d.p, req));
}

/* Once, however often it was sent */
static void undo_atomic(void *ctx, bool done)
{
	struct stage *st = ctx;

	CHECK_EQ(*(uint64_t *)st->d.buf.addr, 41);
	CHECK_EQ(*(uint64_t *)(st->d.mem.addr + WIN_OFF), 42);
}

/* ---- windows --------------------------------------------------------- */

static int short_of_memory(enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return 0;
	CHECK_EQ(status, IBV_WC_MW_BIND_ERR);
	return ENOMEM;
}

/* The window of the stage is closed while the connection is made anew */
static void reconnect(struct stage *st)
{
	ep_reconnect(&st->d.o, &st->d.p);
	mw_bind(&st->d.o, st->win, &st->d.mem, WIN_OFF, WIN_LEN, RIGHTS_ALL);
}

static int prepare_bind1(void *ctx)
{
	struct stage *st = ctx;

	st->mw = mw_open(st->d.own.pd, IBV_MW_TYPE_1);
	return 0;
}

static int prepare_bind2(void *ctx)
{
	struct stage *st = ctx;

	st->mw = mw_open(st->d.own.pd, IBV_MW_TYPE_2);
	return 0;
}

static int call_bind(void *ctx)
{
	struct stage *st = ctx;
	struct ibv_mw_bind_info info = bind_info(&st->d.mem, WIN_OFF, 100,
						 RIGHTS_RW);
	struct ibv_wc wc;
	int err;

	err = mw_post_bind(&st->d.o, st->mw, &info, IBV_SEND_SIGNALED, 6);
	if (err)
		return err;
	cq_wait(st->d.o.scq, &wc);
	return short_of_memory(wc.status);
}

static void undo_bind(void *ctx, bool done)
{
	struct stage *st = ctx;

	if (done)
		duo_check_access(&st->d, &st->d.p, win_va(st), st->mw->rkey,
				 WIN_OFF, 100);
	else if (ep_state(&st->d.o) != IBV_QPS_RTS)
		reconnect(st);
	mw_close(st->mw);
}

static int prepare_inval(void *ctx)
{
	struct stage *st = ctx;

	CHECK_OK(prepare_bind2(ctx));
	mw_bind(&st->d.o, st->mw, &st->d.mem, WIN_OFF, 100, RIGHTS_RW);
	return 0;
}

static int call_inval(void *ctx)
{
	struct stage *st = ctx;

	return short_of_memory(ep_local_inv(&st->d.o, st->mw->rkey));
}

static void undo_inval(void *ctx, bool done)
{
	struct stage *st = ctx;

	CHECK(done, "an invalidate needs no memory");
	CHECK_EQ(duo_probe(&st->d, win_va(st), st->mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	mw_close(st->mw);
}

static const struct fault_call calls[] = {
	{ "WRITE, one packet", prepare_data, call_write_short, undo_short },
	{ "WRITE, many packets", prepare_data, call_write, undo_long },
	{ "READ", prepare_read, call_read, undo_long },
	{ "SEND", prepare_data, call_send, undo_send },
	{ "atomic", prepare_atomic, call_atomic, undo_atomic },
	{ "bind_mw, type 1", prepare_bind1, call_bind, undo_bind },
	{ "bind, type 2", prepare_bind2, call_bind, undo_bind },
	{ "LOCAL_INV", prepare_inval, call_inval, undo_inval },
};

const struct faults_list faults_data = { calls, ARRAY_SIZE(calls) };
