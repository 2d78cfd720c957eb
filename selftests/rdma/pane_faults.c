// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of verbs while memory runs out: each allocation of each call fails in
 * turn. The call then fails and says why, or does without; nothing is left of
 * it, and the next one succeeds.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_faults.h"

/* ---- the stage ------------------------------------------------------- */

static void open_ud(struct stage *st)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = st->cq,
		.recv_cq = st->cq,
		.cap = { .max_send_wr = STEP_WR, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	st->ud = ibv_create_qp(st->d.own.pd, &attr);
	CHECK(st->ud, "%s", strerror(errno));
	CHECK_OK(qp_step(st, st->ud, IBV_QPS_INIT));
	CHECK_OK(qp_step(st, st->ud, IBV_QPS_RTR));
	CHECK_OK(qp_step(st, st->ud, IBV_QPS_RTS));
}

static void stage_count(struct stage *st, struct resources *r)
{
	resources_read(st->nl, ibv_get_device_index(st->d.own.ctx->device), r);
}

static void stage_open(struct stage *st)
{
	*st = (struct stage) { .nl = nldev_open() };
	duo_open(&st->d);
	region_open(&st->big, st->d.own.pd, BIG_LEN, 0, 0);
	st->pd = ibv_alloc_pd(st->d.own.ctx);
	CHECK(st->pd, "%s", strerror(errno));
	st->xrcd = xrcd_open(st->d.own.ctx);
	CHECK(st->xrcd, "%s", strerror(errno));
	st->cq = ibv_create_cq(st->d.own.ctx, 100, NULL, NULL, 0);
	CHECK(st->cq, "%s", strerror(errno));
	open_ud(st);
	st->win = mw_open(st->d.own.pd, IBV_MW_TYPE_2);
	mw_bind(&st->d.o, st->win, &st->d.mem, WIN_OFF, WIN_LEN, RIGHTS_ALL);
	stage_count(st, &st->before);
	/* so that no allocation is that of a page of this program */
	CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "%s", strerror(errno));
}

static void stage_close(struct stage *st)
{
	mw_close(st->win);
	CHECK_OK(ibv_destroy_qp(st->ud));
	CHECK_OK(ibv_destroy_cq(st->cq));
	CHECK_OK(ibv_close_xrcd(st->xrcd));
	CHECK_OK(ibv_dealloc_pd(st->pd));
	region_close(&st->big);
	duo_close(&st->d);
	close(st->nl);
}

/* As many objects as before, and the connection works */
static void stage_same(void *ctx)
{
	struct stage *st = ctx;
	struct resources now;

	stage_count(st, &now);
	for (unsigned int i = 0; i < now.num; i++)
		CHECK(now.count[i] == st->before.count[i], "%s: %llu, not %llu",
		      now.name[i], (unsigned long long)now.count[i],
		      (unsigned long long)st->before.count[i]);
	CHECK_EQ(ep_read(&st->d.p, &st->d.buf, 8, win_va(st), st->win->rkey),
		 IBV_WC_SUCCESS);
}

static void test_call(const void *arg)
{
	struct fault_call c = *(const struct fault_call *)arg;
	static struct stage st;

	stage_open(&st);
	c.same = stage_same;
	c.ctx = &st;
	fault_each(&c);
	stage_close(&st);
}

/* ---- only single pages are left -------------------------------------- */

#define FAIL_PAGES	"/sys/kernel/debug/fail_page_alloc"
/* More QPs than processors keep pages for packets */
#define SINGLE_ROUNDS	100

static void fail_pages(const char *name, const char *value)
{
	CHECK(pane_file_write(FAIL_PAGES, name, value), "%s: %s", name,
	      strerror(errno));
}

/* Packets that are longer than a page, by a QP that has made none yet */
static void single_round(unsigned int round)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	d.o.mtu = IBV_MTU_4096;
	d.p.mtu = IBV_MTU_4096;
	ep_reconnect(&d.o, &d.p);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
	memset(d.buf.addr, round, DUO_LEN);
	CHECK_EQ(ep_write(&d.p, &d.buf, DUO_LEN, region_at(&d.mem, 0),
			  mw->rkey), IBV_WC_SUCCESS);
	CHECK(!memcmp(d.mem.addr, d.buf.addr, DUO_LEN), "other data");
	mw_close(mw);
	duo_close(&d);
}

static void test_single_pages(const void *arg)
{
	if (access(FAIL_PAGES, F_OK))
		pane_skip("pages cannot be made to fail");
	fail_pages("verbose", "0");
	fail_pages("min-order", "1");
	fail_pages("times", "-1");
	fail_pages("probability", "50");
	for (unsigned int i = 0; i < SINGLE_ROUNDS; i++)
		single_round(i);
	fail_pages("probability", "0");
}

static void list_of(const struct faults_list *l)
{
	for (unsigned int i = 0; i < l->num; i++)
		pane_test(0, test_call, &l->calls[i],
			  "each allocation fails: %s", l->calls[i].name);
}

static void list(void)
{
	list_of(&faults_objects);
	list_of(&faults_queues);
	list_of(&faults_data);
	pane_test(0, test_single_pages, NULL,
		  "half of the allocations of more than a page fail");
}

int main(int argc, char **argv)
{
	if (!fault_possible()) {
		ksft_print_header();
		ksft_exit_skip("the kernel has no fault injection\n");
	}
	fault_setup();
	return pane_run(argc, argv, list);
}
