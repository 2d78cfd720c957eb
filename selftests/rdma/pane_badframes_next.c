// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets with the PSN that is expected, where a bad one ends the connection:
 * each has a connection of its own. Every request opcode, payload lengths
 * around what the path MTU allows, at each place in a message; and responses.
 */
#include <string.h>

#include "../kselftest.h"
#include "pane_badframes.h"

/* Where stage_recv() has its buffer */
#define RECV_OFF	32768

/* Bytes of a WRITE that its second packet is to bring */
#define WRITE_LEFT	(BAD_MTU - 1)

enum phase {
	P_IDLE,		/* no message is coming in */
	P_SEND,		/* the first packet of one has come */
	P_WRITE,
	PHASES,
};

/* What is told of a WRITE's length */
enum lie {
	L_RIGHT,
	L_MORE,
	L_LESS,
	L_KEY,		/* the length is right, the key is not */
	LIES,
};

/**
 * struct next - a request to a connection of its own
 * @opcode: of it
 * @len: bytes of payload
 * @phase: what came before it
 * @lie: in its RETH
 */
struct next {
	uint8_t opcode;
	unsigned int len;
	enum phase phase;
	enum lie lie;
};

/* How it ends: where it is counted, and what the receive request says */
struct outcome {
	enum move reason;
	enum ibv_wc_status wc;
	bool completes;
};

/* ---- the model ------------------------------------------------------- */

static bool in_sequence(const struct next *x, unsigned int flags)
{
	unsigned int kinds[PHASES] = {
		[P_SEND] = OP_SEND,
		[P_WRITE] = OP_WRITE,
	};

	if (x->phase == P_IDLE)
		return flags & OP_FIRST;
	return flags & kinds[x->phase] && !(flags & OP_FIRST);
}

/* What the RETH says; the rest of a message has more to come */
static uint32_t reth_length(const struct next *x, unsigned int flags)
{
	uint32_t len = flags & OP_LAST ? x->len : BAD_MTU + WRITE_LEFT;

	if (flags & OP_READ)
		return 16;
	if (x->lie == L_MORE)
		return len + 1;
	if (x->lie == L_LESS)
		return flags & OP_LAST ? len - 1 : BAD_MTU;
	return len;
}

/* Do the packets of a WRITE make up the length that was told? */
static bool write_fits(const struct next *x, unsigned int flags)
{
	uint32_t left = x->phase == P_WRITE ? WRITE_LEFT :
					      reth_length(x, flags);

	return flags & OP_LAST ? x->len == left : x->len < left;
}

/* A WRITE that is refused takes its receive request with it, if it has one */
static struct outcome write_outcome(const struct next *x, unsigned int flags)
{
	struct outcome refused = {
		R_INVALID,
		flags & OP_IMM ? IBV_WC_LOC_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR,
		true,
	};

	if (flags & OP_RETH && x->lie == L_KEY && reth_length(x, flags))
		refused.reason = R_ACCESS;
	else if (write_fits(x, flags))
		return (struct outcome) { R_TAKEN, IBV_WC_SUCCESS,
					  flags & OP_IMM };
	return refused;
}

static struct outcome outcome_of(const struct next *x)
{
	struct outcome invalid = { R_INVALID, IBV_WC_WR_FLUSH_ERR, true };
	unsigned int flags = op_flags(x->opcode);

	if (!in_sequence(x, flags) || !op_length_ok(x->opcode, x->len))
		return invalid;
	if (flags & OP_WRITE)
		return write_outcome(x, flags);
	if (flags & OP_IETH)
		return (struct outcome) { R_ACCESS, IBV_WC_REM_INV_REQ_ERR,
					  true };
	return (struct outcome) { R_TAKEN, IBV_WC_SUCCESS,
				  (flags & OP_SEND) && flags & OP_LAST };
}

/* ---- frames ---------------------------------------------------------- */

static struct spec spec_in_order(struct stage *t, uint8_t opcode,
				 unsigned int len)
{
	static const uint8_t zeros[4096];
	struct spec s = spec_of(t);

	s.opcode = opcode;
	s.apsn = t->psn;
	s.payload = zeros;
	s.len = len;
	return s;
}

static struct spec spec_of_next(struct stage *t, const struct next *x)
{
	struct spec s = spec_in_order(t, x->opcode, x->len);
	unsigned int flags = op_flags(x->opcode);
	uint32_t rkey = t->mem.mr->rkey;

	s.apsn |= BTH_ACKREQ;
	if (flags & OP_FETH)
		spec_word(&s, 1);
	if (flags & OP_RETH)
		spec_reth(&s, mem_at(t, 0),
			  x->lie == L_KEY ? rkey ^ 0x100 : rkey,
			  reth_length(x, flags));
	/* changes nothing */
	if (flags & OP_ATOMIC)
		spec_atomic(&s, mem_at(t, 0), rkey, 0, 0);
	/* no region can be invalidated */
	if (flags & (OP_IMM | OP_IETH))
		spec_word(&s, rkey);
	return s;
}

/* The first packet of a message, which is nothing to object to */
static void send_first(struct stage *t, enum phase phase)
{
	struct spec s = spec_in_order(t, phase == P_SEND ? SEND_FIRST :
							   WRITE_FIRST,
				      BAD_MTU);

	if (phase == P_WRITE)
		spec_reth(&s, mem_at(t, 0), t->mem.mr->rkey,
			  BAD_MTU + WRITE_LEFT);
	stage_note(t);
	stranger_send(&t->s, &s);
	stage_counted(t, "rcvd_pkts", 1);
	t->psn = (t->psn + 1) & 0xffffff;
}

/* ---- what is to be seen ---------------------------------------------- */

static void is_answered(struct stage *t, const struct next *x, enum move reason)
{
	uint8_t opcode = ACKNOWLEDGE, syndrome = ACK_OK;
	unsigned int flags = op_flags(x->opcode);
	struct seen seen;

	if (reason == R_TAKEN && flags & OP_READ)
		opcode = READ_RESP_ONLY;
	else if (reason == R_TAKEN && flags & OP_ATOMIC)
		opcode = ATOMIC_ACK;
	else if (reason != R_TAKEN)
		syndrome = reason == R_ACCESS ? NAK_ACCESS : NAK_INVALID;
	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.opcode, opcode);
	CHECK_EQ(seen.syndrome, syndrome);
	CHECK_EQ(seen.psn, t->psn);
	stranger_hears_nothing(&t->s);
}

/* So many receive requests complete, the first one with @status */
static void recvs_complete(struct stage *t, unsigned int num,
			   enum ibv_wc_status status)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < num; i++) {
		cq_spin(t->end.rcq, &wc);
		CHECK_EQ(wc.status, i ? IBV_WC_WR_FLUSH_ERR : status);
	}
	CHECK(!ibv_poll_cq(t->end.rcq, 1, &wc), "one more: %s",
	      ibv_wc_status_str(wc.status));
}

/* What no completion tells, an event does */
static void is_told(struct stage *t, const struct outcome *end)
{
	struct node *n = &t->p.node[0];

	if (end->reason == R_INVALID)
		event_wait(n, IBV_EVENT_QP_REQ_ERR, t->end.qp);
	else if (end->reason == R_ACCESS && end->wc == IBV_WC_WR_FLUSH_ERR)
		event_wait(n, IBV_EVENT_QP_ACCESS_ERR, t->end.qp);
	CHECK(!event_pending(n), "an event");
}

static void is_counted(struct stage *t, const struct next *x,
		       const struct outcome *end)
{
	if (end->reason == R_INVALID)
		stage_expect(t, "sent_inv_req");
	else if (end->reason == R_TAKEN)
		stage_expect(t, "");
	else if (op_flags(x->opcode) & OP_IETH)
		stage_expect(t, "sent_rem_access inv_refused");
	else
		stage_expect(t, "sent_rem_access access_key");
}

/* The zeros that packets brought are there, and nothing else has changed */
static void memory_is_right(struct stage *t, const struct next *x,
			    const struct outcome *end)
{
	static uint8_t wanted[MEM_LEN], pattern[MEM_LEN];
	size_t before = x->phase == P_IDLE ? 0 : BAD_MTU, at, len = before;
	unsigned int flags = op_flags(x->opcode);
	bool send = x->phase == P_SEND || flags & OP_SEND;

	fill_pattern(pattern, sizeof(pattern), 0);
	memcpy(wanted, pattern, sizeof(wanted));
	if (x->phase == P_WRITE)
		send = false;
	at = send ? RECV_OFF : 0;
	/* the key to invalidate is looked at when the data is there */
	if (end->reason == R_TAKEN ||
	    (end->reason == R_ACCESS && flags & OP_IETH))
		len += flags & (OP_SEND | OP_WRITE) ? x->len : 0;
	memset(wanted + at, 0, len);
	CHECK(!memcmp(t->mem.addr, wanted, MEM_LEN), "memory was written");
	memcpy(t->mem.addr, pattern, MEM_LEN);
}

static void add_to_totals(const struct next *x, const struct outcome *end)
{
	uint64_t ended[R_COUNT] = {};

	ended[R_TAKEN] = x->phase != P_IDLE;
	ended[end->reason]++;
	totals_add(1 + (x->phase != P_IDLE), ended);
}

static void try_next(struct stage *t, const struct qp_opts *qo,
		     const struct next *x)
{
	struct outcome end = outcome_of(x);
	struct spec s;

	end_to(&t->end, IBV_QPS_RESET);
	stage_join(t, qo);
	if (x->phase != P_IDLE)
		send_first(t, x->phase);
	s = spec_of_next(t, x);
	stage_note(t);
	stranger_send(&t->s, &s);
	is_answered(t, x, end.reason);
	is_counted(t, x, &end);
	/* a connection in error gives all of them back */
	recvs_complete(t, end.reason == R_TAKEN ? end.completes : RECVS,
		       end.wc);
	is_told(t, &end);
	CHECK_EQ(end_state(&t->end), end.reason == R_TAKEN ? IBV_QPS_RTS :
							     IBV_QPS_ERR);
	memory_is_right(t, x, &end);
	add_to_totals(x, &end);
}

/* ---- responses ------------------------------------------------------- */

/* One to a READ of more than a packet, of another length than it has to be */
static void try_response(struct stage *t, const struct qp_opts *qo,
			 uint8_t opcode, unsigned int len)
{
	struct ibv_sge sge = sge_of(&t->mem, 0, 2 * BAD_MTU);
	struct ibv_send_wr wr = wr_to(IBV_WR_RDMA_READ, &sge, &t->mem, 0);
	uint64_t ended[R_COUNT] = { [R_BAD_RESP] = 1 };
	struct seen seen;
	struct spec s;

	end_to(&t->end, IBV_QPS_RESET);
	stage_join(t, qo);
	wr.wr_id = 7;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(end_post(&t->end, &wr));
	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.psn, t->sq_psn);
	s = spec_in_order(t, opcode, len);
	s.apsn = t->sq_psn;
	if (op_flags(opcode) & OP_AETH)
		spec_aeth(&s, ACK_OK, 1);
	stage_note(t);
	stranger_send(&t->s, &s);
	CHECK_WC(t->end.scq, 7, IBV_WC_BAD_RESP_ERR, NULL);
	recvs_complete(t, RECVS, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(end_state(&t->end), IBV_QPS_ERR);
	stage_expect(t, "");
	CHECK(has_pattern(t->mem.addr, MEM_LEN, 0), "memory was written");
	stranger_hears_nothing(&t->s);
	totals_add(1, ended);
}

/* ---- the list -------------------------------------------------------- */

/* Those that every quick run has come first */
static const unsigned int lengths[] = {
	0, 1, BAD_MTU - 1, BAD_MTU, BAD_MTU + 1,
	2, 3, 4, 5, 8, 16, BAD_MTU - 2, BAD_MTU + 2, BAD_MTU + 3, 1024, 4000,
};

#define QUICK_LENGTHS	5

static uint32_t optional_opcodes(void)
{
	struct bad b;

	bad_open(&b);
	bad_close(&b);
	return b.m.optional;
}

/* What a good one of these does is for others to say */
static bool is_tested(const struct next *x, uint32_t optional)
{
	unsigned int flags = op_flags(x->opcode);

	if (!flags || flags & OP_RESPONSE)
		return false;
	if (x->lie != L_RIGHT)
		return flags & OP_WRITE && flags & OP_RETH;
	if (!(flags & OP_OPTIONAL))
		return true;
	return optional & 1U << x->opcode &&
	       outcome_of(x).reason == R_INVALID;
}

static void next_ones(const void *arg)
{
	unsigned int num = all_wanted() ? ARRAY_SIZE(lengths) : QUICK_LENGTHS;
	struct qp_opts qo = bad_opts(IBV_QPT_RC);
	uint32_t optional = optional_opcodes();
	struct next x = { .phase = (uintptr_t)arg };
	struct stage t;

	random_seed();
	stage_open_with(&t, qo);
	for (x.opcode = 0; x.opcode < 32; x.opcode++) {
		pane_more_time();
		for (unsigned int i = 0; i < num; i++) {
			x.len = lengths[i];
			for (x.lie = 0; x.lie < LIES; x.lie++)
				if (is_tested(&x, optional))
					try_next(&t, &qo, &x);
		}
	}
	stage_still_works(&t);
	stage_close(&t);
}

static void next_responses(const void *arg)
{
	unsigned int num = all_wanted() ? ARRAY_SIZE(lengths) : QUICK_LENGTHS;
	struct qp_opts qo = bad_opts(IBV_QPT_RC);
	struct stage t;

	random_seed();
	stage_open_with(&t, qo);
	for (uint8_t op = READ_RESP_FIRST; op <= READ_RESP_ONLY; op++)
		for (unsigned int i = 0; i < num; i++)
			if (lengths[i] != BAD_MTU)
				try_response(&t, &qo, op, lengths[i]);
	stage_still_works(&t);
	stage_close(&t);
}

void list_next(void)
{
	static const char *const names[PHASES] = {
		[P_IDLE] = "first of a message",
		[P_SEND] = "within a SEND",
		[P_WRITE] = "within a WRITE",
	};

	for (uintptr_t i = 0; i < PHASES; i++)
		pane_test(0, next_ones, (void *)i,
			  "expected PSN: every request, %s", names[i]);
	pane_test(0, next_responses, NULL,
		  "expected PSN: READ responses of another length");
}
