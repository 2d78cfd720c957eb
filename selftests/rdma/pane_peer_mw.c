// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of the second device, used by the first. That an access is
 * within the window is left to the tests of pane itself: rdma_rxe looks at the
 * bounds of the region only.
 */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_peer.h"

/* rdma_rxe passes the kernel's flag on, which is another one here */
#define RXE_WC_WITH_INV	(1 << 2)

#define REGION		16384
#define OFFSET		1000	/* of the window */
#define LEN		9000

/**
 * struct lent - a window that the second end has, and the first end uses
 * @b: the connection
 * @r: memory of the second end, open to the network by windows only
 * @mw: the window
 */
struct lent {
	struct boxes b;
	struct region r;
	struct ibv_mw *mw;
};

static void lent_open(struct lent *l, enum ibv_mw_type type)
{
	struct qp_opts qo = qp_opts_default();

	random_seed();
	qo.more_ops = IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |
		      IBV_QP_EX_WITH_BIND_MW;
	boxes_open(&l->b, &qo, PEER_LEN);
	region_open(&l->r, l->b.p.node[1].pd, REGION, 0, MR_BINDABLE);
	l->mw = mw_open(l->b.p.node[1].pd, type);
}

static void lent_close(struct lent *l)
{
	mw_close(l->mw);
	region_close(&l->r);
	boxes_close(&l->b);
}

/* By the owner; not every provider notes the new key of a type 2 window */
static void lent_bind2(struct lent *l, unsigned int access)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = l->mw,
			.rkey = ibv_inc_rkey(l->mw->rkey),
			.bind_info = bind_info(&l->r, OFFSET, LEN, access),
		},
	};

	CHECK_EQ(end_do(&l->b.p.end[1], wr), IBV_WC_SUCCESS);
	l->mw->rkey = wr.bind_mw.rkey;
}

static void lent_bind1(struct lent *l, size_t len, unsigned int access)
{
	struct ibv_mw_bind bind = {
		.wr_id = 0xb1d,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = bind_info(&l->r, OFFSET, len, access),
	};
	struct ibv_wc wc;

	CHECK_OK(ibv_bind_mw(l->b.p.end[1].qp, l->mw, &bind));
	CHECK_WC(l->b.p.end[1].scq, 0xb1d, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_BIND_MW);
}

static enum ibv_wc_status lent_do(struct lent *l, enum ibv_wr_opcode opcode,
				  uint32_t rkey, uint32_t len)
{
	return peer_do(&l->b, peer_wr(opcode, region_at(&l->r, OFFSET), rkey),
		       len);
}

static void lent_write(struct lent *l)
{
	uint8_t *from = l->b.from.r.addr + GUARD;

	random_fill(from, LEN);
	CHECK_EQ(lent_do(l, IBV_WR_RDMA_WRITE, l->mw->rkey, LEN),
		 IBV_WC_SUCCESS);
	CHECK(!memcmp(l->r.addr + OFFSET, from, LEN), "other data");
}

static void lent_read(struct lent *l)
{
	uint8_t *into = l->b.from.r.addr + GUARD;

	random_fill(l->r.addr + OFFSET, LEN);
	CHECK_EQ(lent_do(l, IBV_WR_RDMA_READ, l->mw->rkey, LEN),
		 IBV_WC_SUCCESS);
	CHECK(!memcmp(l->r.addr + OFFSET, into, LEN), "other data");
}

static void lent_add(struct lent *l)
{
	uint64_t *word = (uint64_t *)(l->r.addr + OFFSET), found, was = *word;
	struct ibv_send_wr wr = peer_wr(IBV_WR_ATOMIC_FETCH_AND_ADD,
					(uintptr_t)word, l->mw->rkey);

	wr.wr.atomic.compare_add = 0x100000001;
	CHECK_EQ(peer_do(&l->b, wr, 8), IBV_WC_SUCCESS);
	memcpy(&found, l->b.from.r.addr + GUARD, sizeof(found));
	CHECK_EQ(found, was);
	CHECK_EQ(*word, was + 0x100000001);
}

/* The access that ends the connection */
static void lent_refused(struct lent *l, enum ibv_wr_opcode opcode,
			 uint32_t rkey)
{
	fill_pattern(l->r.addr, REGION, 9);
	CHECK_EQ(lent_do(l, opcode, rkey, 100), IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(l->r.addr, REGION, 9), "written");
	end_is_over(&l->b.p.end[0]);
}

/* ---- type 2 ---------------------------------------------------------- */

static void owner_invalidates(const void *arg)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };
	struct lent l;

	lent_open(&l, IBV_MW_TYPE_2);
	for (unsigned int i = 0; i < 3; i++) {
		lent_bind2(&l, RIGHTS_ALL);
		lent_write(&l);
		lent_read(&l);
		lent_add(&l);
		inv.invalidate_rkey = l.mw->rkey;
		CHECK_EQ(end_do(&l.b.p.end[1], inv), IBV_WC_SUCCESS);
	}
	lent_refused(&l, IBV_WR_RDMA_WRITE, l.mw->rkey);
	lent_close(&l);
}

/* A message of @len bytes that takes the window back */
static void send_with_inv(struct lent *l, uint32_t len)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = l->mw->rkey,
	};
	struct ibv_sge to = box_sge(&l->b.to, len);
	struct ibv_wc wc;

	box_empty(&l->b.to);
	CHECK_OK(end_post_recv(&l->b.p.end[1], &to, 1, len));
	CHECK_EQ(peer_do(&l->b, wr, len), IBV_WC_SUCCESS);
	CHECK_WC(l->b.p.end[1].rcq, len, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, len);
	CHECK(wc.wc_flags & (IBV_WC_WITH_INV | RXE_WC_WITH_INV), "%#x",
	      wc.wc_flags);
	CHECK_EQ(wc.invalidated_rkey, l->mw->rkey);
	box_check(&l->b.to, l->b.from.r.addr + GUARD, len);
}

static void peer_invalidates(const void *arg)
{
	static const uint32_t lengths[] = { 0, 1, 1023, 1024, 1025, PEER_LEN };
	struct lent l;

	lent_open(&l, IBV_MW_TYPE_2);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		lent_bind2(&l, RIGHTS_ALL);
		lent_write(&l);
		send_with_inv(&l, lengths[i]);
	}
	lent_refused(&l, IBV_WR_RDMA_READ, l.mw->rkey);
	lent_close(&l);
}

static void right_is_missing(const void *arg)
{
	struct lent l;

	lent_open(&l, IBV_MW_TYPE_2);
	lent_bind2(&l, IBV_ACCESS_REMOTE_READ);
	lent_read(&l);
	lent_refused(&l, IBV_WR_RDMA_WRITE, l.mw->rkey);
	lent_close(&l);
}

/* ---- type 1 ---------------------------------------------------------- */

static void bound_again(const void *arg)
{
	struct lent l;
	uint32_t old;

	lent_open(&l, IBV_MW_TYPE_1);
	lent_bind1(&l, LEN, RIGHTS_ALL);
	lent_write(&l);
	old = l.mw->rkey;
	lent_bind1(&l, LEN, RIGHTS_ALL);
	CHECK(l.mw->rkey != old, "the same key");
	lent_write(&l);
	lent_read(&l);
	lent_add(&l);
	lent_refused(&l, IBV_WR_RDMA_WRITE, old);
	lent_close(&l);
}

static void unbound(const void *arg)
{
	uint32_t old;
	struct lent l;

	lent_open(&l, IBV_MW_TYPE_1);
	lent_bind1(&l, LEN, RIGHTS_ALL);
	lent_write(&l);
	old = l.mw->rkey;
	lent_bind1(&l, 0, 0);
	lent_refused(&l, IBV_WR_RDMA_READ, old);
	lent_close(&l);
}

void list_windows(void)
{
	pane_test(V_APIS, owner_invalidates, NULL,
		  "a type 2 window, until its owner invalidates it");
	pane_test(V_APIS, peer_invalidates, NULL,
		  "a type 2 window, until SEND invalidates it");
	pane_test(V_APIS, right_is_missing, NULL,
		  "a type 2 window without the right");
	pane_test(0, bound_again, NULL, "a type 1 window, bound again");
	pane_test(0, unbound, NULL, "a type 1 window, unbound");
}
