// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a bind makes of a window of each type: its key, what was bound before,
 * and that length 0 unbinds or is refused.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		9000
#define KEY_BYTE	0xffU

/* The window of most tests, and the owner's memory it is over */
static uint64_t win_va(const struct duo *d)
{
	return region_at(&d->mem, WIN_OFF);
}

static void win_bind(struct duo *d, struct endpoint *o, struct ibv_mw *mw)
{
	mw_bind(o, mw, &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
}

static void win_check(struct duo *d, struct endpoint *p, struct ibv_mw *mw)
{
	duo_check_access(d, p, win_va(d), mw->rkey, WIN_OFF, WIN_LEN);
}

/* ---- keys ------------------------------------------------------------ */

static void test_type1_new_key(const void *arg)
{
	struct ibv_mw_bind_info info;
	uint32_t old, older;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	older = mw->rkey;
	win_bind(&d, &d.o, mw);
	old = mw->rkey;
	CHECK(old >> 8 != older >> 8, "keys %#x %#x", older, old);

	info = bind_info(&d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	CHECK_OK(mw_post_bind(&d.o, mw, &info, IBV_SEND_SIGNALED, 1));
	/* known before the completion is */
	CHECK(mw->rkey >> 8 != old >> 8, "keys %#x %#x", old, mw->rkey);
	CHECK_WC(d.o.scq, 1, IBV_WC_SUCCESS, NULL);
	win_check(&d, &d.p, mw);
	CHECK_EQ(duo_probe(&d, win_va(&d), old), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&d, win_va(&d), older), IBV_WC_REM_ACCESS_ERR);
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_close(&d);
}

/* The index differs each time, and the byte is not counted up */
static void test_type1_keys_differ(const void *arg)
{
	unsigned int num = 0, steps = 0;
	bool seen[KEY_BYTE + 1] = {};
	struct ibv_mw *mw;
	uint32_t old;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	for (unsigned int i = 0; i < 256; i++) {
		old = mw->rkey;
		win_bind(&d, &d.o, mw);
		CHECK(mw->rkey >> 8 != old >> 8, "keys %#x %#x", old,
		      mw->rkey);
		steps += ((mw->rkey - old) & KEY_BYTE) == 1;
		num += !seen[mw->rkey & KEY_BYTE];
		seen[mw->rkey & KEY_BYTE] = true;
	}
	/* 162 and 1 are expected; these are far out */
	CHECK(num > 100 && num < 220, "%u different bytes", num);
	CHECK(steps < 20, "the next byte %u times", steps);
	mw_close(mw);
	duo_close(&d);
}

static const struct {
	const char *name;
	bool flushed;
	bool rebind;
} failures[] = {
	{ "refused, the first", false, false },
	{ "refused, a rebind", false, true },
	{ "flushed, the first", true, false },
	{ "flushed, a rebind", true, true },
};

/*
 * The key that a bind gave is what its caller has, though the bind failed: it
 * opens nothing, the one before goes on, and the window can be bound again, as
 * often as you like.
 */
static void test_type1_failed(const void *arg)
{
	const typeof(*failures) *f = arg;
	struct ibv_mw_bind_info info;
	uint32_t good = 0, bad;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	for (unsigned int round = 0; round < 3; round++) {
		if (f->rebind) {
			win_bind(&d, &d.o, mw);
			good = mw->rkey;
		}
		info = bind_info(&d.mem, WIN_OFF, d.mem.len, RIGHTS_RW);
		if (f->flushed)
			ep_modify(&d.o, IBV_QPS_ERR);
		CHECK_EQ(mw_try_bind(&d.o, mw, &info), f->flushed ?
			 IBV_WC_WR_FLUSH_ERR : IBV_WC_MW_BIND_ERR);
		bad = mw->rkey;
		CHECK(bad != good, "the same key");
		ep_reconnect(&d.o, &d.p);
		if (f->rebind)
			duo_check_access(&d, &d.p, win_va(&d), good, WIN_OFF,
					 WIN_LEN);
		CHECK_EQ(duo_probe(&d, win_va(&d), bad),
			 IBV_WC_REM_ACCESS_ERR);
	}
	win_bind(&d, &d.o, mw);
	win_check(&d, &d.p, mw);
	CHECK_EQ(duo_probe(&d, win_va(&d), bad), IBV_WC_REM_ACCESS_ERR);
	if (f->rebind)
		CHECK_EQ(duo_probe(&d, win_va(&d), good),
			 IBV_WC_REM_ACCESS_ERR);
	mw_unbind(&d.o, mw);
	mw_close(mw);
	duo_close(&d);
}

static struct req type2_bind(struct duo *d, struct ibv_mw *mw, uint32_t rkey)
{
	return (struct req) {
		.opcode = IBV_WR_BIND_MW,
		.mw = mw,
		.rkey = rkey,
		.bind = bind_info(&d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW),
	};
}

/* Each byte, and each twice in a row: the one it has is as good as another */
static void test_type2_bytes(const void *arg)
{
	struct ibv_mw *mw;
	uint32_t index;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	index = mw->rkey & ~KEY_BYTE;
	for (unsigned int i = 0; i < 2 * (KEY_BYTE + 1); i++) {
		uint32_t rkey = index | i / 2;

		CHECK_EQ(ep_do(&d.o, type2_bind(&d, mw, rkey)), IBV_WC_SUCCESS);
		CHECK_EQ(mw->rkey, rkey);
		CHECK_EQ(ep_write(&d.p, &d.buf, 8, win_va(&d), rkey),
			 IBV_WC_SUCCESS);
		mw_unbind(&d.o, mw);
	}
	mw_close(mw);
	duo_close(&d);
}

/* The key is in mw->rkey when the post returns, whatever upper bits were asked */
static void test_type2_upper_bits(const void *arg)
{
	uint32_t index, want;
	struct ibv_mw *mw;
	struct req req;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	index = mw->rkey & ~KEY_BYTE;
	want = index | 0x5a;
	req = type2_bind(&d, mw, ~index | 0x5a);
	req.flags = IBV_SEND_SIGNALED;
	req.id = 7;
	req.rkey = (~index & ~KEY_BYTE) | 0x5a;
	CHECK_OK(ep_post(&d.o, &req, 1));
	CHECK_EQ(mw->rkey, want);
	CHECK_WC(d.o.scq, 7, IBV_WC_SUCCESS, NULL);
	win_check(&d, &d.p, mw);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, win_va(&d), req.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	duo_close(&d);
}

/* Applications that never heard of mw->rkey's new value leave an old byte there */
static void test_type2_stale_byte(const void *arg)
{
	struct ibv_mw *mw;
	uint32_t index;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	index = mw->rkey & ~KEY_BYTE;
	for (unsigned int i = 0; i < 16; i++) {
		mw->rkey = index | (i * 77 & KEY_BYTE);
		CHECK_EQ(ep_do(&d.o, type2_bind(&d, mw, index | i)),
			 IBV_WC_SUCCESS);
		CHECK_EQ(mw->rkey, index | i);
		CHECK_EQ(ep_write(&d.p, &d.buf, 8, win_va(&d), index | i),
			 IBV_WC_SUCCESS);
		CHECK_EQ(ep_local_inv(&d.o, index | i), IBV_WC_SUCCESS);
	}
	mw_close(mw);
	duo_close(&d);
}

/* Several windows in one batch: each has its key when the batch is accepted */
static void test_type2_batch(const void *arg)
{
	enum { NUM = 12 };
	struct req reqs[NUM];
	struct ibv_mw *mw[NUM];
	uint32_t want[NUM];
	struct duo d;

	duo_open(&d);
	for (unsigned int i = 0; i < NUM; i++) {
		mw[i] = mw_open(d.own.pd, IBV_MW_TYPE_2);
		want[i] = ibv_inc_rkey(mw[i]->rkey);
		reqs[i] = type2_bind(&d, mw[i], want[i]);
		reqs[i].bind = bind_info(&d.mem, i * 100, 100, RIGHTS_RW);
	}
	reqs[NUM - 1].flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(&d.o, reqs, NUM));
	for (unsigned int i = 0; i < NUM; i++)
		CHECK_EQ(mw[i]->rkey, want[i]);
	CHECK_WC(d.o.scq, 0, IBV_WC_SUCCESS, NULL);
	for (unsigned int i = 0; i < NUM; i++) {
		duo_check_access(&d, &d.p, region_at(&d.mem, i * 100), want[i],
				 i * 100, 100);
		mw_close(mw[i]);
	}
	duo_close(&d);
}

/* ---- binding what is bound ------------------------------------------- */

static void test_type1_rebind(const void *arg)
{
	struct ibv_mw *mw;
	uint32_t old;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	win_bind(&d, &d.o, mw);
	old = mw->rkey;
	/* C10-68: range, rights and key are replaced at once */
	mw_bind(&d.o, mw, &d.mem, 100, 50, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(duo_probe(&d, region_at(&d.mem, 100), mw->rkey),
		 IBV_WC_SUCCESS);
	CHECK_EQ(duo_probe(&d, win_va(&d), old), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&d, win_va(&d), mw->rkey), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ep_write(&d.p, &d.buf, 50, region_at(&d.mem, 100), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	mw_close(mw);
	duo_close(&d);
}

/* A bind of a bound type 2 window: o10-37.2.30 */
struct rebind {
	const char *name;
	bool same_qp;
	bool same_key;
};

static const struct rebind type2_rebinds[] = {
	{ "same QP, same key", true, true },
	{ "same QP, other key", true, false },
	{ "other QP, same key", false, true },
	{ "other QP, other key", false, false },
};

static void test_type2_rebind(const void *arg)
{
	const struct rebind *re = arg;
	struct endpoint o, p;
	struct ibv_mw *mw;
	struct req req;
	struct duo d;
	uint32_t rkey;

	duo_open(&d);
	duo_link(&d, &o, &p);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	win_bind(&d, &o, mw);
	rkey = mw->rkey;
	req = type2_bind(&d, mw, re->same_key ? rkey : rkey + 1);
	CHECK_EQ(ep_do(re->same_qp ? &o : &d.o, req), IBV_WC_MW_BIND_ERR);
	CHECK_EQ(ep_state(re->same_qp ? &o : &d.o), IBV_QPS_ERR);
	/* still bound where it was */
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	if (!re->same_qp)
		duo_check_access(&d, &p, win_va(&d), rkey, WIN_OFF, WIN_LEN);
	mw_close(mw);
	duo_unlink(&o, &p);
	duo_close(&d);
}

/* ---- length 0 -------------------------------------------------------- */

struct zero_length {
	const char *name;
	bool null_mr;
};

static const struct zero_length zero_lengths[] = {
	{ "with its MR", false },
	{ "without MR", true },
};

static void test_type1_unbind(const void *arg)
{
	const struct zero_length *z = arg;
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	uint32_t old;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	win_bind(&d, &d.o, mw);
	old = mw->rkey;
	info = bind_info(&d.mem, WIN_OFF, 0, RIGHTS_RW);
	if (z->null_mr)
		info = (struct ibv_mw_bind_info) {};
	CHECK_EQ(mw_try_bind(&d.o, mw, &info), IBV_WC_SUCCESS);
	CHECK(mw->rkey >> 8 != old >> 8, "keys %#x %#x", old, mw->rkey);
	CHECK_EQ(duo_probe(&d, win_va(&d), old), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&d, win_va(&d), mw->rkey), IBV_WC_REM_ACCESS_ERR);
	/* again, on what is unbound already; then the window is of use */
	CHECK_EQ(mw_try_bind(&d.o, mw, &info), IBV_WC_SUCCESS);
	win_bind(&d, &d.o, mw);
	win_check(&d, &d.p, mw);
	CHECK_EQ(mw_try_bind(&d.o, mw, &info), IBV_WC_SUCCESS);
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	d.mem.mr = ibv_reg_mr(d.own.pd, d.mem.addr, d.mem.len, MR_BINDABLE);
	CHECK(d.mem.mr, "%s", strerror(errno));
	mw_close(mw);
	duo_close(&d);
}

static void test_type1_null_mr(const void *arg)
{
	struct ibv_mw_bind bind = {};
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_1);
	bind.bind_info.length = 1;
	CHECK_EQ(d.own.ctx->ops.bind_mw(d.o.qp, mw, &bind), EINVAL);
	bind.bind_info.length = 0;
	bind.bind_info.addr = 1;
	CHECK_EQ(d.own.ctx->ops.bind_mw(d.o.qp, mw, &bind), EINVAL);
	CHECK_EQ(ep_state(&d.o), IBV_QPS_RTS);
	mw_close(mw);
	duo_close(&d);
}

/* o10-37.2.40; what the kernel says to it is in pane_mw_post */
static void test_type2_zero_length(const void *arg)
{
	struct ibv_mw *mw;
	struct req req;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	req = type2_bind(&d, mw, mw->rkey);
	req.bind.length = 0;
	CHECK_EQ(ep_post(&d.o, &req, 1), EINVAL);
	req.bind.mr = NULL;
	CHECK_EQ(ep_post(&d.o, &req, 1), EINVAL);
	req.bind.length = 1;
	CHECK_EQ(ep_post(&d.o, &req, 1), EINVAL);
	CHECK_EQ(ep_state(&d.o), IBV_QPS_RTS);
	win_bind(&d, &d.o, mw);
	win_check(&d, &d.p, mw);
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(V_PATHS | V_QPS, test_type1_new_key, NULL,
		  "rkey: type 1 has a new one when ibv_bind_mw returns");
	pane_test(0, test_type1_keys_differ, NULL,
		  "rkey: type 1 changes index and byte");
	for (unsigned int i = 0; i < ARRAY_SIZE(failures); i++)
		pane_test(V_PATHS | V_QPS, test_type1_failed, &failures[i],
			  "rkey: type 1 can be bound after a bind was %s",
			  failures[i].name);
	pane_test(V_APIS | V_QPS, test_type2_bytes, NULL,
		  "rkey: type 2 takes every byte, the same again too");
	pane_test(V_APIS | V_QPS, test_type2_upper_bits, NULL,
		  "rkey: type 2 ignores other upper bits");
	pane_test(V_APIS | V_QPS, test_type2_stale_byte, NULL,
		  "rkey: type 2 with a stale byte in mw->rkey");
	pane_test(V_APIS | V_QPS, test_type2_batch, NULL,
		  "rkey: type 2, several in one post");
	pane_test(V_PATHS | V_QPS, test_type1_rebind, NULL,
		  "bind while bound: type 1 is replaced");
	for (unsigned int i = 0; i < ARRAY_SIZE(type2_rebinds); i++)
		pane_test(V_APIS | V_QPS, test_type2_rebind,
			  &type2_rebinds[i],
			  "bind while bound: type 2 is refused, %s",
			  type2_rebinds[i].name);
	for (unsigned int i = 0; i < ARRAY_SIZE(zero_lengths); i++)
		pane_test(V_QPS, test_type1_unbind, &zero_lengths[i],
			  "zero length: unbinds type 1, %s",
			  zero_lengths[i].name);
	pane_test(V_QPS, test_type1_null_mr, NULL,
		  "zero length: type 1 without MR is for unbinding only");
	pane_test(V_APIS | V_QPS, test_type2_zero_length, NULL,
		  "zero length: type 2 is refused");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
