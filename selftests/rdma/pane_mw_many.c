// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * As many windows as a device can have: all of use, each with a key of its own,
 * one more is refused, and what they cost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_util.h"

#define MANY		(1U << 20)	/* max_mw */
/* What a window may take of the driver's own memory, and of all there is */
#define MAX_OWN		256
#define MAX_ALL		1024
/* Accesses through windows of the many */
#define SAMPLES		2000
/* So many are asked for beyond the limit */
#define BEYOND		100

static struct ibv_mw **windows;

/* ---- memory ---------------------------------------------------------- */

#define TRACING		"/sys/kernel/tracing"

static bool trace_write(const char *name, const char *text)
{
	return pane_file_write(TRACING, name, text);
}

static bool trace_enable(const char *text)
{
	return trace_write("events/kmem/kmalloc/enable", text) &&
	       trace_write("events/kmem/kmem_cache_alloc/enable", text);
}

/* Bytes that functions whose names begin so have allocated, by the trace */
static unsigned int trace_bytes(const char *begin)
{
	FILE *f = fopen(TRACING "/trace", "r");
	unsigned int bytes = 0, num;
	char line[512], *at;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "call_site=");
		if (!at || strncmp(at + 10, begin, strlen(begin)))
			continue;
		at = strstr(at, "bytes_alloc=");
		if (at && sscanf(at + 12, "%u", &num) == 1)
			bytes += num;
	}
	if (f)
		fclose(f);
	return bytes;
}

static void check_size(const char *what, unsigned int bytes)
{
	ksft_print_msg("windows: %s of %u bytes\n", what, bytes);
	CHECK(bytes && bytes <= MAX_OWN, "%s: %u bytes", what, bytes);
}

/*
 * What the driver allocates for a window, and for its binding. The object
 * begins with what the RDMA core keeps there.
 */
static void test_size(const void *arg)
{
	unsigned int object, binding;
	struct ibv_mw *mw;
	struct duo d;
	char pid[16];

	duo_open(&d);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!trace_write("set_event_pid", pid) || !trace_write("trace", "") ||
	    !trace_enable("1"))
		pane_skip("no tracing of allocations");
	mw = mw_open(d.own.pd, pane_cfg.mw_type);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	trace_enable("0");
	trace_write("set_event_pid", "");
	object = trace_bytes("ib_uverbs_alloc_mw");
	binding = trace_bytes("pane_");
	check_size("object", object);
	check_size("binding", binding);
	CHECK(object + binding <= MAX_OWN, "%u bytes", object + binding);
	mw_close(mw);
	duo_close(&d);
}

/* ---- a million ------------------------------------------------------- */

static void windows_open(struct duo *d, unsigned int num)
{
	uint8_t *seen = calloc(1 << 24, 1);

	CHECK(seen, "no memory");
	for (unsigned int i = 0; i < num; i++) {
		if (i % 65536 == 0)
			pane_more_time();
		windows[i] = mw_open(d->own.pd, IBV_MW_TYPE_1);
		CHECK(!seen[windows[i]->rkey >> 8]++, "key %#x twice",
		      windows[i]->rkey);
	}
	free(seen);
}

static void windows_close(unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		if (i % 65536 == 0)
			pane_more_time();
		mw_close(windows[i]);
	}
}

/* Over bytes of its own, if there are enough */
static size_t window_off(unsigned int i)
{
	return i * 8 % DUO_LEN;
}

static void windows_bind(struct duo *d, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		if (i % 65536 == 0)
			pane_more_time();
		mw_bind(&d->o, windows[i], &d->mem, window_off(i), 8,
			RIGHTS_RW);
	}
}

static void windows_use(struct duo *d, unsigned int num)
{
	for (unsigned int n = 0; n < pane_rounds(SAMPLES); n++) {
		unsigned int i = random() % num;

		duo_check_access(d, &d->p, region_at(&d->mem, window_off(i)),
				 windows[i]->rkey, window_off(i), 8);
	}
}

/* No more than that; and with all there are rebinds are possible */
static void windows_full(struct duo *d, unsigned int num)
{
	uint32_t old;

	for (unsigned int i = 0; i < BEYOND; i++) {
		errno = 0;
		CHECK(!ibv_alloc_mw(d->own.pd, i & 1 ? IBV_MW_TYPE_2 :
						       IBV_MW_TYPE_1),
		      "one more");
		CHECK_EQ(errno, ENOMEM);
	}
	for (unsigned int i = 0; i < BEYOND; i++) {
		mw_close(windows[i]);
		windows[i] = mw_open(d->own.pd, IBV_MW_TYPE_1);
		old = windows[i]->rkey;
		mw_bind(&d->o, windows[i], &d->mem, window_off(i), 8,
			RIGHTS_RW);
		CHECK(windows[i]->rkey >> 8 != old >> 8, "key %#x again", old);
	}
	CHECK(!ibv_alloc_mw(d->own.pd, IBV_MW_TYPE_1), "one more");
}

static void test_million(const void *arg)
{
	struct ibv_device_attr attr;
	long before, used;
	unsigned int num;
	struct duo d;

	duo_open(&d);
	CHECK_OK(ibv_query_device(d.own.ctx, &attr));
	num = attr.max_mw;
	CHECK(num >= MANY, "%u", num);
	if (pane_kernel_checks())
		pane_skip("each window takes far more memory on such a kernel");
	before = pane_available_kib();
	if (before < (long)num * (MAX_ALL / 1024))
		pane_skip("only %ld MiB of memory", before / 1024);
	windows = calloc(num, sizeof(*windows));
	CHECK(windows, "no memory");
	srandom(d.o.qp->qp_num);

	windows_open(&d, num);
	used = before - pane_available_kib();
	ksft_print_msg("%u windows: %ld bytes each, with those of the RDMA core and the library\n",
		       num, used * 1024 / num);
	CHECK(used < (long)num * (MAX_ALL / 1024), "%ld KiB", used);
	windows_bind(&d, pane_rounds(num));
	windows_use(&d, pane_rounds(num));
	windows_full(&d, num);
	windows_close(num);
	duo_close(&d);
}

static void list(void)
{
	pane_test(V_T1 | V_T2B, test_size, NULL,
		  "memory of a window and its binding");
	pane_test(0, test_million, NULL, "a million windows, and one more");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
