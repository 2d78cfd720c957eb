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
	list_placement();
	list_windows();
	list_refusals();
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
