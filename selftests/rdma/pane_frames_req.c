// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests: refused, in pieces, out of order, twice */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_frames.h"

/* One byte more than a message may have */
#define TOO_LONG	((1U << 31) + 1)

/* ---- cases: requests that are refused for good ----------------------- */

/**
 * struct refusal - a request that ends the connection
 * @name: what it is
 * @syndrome: of the NAK
 * @counters: what is counted
 * @make: makes it
 * @arg: for @make
 */
struct refusal {
	const char *name;
	uint8_t syndrome;
	const char *counters;
	void (*make)(struct stage *t, struct spec *s, int arg);
	int arg;
};

static void other_opcode(struct stage *t, struct spec *s, int arg)
{
	s->opcode = arg;
}

static void write_only(struct stage *t, struct spec *s, uint64_t va,
		       uint32_t rkey, uint32_t length)
{
	s->opcode = WRITE_ONLY;
	spec_reth(s, va, rkey, length);
}

static void write_length(struct stage *t, struct spec *s, int arg)
{
	write_only(t, s, mem_at(t, 0), t->mem.mr->rkey, 16 + arg);
}

static void write_range(struct stage *t, struct spec *s, int arg)
{
	write_only(t, s, mem_at(t, 0) + arg, t->mem.mr->rkey, 16);
}

static void write_key(struct stage *t, struct spec *s, int arg)
{
	write_only(t, s, mem_at(t, 0), t->mem.mr->rkey ^ arg, 16);
}

/* A range that passes the end of all addresses */
static void write_wraps(struct stage *t, struct spec *s, int arg)
{
	write_only(t, s, -8ULL, t->mem.mr->rkey, 16);
}

static void write_first_length(struct stage *t, struct spec *s, int arg)
{
	static const uint8_t data[MTU];

	s->opcode = WRITE_FIRST;
	s->payload = data;
	s->len = MTU;
	spec_reth(s, mem_at(t, 0), t->mem.mr->rkey, arg);
}

static void send_length(struct stage *t, struct spec *s, int arg)
{
	static const uint8_t data[2 * MTU];

	s->payload = data;
	s->len = arg;
}

static void send_first_length(struct stage *t, struct spec *s, int arg)
{
	s->opcode = SEND_FIRST;
	send_length(t, s, arg);
}

static void read_with_data(struct stage *t, struct spec *s, int arg)
{
	s->opcode = READ_REQUEST;
	spec_reth(s, mem_at(t, 0), t->mem.mr->rkey, 16);
}

static void read_key(struct stage *t, struct spec *s, int arg)
{
	s->opcode = READ_REQUEST;
	s->len = 0;
	spec_reth(s, mem_at(t, 0), t->mem.mr->rkey ^ arg, 16);
}

static void read_range(struct stage *t, struct spec *s, int arg)
{
	s->opcode = READ_REQUEST;
	s->len = 0;
	spec_reth(s, mem_at(t, MEM_LEN - arg), t->mem.mr->rkey, arg + 1);
}

static void read_too_long(struct stage *t, struct spec *s, int arg)
{
	s->opcode = READ_REQUEST;
	s->len = 0;
	spec_reth(s, mem_at(t, 0), t->mem.mr->rkey, 0x80000001);
}

static void atomic(struct stage *t, struct spec *s, int op, uint64_t va,
		   uint32_t rkey)
{
	s->opcode = op;
	s->len = 0;
	spec_atomic(s, va, rkey, 1, 2);
}

static void atomic_at(struct stage *t, struct spec *s, int arg)
{
	atomic(t, s, FETCH_ADD, mem_at(t, 0) + arg, t->mem.mr->rkey);
}

static void atomic_key(struct stage *t, struct spec *s, int arg)
{
	atomic(t, s, CMP_SWAP, mem_at(t, 0), t->mem.mr->rkey ^ arg);
}

static void atomic_with_data(struct stage *t, struct spec *s, int arg)
{
	s->opcode = CMP_SWAP;
	spec_atomic(s, mem_at(t, 0), t->mem.mr->rkey, 1, 2);
}

static void invalidate_key(struct stage *t, struct spec *s, int arg)
{
	s->opcode = SEND_ONLY_INV;
	spec_word(s, arg ? t->mem.mr->rkey : 0x12345678);
}

static const struct refusal refusals[] = {
	{ "SEND_MIDDLE without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, SEND_MIDDLE },
	{ "SEND_LAST without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, SEND_LAST },
	{ "SEND_LAST_IMM without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, SEND_LAST_IMM },
	{ "SEND_LAST_INV without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, SEND_LAST_INV },
	{ "WRITE_MIDDLE without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, WRITE_MIDDLE },
	{ "WRITE_LAST without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, WRITE_LAST },
	{ "WRITE_LAST_IMM without a beginning", NAK_INVALID, "sent_inv_req",
	  other_opcode, WRITE_LAST_IMM },
	{ "SEND_ONLY longer than the path MTU", NAK_INVALID, "sent_inv_req",
	  send_length, MTU + 1 },
	{ "SEND_FIRST shorter than the path MTU", NAK_INVALID,
	  "sent_inv_req", send_first_length, MTU - 4 },
	{ "SEND_FIRST longer than the path MTU", NAK_INVALID, "sent_inv_req",
	  send_first_length, MTU + 4 },
	{ "SEND_FIRST without data", NAK_INVALID, "sent_inv_req",
	  send_first_length, 0 },
	{ "WRITE_ONLY with less data than its RETH says", NAK_INVALID,
	  "sent_inv_req", write_length, 1 },
	{ "WRITE_ONLY with more data than its RETH says", NAK_INVALID,
	  "sent_inv_req", write_length, -1 },
	{ "WRITE_ONLY with data, its RETH says none", NAK_INVALID,
	  "sent_inv_req", write_length, -16 },
	{ "WRITE_FIRST of a message that one packet holds", NAK_INVALID,
	  "sent_inv_req", write_first_length, MTU },
	{ "WRITE_FIRST of a message of no length", NAK_INVALID,
	  "sent_inv_req", write_first_length, 0 },
	{ "WRITE_FIRST of a message too long", NAK_INVALID, "sent_inv_req",
	  write_first_length, TOO_LONG },
	{ "WRITE_FIRST of a message beyond the region", NAK_ACCESS,
	  "sent_rem_access access_range", write_first_length, MEM_LEN + 1 },
	{ "WRITE one byte before the region", NAK_ACCESS,
	  "sent_rem_access access_range", write_range, -1 },
	{ "WRITE one byte behind the region", NAK_ACCESS,
	  "sent_rem_access access_range", write_range, MEM_LEN - 15 },
	{ "WRITE around the end of all addresses", NAK_ACCESS,
	  "sent_rem_access access_range", write_wraps, 0 },
	{ "WRITE with another key byte", NAK_ACCESS,
	  "sent_rem_access access_key", write_key, 0x01 },
	{ "WRITE with another key index", NAK_ACCESS,
	  "sent_rem_access access_key", write_key, 0x300 },
	{ "READ with data", NAK_INVALID, "sent_inv_req", read_with_data, 0 },
	{ "READ of a message too long", NAK_INVALID, "sent_inv_req",
	  read_too_long, 0 },
	{ "READ with another key", NAK_ACCESS, "sent_rem_access access_key",
	  read_key, 0x80 },
	{ "READ one byte behind the region", NAK_ACCESS,
	  "sent_rem_access access_range", read_range, 100 },
	{ "an atomic with data", NAK_INVALID, "sent_inv_req",
	  atomic_with_data, 0 },
	{ "an atomic at an odd address", NAK_INVALID, "sent_inv_req",
	  atomic_at, 1 },
	{ "an atomic at a multiple of 4", NAK_INVALID, "sent_inv_req",
	  atomic_at, 4 },
	{ "an atomic behind the region", NAK_ACCESS,
	  "sent_rem_access access_range", atomic_at, MEM_LEN },
	{ "an atomic with another key", NAK_ACCESS,
	  "sent_rem_access access_key", atomic_key, 0xff },
	{ "an invalidate of nothing", NAK_ACCESS,
	  "sent_rem_access inv_refused", invalidate_key, 0 },
	{ "an invalidate of a region of user space", NAK_ACCESS,
	  "sent_rem_access inv_refused", invalidate_key, 1 },
};

static void refuse(const void *arg)
{
	const struct refusal *r = arg;
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	r->make(&t, &s, r->arg);
	stage_refuses(&t, &s, r->syndrome, r->counters);
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- rights ---------------------------------------------------------- */

/* A right that the QP does not have is an invalid request (C9-88) */
static void qp_right(const void *arg)
{
	struct qp_opts qo;
	struct stage t;
	struct spec s;

	for (unsigned int i = 0; i < 3; i++) {
		random_seed();
		qo = stage_opts();
		qo.access = IBV_ACCESS_LOCAL_WRITE;
		stage_open_with(&t, qo);
		s = spec_of(&t);
		if (i == 0)
			write_range(&t, &s, 0);
		else if (i == 1)
			read_key(&t, &s, 0);
		else
			atomic_at(&t, &s, 0);
		stage_refuses(&t, &s, NAK_INVALID, "sent_inv_req");
		stage_still_works(&t);
		stage_close(&t);
	}
}

/* One that the region does not have is an access error */
static void region_right(const void *arg)
{
	static const int rights[] = {
		IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct stage t;
	struct spec s;

	for (unsigned int i = 0; i < ARRAY_SIZE(rights); i++) {
		stage_open(&t);
		region_close(&t.mem);
		region_open(&t.mem, t.p.node[0].pd, MEM_LEN, 0,
			    IBV_ACCESS_LOCAL_WRITE | (RIGHTS_ALL & ~rights[i]));
		s = spec_of(&t);
		if (i == 0)
			write_range(&t, &s, 0);
		else if (i == 1)
			read_key(&t, &s, 0);
		else
			atomic_at(&t, &s, 0);
		stage_refuses(&t, &s, NAK_ACCESS,
			      "sent_rem_access access_rights");
		stage_still_works(&t);
		stage_close(&t);
	}
}

static void foreign_region(const void *arg)
{
	struct ibv_pd *pd;
	struct region mr;
	struct stage t;
	struct spec s;

	stage_open(&t);
	pd = ibv_alloc_pd(t.p.node[0].ctx);
	CHECK(pd, "%s", strerror(errno));
	region_open(&mr, pd, 4096, 0, IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL);
	s = spec_of(&t);
	write_only(&t, &s, region_at(&mr, 0), mr.mr->rkey, 16);
	stage_refuses(&t, &s, NAK_ACCESS, "sent_rem_access access_pd");
	region_close(&mr);
	CHECK_OK(ibv_dealloc_pd(pd));
	stage_still_works(&t);
	stage_close(&t);
}

/* Without a byte there is nothing to protect: any key will do (C9-75) */
static void no_length(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	s.len = 0;
	write_only(&t, &s, 0x1234, 0xdeadbeef, 0);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.syndrome, ACK_OK);
	t.psn = (t.psn + 1) & 0xffffff;

	s = spec_of(&t);
	s.opcode = READ_REQUEST;
	s.len = 0;
	spec_reth(&s, 0x1234, 0xdeadbeef, 0);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, READ_RESP_ONLY);
	CHECK_EQ(seen.hdr_len, 4);
	CHECK_EQ(seen.psn, t.psn);
	stage_expect(&t, "");
	t.psn = (t.psn + 1) & 0xffffff;
	stage_alive(&t);
	stage_close(&t);
}

/* ---- messages of several packets ------------------------------------- */

static void send_part(struct stage *t, uint8_t op, const void *data, size_t len,
		      bool ack)
{
	struct spec s = spec_of(t);

	s.opcode = op;
	s.apsn = t->psn | (ack ? BTH_ACKREQ : 0);
	s.payload = data;
	s.len = len;
	if (op == WRITE_FIRST)
		spec_reth(&s, mem_at(t, 0), t->mem.mr->rkey, 2 * MTU + 100);
	stranger_send(&t->s, &s);
	t->psn = (t->psn + 1) & 0xffffff;
}

/* The last packet brings less or more than the RETH promised */
static void write_last_length(const void *arg)
{
	uint8_t data[MTU];
	struct stage t;
	struct seen seen;

	for (int i = -1; i <= 1; i++) {
		stage_open(&t);
		random_fill(data, sizeof(data));
		stage_note(&t);
		send_part(&t, WRITE_FIRST, data, MTU, false);
		send_part(&t, WRITE_MIDDLE, data, MTU, false);
		send_part(&t, WRITE_LAST, data, 100 + i, true);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.syndrome, i ? NAK_INVALID : ACK_OK);
		CHECK_EQ(seen.psn, (t.psn - 1) & 0xffffff);
		stage_expect(&t, i ? "sent_inv_req" : "");
		CHECK(!memcmp(t.mem.addr + MTU, data, MTU), "other data");
		stage_close(&t);
	}
}

/* More middle packets than the message has */
static void write_too_many(const void *arg)
{
	uint8_t data[MTU] = {};
	struct seen seen;
	struct stage t;

	stage_open(&t);
	memset(t.mem.addr, 0x33, MEM_LEN);
	stage_note(&t);
	send_part(&t, WRITE_FIRST, data, MTU, false);
	send_part(&t, WRITE_MIDDLE, data, MTU, false);
	send_part(&t, WRITE_MIDDLE, data, MTU, true);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.syndrome, NAK_INVALID);
	stage_expect(&t, "sent_inv_req");
	for (size_t i = 2 * MTU; i < 4 * MTU; i++)
		CHECK_EQ(t.mem.addr[i], 0x33);
	stage_close(&t);
}

/* Another message begins, or goes on, inside one */
static void interleaved(const void *arg)
{
	static const uint8_t second[] = {
		SEND_FIRST, SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST,
		READ_REQUEST, CMP_SWAP,
	};
	uint8_t data[MTU] = {};
	struct seen seen;
	struct stage t;

	for (unsigned int i = 0; i < ARRAY_SIZE(second); i++) {
		bool first = second[i] == SEND_FIRST ||
			     second[i] == WRITE_FIRST ||
			     second[i] == WRITE_MIDDLE;

		stage_open(&t);
		stage_note(&t);
		send_part(&t, SEND_FIRST, data, MTU, false);
		send_part(&t, second[i], data, first ? MTU : 64, true);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.syndrome, NAK_INVALID);
		CHECK_EQ(seen.psn, (t.psn - 1) & 0xffffff);
		stage_expect(&t, "sent_inv_req");
		stage_close(&t);
	}
}

/* ---- sequence numbers ------------------------------------------------ */

/* A gap is told once; then silence until the missing packet comes */
static void psn_ahead(const void *arg)
{
	static const uint32_t ahead[] = { 1, 2, 1000, 0x7fffff };
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	stage_note(&t);
	for (unsigned int i = 0; i < ARRAY_SIZE(ahead); i++) {
		s = spec_of(&t);
		s.apsn = ((t.psn + ahead[i]) & 0xffffff) | BTH_ACKREQ;
		stranger_send(&t.s, &s);
	}
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, NAK_SEQUENCE);
	CHECK_EQ(seen.psn, t.psn);
	stage_expect(&t, "out_of_seq_request=4 sent_seq_err=1");
	stage_alive(&t);
	/* and again */
	stage_note(&t);
	s = spec_of(&t);
	s.apsn = (t.psn + 3) & 0xffffff;
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.syndrome, NAK_SEQUENCE);
	stage_expect(&t, "out_of_seq_request sent_seq_err");
	stage_alive(&t);
	stage_still_works(&t);
	stage_close(&t);
}

/* What was executed is acknowledged again, and not executed again */
static void psn_behind(const void *arg)
{
	static const uint32_t behind[] = { 1, 2, 1000, 0x800000 };
	struct seen seen;
	struct ibv_wc wc;
	struct stage t;
	struct spec s;

	stage_open(&t);
	stage_alive(&t);
	stage_alive(&t);
	for (unsigned int i = 0; i < ARRAY_SIZE(behind); i++) {
		stage_note(&t);
		s = spec_of(&t);
		s.apsn = (t.psn - behind[i]) & 0xffffff;
		stranger_send(&t.s, &s);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.opcode, ACKNOWLEDGE);
		CHECK_EQ(seen.syndrome, ACK_OK);
		CHECK_EQ(seen.psn, (t.psn - 1) & 0xffffff);
		stage_expect(&t, "duplicate_request");
		CHECK_EQ(ibv_poll_cq(t.end.rcq, 1, &wc), 0);
	}
	stage_alive(&t);
	stage_close(&t);
}

static void duplicate_write(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	write_range(&t, &s, 0);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK(!memcmp(t.mem.addr, "sixteen bytes...", 16), "not written");
	memset(t.mem.addr, 0, 16);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.syndrome, ACK_OK);
	stage_expect(&t, "duplicate_request");
	CHECK_EQ(t.mem.addr[0], 0);
	t.psn = (t.psn + 1) & 0xffffff;
	stage_alive(&t);
	stage_close(&t);
}

/* The answer of the first time, and the word as it is */
static void duplicate_atomic(const void *arg)
{
	uint64_t found, word = 77;
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	memcpy(t.mem.addr, &word, sizeof(word));
	s = spec_of(&t);
	atomic_at(&t, &s, 0);
	for (unsigned int i = 0; i < 3; i++) {
		stage_note(&t);
		stranger_send(&t.s, &s);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.opcode, ATOMIC_ACK);
		CHECK_EQ(seen.psn, t.psn);
		memcpy(&found, seen.hdr + 4, sizeof(found));
		CHECK_EQ(be64toh(found), 77);
		memcpy(&word, t.mem.addr, sizeof(word));
		CHECK_EQ(word, 78);
		stage_expect(&t, i ? "duplicate_request" : "");
	}
	/* one that was never executed has no answer */
	s.apsn = (t.psn - 5) & 0xffffff;
	stage_note(&t);
	stranger_send(&t.s, &s);
	stage_expect(&t, "duplicate_request");
	t.psn = (t.psn + 1) & 0xffffff;
	stage_alive(&t);
	memcpy(&word, t.mem.addr, sizeof(word));
	CHECK_EQ(word, 78);
	stage_close(&t);
}

/* Where the kernel has it. What was written since must stay. */
static void duplicate_word(const void *arg)
{
	struct ibv_device_attr_ex attr;
	uint64_t word = 77;
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	CHECK_OK(ibv_query_device_ex(t.p.node[0].ctx, NULL, &attr));
	if (!(attr.device_cap_flags_ex & CAP_ATOMIC_WRITE))
		pane_skip("this kernel has no ATOMIC WRITE");
	s = spec_of(&t);
	s.opcode = ATOMIC_WRITE;
	s.payload = (uint8_t *)&word;
	s.len = sizeof(word);
	spec_reth(&s, mem_at(&t, 8), t.mem.mr->rkey, sizeof(word));
	for (uint8_t i = 0; i < 3; i++) {
		stage_note(&t);
		stranger_send(&t.s, &s);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.opcode, READ_RESP_ONLY);
		CHECK_EQ(seen.hdr_len, 4);
		CHECK_EQ(seen.psn, t.psn);
		stage_expect(&t, i ? "duplicate_request" : "");
		CHECK_EQ(t.mem.addr[8], i ? i : 77);
		t.mem.addr[8] = i + 1;
	}
	t.psn = (t.psn + 1) & 0xffffff;
	stage_alive(&t);
	stage_close(&t);
}

/* ---- READ ------------------------------------------------------------ */

static void read_request(struct stage *t, uint32_t psn, size_t offset,
			 uint32_t length)
{
	struct spec s = spec_of(t);

	s.opcode = READ_REQUEST;
	s.apsn = psn & 0xffffff;
	s.len = 0;
	spec_reth(&s, mem_at(t, offset), t->mem.mr->rkey, length);
	stranger_send(&t->s, &s);
}

/* Opcodes, PSNs and data of an answer */
static void read_answer(struct stage *t, uint32_t psn, size_t offset,
			uint32_t length)
{
	bool first = true;
	struct seen seen;

	do {
		size_t len = length < MTU ? length : MTU;
		bool last = len == length;
		size_t head = first || last ? 4 : 0;

		stranger_wait(&t->s, &seen);
		CHECK_EQ(seen.opcode, first && last ? READ_RESP_ONLY :
				      first ? READ_RESP_FIRST :
				      last ? READ_RESP_LAST :
					     READ_RESP_MIDDLE);
		CHECK_EQ(seen.psn, psn++ & 0xffffff);
		CHECK_EQ(seen.hdr_len, head + ((len + 3) & ~3UL));
		CHECK(!memcmp(seen.hdr + head, t->mem.addr + offset, len),
		      "other data");
		offset += len;
		length -= len;
		first = false;
	} while (length);
}

static void read_lengths(const void *arg)
{
	static const uint32_t lengths[] = {
		0, 1, 3, MTU - 1, MTU, MTU + 1, 2 * MTU, 5 * MTU + 77,
	};
	struct stage t;

	stage_open(&t);
	random_fill(t.mem.addr, 8 * MTU);
	stage_note(&t);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint32_t len = lengths[i];

		read_request(&t, t.psn, i, len);
		read_answer(&t, t.psn, i, len);
		t.psn += len ? (len + MTU - 1) / MTU : 1;
		t.psn &= 0xffffff;
	}
	stage_expect(&t, "");
	stage_alive(&t);
	stage_close(&t);
}

/* Asked for again from the middle; a place it did not ask for has no answer */
static void duplicate_read(const void *arg)
{
	struct stage t;

	stage_open(&t);
	random_fill(t.mem.addr, 8 * MTU);
	read_request(&t, t.psn, 0, 4 * MTU);
	read_answer(&t, t.psn, 0, 4 * MTU);
	stage_note(&t);
	read_request(&t, t.psn, 0, 4 * MTU);
	read_answer(&t, t.psn, 0, 4 * MTU);
	read_request(&t, t.psn + 2, 2 * MTU, 2 * MTU);
	read_answer(&t, t.psn + 2, 2 * MTU, 2 * MTU);
	stage_expect(&t, "duplicate_request=2");
	read_request(&t, t.psn + 2, 3 * MTU, 2 * MTU);
	read_request(&t, t.psn + 2, 2 * MTU, 3 * MTU);
	read_request(&t, t.psn - 1, 0, MTU);
	stage_expect(&t, "duplicate_request=5");
	t.psn = (t.psn + 4) & 0xffffff;
	stage_alive(&t);
	stage_close(&t);
}

void list_requests(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(refusals); i++)
		pane_test(0, refuse, &refusals[i], "refused: %s",
			  refusals[i].name);
	pane_test(0, qp_right, NULL, "a right that the QP lacks");
	pane_test(0, region_right, NULL, "a right that the region lacks");
	pane_test(0, foreign_region, NULL, "a region of another domain");
	pane_test(0, no_length, NULL, "no length, any key");
	pane_test(0, write_last_length, NULL, "length of the last packet");
	pane_test(0, write_too_many, NULL, "a packet too many");
	pane_test(0, interleaved, NULL, "a message inside another");
	pane_test(0, psn_ahead, NULL, "PSNs ahead");
	pane_test(0, psn_behind, NULL, "PSNs behind");
	pane_test(0, duplicate_write, NULL, "a duplicate WRITE");
	pane_test(0, duplicate_atomic, NULL, "a duplicate atomic");
	pane_test(0, duplicate_word, NULL, "a duplicate ATOMIC WRITE");
	pane_test(0, duplicate_read, NULL, "a duplicate READ");
	pane_test(0, read_lengths, NULL, "READs of several lengths");
}
