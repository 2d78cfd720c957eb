// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The data path: every byte arrives, where it belongs and nowhere else, and
 * every request ends once, in order. Tests named "mixed" hold on any network
 * between the two devices; the others want one that loses nothing.
 * pane_data.sh makes the networks and says in PANE_NET what they are like.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_box.h"
#include "pane_data.h"

/* ---- mixed traffic --------------------------------------------------- */

/* What one of the tests of this kind is like */
struct mixed {
	enum ibv_mtu mtu;
	unsigned int ops;
	unsigned int num;	/* connections */
	uint32_t max_len;
	bool wraps;		/* PSNs pass 2^24 */
	bool resizes;		/* CQs change their size meanwhile */
};

/* Requests of one connection, here and on this network */
static unsigned int mixed_ops(const struct mixed *t)
{
	unsigned int ops = t->ops / t->num;

	if (net_is("slow"))
		ops /= 4;
	if (pane_is_slow())
		ops /= 5;
	return ops + 1;
}

/* CQs of one connection */
struct resizer {
	struct end *ends;
	unsigned int turns;
};

static void resize_turn(void *arg)
{
	struct resizer *r = arg;
	struct end *e = &r->ends[random_below(2)];
	struct ibv_cq *cq = random_below(2) ? e->scq : e->rcq;
	int err;

	if (++r->turns % 16)
		return;
	/* too small for what waits there is refused, and nothing is lost */
	err = ibv_resize_cq(cq, 64 + random_below(1000));
	CHECK(!err || err == EINVAL, "%s", strerror(err));
}

static void mixed(const void *arg)
{
	const struct mixed *t = arg;
	struct qp_opts qo = qp_opts_default();
	struct end ends[MIX_MAX][2];
	struct resizer resizer = { .ends = ends[0] };
	struct mix_opts mo = {
		.ops = mixed_ops(t),
		.max_len = t->max_len,
		.mtu = mtu_bytes(t->mtu),
		.turn = t->resizes ? resize_turn : NULL,
		.arg = &resizer,
	};
	struct pair p;

	random_seed();
	qo.mtu = t->mtu;
	/* what is lost is noticed sooner where something gets lost */
	qo.timeout = net_is("lossy") ? 13 : qo.timeout;
	if (t->wraps) {
		qo.psn[0] = 0xffffff - random_below(500);
		qo.psn[1] = 0xffffff - random_below(500);
	}
	pair_nodes_open(&p);
	for (unsigned int i = 0; i < t->num; i++) {
		end_open(&ends[i][0], &p.node[0], &qo);
		end_open(&ends[i][1], &p.node[1], &qo);
		ends_connect(&ends[i][0], &ends[i][1], &qo);
	}
	mix_run(ends, t->num, &mo);
	for (unsigned int i = 0; i < t->num; i++) {
		end_close(&ends[i][0]);
		end_close(&ends[i][1]);
	}
	pair_nodes_close(&p);
}

/* ---- lengths --------------------------------------------------------- */

/* Around what a packet holds, a train, and what may be on its way at a time */
static void lengths_of_mtu(enum ibv_wr_opcode opcode, enum ibv_mtu mtu)
{
	static const unsigned int packets[] = { 1, 2, 3, 16, 64, 65, 256 };
	struct qp_opts qo = qp_opts_default();
	size_t bytes = mtu_bytes(mtu);
	struct boxes b;

	qo.mtu = mtu;
	boxes_open(&b, &qo, 256 * bytes + 1);
	for (size_t len = 0; len <= 9; len++)
		boxes_transfer(&b, opcode, len, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(packets); i++)
		for (int d = -1; d <= 1; d++)
			boxes_transfer(&b, opcode, packets[i] * bytes + d, 0);
	boxes_close(&b);
}

static void lengths(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;

	random_seed();
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		lengths_of_mtu(*opcode, mtu);
}

/* Every length that fits into a request, and the one that does not */
static void inline_lengths(const void *arg)
{
	unsigned int step = pane_is_slow() ? 37 : 1, max;
	struct qp_opts qo = qp_opts_default();
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct boxes b;

	random_seed();
	qo.inline_len = 1024;
	boxes_open(&b, &qo, 4096);
	max = b.p.end[0].max_inline;
	CHECK(max >= 512, "%u bytes inline", max);
	for (unsigned int len = 0; len <= max; len += step) {
		sge = box_sge(&b.from, len);
		/* the local key is of no interest */
		sge.lkey = 0x12345;
		wr = wr_to(IBV_WR_RDMA_WRITE, &sge, &b.to.r, GUARD);
		wr.send_flags = IBV_SEND_INLINE;
		box_empty(&b.to);
		CHECK_EQ(end_do(&b.p.end[0], wr), IBV_WC_SUCCESS);
		box_check(&b.to, b.from.r.addr + GUARD, len);
	}
	sge = box_sge(&b.from, max + 1);
	wr = wr_to(IBV_WR_RDMA_WRITE, &sge, &b.to.r, GUARD);
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(end_post(&b.p.end[0], &wr), "%u bytes were taken", max + 1);
	boxes_close(&b);
}

static void list_too_long(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge sge[33];
	struct ibv_send_wr wr;
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, 4096);
	for (unsigned int i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = sge_of(&b.from.r, i * 3, i);
	wr = wr_to(IBV_WR_RDMA_WRITE, sge, &b.to.r, GUARD);
	wr.num_sge = ARRAY_SIZE(sge);
	CHECK(end_post(&b.p.end[0], &wr), "33 elements were taken");
	wr.num_sge--;
	CHECK_EQ(end_do(&b.p.end[0], wr), IBV_WC_SUCCESS);
	CHECK(end_post_recv(&b.p.end[0], sge, ARRAY_SIZE(sge), 0),
	      "33 elements were taken");
	boxes_close(&b);
}

/* ---- the longest messages -------------------------------------------- */

/* Of remote memory. User-mode Linux has no more for a process. */
static size_t longest_remote(void)
{
	const char *backend = getenv("PANE_BACKEND");

	if (pane_is_slow() || (backend && !strcmp(backend, "uml")))
		return 1UL << 26;
	return 1UL << 31;
}

/* By WRITE or READ: one element here, one range there */
static void long_remote(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;
	struct qp_opts qo = qp_opts_default();
	size_t len = longest_remote();
	struct boxes b;

	random_seed();
	pane_more_time();
	qo.mtu = IBV_MTU_4096;
	boxes_open(&b, &qo, len);
	boxes_transfer(&b, *opcode, len, 0);
	boxes_close(&b);
}

/* The same memory in every element, @num of them, @each bytes long */
static int tile_list(struct ibv_sge *sge, const struct region *r, int num,
		     uint32_t each)
{
	for (int i = 0; i < num; i++)
		sge[i] = sge_of(r, 0, each);
	return num;
}

/*
 * As long as messages can be, by lists that name the same memory again and
 * again, in pieces of another length at each end: what is there in the end tells
 * which part of the message came last.
 */
static void long_send(const void *arg)
{
	const uint32_t each = pane_is_slow() ? 1 << 21 : 1 << 26;
	const uint32_t tile = each + each / 31 + 1;
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge from[32], to[32];
	struct boxes b;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t at;

	random_seed();
	pane_more_time();
	qo.mtu = IBV_MTU_4096;
	boxes_open(&b, &qo, tile);
	CHECK_OK(end_post_recv(&b.p.end[1], to,
			       tile_list(to, &b.to.r, 31, tile), 7));
	wr = wr_to(IBV_WR_SEND, from, NULL, 0);
	wr.num_sge = tile_list(from, &b.from.r, 32, each);
	CHECK_EQ(long_do(&b.p.end[0], wr), IBV_WC_SUCCESS);
	CHECK_WC(b.p.end[1].rcq, 7, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.byte_len, 32 * each);
	for (at = 32UL * each - tile; at < 32UL * each; at++)
		CHECK(b.to.r.addr[at % tile] == b.from.r.addr[at % each],
		      "other data at %zu", at);
	boxes_close(&b);
}

/* One byte more than the port's max_msg_sz */
static void too_long_send(const void *arg)
{
	const uint32_t each = 1 << 26;
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge sge[32];
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, each);
	wr = wr_to(IBV_WR_SEND, sge, NULL, 0);
	wr.num_sge = tile_list(sge, &b.from.r, 32, each);
	wr.send_flags = IBV_SEND_SIGNALED;
	sge[31].length++;
	if (!end_post(&b.p.end[0], &wr)) {
		cq_spin(b.p.end[0].scq, &wc);
		CHECK_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
	}
	boxes_close(&b);
}

/* ---- order ----------------------------------------------------------- */

/*
 * A fence makes a request wait for READs and atomics before it: what they bring
 * is what it sends. Round and round: what the last atomic found goes to where
 * the next READ reads.
 */
static void fence(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge near[3];
	struct ibv_send_wr wr[3];
	uint64_t sent, got;
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, 64 * 1024);
	for (unsigned int i = 0; i < pane_rounds(400); i++) {
		size_t len = 1 + random_below(20000);

		random_fill(b.to.r.addr, len);
		memset(b.from.r.addr, 0, len);
		near[0] = sge_of(&b.from.r, 0, len);
		near[1] = near[0];
		wr[0] = wr_to(IBV_WR_RDMA_READ, &near[0], &b.to.r, 0);
		wr[1] = wr_to(IBV_WR_RDMA_WRITE, &near[1], &b.to.r, 32768);
		wr[1].send_flags = IBV_SEND_FENCE;
		wr[0].next = &wr[1];
		CHECK_OK(end_post(&b.p.end[0], &wr[0]));
		near[2] = near[0];
		near[2].length = 0;
		CHECK_EQ(end_do(&b.p.end[0],
				wr_to(IBV_WR_RDMA_WRITE, &near[2], &b.to.r, 0)),
			 IBV_WC_SUCCESS);
		CHECK(!memcmp(b.to.r.addr, b.to.r.addr + 32768, len),
		      "sent before it came, length %zu", len);
	}
	memcpy(&sent, b.from.r.addr, sizeof(sent));
	memcpy(&got, b.to.r.addr, sizeof(got));
	CHECK_EQ(sent, got);
	boxes_close(&b);
}

/* Two connections and this processor add to one word at the same time */
static void atomics_add_up(const void *arg)
{
	const unsigned int rounds = pane_rounds(4000);
	struct qp_opts qo = qp_opts_default();
	struct end ends[2][2];
	struct region word, found[2];
	struct ibv_send_wr wr;
	uint64_t *count, own = 0;
	struct ibv_sge sge;
	unsigned int done[2] = {}, posted[2] = {};
	struct spin spin = {};
	struct ibv_wc wc;
	struct pair p;

	random_seed();
	pair_nodes_open(&p);
	region_open(&word, p.node[1].pd, 8, 0,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	count = (uint64_t *)word.addr;
	*count = 0;
	for (unsigned int i = 0; i < 2; i++) {
		end_open(&ends[i][0], &p.node[0], &qo);
		end_open(&ends[i][1], &p.node[1], &qo);
		ends_connect(&ends[i][0], &ends[i][1], &qo);
		region_open(&found[i], p.node[0].pd, 8, 0,
			    IBV_ACCESS_LOCAL_WRITE);
	}
	while (done[0] < rounds || done[1] < rounds) {
		for (unsigned int i = 0; i < 2; i++) {
			if (posted[i] < rounds && posted[i] < done[i] + 32) {
				sge = sge_of(&found[i], 0, 8);
				wr = wr_to(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge,
					   &word, 0);
				wr.wr.atomic.compare_add = 1ULL << 32;
				wr.send_flags = IBV_SEND_SIGNALED;
				CHECK_OK(end_post(&ends[i][0], &wr));
				posted[i]++;
			}
			if (ibv_poll_cq(ends[i][0].scq, 1, &wc) > 0) {
				CHECK_EQ(wc.status, IBV_WC_SUCCESS);
				done[i]++;
				spin = (struct spin) {};
			}
		}
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
		own++;
		spin_turn(&spin);
	}
	CHECK_EQ(*count, (2ULL * rounds << 32) + own);
	for (unsigned int i = 0; i < 2; i++) {
		end_close(&ends[i][0]);
		end_close(&ends[i][1]);
		region_close(&found[i]);
	}
	region_close(&word);
	pair_nodes_close(&p);
}

/* ---- the list -------------------------------------------------------- */

static const struct mixed mixed_mtu[] = {
	{ .mtu = IBV_MTU_256, .ops = 1500, .num = 1, .max_len = 40000 },
	{ .mtu = IBV_MTU_512, .ops = 1500, .num = 1, .max_len = 60000 },
	{ .mtu = IBV_MTU_1024, .ops = 1500, .num = 1, .max_len = 100000 },
	{ .mtu = IBV_MTU_2048, .ops = 1500, .num = 1, .max_len = 100000 },
	{ .mtu = IBV_MTU_4096, .ops = 1500, .num = 1, .max_len = 200000 },
};

static const struct mixed mixed_wraps = {
	.mtu = IBV_MTU_256, .ops = 1000, .num = 1, .max_len = 40000,
	.wraps = true,
};

static const struct mixed mixed_resizes = {
	.mtu = IBV_MTU_1024, .ops = 2000, .num = 1, .max_len = 20000,
	.resizes = true,
};

static const struct mixed mixed_many = {
	.mtu = IBV_MTU_1024, .ops = 3000, .num = 8, .max_len = 30000,
};

static void list_longest(void)
{
	pane_test(0, long_send, NULL, "the longest SEND");
	pane_test(0, too_long_send, NULL, "a SEND too long");
	pane_test(0, long_remote, &transfers[2].opcode, "the longest WRITE");
	pane_test(0, long_remote, &transfers[4].opcode, "the longest READ");
}

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(mixed_mtu); i++)
		pane_test(0, mixed, &mixed_mtu[i], "mixed, MTU %u",
			  mtu_bytes(mixed_mtu[i].mtu));
	pane_test(0, mixed, &mixed_wraps, "mixed, PSNs wrap");
	pane_test(0, mixed, &mixed_resizes, "mixed, CQs are resized");
	pane_test(0, mixed, &mixed_many, "mixed, 8 connections");

	pane_test(V_APIS | V_PATHS, mixed, &mixed_mtu[2], "all requests");

	for (unsigned int i = 0; i < NUM_TRANSFERS; i++)
		pane_test(V_APIS, lengths, &transfers[i].opcode,
			  "lengths of %s", transfers[i].name);
	pane_test(V_APIS, inline_lengths, NULL, "inline lengths");
	pane_test(V_APIS, list_too_long, NULL, "a list of 33 elements");
	if (!net_is("short"))
		list_longest();
	pane_test(V_APIS | V_PATHS, fence, NULL, "a fence");
	pane_test(V_PATHS, atomics_add_up, NULL, "atomics add up");
	list_endings();
	list_datagrams();
	list_multicast();
	list_srq();
	list_xrc();
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
