// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Windows over regions of all kinds, and many over one */
#include <errno.h>

#include "../kselftest.h"
#include "pane_util.h"

/* ---- kinds of regions ------------------------------------------------ */

/* Opens the region; false to skip. @base: address of its first byte */
typedef bool (*region_fn)(struct region *r, struct ibv_pd *pd, uint64_t *base);

#define MANY_PAGES	(8 << 20)

static bool region_unaligned(struct region *r, struct ibv_pd *pd,
			     uint64_t *base)
{
	region_open(r, pd, 3 * 4096 + 77, 1234, MR_BINDABLE);
	*base = region_at(r, 0);
	return true;
}

static bool region_one_byte(struct region *r, struct ibv_pd *pd,
			    uint64_t *base)
{
	region_open(r, pd, 1, 4095, MR_BINDABLE);
	*base = region_at(r, 0);
	return true;
}

static bool region_many_pages(struct region *r, struct ibv_pd *pd,
			      uint64_t *base)
{
	region_open(r, pd, MANY_PAGES, 5, MR_BINDABLE);
	*base = region_at(r, 0);
	return true;
}

static bool region_huge(struct region *r, struct ibv_pd *pd, uint64_t *base)
{
	if (!region_open_huge(r, pd, 4 << 20, MR_BINDABLE))
		return false;
	*base = region_at(r, 0);
	return true;
}

static bool region_iova(struct region *r, struct ibv_pd *pd, uint64_t *base)
{
	/* the same offset in a page is asked for */
	*base = 0x123450000000000 + 1000;
	region_open(r, pd, 50000, 1000, MR_BINDABLE);
	CHECK_OK(ibv_dereg_mr(r->mr));
	r->mr = ibv_reg_mr_iova(pd, r->addr, r->len, *base, MR_BINDABLE);
	CHECK(r->mr, "%s", strerror(errno));
	return true;
}

static bool region_zero_based(struct region *r, struct ibv_pd *pd,
			      uint64_t *base)
{
	*base = 0;
	region_open(r, pd, 50000, 999, MR_BINDABLE | IBV_ACCESS_ZERO_BASED);
	return true;
}

struct region_row {
	const char *name;
	region_fn open;
};

static const struct region_row region_rows[] = {
	{ "unaligned", region_unaligned },
	{ "one byte", region_one_byte },
	{ "many pages", region_many_pages },
	{ "huge pages", region_huge },
	{ "other address", region_iova },
	{ "zero-based", region_zero_based },
};

/* Bind [@off, @off + @len) of @r, whose first byte is @base; go to its ends */
static void region_window(struct duo *d, struct region *r, uint64_t base,
			  size_t off, size_t len, unsigned int access)
{
	struct ibv_mw *mw = mw_open(d->own.pd, pane_cfg.mw_type);
	size_t part = len < DUO_LEN ? len : DUO_LEN;
	struct ibv_mw_bind_info info = {
		.mr = r->mr,
		.addr = base + off,
		.length = len,
		.mw_access_flags = RIGHTS_RW | access,
	};
	uint64_t va = access & IBV_ACCESS_ZERO_BASED ? 0 : base + off;

	CHECK_EQ(mw_try_bind(&d->o, mw, &info), IBV_WC_SUCCESS);
	fill_pattern(d->buf.addr, part, 5);
	CHECK_EQ(ep_write(&d->p, &d->buf, part, va, mw->rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(r->addr + off, part, 5), "other data");
	fill_pattern(d->buf.addr, part, 6);
	CHECK_EQ(ep_write(&d->p, &d->buf, part, va + len - part, mw->rkey),
		 IBV_WC_SUCCESS);
	CHECK(has_pattern(r->addr + off + len - part, part, 6), "other data");
	if (d->p.type != IBV_QPT_UC) {
		CHECK_EQ(ep_read(&d->p, &d->buf, part, va, mw->rkey),
			 IBV_WC_SUCCESS);
		CHECK(!memcmp(d->buf.addr, r->addr + off, part), "other data");
	}
	CHECK_EQ(ep_write(&d->p, &d->buf, 2, va + len - 1, mw->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(r->addr + off + len - part, part, 6),
	      "memory changed");
	ep_reconnect(&d->o, &d->p);
	mw_close(mw);
}

static void test_regions(const void *arg)
{
	const struct region_row *row = arg;
	struct region r;
	uint64_t base;
	struct duo d;

	duo_open(&d);
	if (!row->open(&r, d.own.pd, &base))
		pane_skip("no huge pages");
	region_window(&d, &r, base, 0, r.len, 0);
	region_window(&d, &r, base, 0, r.len, IBV_ACCESS_ZERO_BASED);
	if (r.len > 5000) {
		region_window(&d, &r, base, 4097, r.len - 5000, 0);
		region_window(&d, &r, base, 4097, 3,
			      IBV_ACCESS_ZERO_BASED);
		region_window(&d, &r, base, r.len - 1, 1, 0);
	}
	region_close(&r);
	duo_close(&d);
}

#define MANY_WINDOWS	4096

/* Each over bytes of its own, side by side */
static void test_many_windows(const void *arg)
{
	static struct ibv_mw *mw[MANY_WINDOWS];
	const size_t len = DUO_LEN / MANY_WINDOWS;
	uint64_t before;
	struct duo d;

	duo_open(&d);
	before = counter_read(&d.own, "mw_bound");
	for (unsigned int i = 0; i < MANY_WINDOWS; i++) {
		mw[i] = mw_open(d.own.pd, pane_cfg.mw_type);
		mw_bind(&d.o, mw[i], &d.mem, i * len, len, RIGHTS_RW);
	}
	CHECK_EQ(counter_read(&d.own, "mw_bound"), before + MANY_WINDOWS);
	for (unsigned int i = 0; i < MANY_WINDOWS; i++) {
		memset(d.buf.addr, i * 31, len);
		CHECK_EQ(ep_write(&d.p, &d.buf, len,
				  region_at(&d.mem, i * len), mw[i]->rkey),
			 IBV_WC_SUCCESS);
	}
	for (unsigned int i = 0; i < DUO_LEN; i++)
		CHECK_EQ(d.mem.addr[i], (uint8_t)(i / len * 31));
	CHECK_EQ(ep_write(&d.p, &d.buf, len, region_at(&d.mem, 7 * len),
			  mw[8]->rkey), IBV_WC_REM_ACCESS_ERR);
	for (unsigned int i = 0; i < MANY_WINDOWS; i++)
		mw_close(mw[i]);
	duo_close(&d);
}

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(region_rows); i++)
		pane_test(V_TYPES | V_QPS, test_regions, &region_rows[i],
			  "windows over an MR: %s", region_rows[i].name);
	pane_test(V_TYPES, test_many_windows, NULL, "4096 windows on an MR");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
