// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A message goes from its slot at one end to its slot at the other, and the
 * slot it goes to is empty, which means full of canaries, before it comes. As
 * soon as the message is seen there the slot is emptied again, so that a request
 * that is executed a second time shows, whenever that happens.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_matrix.h"

#define GUARD		64
#define CANARY		0xa5
#define LIST_MAX	8	/* requests posted at a time */
#define PSN_STEP	0x1000	/* that ep_connect() adds */

/**
 * struct lane - one direction of a cell
 * @cell: whose it is
 * @from: its end
 * @to: the other end
 * @near: slots at this end
 * @far: slots at the other end, and the word of atomics
 * @mw: windows of the other end that messages invalidate, by slot
 * @key: tells the lane's messages from those of others
 * @word: what the word has to hold
 * @found: what atomics have to find, by slot
 * @limit: messages that may be posted
 * @posted: how many were
 * @ended: how many have completed
 * @arrived: how many have completed a receive request
 * @seen: how many were seen to be right where they went to
 * @lit: how many were posted when it became dark
 */
struct lane {
	struct cell *cell;
	struct endpoint *from;
	struct endpoint *to;
	struct region near;
	struct region far;
	struct ibv_mw *mw[CELL_DEPTH];
	uint32_t key;
	uint64_t word;
	uint64_t found[CELL_DEPTH];
	unsigned int limit;
	unsigned int posted;
	unsigned int ended;
	unsigned int arrived;
	unsigned int seen;
	unsigned int lit;
};

/**
 * struct cell - lanes and their connection
 * @opts: what it does
 * @ep: ends of the connection
 * @lane: there and back
 * @num_lanes: 1 if nothing comes back
 */
struct cell {
	struct cell_opts opts;
	struct endpoint ep[2];
	struct lane lane[2];
	unsigned int num_lanes;
};

#define LANE_CHECK(l, cond, fmt, ...)					\
	CHECK(cond, "%s of %u bytes: " fmt, (l)->cell->opts.op->name,	\
	      (l)->cell->opts.len, ##__VA_ARGS__)

/* ---- slots ----------------------------------------------------------- */

static enum ibv_wr_opcode lane_opcode(const struct lane *l)
{
	return l->cell->opts.op->opcode;
}

static bool lane_is_atomic(const struct lane *l)
{
	return opcode_is_atomic(lane_opcode(l));
}

/* Data come from the other end */
static bool lane_reads(const struct lane *l)
{
	return lane_opcode(l) == IBV_WR_RDMA_READ;
}

/* A message completes a receive request */
static bool lane_arrives(const struct lane *l)
{
	return opcode_arrives(lane_opcode(l));
}

static bool lane_invalidates(const struct lane *l)
{
	return lane_opcode(l) == IBV_WR_SEND_WITH_INV;
}

/* Nobody says when a message is there */
static bool lane_is_silent(const struct lane *l)
{
	return l->cell->opts.op->type == IBV_QPT_UC && !lane_arrives(l);
}

static size_t slot_len(const struct lane *l)
{
	return l->cell->opts.len + 2 * GUARD;
}

static size_t slot_offset(const struct lane *l, unsigned int n)
{
	return n % l->cell->opts.depth * slot_len(l);
}

static uint8_t *slot_data(const struct lane *l, const struct region *r,
			  unsigned int n)
{
	return r->addr + slot_offset(l, n) + GUARD;
}

/* Where messages go to */
static const struct region *lane_target(const struct lane *l)
{
	return lane_reads(l) || lane_is_atomic(l) ? &l->near : &l->far;
}

static void slot_empty(const struct lane *l, unsigned int n)
{
	memset(slot_data(l, lane_target(l), n) - GUARD, CANARY, slot_len(l));
}

static bool is_empty(const uint8_t *at, size_t len)
{
	return !len || (*at == CANARY && !memcmp(at, at + 1, len - 1));
}

static void slot_check_empty(const struct lane *l, unsigned int n)
{
	LANE_CHECK(l, is_empty(slot_data(l, lane_target(l), n) - GUARD,
			       slot_len(l)),
		   "written again, before message %u", n);
}

static void slot_check_guards(const struct lane *l, unsigned int n)
{
	const uint8_t *data = slot_data(l, lane_target(l), n);

	LANE_CHECK(l, is_empty(data - GUARD, GUARD),
		   "message %u: written before it", n);
	LANE_CHECK(l, is_empty(data + l->cell->opts.len, GUARD),
		   "message %u: written behind it", n);
}

static void slot_check_data(const struct lane *l, unsigned int n)
{
	const uint8_t *data = slot_data(l, lane_target(l), n);
	uint64_t found;

	if (lane_is_atomic(l)) {
		memcpy(&found, data, sizeof(found));
		LANE_CHECK(l, found == l->found[n % CELL_DEPTH],
			   "message %u found %#llx, not %#llx", n,
			   (unsigned long long)found,
			   (unsigned long long)l->found[n % CELL_DEPTH]);
		return;
	}
	LANE_CHECK(l, has_pattern(data, l->cell->opts.len, l->key + n),
		   "message %u: other data", n);
}

/* The next message is where it belongs, and nothing else is */
static void lane_see(struct lane *l)
{
	unsigned int n = l->seen++;

	slot_check_data(l, n);
	slot_check_guards(l, n);
	slot_empty(l, n);
}

/* ---- requests -------------------------------------------------------- */

static void recv_post(struct lane *l, unsigned int n)
{
	void *addr = NULL;

	if (!opcode_is_write(lane_opcode(l)))
		addr = slot_data(l, &l->far, n);
	CHECK_OK(ep_post_recv(l->to, n, addr, l->cell->opts.len,
			      l->far.mr->lkey));
}

static uint64_t random_u64(void)
{
	return (uint64_t)random_u32() << 32 | random_u32();
}

/* One in three compares with what is not there, and changes nothing */
static void build_atomic(struct lane *l, struct req *r, unsigned int n)
{
	l->found[n % CELL_DEPTH] = l->word;
	r->raddr = region_at(&l->far, GUARD);
	r->compare_add = random_u64();
	r->swap = random_u64();
	if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		l->word += r->compare_add;
	} else if (n % 3) {
		r->compare_add = l->word;
		l->word = r->swap;
	}
}

static void build_data(struct lane *l, struct req *r, unsigned int n)
{
	const struct region *source = lane_reads(l) ? &l->far : &l->near;

	fill_pattern(slot_data(l, source, n), l->cell->opts.len, l->key + n);
	r->raddr = region_at(&l->far, slot_offset(l, n) + GUARD);
	r->ex = l->key ^ n;
}

/* A window of the other end, for this message to invalidate */
static void build_window(struct lane *l, struct req *r, unsigned int n)
{
	struct ibv_mw *mw = l->mw[n % l->cell->opts.depth];

	mw_bind(l->to, mw, &l->far, slot_offset(l, n), slot_len(l),
		RIGHTS_RW);
	r->ex = mw->rkey;
}

static void build(struct lane *l, struct req *r)
{
	unsigned int n = l->posted++;

	*r = (struct req) {
		.opcode = lane_opcode(l),
		.flags = IBV_SEND_SIGNALED,
		.id = n,
		.addr = slot_data(l, &l->near, n),
		.len = l->cell->opts.len,
		.lkey = l->near.mr->lkey,
		.rkey = l->far.mr->rkey,
	};
	slot_check_empty(l, n);
	if (lane_is_atomic(l))
		build_atomic(l, r, n);
	else
		build_data(l, r, n);
	if (lane_invalidates(l))
		build_window(l, r, n);
}

/* Messages whose slots are free again */
static unsigned int lane_room(const struct lane *l)
{
	unsigned int free = l->ended < l->seen ? l->ended : l->seen;

	free += l->cell->opts.depth;
	return (free < l->limit ? free : l->limit) - l->posted;
}

static void lane_post(struct lane *l)
{
	unsigned int num = lane_room(l);
	struct req reqs[LIST_MAX];

	if (!num)
		return;
	num = 1 + random_below(num < LIST_MAX ? num : LIST_MAX);
	for (unsigned int i = 0; i < num; i++)
		build(l, &reqs[i]);
	pane_cfg.wr_api = l->cell->opts.wr_api;
	CHECK_OK(ep_post(l->from, reqs, num));
}

/* ---- completions ----------------------------------------------------- */

static void wc_check(const struct lane *l, const struct ibv_wc *wc,
		     unsigned int n, enum ibv_wc_opcode opcode,
		     const struct ibv_qp *qp)
{
	LANE_CHECK(l, wc->status == IBV_WC_SUCCESS, "message %u: %s (vendor %u)",
		   n, ibv_wc_status_str(wc->status), wc->vendor_err);
	LANE_CHECK(l, n < l->posted, "one completion more than messages");
	LANE_CHECK(l, wc->wr_id == n, "wr_id %llu, not %u",
		   (unsigned long long)wc->wr_id, n);
	LANE_CHECK(l, wc->opcode == opcode, "message %u: opcode %d, not %d", n,
		   wc->opcode, opcode);
	LANE_CHECK(l, wc->qp_num == qp->qp_num, "message %u: other QP", n);
}

static void lane_ended(struct lane *l, const struct ibv_wc *wc)
{
	wc_check(l, wc, l->ended, opcode_wc(lane_opcode(l)), l->from->qp);
	if (lane_reads(l) || lane_is_atomic(l))
		LANE_CHECK(l, wc->byte_len == l->cell->opts.len,
			   "message %u: %u bytes", l->ended, wc->byte_len);
	l->ended++;
	if (!lane_arrives(l) && !lane_is_silent(l) && l->seen < l->ended)
		lane_see(l);
}

static bool slot_is_full(const struct lane *l, unsigned int n)
{
	const uint8_t *data = slot_data(l, &l->far, n);
	const uint32_t len = l->cell->opts.len;

	/* the last byte comes last, and is quickly looked at */
	return len && !is_empty(data + len - 1, 1) &&
	       has_pattern(data, len, l->key + n);
}

/*
 * A WRITE is seen in memory before its requester hears of it, who may even send
 * it again.
 */
static void lane_look(struct lane *l)
{
	while (l->seen != l->posted && slot_is_full(l, l->seen))
		lane_see(l);
}

/* All that was sent without acknowledgments has got there by now */
static void lane_settle(struct lane *l)
{
	if (l->ended == l->seen || l->ended != l->posted)
		return;
	ep_arrived(l->from);
	while (l->seen != l->ended)
		lane_see(l);
}

static void arrived_check_flags(const struct lane *l, const struct ibv_wc *wc,
				unsigned int n)
{
	unsigned int flags = 0;

	if (opcode_has_imm(lane_opcode(l)))
		flags = IBV_WC_WITH_IMM;
	else if (lane_invalidates(l))
		flags = IBV_WC_WITH_INV;
	LANE_CHECK(l, (wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) ==
		   flags, "message %u: flags %#x", n, wc->wc_flags);
	if (flags == IBV_WC_WITH_IMM)
		LANE_CHECK(l, be32toh(wc->imm_data) == (l->key ^ n),
			   "message %u: immediate %#x, not %#x", n,
			   be32toh(wc->imm_data), l->key ^ n);
	if (flags == IBV_WC_WITH_INV)
		LANE_CHECK(l, wc->invalidated_rkey ==
			   l->mw[n % l->cell->opts.depth]->rkey,
			   "message %u: other key", n);
}

static void lane_arrived(struct lane *l, const struct ibv_wc *wc)
{
	unsigned int n = l->arrived++;

	wc_check(l, wc, n, opcode_is_write(lane_opcode(l)) ?
		 IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, ep_recv_qp(l->to));
	LANE_CHECK(l, wc->byte_len == l->cell->opts.len, "message %u: %u bytes",
		   n, wc->byte_len);
	arrived_check_flags(l, wc, n);
	lane_see(l);
	/* one for each slot is always there, so that one too many would show */
	recv_post(l, n + l->cell->opts.depth);
}

static bool lane_poll(struct lane *l)
{
	bool progress = false;
	struct ibv_wc wc;

	while (ibv_poll_cq(l->to->rcq, 1, &wc) > 0) {
		lane_arrived(l, &wc);
		progress = true;
	}
	while (ibv_poll_cq(l->from->scq, 1, &wc) > 0) {
		lane_ended(l, &wc);
		progress = true;
	}
	if (lane_is_silent(l))
		lane_settle(l);
	else if (lane_opcode(l) == IBV_WR_RDMA_WRITE)
		lane_look(l);
	return progress;
}

/* ---- lanes ----------------------------------------------------------- */

static void lane_open(struct cell *c, unsigned int index)
{
	const size_t len = c->opts.depth * (c->opts.len + 2 * GUARD);
	struct lane *l = &c->lane[index];
	int access = IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL;

	l->cell = c;
	l->from = &c->ep[index];
	l->to = &c->ep[!index];
	l->limit = c->opts.num;
	l->key = random_u32();
	if (lane_invalidates(l))
		access = MR_BINDABLE;
	region_open(&l->near, l->from->pd, len, random_below(200),
		    IBV_ACCESS_LOCAL_WRITE);
	/* words of atomics are aligned */
	region_open(&l->far, l->to->pd, len, 8 * random_below(20), access);
	for (unsigned int i = 0; i < c->opts.depth; i++) {
		slot_empty(l, i);
		if (lane_invalidates(l))
			l->mw[i] = mw_open(l->to->pd, IBV_MW_TYPE_2);
		if (lane_arrives(l))
			recv_post(l, i);
	}
	memcpy(&l->word, slot_data(l, &l->far, 0), sizeof(l->word));
}

/* The receive requests that are left come back, and nothing else */
static void lane_flush(struct lane *l)
{
	struct ibv_wc wc;

	if (lane_arrives(l) && !l->to->tgt)
		for (unsigned int i = 0; i < l->cell->opts.depth; i++)
			cq_expect(l->to->rcq, l->arrived + i,
				  IBV_WC_WR_FLUSH_ERR, NULL);
	LANE_CHECK(l, !ibv_poll_cq(l->from->scq, 1, &wc) &&
		   !ibv_poll_cq(l->to->rcq, 1, &wc),
		   "one completion more than messages");
}

/* The connection has gone, and with it all that could still be executed */
static void lane_close(struct lane *l)
{
	uint64_t word;

	for (unsigned int i = 0; i < l->cell->opts.depth; i++) {
		slot_check_empty(l, i);
		if (lane_invalidates(l))
			mw_close(l->mw[i]);
	}
	memcpy(&word, slot_data(l, &l->far, 0), sizeof(word));
	LANE_CHECK(l, !lane_is_atomic(l) || word == l->word,
		   "%#llx in the end, not %#llx", (unsigned long long)word,
		   (unsigned long long)l->word);
	region_close(&l->near);
	region_close(&l->far);
}

static void lane_count(const struct lane *l, struct tally *t)
{
	const struct cell_opts *o = &l->cell->opts;
	/* number of the node that they go to */
	unsigned int to = l == &l->cell->lane[0];

	t->messages += o->num;
	t->bytes += (uint64_t)o->num * o->len;
	if (lane_arrives(l) && !opcode_is_write(o->op->opcode))
		t->sends[to] += o->num;
	if (lane_invalidates(l))
		t->invalidated[to] += o->num;
}

/* ---- cells ----------------------------------------------------------- */

/* Some packets before the end, so that the messages there are many or few */
static uint32_t first_psn(const struct cell_opts *o)
{
	uint32_t packets = o->num * (o->len / mtu_bytes(o->mtu) + 1);

	return o->wraps ? 0xffffff - random_below(packets) - PSN_STEP :
			  random_u32();
}

struct cell *cell_open(struct node node[2], const struct cell_opts *opts)
{
	struct cell *c = calloc(1, sizeof(*c));

	CHECK(c && opts->depth <= CELL_DEPTH, "%u", opts->depth);
	c->opts = *opts;
	c->num_lanes = opts->one_way ? 1 : 2;
	for (unsigned int i = 0; i < 2; i++) {
		ep_open_type(&c->ep[i], &node[i], node[i].pd, opts->op->type);
		c->ep[i].mtu = opts->mtu;
		c->ep[i].timeout = opts->timeout;
		c->ep[i].psn = first_psn(opts);
	}
	ep_connect(&c->ep[0], &c->ep[1]);
	for (unsigned int i = 0; i < c->num_lanes; i++)
		lane_open(c, i);
	return c;
}

void cell_hold(struct cell *c, unsigned int limit)
{
	for (unsigned int i = 0; i < c->num_lanes; i++)
		c->lane[i].limit = limit < c->opts.num ? limit : c->opts.num;
}

/* Post and poll; false if nothing has come */
bool cell_turn(struct cell *c)
{
	bool progress = false;

	for (unsigned int i = 0; i < c->num_lanes; i++) {
		lane_post(&c->lane[i]);
		progress |= lane_poll(&c->lane[i]);
	}
	return progress;
}

/* One of the completion queues of both ends */
static struct ibv_cq *cell_cq(const struct cell *c, unsigned int i)
{
	const struct endpoint *ep = &c->ep[i / 2];

	return i % 2 ? ep->rcq : ep->scq;
}

void cell_arm(const struct cell *c, struct pollfd fd[CELL_CQS])
{
	for (unsigned int i = 0; i < CELL_CQS; i++) {
		struct ibv_cq *cq = cell_cq(c, i);

		CHECK_OK(ibv_req_notify_cq(cq, 0));
		fd[i] = (struct pollfd) {
			.fd = cq->channel->fd,
			.events = POLLIN,
		};
	}
}

void cell_disarm(const struct cell *c, const struct pollfd fd[CELL_CQS])
{
	struct ibv_cq *cq;
	void *context;

	for (unsigned int i = 0; i < CELL_CQS; i++) {
		if (!fd[i].revents)
			continue;
		CHECK_OK(ibv_get_cq_event(cell_cq(c, i)->channel, &cq,
					  &context));
		ibv_ack_cq_events(cq, 1);
	}
}

bool cell_begun(const struct cell *c)
{
	for (unsigned int i = 0; i < c->num_lanes; i++)
		if (!c->lane[i].seen)
			return false;
	return true;
}

bool cell_over(const struct cell *c)
{
	for (unsigned int i = 0; i < c->num_lanes; i++)
		if (c->lane[i].ended != c->opts.num ||
		    c->lane[i].seen != c->opts.num)
			return false;
	return true;
}

void cell_dark(struct cell *c)
{
	for (unsigned int i = 0; i < c->num_lanes; i++)
		c->lane[i].lit = c->lane[i].posted;
	cell_hold(c, c->opts.num);
}

/* What was posted in the dark has not ended, and there is some of it */
void cell_light(const struct cell *c)
{
	for (unsigned int i = 0; i < c->num_lanes; i++) {
		const struct lane *l = &c->lane[i];

		LANE_CHECK(l, l->posted > l->lit, "nothing was posted");
		LANE_CHECK(l, l->ended <= l->lit && l->arrived <= l->lit,
			   "it was not dark");
	}
}

void cell_close(struct cell *c, struct tally *tally)
{
	for (unsigned int i = 0; i < 2; i++)
		ep_modify(&c->ep[i], IBV_QPS_ERR);
	for (unsigned int i = 0; i < c->num_lanes; i++)
		lane_flush(&c->lane[i]);
	for (unsigned int i = 0; i < 2; i++)
		ep_close(&c->ep[i]);
	for (unsigned int i = 0; i < c->num_lanes; i++) {
		lane_count(&c->lane[i], tally);
		lane_close(&c->lane[i]);
	}
	free(c);
}
