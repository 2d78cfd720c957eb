// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is legal at bind, though one might think otherwise (B6 to B8), and binds
 * of all kinds on each transport.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_util.h"

#define WIN_OFF		1000
#define WIN_LEN		3000

/* ---- B6, B7, B8 ------------------------------------------------------ */

/* The MR's own remote rights do not matter, and none need be asked for */
static void test_b6_access_0(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &d.mem, WIN_OFF, WIN_LEN, 0);
	CHECK_EQ(ep_read(&d.p, &d.buf, 1, region_at(&d.mem, WIN_OFF),
			 mw->rkey), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
	mw_close(mw);
	duo_close(&d);
}

static void test_b6_read(const void *arg)
{
	struct region r;
	struct duo d;
	struct ibv_mw *mw;

	duo_open(&d);
	region_open(&r, d.own.pd, DUO_LEN, 0, IBV_ACCESS_MW_BIND);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &r, WIN_OFF, WIN_LEN, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(ep_read(&d.p, &d.buf, WIN_LEN, region_at(&r, WIN_OFF),
			 mw->rkey), IBV_WC_SUCCESS);
	CHECK(!memcmp(d.buf.addr, r.addr + WIN_OFF, WIN_LEN), "other data");
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, region_at(&r, WIN_OFF), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	region_close(&r);
	duo_close(&d);
}

/* A region that opens more than its window does not lend it that */
static void test_b6_mr_rights(const void *arg)
{
	struct region r;
	struct duo d;
	struct ibv_mw *mw;

	duo_open(&d);
	region_open(&r, d.own.pd, DUO_LEN, 0, MR_BINDABLE | RIGHTS_ALL);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &r, WIN_OFF, WIN_LEN, IBV_ACCESS_REMOTE_READ);
	/* the region's key, over all of it */
	CHECK_EQ(ep_write(&d.p, &d.buf, DUO_LEN, region_at(&r, 0),
			  r.mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ep_read(&d.p, &d.buf, 1, region_at(&r, WIN_OFF), mw->rkey),
		 IBV_WC_SUCCESS);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, region_at(&r, WIN_OFF), mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	region_close(&r);
	duo_close(&d);
}

/* rdma-core's own tests pass them */
static void test_b7_no_effect(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;
	uint64_t va;

	duo_open(&d);
	va = region_at(&d.mem, WIN_OFF);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &d.mem, WIN_OFF, WIN_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
		IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(ep_read(&d.p, &d.buf, 1, va, mw->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, va, mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	duo_close(&d);
}

struct fitting {
	const char *name;
	size_t off;
	size_t len;
};

static const struct fitting fittings[] = {
	{ "the whole MR", 0, DUO_LEN },
	{ "its first byte", 0, 1 },
	{ "its last byte", DUO_LEN - 1, 1 },
	{ "all but its ends", 1, DUO_LEN - 2 },
};

static void test_b8_fits(const void *arg)
{
	const struct fitting *f = arg;
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &d.mem, f->off, f->len, RIGHTS_RW);
	duo_check_access(&d, &d.p, region_at(&d.mem, f->off), mw->rkey,
			 f->off, f->len);
	mw_close(mw);
	duo_close(&d);
}

/* ---- transports ------------------------------------------------------ */

/*
 * A window's life on one transport: bound, of use, unbound, bound to something
 * else, replaced where that is possible
 */
static void test_life(const void *arg)
{
	struct ibv_mw *mw;
	uint32_t old;
	struct duo d;
	uint64_t va;

	duo_open(&d);
	va = region_at(&d.mem, WIN_OFF);
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	/* fewer than UC takes for an attack */
	for (unsigned int i = 0; i < 10; i++) {
		mw_bind(&d.o, mw, &d.mem, WIN_OFF, WIN_LEN + i, RIGHTS_RW);
		duo_check_access(&d, &d.p, va, mw->rkey, WIN_OFF, WIN_LEN + i);
		CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
		old = mw->rkey;
		mw_unbind(&d.o, mw);
		CHECK_EQ(ep_write(&d.p, &d.buf, 1, va, old),
			 IBV_WC_REM_ACCESS_ERR);
		ep_reconnect(&d.o, &d.p);
	}
	mw_bind(&d.o, mw, &d.mem, 0, 8, RIGHTS_RW);
	if (!mw_is_type2(mw)) {
		old = mw->rkey;
		mw_bind(&d.o, mw, &d.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
		CHECK_EQ(duo_probe(&d, region_at(&d.mem, 0), old),
			 IBV_WC_REM_ACCESS_ERR);
		duo_check_access(&d, &d.p, va, mw->rkey, WIN_OFF, WIN_LEN);
	}
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(V_TYPES | V_RC | V_XRC, test_b6_access_0, NULL,
		  "B6 no rights");
	pane_test(V_TYPES | V_RC | V_XRC, test_b6_read, NULL,
		  "B6 READ on an MR without remote rights");
	pane_test(V_TYPES | V_RC | V_XRC, test_b6_mr_rights, NULL,
		  "B6 rights of the MR are not the window's");
	pane_test(V_TYPES | V_RC | V_XRC, test_b7_no_effect, NULL,
		  "B7 flags: LOCAL_WRITE and MW_BIND have no effect");
	for (unsigned int i = 0; i < ARRAY_SIZE(fittings); i++)
		pane_test(V_TYPES | V_QPS, test_b8_fits, &fittings[i],
			  "B8 range: %s", fittings[i].name);
	pane_test(V_TYPES | V_APIS | V_QPS, test_life, NULL,
		  "bind, rebind and unbind on each transport");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
