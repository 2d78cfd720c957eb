// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two devices that need not be of one driver: each operation that both have,
 * from the first to the second. By plain verbs; no counter and no order of
 * events is asked for that only one driver has. PANE_DEVICES says which devices,
 * PANE_ANY_DEVICE that any will do.
 *
 * Not here, for no program can post them: READ with invalidate, fast
 * registration. rdma_rxe has no XRC.
 */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_data.h"
#include "pane_peer.h"

/* Of ibv_device_attr_ex.device_cap_flags_ex; the headers do not name them */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_ATOMIC_WRITE	(1ULL << 40)

static struct qp_opts peer_opts(enum ibv_mtu mtu)
{
	struct qp_opts qo = qp_opts_default();

	qo.type = pane_cfg.qp_type;
	qo.mtu = mtu;
	return qo;
}

/* ---- messages -------------------------------------------------------- */

static void messages_of_mtu(const struct transfer *t, struct qp_opts qo)
{
	const size_t mtu = mtu_bytes(qo.mtu);
	const size_t lengths[] = {
		0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 3, PEER_LEN,
	};
	struct boxes b;

	boxes_open(&b, &qo, PEER_LEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++)
		boxes_transfer(&b, t->opcode, lengths[i], 0);
	boxes_close(&b);
}

static void messages(const void *arg)
{
	random_seed();
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (!pane_is_slow() || mtu == IBV_MTU_1024)
			messages_of_mtu(arg, peer_opts(mtu));
}

/* An SRQ at the end that receives, and at the other, which has no use for it */
static void messages_to_srq(const void *arg)
{
	struct qp_opts qo = peer_opts(IBV_MTU_1024);

	random_seed();
	qo.srq = true;
	/* SRQs have shorter lists than QPs, and the smallest maximum counts */
	qo.sge = 1;
	messages_of_mtu(arg, qo);
}

/*
 * What is inline is posted by ibv_post_send() only: the provider of rdma_rxe
 * loses the length of a list in ibv_wr_set_inline_data_list().
 */
static void messages_inline(const void *arg)
{
	static const size_t lengths[] = { 0, 1, 4, 63, 255, 256, 257, 512 };
	const struct transfer *t = arg;
	struct qp_opts qo = peer_opts(IBV_MTU_256);
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, PEER_LEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++)
		boxes_transfer(&b, t->opcode, lengths[i], IBV_SEND_INLINE);
	boxes_close(&b);
}

/* All of them, both ways at the same time, with lists of all kinds */
static void mixed(const void *arg)
{
	struct qp_opts qo = peer_opts(IBV_MTU_1024);
	struct mix_opts mo = {
		.ops = pane_rounds(1000) + 50,
		.max_len = 50000,
		.mtu = mtu_bytes(qo.mtu),
	};
	struct end ends[2][2];
	struct pair p;

	random_seed();
	/* PSNs pass 2^24 */
	qo.psn[0] = 0xffffff - random_below(100);
	qo.psn[1] = 0xffffff - random_below(100);
	pair_nodes_open(&p);
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		end_open(&ends[i][0], &p.node[0], &qo);
		end_open(&ends[i][1], &p.node[1], &qo);
		ends_connect(&ends[i][0], &ends[i][1], &qo);
	}
	mix_run(ends, ARRAY_SIZE(ends), &mo);
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		end_close(&ends[i][0]);
		end_close(&ends[i][1]);
	}
	pair_nodes_close(&p);
}

/* ---- atomics --------------------------------------------------------- */

/* A word at the second end, and what the first end finds in it */
struct word {
	struct boxes b;
	uint64_t *there;
	uint64_t *found;
};

static void word_open(struct word *w, const struct qp_opts *qo)
{
	boxes_open(&w->b, qo, PEER_LEN);
	/* somewhere in the middle, at a multiple of 8 */
	w->there = (uint64_t *)(((uintptr_t)w->b.to.r.addr + 5000) & ~7UL);
	w->found = (uint64_t *)(w->b.from.r.addr + GUARD);
}

static void word_do(struct word *w, enum ibv_wr_opcode opcode,
		    uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr wr = peer_wr(opcode, (uintptr_t)w->there,
					w->b.to.r.mr->rkey);

	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	memset(w->found, 0xee, sizeof(*w->found));
	CHECK_EQ(peer_do(&w->b, wr, 8), IBV_WC_SUCCESS);
}

static void check_word(struct word *w, uint64_t found, uint64_t there)
{
	uint64_t value;

	memcpy(&value, w->found, sizeof(value));
	CHECK_EQ(value, found);
	CHECK_EQ(w->there[0], there);
	CHECK_EQ(w->there[-1], 0);
	CHECK_EQ(w->there[1], 0);
}

static void word_set(struct word *w, uint64_t value)
{
	memset(w->b.to.r.addr, 0, w->b.to.r.len);
	*w->there = value;
}

static void compare_and_swap(const void *arg)
{
	struct qp_opts qo = peer_opts(IBV_MTU_1024);
	const uint64_t old = 0x0123456789abcdef, new = 0xfedcba9876543210;
	struct word w;

	random_seed();
	word_open(&w, &qo);
	word_set(&w, old);
	word_do(&w, IBV_WR_ATOMIC_CMP_AND_SWP, old + 1, new);
	check_word(&w, old, old);
	word_do(&w, IBV_WR_ATOMIC_CMP_AND_SWP, old, new);
	check_word(&w, old, new);
	word_do(&w, IBV_WR_ATOMIC_CMP_AND_SWP, old, 0);
	check_word(&w, new, new);
	boxes_close(&w.b);
}

static void fetch_and_add(const void *arg)
{
	struct qp_opts qo = peer_opts(IBV_MTU_1024);
	uint64_t value = 0xfffffffe;
	struct word w;

	random_seed();
	word_open(&w, &qo);
	word_set(&w, value);
	for (uint64_t add = 1; add; add <<= 7) {
		word_do(&w, IBV_WR_ATOMIC_FETCH_AND_ADD, add, 0);
		check_word(&w, value, value + add);
		value += add;
	}
	/* nothing carries out of it */
	word_do(&w, IBV_WR_ATOMIC_FETCH_AND_ADD, -value + 5, 0);
	check_word(&w, value, 5);
	boxes_close(&w.b);
}

/* ---- what not every kernel has --------------------------------------- */

static uint64_t node_caps(const struct node *n)
{
	struct ibv_device_attr_ex attr;

	CHECK_OK(ibv_query_device_ex(n->ctx, NULL, &attr));
	return attr.device_cap_flags_ex;
}

/* Skips the test unless both devices have it */
static void need_cap(uint64_t cap, const char *name)
{
	struct pair p;

	pair_nodes_open(&p);
	for (unsigned int i = 0; i < 2; i++)
		if (!(node_caps(&p.node[i]) & cap))
			pane_skip("%s: no %s", ibv_get_device_name(
				  p.node[i].ctx->device), name);
	pair_nodes_close(&p);
}

/* What the ibv_wr_ functions have put together is the only request */
static void posted_is_done(struct end *e, enum ibv_wc_status status,
			   enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	CHECK_OK(ibv_wr_complete(e->qpx));
	CHECK_WC(e->scq, e->qpx->wr_id, status, &wc);
	if (status == IBV_WC_SUCCESS)
		CHECK_EQ(wc.opcode, opcode);
}

static void post_start(struct end *e)
{
	ibv_wr_start(e->qpx);
	e->qpx->wr_id = 0xa70;
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
}

static void write_word(struct word *w, uint64_t *at, uint32_t rkey,
		       uint64_t value, enum ibv_wc_status status)
{
	struct end *e = &w->b.p.end[0];

	post_start(e);
	ibv_wr_atomic_write(e->qpx, rkey, (uintptr_t)at, &value);
	posted_is_done(e, status, IBV_WC_ATOMIC_WRITE);
}

/* A connection that has the operation */
static void write_open(struct word *w, uint64_t value)
{
	struct qp_opts qo = peer_opts(IBV_MTU_1024);

	random_seed();
	need_cap(CAP_ATOMIC_WRITE, "ATOMIC_WRITE");
	qo.more_ops = IBV_QP_EX_WITH_ATOMIC_WRITE;
	word_open(w, &qo);
	word_set(w, value);
}

static void atomic_write(const void *arg)
{
	struct word w;

	write_open(&w, 1);
	for (uint64_t value = 0x0123456789abcdef; value; value <<= 8) {
		write_word(&w, w.there, w.b.to.r.mr->rkey, value,
			   IBV_WC_SUCCESS);
		CHECK_EQ(w.there[0], value);
		CHECK_EQ(w.there[-1], 0);
		CHECK_EQ(w.there[1], 0);
	}
	boxes_close(&w.b);
}

struct refusal {
	unsigned int offset;
	uint32_t key;
	enum ibv_wc_status status;
};

/* At an odd address, and with another key */
static const struct refusal refusals[] = {
	{ 4, 0, IBV_WC_REM_INV_REQ_ERR },
	{ 0, 1, IBV_WC_REM_ACCESS_ERR },
};

static void atomic_write_refused(const void *arg)
{
	const struct refusal *r = arg;
	struct word w;

	write_open(&w, 7);
	write_word(&w, (void *)((uint8_t *)w.there + r->offset),
		   w.b.to.r.mr->rkey ^ r->key, ~0ULL, r->status);
	CHECK_EQ(end_state(&w.b.p.end[0]), IBV_QPS_ERR);
	CHECK_EQ(w.there[0], 7);
	CHECK_EQ(w.there[1], 0);
	boxes_close(&w.b);
}

#ifdef HAVE_FLUSH

/* A WRITE and what makes it visible, of a part or all of the region */
static void flush(const void *arg)
{
	const uint8_t levels[] = { IBV_FLUSH_RANGE, IBV_FLUSH_MR };
	struct qp_opts qo = peer_opts(IBV_MTU_1024);
	struct region r;
	struct boxes b;
	struct end *e;

	random_seed();
	need_cap(CAP_FLUSH_GLOBAL, "FLUSH");
	qo.more_ops = IBV_QP_EX_WITH_FLUSH;
	qo.access |= IBV_ACCESS_FLUSH_GLOBAL;
	boxes_open(&b, &qo, PEER_LEN);
	region_open(&r, b.p.node[1].pd, 8192, 0,
		    PEER_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	e = &b.p.end[0];
	for (unsigned int i = 0; i < ARRAY_SIZE(levels); i++) {
		random_fill(b.from.r.addr + GUARD, 5000);
		CHECK_EQ(peer_do(&b, peer_wr(IBV_WR_RDMA_WRITE,
					     region_at(&r, 100), r.mr->rkey),
				 5000), IBV_WC_SUCCESS);
		post_start(e);
		ibv_wr_flush(e->qpx, r.mr->rkey, region_at(&r, 100), 5000,
			     IBV_FLUSH_GLOBAL, levels[i]);
		posted_is_done(e, IBV_WC_SUCCESS, IBV_WC_FLUSH);
		CHECK(!memcmp(r.addr + 100, b.from.r.addr + GUARD, 5000),
		      "other data");
	}
	post_start(e);
	ibv_wr_flush(e->qpx, r.mr->rkey ^ 1, region_at(&r, 100), 5000,
		     IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	posted_is_done(e, IBV_WC_REM_ACCESS_ERR, IBV_WC_FLUSH);
	region_close(&r);
	boxes_close(&b);
}

#else

static void flush(const void *arg)
{
	pane_skip("libibverbs was older than FLUSH");
}

#endif

/* ---- the list -------------------------------------------------------- */

static void list_messages(void)
{
	for (unsigned int i = 0; i < NUM_TRANSFERS; i++) {
		const struct transfer *t = &transfers[i];
		bool read = t->opcode == IBV_WR_RDMA_READ;

		pane_test(V_APIS | (read ? 0 : V_RC | V_UC), messages, t,
			  "%s%s", t->name, read ? " by the second" : "");
		if (read)
			continue;
		pane_test(V_RC | V_UC, messages_inline, t,
			  "%s, inline", t->name);
		if (t->opcode != IBV_WR_RDMA_WRITE)
			pane_test(V_RC | V_UC, messages_to_srq, t,
				  "%s to an SRQ", t->name);
	}
}

static void list(void)
{
	list_messages();
	pane_test(0, mixed, NULL, "mixed requests both ways");
	list_datagrams_plain();
	pane_test(V_APIS, compare_and_swap, NULL, "compare and swap");
	pane_test(V_APIS, fetch_and_add, NULL, "fetch and add");
	pane_test(0, atomic_write, NULL, "atomic WRITE");
	pane_test(0, atomic_write_refused, &refusals[0],
		  "atomic WRITE at an odd address");
	pane_test(0, atomic_write_refused, &refusals[1],
		  "atomic WRITE with another key");
	pane_test(0, flush, NULL, "FLUSH");
	list_windows();
	list_refusals();
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
