// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SEND and WRITE, both with and without an immediate, READ and atomics, of all
 * lengths, from and to lists of all sizes, inline or not, signaled or not.
 *
 * What a request reads never changes, so that it does not matter when it is
 * done. WRITEs go into one area over each other: their order decides. Received
 * messages and READ data go into slots that are filled with canaries before, so
 * that every byte of a slot is known afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_data.h"

#define DEPTH		32
#define RECVS		48
#define LIST_MAX	8	/* requests posted at a time */
#define SGES		32
#define GAP		24	/* most canaries between two elements */
#define AREA		(512 * 1024)
#define WORDS		8
#define CANARY		0xa5
#define PAUSE_EVERY	250	/* requests until all memory is compared */
#define SIGNAL_EVERY	8

struct op {
	struct ibv_send_wr wr;
	struct ibv_sge sge[SGES];
	uint32_t len;
	uint64_t orig;		/* what an atomic has to find */
};

/**
 * struct side - one end's memory and what its requests are to do
 * @end: its QP
 * @src: what it sends, and what the other end reads
 * @area: where the other end writes
 * @model: what @area has to hold
 * @words: where the other end does atomics
 * @counts: what @words have to hold
 * @inbox: slots for messages
 * @inbox_sge: receive requests, by slot
 * @inbox_num: elements of them
 * @answers: slots for READ data, by request
 * @found: what atomics return, by request
 * @op: its requests; the one with number n is in n % DEPTH
 * @posted: how many
 * @ended: how many have completed
 * @unsignaled: since the last one that was signaled
 * @arrival: completions its receive queue will have; n is in n % (2 * RECVS)
 * @expected: how many so far
 * @arrived: how many have come
 */
struct side {
	struct end *end;
	struct region src;
	struct region area;
	uint8_t *model;
	struct region words;
	uint64_t counts[WORDS];
	struct region inbox;
	struct ibv_sge inbox_sge[RECVS][SGES];
	int inbox_num[RECVS];
	struct region answers;
	struct region found;
	struct op op[DEPTH];
	unsigned int posted;
	unsigned int ended;
	unsigned int unsignaled;
	struct op arrival[2 * RECVS];
	unsigned int expected;
	unsigned int arrived;
};

/**
 * struct mix - two sides that talk to each other
 * @side: they
 * @opts: what is sent
 * @pause: requests after which all has to come to rest
 * @over: it was the last pause
 * @slot_len: bytes of a slot
 * @image: what a slot has to hold
 * @flat: a message in one piece
 */
struct mix {
	struct side side[2];
	const struct mix_opts *opts;
	unsigned int pause;
	bool over;
	size_t slot_len;
	uint8_t *image;
	uint8_t *flat;
};

static struct side *other(struct mix *m, struct side *s)
{
	return s == &m->side[0] ? &m->side[1] : &m->side[0];
}

/* ---- lists ----------------------------------------------------------- */

static int random_pieces(uint32_t *len, uint32_t total, int max)
{
	int num = random_below(3) ? 1 + random_below(3) : 1 + random_below(max);

	for (int i = 0; i < num - 1; i++) {
		len[i] = random_below(total + 1);
		total -= len[i];
	}
	len[num - 1] = total;
	return num;
}

/* Pieces from anywhere */
static int list_from(struct ibv_sge *sge, const struct region *r,
		     uint32_t total, int max)
{
	uint32_t len[SGES];
	int num = random_pieces(len, total, max);

	for (int i = 0; i < num; i++)
		sge[i] = sge_of(r, random_below(r->len - len[i] + 1), len[i]);
	return num;
}

/* Pieces one behind the other in a slot, canaries between them */
static int list_into(struct ibv_sge *sge, const struct region *r, size_t offset,
		     uint32_t total)
{
	uint32_t len[SGES];
	int num = random_pieces(len, total, SGES);

	for (int i = 0; i < num; i++) {
		offset += random_below(GAP);
		sge[i] = sge_of(r, offset, len[i]);
		offset += len[i];
	}
	return num;
}

static void *sge_mem(const struct ibv_sge *sge)
{
	return (void *)(uintptr_t)sge->addr;
}

static void flatten(uint8_t *to, const struct ibv_sge *sge, int num)
{
	for (int i = 0; i < num; i++) {
		memcpy(to, sge_mem(&sge[i]), sge[i].length);
		to += sge[i].length;
	}
}

/* What slot @slot, at @base, has to hold when @len bytes went into the list */
static void check_slot(struct mix *m, const uint8_t *slot,
		       const struct ibv_sge *sge, int num, const uint8_t *data,
		       uint32_t len)
{
	memset(m->image, CANARY, m->slot_len);
	for (int i = 0; i < num && len; i++) {
		size_t n = sge[i].length < len ? sge[i].length : len;

		memcpy(m->image + ((uint8_t *)sge_mem(&sge[i]) - slot), data,
		       n);
		data += n;
		len -= n;
	}
	for (size_t i = 0; i < m->slot_len; i++)
		CHECK(slot[i] == m->image[i], "byte %zu is %#x, not %#x", i,
		      slot[i], m->image[i]);
}

/* ---- requests -------------------------------------------------------- */

/* Short ones, those around multiples of the MTU, and any */
static uint32_t random_len(const struct mix_opts *o)
{
	uint32_t len;

	switch (random_below(4)) {
	case 0:
		return random_below(65);
	case 1:
		len = random_below(9) * o->mtu + random_below(3);
		len = len ? len - 1 : 0;
		break;
	case 2:
		len = random_below(4 * o->mtu);
		break;
	default:
		len = random_below(o->max_len + 1);
	}
	return len < o->max_len ? len : o->max_len;
}

static enum ibv_wr_opcode random_opcode(void)
{
	static const enum ibv_wr_opcode codes[] = {
		IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	return codes[random_below(ARRAY_SIZE(codes))];
}

static bool op_is_atomic(const struct op *op)
{
	return opcode_is_atomic(op->wr.opcode);
}

static bool op_is_write(const struct op *op)
{
	return opcode_is_write(op->wr.opcode);
}

static bool op_arrives(const struct op *op)
{
	return opcode_arrives(op->wr.opcode);
}

static bool op_has_imm(const struct op *op)
{
	return opcode_has_imm(op->wr.opcode);
}

/* One in two compares with what is there, and so swaps */
static void build_atomic(struct mix *m, struct side *s, struct op *op,
			 unsigned int slot)
{
	struct side *o = other(m, s);
	unsigned int word = random_below(WORDS);
	uint64_t *count = &o->counts[word];
	uint64_t value = (uint64_t)random_u32() << 32 | random_u32();

	op->len = sizeof(uint64_t);
	op->orig = *count;
	op->sge[0] = sge_of(&s->found, slot * op->len, op->len);
	op->wr.num_sge = 1;
	op->wr.wr.atomic.remote_addr = region_at(&o->words, word * op->len);
	op->wr.wr.atomic.rkey = o->words.mr->rkey;
	if (op->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		op->wr.wr.atomic.compare_add = value;
		*count += value;
		return;
	}
	op->wr.wr.atomic.compare_add = random_below(2) ? *count : value;
	op->wr.wr.atomic.swap = value ^ 0x5555;
	if (op->wr.wr.atomic.compare_add == *count)
		*count = value ^ 0x5555;
}

static void build_read(struct mix *m, struct side *s, struct op *op,
		       unsigned int slot)
{
	struct side *o = other(m, s);
	size_t offset = slot * m->slot_len;

	op->len = random_len(m->opts);
	memset(s->answers.addr + offset, CANARY, m->slot_len);
	op->wr.num_sge = list_into(op->sge, &s->answers, offset, op->len);
	op->wr.wr.rdma.remote_addr =
		region_at(&o->src, random_below(AREA - op->len + 1));
	op->wr.wr.rdma.rkey = o->src.mr->rkey;
}

/* SEND and WRITE: what travels with the request */
static void build_data(struct mix *m, struct side *s, struct op *op)
{
	op->len = random_len(m->opts);
	if (op->len <= s->end->max_inline && random_below(2))
		op->wr.send_flags |= IBV_SEND_INLINE;
	op->wr.num_sge = list_from(op->sge, &s->src, op->len, SGES);
	op->wr.imm_data = random_u32();
	if (random_below(4) == 0)
		op->wr.send_flags |= IBV_SEND_SOLICITED;
}

static void build_write(struct mix *m, struct side *s, struct op *op)
{
	struct side *o = other(m, s);
	size_t offset = random_below(AREA - op->len + 1);

	op->wr.wr.rdma.remote_addr = region_at(&o->area, offset);
	op->wr.wr.rdma.rkey = o->area.mr->rkey;
	flatten(o->model + offset, op->sge, op->wr.num_sge);
}

static void build_flags(struct mix *m, struct side *s, struct op *op)
{
	if (random_below(8) == 0)
		op->wr.send_flags |= IBV_SEND_FENCE;
	if (s->posted + 1 != m->pause && ++s->unsignaled < SIGNAL_EVERY && random_below(2))
		return;
	op->wr.send_flags |= IBV_SEND_SIGNALED;
	s->unsignaled = 0;
}

static struct op *op_build(struct mix *m, struct side *s)
{
	unsigned int slot = s->posted % DEPTH;
	struct op *op = &s->op[slot];
	struct side *o = other(m, s);

	memset(&op->wr, 0, sizeof(op->wr));
	op->wr.opcode = random_opcode();
	op->wr.wr_id = s->posted;
	op->wr.sg_list = op->sge;
	if (op_is_atomic(op)) {
		build_atomic(m, s, op, slot);
	} else if (op->wr.opcode == IBV_WR_RDMA_READ) {
		build_read(m, s, op, slot);
	} else {
		build_data(m, s, op);
		if (op_is_write(op))
			build_write(m, s, op);
	}
	build_flags(m, s, op);
	if (op_arrives(op))
		o->arrival[o->expected++ % ARRAY_SIZE(o->arrival)] = *op;
	s->posted++;
	return op;
}

/* Up to the next pause */
static unsigned int ops_allowed(const struct mix *m, const struct side *s)
{
	unsigned int room = s->ended + DEPTH;

	return (m->pause < room ? m->pause : room) - s->posted;
}

static void side_post(struct mix *m, struct side *s)
{
	unsigned int num = ops_allowed(m, s);
	struct op *op, *first = NULL, *prev = NULL;

	if (!num)
		return;
	num = 1 + random_below(num < LIST_MAX ? num : LIST_MAX);
	for (; num; num--) {
		op = op_build(m, s);
		if (prev)
			prev->wr.next = &op->wr;
		else
			first = op;
		prev = op;
	}
	CHECK_OK(end_post(s->end, &first->wr));
}

/* ---- completions ----------------------------------------------------- */

/* What an ended request has brought */
static void op_check_result(struct mix *m, struct side *s, const struct op *op)
{
	unsigned int slot = op->wr.wr_id % DEPTH;
	uint64_t found;

	if (op_is_atomic(op)) {
		memcpy(&found, s->found.addr + slot * sizeof(found),
		       sizeof(found));
		CHECK_EQ(found, op->orig);
	} else if (op->wr.opcode == IBV_WR_RDMA_READ) {
		check_slot(m, s->answers.addr + slot * m->slot_len, op->sge,
			   op->wr.num_sge,
			   (void *)(uintptr_t)op->wr.wr.rdma.remote_addr,
			   op->len);
	}
}

static void op_check_wc(const struct side *s, const struct op *op,
			const struct ibv_wc *wc)
{
	CHECK(wc->wr_id == op->wr.wr_id, "%llu, not %llu",
	      (unsigned long long)wc->wr_id, (unsigned long long)op->wr.wr_id);
	CHECK(wc->status == IBV_WC_SUCCESS, "%s (vendor %u)",
	      ibv_wc_status_str(wc->status), wc->vendor_err);
	CHECK_EQ(wc->opcode, opcode_wc(op->wr.opcode));
	CHECK_EQ(wc->qp_num, s->end->qp->qp_num);
	if (op_is_atomic(op) || op->wr.opcode == IBV_WR_RDMA_READ)
		CHECK_EQ(wc->byte_len, op->len);
}

/* Requests end in order; one that is signaled tells of those before it */
static void side_ended(struct mix *m, struct side *s, const struct ibv_wc *wc)
{
	const struct op *op;

	do {
		CHECK(s->ended != s->posted, "one completion too many");
		op = &s->op[s->ended++ % DEPTH];
		op_check_result(m, s, op);
	} while (!(op->wr.send_flags & IBV_SEND_SIGNALED));
	op_check_wc(s, op, wc);
}

static void recv_post(struct mix *m, struct side *s, unsigned int slot)
{
	size_t offset = slot * m->slot_len;

	memset(s->inbox.addr + offset, CANARY, m->slot_len);
	s->inbox_num[slot] = list_into(s->inbox_sge[slot], &s->inbox, offset,
				       m->opts->max_len);
	CHECK_OK(end_post_recv(s->end, s->inbox_sge[slot], s->inbox_num[slot],
			       slot));
}

static void side_arrived(struct mix *m, struct side *s, const struct ibv_wc *wc)
{
	const struct op *op = &s->arrival[s->arrived %
					  ARRAY_SIZE(s->arrival)];
	unsigned int slot = s->arrived % RECVS;

	CHECK(s->arrived != s->expected, "one message too many");
	CHECK(wc->status == IBV_WC_SUCCESS, "%s (vendor %u)",
	      ibv_wc_status_str(wc->status), wc->vendor_err);
	CHECK_EQ(wc->wr_id, slot);
	CHECK_EQ(wc->byte_len, op->len);
	CHECK_EQ(wc->opcode, op_is_write(op) ? IBV_WC_RECV_RDMA_WITH_IMM :
					       IBV_WC_RECV);
	CHECK_EQ(wc->wc_flags & IBV_WC_WITH_IMM,
		 op_has_imm(op) ? IBV_WC_WITH_IMM : 0);
	if (op_has_imm(op))
		CHECK_EQ(wc->imm_data, op->wr.imm_data);

	flatten(m->flat, op->sge, op->wr.num_sge);
	check_slot(m, s->inbox.addr + slot * m->slot_len, s->inbox_sge[slot],
		   s->inbox_num[slot], m->flat, op_is_write(op) ? 0 : op->len);
	s->arrived++;
	recv_post(m, s, slot);
}

static bool side_poll(struct mix *m, struct side *s)
{
	struct ibv_wc wc[8];
	int num, all;

	num = ibv_poll_cq(s->end->scq, ARRAY_SIZE(wc), wc);
	CHECK(num >= 0, "%d", num);
	for (int i = 0; i < num; i++)
		side_ended(m, s, &wc[i]);
	all = num;
	num = ibv_poll_cq(s->end->rcq, ARRAY_SIZE(wc), wc);
	CHECK(num >= 0, "%d", num);
	for (int i = 0; i < num; i++)
		side_arrived(m, s, &wc[i]);
	return all + num;
}

/* ---- everything ------------------------------------------------------ */

static void side_compare(const struct side *s)
{
	for (size_t i = 0; i < AREA; i++)
		CHECK(s->area.addr[i] == s->model[i],
		      "byte %zu of the area is %#x, not %#x", i,
		      s->area.addr[i], s->model[i]);
	CHECK(!memcmp(s->words.addr, s->counts, sizeof(s->counts)),
	      "atomics left other words");
}

static bool side_rests(const struct mix *m, const struct side *s)
{
	return s->ended == m->pause && s->arrived == s->expected;
}

/* At a pause nothing is on its way: compare all memory, and go on */
static void mix_pause(struct mix *m)
{
	if (!side_rests(m, &m->side[0]) || !side_rests(m, &m->side[1]))
		return;
	side_compare(&m->side[0]);
	side_compare(&m->side[1]);
	if (m->pause == m->opts->ops)
		m->over = true;
	m->pause += PAUSE_EVERY;
	if (m->pause > m->opts->ops)
		m->pause = m->opts->ops;
}

static void side_open(struct mix *m, struct side *s, struct end *e)
{
	struct ibv_pd *pd = e->node->pd;

	s->end = e;
	region_open(&s->src, pd, AREA, 1 + random_below(200),
		    IBV_ACCESS_REMOTE_READ);
	random_fill(s->src.addr, AREA);
	region_open(&s->area, pd, AREA, 1 + random_below(200),
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->model = malloc(AREA);
	CHECK(s->model, "no memory");
	memcpy(s->model, s->area.addr, AREA);
	region_open(&s->words, pd, sizeof(s->counts), 8 * random_below(20),
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	memcpy(s->counts, s->words.addr, sizeof(s->counts));
	region_open(&s->inbox, pd, RECVS * m->slot_len, random_below(99),
		    IBV_ACCESS_LOCAL_WRITE);
	region_open(&s->answers, pd, DEPTH * m->slot_len, random_below(99),
		    IBV_ACCESS_LOCAL_WRITE);
	region_open(&s->found, pd, DEPTH * sizeof(uint64_t), 3,
		    IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < RECVS; i++)
		recv_post(m, s, i);
}

static void side_close(struct side *s)
{
	region_close(&s->src);
	region_close(&s->area);
	region_close(&s->words);
	region_close(&s->inbox);
	region_close(&s->answers);
	region_close(&s->found);
	free(s->model);
}

static struct mix *mix_open(struct end *a, struct end *b,
			    const struct mix_opts *opts)
{
	struct mix *m = calloc(1, sizeof(*m));

	CHECK(m, "no memory");
	m->opts = opts;
	m->pause = opts->ops < PAUSE_EVERY ? opts->ops : PAUSE_EVERY;
	m->slot_len = opts->max_len + SGES * GAP;
	m->image = malloc(m->slot_len);
	m->flat = malloc(opts->max_len);
	CHECK(m->image && m->flat, "no memory");
	side_open(m, &m->side[0], a);
	side_open(m, &m->side[1], b);
	return m;
}

static void mix_close(struct mix *m)
{
	side_close(&m->side[0]);
	side_close(&m->side[1]);
	free(m->image);
	free(m->flat);
	free(m);
}

/* Everybody does something; false if there was nothing to do */
static bool mix_turn(struct mix *m)
{
	bool progress;

	side_post(m, &m->side[0]);
	side_post(m, &m->side[1]);
	progress = side_poll(m, &m->side[0]);
	progress |= side_poll(m, &m->side[1]);
	mix_pause(m);
	return progress;
}

static bool mixes_turn(struct mix *mix[], unsigned int num, bool *over)
{
	bool progress = false;

	*over = true;
	for (unsigned int i = 0; i < num; i++) {
		if (mix[i]->over)
			continue;
		progress |= mix_turn(mix[i]);
		*over = false;
	}
	return progress;
}

/**
 * mix_run - random requests over connections, each way
 * @ends: two ends each; in RTS
 * @num: connections
 * @opts: what is sent
 */
void mix_run(struct end ends[][2], unsigned int num,
	     const struct mix_opts *opts)
{
	struct mix *mix[MIX_MAX];
	struct spin spin = {};
	bool over = false;

	for (unsigned int i = 0; i < num; i++)
		mix[i] = mix_open(&ends[i][0], &ends[i][1], opts);
	while (!over) {
		if (mixes_turn(mix, num, &over))
			spin = (struct spin) {};
		else
			spin_turn(&spin);
		if (opts->turn)
			opts->turn(opts->arg);
	}
	/* a completion too many would still come */
	for (unsigned int i = 0; i < num; i++) {
		CHECK(!side_poll(mix[i], &mix[i]->side[0]), "too many");
		CHECK(!side_poll(mix[i], &mix[i]->side[1]), "too many");
		mix_close(mix[i]);
	}
}
