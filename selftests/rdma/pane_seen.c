// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Something to see for pane_seen.sh.
 *
 *	pane_seen do NAME	one operation, and the events that it is to give
 *	pane_seen hold		windows of all kinds, as the list has to show
 *				them, until standard input ends
 *
 * The first device of PANE_DEVICES is the one that is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define WINDOW_AT	1024
#define WINDOW_LEN	2048
#define NO_KEY		0x00c0ffee

/* @rkey: by which the bind named its window, the one from before */
static void event_bind(const struct duo *d, const struct ibv_mw *mw,
		       uint32_t rkey, uint32_t lkey, unsigned int access,
		       unsigned int verr)
{
	printf("pane_mw_bind: qpn=%#x mw_rkey=%#x new_rkey=%#x lkey=%#x ",
	       d->o.qp->qp_num, rkey, mw->rkey, lkey);
	printf("addr=%#llx ",
	       (unsigned long long)region_at(&d->mem, WINDOW_AT));
	printf("length=%#x access=%#x refused=%u\n", WINDOW_LEN, access, verr);
}

static struct ibv_mw *window(struct duo *d, enum ibv_mw_type type,
			     unsigned int rights)
{
	struct ibv_mw *mw = mw_open(d->own.pd, type);
	uint32_t rkey = mw->rkey;

	mw_bind(&d->o, mw, &d->mem, WINDOW_AT, WINDOW_LEN, rights);
	event_bind(d, mw, rkey, d->mem.mr->lkey, rights, 0);
	return mw;
}

static void write_refused(struct duo *d, struct endpoint *p, size_t at,
			  uint32_t rkey)
{
	CHECK_EQ(ep_write(p, &d->buf, 8, region_at(&d->mem, at), rkey),
		 IBV_WC_REM_ACCESS_ERR);
}

static void event_violation(const struct endpoint *o, const char *why)
{
	printf("pane_access_violation: qpn=%#x psn=%#x why=%s\n",
	       o->qp->qp_num, o->remote->psn & 0xffffff, why);
}

static void event_invalidate(const struct endpoint *o, uint32_t key,
			     unsigned int verr)
{
	printf("pane_invalidate: qpn=%#x key=%#x refused=%u\n", o->qp->qp_num,
	       key, verr);
}

/* ---- operations ------------------------------------------------------ */

static void do_key(struct duo *d)
{
	write_refused(d, &d->p, 0, NO_KEY);
	event_violation(&d->o, "key");
}

/* The last byte of the window is inside, the next ones are not */
static void do_range(struct duo *d)
{
	struct ibv_mw *mw = window(d, IBV_MW_TYPE_1, RIGHTS_RW);

	write_refused(d, &d->p, WINDOW_AT + WINDOW_LEN - 1, mw->rkey);
	event_violation(&d->o, "range");
	mw_close(mw);
}

static void do_rights(struct duo *d)
{
	struct ibv_mw *mw = window(d, IBV_MW_TYPE_1, IBV_ACCESS_REMOTE_READ);

	write_refused(d, &d->p, WINDOW_AT, mw->rkey);
	event_violation(&d->o, "rights");
	mw_close(mw);
}

static void do_qp(struct duo *d)
{
	struct ibv_mw *mw = window(d, IBV_MW_TYPE_2, RIGHTS_RW);
	struct endpoint o, p;

	duo_link(d, &o, &p);
	write_refused(d, &p, WINDOW_AT, mw->rkey);
	event_violation(&o, "qp");
	duo_unlink(&o, &p);
	mw_close(mw);
}

static void do_pd(struct duo *d)
{
	struct ibv_pd *pd = ibv_alloc_pd(d->own.ctx);
	struct region other;

	CHECK(pd, "%s", strerror(errno));
	region_open(&other, pd, 4096, 0, IBV_ACCESS_LOCAL_WRITE | RIGHTS_RW);
	CHECK_EQ(ep_write(&d->p, &d->buf, 8, region_at(&other, 0),
			  other.mr->rkey), IBV_WC_REM_ACCESS_ERR);
	event_violation(&d->o, "pd");
	region_close(&other);
	CHECK_OK(ibv_dealloc_pd(pd));
}

static void do_bind(struct duo *d)
{
	struct ibv_mw *mw = window(d, IBV_MW_TYPE_2, RIGHTS_RW);

	mw_close(mw);
}

/* The region is not one for windows */
static void do_bind_refused(struct duo *d)
{
	struct ibv_mw *mw = mw_open(d->own.pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info;
	uint32_t rkey = mw->rkey;
	struct ibv_mr *mr;

	mr = ibv_reg_mr(d->own.pd, d->mem.addr, DUO_LEN,
			IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr, "%s", strerror(errno));
	info = bind_info(&d->mem, WINDOW_AT, WINDOW_LEN, RIGHTS_RW);
	info.mr = mr;
	CHECK_EQ(mw_try_bind(&d->o, mw, &info), IBV_WC_MW_BIND_ERR);
	event_bind(d, mw, rkey, mr->lkey, RIGHTS_RW, PANE_VERR_BIND_MR_ACCESS);
	CHECK_OK(ibv_dereg_mr(mr));
	mw_close(mw);
}

static void do_invalidate(struct duo *d)
{
	struct ibv_mw *mw = window(d, IBV_MW_TYPE_2, RIGHTS_RW);

	CHECK_EQ(ep_local_inv(&d->o, mw->rkey), IBV_WC_SUCCESS);
	event_invalidate(&d->o, mw->rkey, 0);
	mw_close(mw);
}

static void do_invalidate_refused(struct duo *d)
{
	CHECK(ep_local_inv(&d->o, NO_KEY) != IBV_WC_SUCCESS, "accepted");
	event_invalidate(&d->o, NO_KEY, PANE_VERR_INV_KEY);
}

/* The peer asks for it */
static void do_remote_invalidate_refused(struct duo *d)
{
	struct req req = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.ex = NO_KEY,
	};

	CHECK_OK(ep_post_recv(&d->o, 1, d->mem.addr, 64, d->mem.mr->lkey));
	CHECK_EQ(ep_do(&d->p, req), IBV_WC_REM_ACCESS_ERR);
	event_invalidate(&d->o, NO_KEY, PANE_VERR_INV_KEY);
}

static const struct {
	const char *name;
	void (*run)(struct duo *d);
} ops[] = {
	{ "key", do_key },
	{ "range", do_range },
	{ "rights", do_rights },
	{ "qp", do_qp },
	{ "pd", do_pd },
	{ "bind", do_bind },
	{ "bind_refused", do_bind_refused },
	{ "invalidate", do_invalidate },
	{ "invalidate_refused", do_invalidate_refused },
	{ "remote_invalidate_refused", do_remote_invalidate_refused },
};

static int do_one(const char *name)
{
	struct duo d;

	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		if (strcmp(ops[i].name, name))
			continue;
		duo_open(&d);
		ops[i].run(&d);
		duo_close(&d);
		return KSFT_PASS;
	}
	return KSFT_FAIL;
}

/* ---- the list of windows --------------------------------------------- */

/* As the list shows it, but for the number of the MR */
static void show_window(const struct duo *d, const struct ibv_mw *mw,
			const char *rights)
{
	bool type2 = mw_is_type2(mw);

	printf("window: %s %s rkey 0x%08x ",
	       ibv_get_device_name(d->own.ctx->device), type2 ? "2B" : "1",
	       mw->rkey);
	if (!rights)
		printf("free");
	else
		printf("bound mr N addr %#llx length %u rights %s",
		       (unsigned long long)region_at(&d->mem, WINDOW_AT),
		       WINDOW_LEN, rights);
	if (rights && type2)
		printf(" qpn %#x", d->o.qp->qp_num);
	putchar('\n');
}

static int hold(void)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_mw *mw[5];
	struct ibv_srq *srq;
	struct duo d;
	char c;

	duo_open(&d);
	srq = ibv_create_srq(d.own.pd, &srq_attr);
	CHECK(srq, "%s", strerror(errno));
	mw[0] = mw_open(d.own.pd, IBV_MW_TYPE_1);
	show_window(&d, mw[0], NULL);
	mw[1] = mw_open(d.own.pd, IBV_MW_TYPE_2);
	show_window(&d, mw[1], NULL);
	mw[2] = window(&d, IBV_MW_TYPE_1, RIGHTS_RW);
	show_window(&d, mw[2], "rw-");
	mw[3] = window(&d, IBV_MW_TYPE_2, RIGHTS_ALL);
	show_window(&d, mw[3], "rwa");
	mw[4] = window(&d, IBV_MW_TYPE_2, IBV_ACCESS_REMOTE_READ);
	show_window(&d, mw[4], "r--");
	printf("lkey: 0x%x\n", d.mem.mr->lkey);
	printf("qp: lqpn %u rqpn %u\n", d.o.qp->qp_num, d.p.qp->qp_num);
	printf("ready\n");

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (unsigned int i = 0; i < ARRAY_SIZE(mw); i++)
		mw_close(mw[i]);
	CHECK_OK(ibv_destroy_srq(srq));
	duo_close(&d);
	return KSFT_PASS;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pane_cfg.qp_type = IBV_QPT_RC;
	if (argc == 3 && !strcmp(argv[1], "do")) {
		pane_fabric_open();
		return do_one(argv[2]);
	}
	if (argc == 2 && !strcmp(argv[1], "hold")) {
		pane_fabric_open();
		return hold();
	}
	fprintf(stderr, "usage: %s do NAME | hold\n", argv[0]);
	return KSFT_FAIL;
}
