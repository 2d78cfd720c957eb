// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From the model's frames to the wire, and what the counters say to it */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "../kselftest.h"
#include "pane_badframes.h"

#define BTH_AND_ICRC	16
#define GSI_QKEY	0x80010000

/**
 * struct batch - frames that are sent and counted together
 * @num: how many
 * @used: bytes of them
 * @want: what they move
 * @last: the last one, if @what is NULL
 * @what: name of the last one
 * @msg: for sendmmsg()
 * @iov: likewise
 * @bytes: the frames
 */
struct batch {
	unsigned int num;
	size_t used;
	uint64_t want[M_COUNT];
	struct frame last;
	const char *what;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	uint8_t bytes[BATCH_BYTES];
};

struct totals *totals;

void totals_open(void)
{
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED)
		ksft_exit_fail_msg("out of memory\n");
}

void totals_add(uint64_t sent, const uint64_t moved[R_COUNT])
{
	totals->sent += sent;
	for (unsigned int i = 0; i < R_COUNT; i++)
		totals->ended[i] += moved[i];
}

bool all_wanted(void)
{
	const char *all = getenv("PANE_ALL");

	return all && !strcmp(all, "1");
}

/* ---- building -------------------------------------------------------- */

static uint32_t target_qpn(const struct bad *b, const struct frame *f)
{
	switch (f->target) {
	case T_RC:
		return b->t.end.qp->qp_num;
	case T_UC:
		return b->uc.qp->qp_num;
	case T_XRC_TGT:
		return b->xrc.tgt->qp_num;
	case T_XRC_INI:
		return b->xrc.qp->qp_num;
	case T_UD_EMPTY:
		return b->ud_empty.qp->qp_num;
	case T_UD_SHORT:
		return b->ud_short.qp->qp_num;
	case T_GSI:
		return 1;
	case T_HONEST:
		return b->t.p.end[0].qp->qp_num;
	case T_ERR:
		return b->err.qp->qp_num;
	case T_INIT:
		return b->init.qp->qp_num;
	case T_FOREIGN:
		return b->t.p.end[1].qp->qp_num;
	default:
		return f->turn % 2 ? 0 : b->dead_qpn;
	}
}

/* Of a request it is the one expected, of a response the oldest outstanding */
static uint32_t target_psn(const struct bad *b, const struct frame *f)
{
	bool response = op_flags(f->opcode) & OP_RESPONSE;

	switch (f->target) {
	case T_RC:
		return response ? b->t.sq_psn : b->t.psn;
	case T_UC:
		return b->m.uc_psn;
	case T_XRC_TGT:
		return XRC_PSN;
	default:
		return b->xrc.psn;
	}
}

static void spec_bth(const struct bad *b, const struct frame *f, struct spec *s)
{
	static const uint16_t bad_pkeys[] = { 0, 0x7ffe, 0x8000, 0xfffe };
	unsigned int t = f->turn;

	s->opcode = f->opcode;
	s->flags = f->bits & B_NO_MIGREQ ? 0 : BTH_MIGREQ;
	s->flags |= f->bits & B_SE ? BTH_SE : 0;
	s->flags |= f->pad << BTH_PAD_SHIFT;
	s->flags |= f->faults & F_TVER ? 1 + t % BTH_TVER : 0;
	s->pkey = f->bits & B_LIMITED ? 0x7fff : 0xffff;
	if (f->faults & F_PKEY)
		s->pkey = bad_pkeys[t % ARRAY_SIZE(bad_pkeys)];
	s->dqpn = target_qpn(b, f) | (f->bits & B_ECN ? (t | 1) << 24 : 0);
	s->apsn = (target_psn(b, f) + model_psn_off(f)) & 0xffffff;
	s->apsn |= f->bits & B_RESERVED ? (t & 0x7f) << 24 : 0;
	s->apsn |= f->bits & B_ACKREQ ? BTH_ACKREQ : 0;
}

/*
 * Whatever would reach memory has the right key and a place in it. The length
 * of a WRITE is not that of its data, for UC would take any PSN.
 */
static void spec_hdrs(const struct bad *b, const struct frame *f,
		      struct spec *s)
{
	static const uint8_t syndromes[] = {
		ACK_OK, 0, NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, 0x21, 0xff,
	};
	unsigned int len = f->size - op_hdr_len(op_flags(f->opcode)) - f->pad -
			   4;
	unsigned int lie = len > 1 && len <= f->size ? len - 1 : 2;
	uint32_t qkey = f->target == T_GSI ? GSI_QKEY : QKEY;
	unsigned int flags = op_flags(f->opcode);
	uint32_t rkey = b->t.mem.mr->rkey;

	if (flags & OP_XRCETH)
		spec_word(s, b->srqn);
	if (flags & OP_DETH)
		spec_deth(s, f->faults & F_QKEY ? qkey ^ 1U << f->turn % 31 :
						  qkey, 0x4711);
	if (flags & OP_FETH)
		spec_word(s, 1);
	if (flags & OP_RETH)
		spec_reth(s, mem_at(&b->t, 256), rkey, lie);
	if (flags & OP_ATOMIC)
		spec_atomic(s, mem_at(&b->t, 64), rkey, 1, 0);
	if (flags & OP_AETH)
		spec_aeth(s, syndromes[f->turn % ARRAY_SIZE(syndromes)], 1);
	if (flags & OP_ORIG)
		spec_atomic_ack(s, 1);
	if (flags & (OP_IMM | OP_IETH))
		spec_word(s, rkey);
}

/* Exactly @size bytes from the BTH to the ICRC, whatever fits in there */
static void spec_size(const struct frame *f, struct spec *s)
{
	static uint8_t data[FRAME_MAX];
	size_t room;

	s->payload = data;
	s->len = 0;
	s->pad = 0;
	if (f->size < BTH_AND_ICRC) {
		s->hdr_len = 0;
		s->cut = BTH_AND_ICRC - f->size;
		return;
	}
	room = f->size - BTH_AND_ICRC;
	if (s->hdr_len > room)
		s->hdr_len = room;
	s->len = room - s->hdr_len;
	memset(data, 0xbd, s->len);
	for (unsigned int i = 1; i <= f->pad && i <= s->len; i++)
		data[s->len - i] = 0;
}

static unsigned int flipped;

static void flip_icrc(struct built *built)
{
	built->icrc[flipped / 8] ^= 1 << flipped % 8;
}

struct spec bad_spec_of(struct bad *b, const struct frame *f)
{
	struct spec s = spec_of(&b->t);

	spec_bth(b, f, &s);
	spec_hdrs(b, f, &s);
	spec_size(f, &s);
	if (f->faults & F_SOURCE)
		s.src.raw[15] ^= 1;
	if (f->faults & F_DEST)
		s.dst.raw[15] ^= 0x80;
	if (f->faults & F_ICRC) {
		flipped = f->turn % 32;
		s.after = flip_icrc;
	}
	return s;
}

/* ---- counters -------------------------------------------------------- */

/* Number of the counter that a move is about, or -1 */
static const int *counter_numbers(const struct counters *c)
{
	static int number[M_COUNT];
	static bool known;

	for (enum move m = 0; m < M_COUNT && !known; m++) {
		const char *name = move_counter(m);

		number[m] = -1;
		for (unsigned int i = 0; name && i < c->num; i++)
			if (!strcmp(c->name[i], name))
				number[m] = i;
	}
	known = true;
	return number;
}

/* How often each counter is to move */
static void want_by_counter(const struct batch *batch, const struct counters *c,
			    uint64_t want[COUNTERS_MAX])
{
	const int *number = counter_numbers(c);

	memset(want, 0, COUNTERS_MAX * sizeof(*want));
	for (enum move m = 0; m < M_COUNT; m++) {
		if (number[m] >= 0)
			want[number[m]] += batch->want[m];
		else if (move_counter(m))
			CHECK_EQ(batch->want[m], 0);
	}
}

/* Have so many frames come to an end as are to? Their answers may come later */
static bool has_arrived(const struct counters *before,
			const struct counters *now, const uint64_t *want)
{
	const int *number = counter_numbers(now);
	uint64_t missing = 0, moved = 0;

	for (enum move m = 0; m < R_COUNT; m++) {
		if (number[m] < 0)
			continue;
		moved += now->value[number[m]] - before->value[number[m]];
		missing += want[number[m]];
	}
	moved += now->value[number[M_RECVS]] - before->value[number[M_RECVS]];
	missing += want[number[M_RECVS]];
	if (moved < missing)
		return false;
	return now->value[number[M_SENT]] - before->value[number[M_SENT]] >=
	       want[number[M_SENT]];
}

static void say_frame(const struct batch *batch)
{
	const struct frame *f = &batch->last;

	ksft_print_msg("of %u frames, the last of which is:\n", batch->num);
	if (batch->what)
		ksft_print_msg("%s\n", batch->what);
	else
		ksft_print_msg("opcode %#x size %u pad %u turn %u target %u\n",
			       f->opcode, f->size, f->pad, f->turn, f->target);
	if (!batch->what)
		ksft_print_msg("faults %#x bits %#x PSN %u\n", f->faults,
			       f->bits, f->psn_kind);
	if (batch->num > 1)
		ksft_print_msg("PANE_BATCH=1 has each frame counted alone\n");
}

static unsigned int say_differences(const struct counters *before,
				    const struct counters *now,
				    const uint64_t *want)
{
	unsigned int num = 0;

	for (unsigned int i = 0; i < now->num; i++) {
		uint64_t moved = now->value[i] - before->value[i];

		if (moved == want[i] || !strcmp(now->name[i], "sent_bytes"))
			continue;
		num++;
		ksft_print_msg("%s moved by %llu, not %llu\n", now->name[i],
			       (unsigned long long)moved,
			       (unsigned long long)want[i]);
	}
	return num;
}

/* In time, or so far as they came */
static void counters_await(struct bad *b, struct counters *now, uint64_t *want)
{
	struct timespec start, ts;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		counters_read(&b->t.p.node[0], now);
		want_by_counter(b->batch, now, want);
		clock_gettime(CLOCK_MONOTONIC, &ts);
	} while (!has_arrived(&b->t.before, now, want) &&
		 (ts.tv_sec - start.tv_sec) * 1000 < pane_deadline_ms());
}

/* What the counters say of each reason, without what moved them beside it */
static void batch_ended(const struct bad *b, const struct counters *now)
{
	const int *number = counter_numbers(now);
	uint64_t ended[R_COUNT] = {};

	for (enum move m = 0; m < R_COUNT; m++)
		if (number[m] >= 0)
			ended[m] = now->value[number[m]] -
				   b->t.before.value[number[m]];
	ended[R_AHEAD] -= b->batch->want[M_UC_GAP];
	ended[R_TAKEN] = b->batch->want[R_TAKEN];
	ended[R_STACK] = b->batch->want[R_STACK];
	totals_add(b->batch->num, ended);
}

/* Each answer is an ACK, or the NAK that was counted */
static void hear_answers(struct bad *b)
{
	uint64_t left = b->batch->want[M_SENT], naks = 0;
	struct seen seen;

	while (left--) {
		stranger_wait(&b->t.s, &seen);
		CHECK(seen.opcode == ACKNOWLEDGE ||
		      seen.opcode == XRC_BASE + ACKNOWLEDGE, "opcode %#x",
		      seen.opcode);
		if (seen.syndrome != ACK_OK) {
			CHECK_EQ(seen.syndrome, NAK_SEQUENCE);
			naks++;
		}
	}
	CHECK_EQ(naks, b->batch->want[M_SEQ_ERR]);
	stranger_hears_nothing(&b->t.s);
}

/* ---- sending --------------------------------------------------------- */

static void batch_send(struct bad *b)
{
	struct batch *batch = b->batch;
	unsigned int done = 0;
	int ret;

	while (done < batch->num) {
		ret = sendmmsg(b->t.s.fd, batch->msg + done, batch->num - done,
			       0);
		CHECK(ret > 0, "%s", strerror(errno));
		done += ret;
	}
}

void bad_flush(struct bad *b)
{
	static struct counters now;
	uint64_t want[COUNTERS_MAX];

	if (!b->batch->num)
		return;
	batch_send(b);
	counters_await(b, &now, want);
	if (say_differences(&b->t.before, &now, want)) {
		say_frame(b->batch);
		pane_fail(__FILE__, __LINE__, "counted otherwise");
	}
	hear_answers(b);
	batch_ended(b, &now);
	b->t.before = now;
	b->batch->num = 0;
	b->batch->used = 0;
	memset(b->batch->want, 0, sizeof(b->batch->want));
}

/* PANE_BATCH is for who looks for the frame that is counted otherwise */
static unsigned int batch_size(void)
{
	static unsigned int size;
	const char *text;

	if (!size) {
		text = getenv("PANE_BATCH");
		size = text ? atoi(text) : BATCH;
		CHECK(size > 0 && size <= BATCH, "PANE_BATCH=%s", text);
	}
	return size;
}

/* Room for a frame, behind those that wait */
static void batch_add(struct bad *b, const struct spec *s)
{
	static struct built built;
	struct batch *batch = b->batch;
	struct iovec *iov;

	frame_build(&built, s);
	iov = &batch->iov[batch->num];
	iov->iov_base = batch->bytes + batch->used;
	iov->iov_len = built.len;
	memcpy(iov->iov_base, built.frame, built.len);
	batch->used += built.len;
	batch->msg[batch->num].msg_hdr = (struct msghdr) {
		.msg_iov = iov,
		.msg_iovlen = 1,
	};
	batch->num++;
}

static void flush_if_full(struct bad *b)
{
	if (b->batch->num >= batch_size() ||
	    b->batch->used + FRAME_MAX > BATCH_BYTES)
		bad_flush(b);
}

void bad_frame(struct bad *b, struct frame f)
{
	struct spec s;

	model_spoil(&b->m, &f);
	s = bad_spec_of(b, &f);
	batch_add(b, &s);
	model_moves(&b->m, &f, b->batch->want);
	b->batch->last = f;
	b->batch->what = NULL;
	flush_if_full(b);
}

void bad_spec(struct bad *b, const struct spec *s,
	      const uint64_t moves[M_COUNT], const char *what)
{
	batch_add(b, s);
	for (unsigned int i = 0; i < M_COUNT; i++)
		b->batch->want[i] += moves[i];
	b->batch->what = what;
	flush_if_full(b);
}

void batch_open(struct bad *b)
{
	b->batch = calloc(1, sizeof(*b->batch));
	CHECK(b->batch, "out of memory");
}

void batch_close(struct bad *b)
{
	free(b->batch);
}
