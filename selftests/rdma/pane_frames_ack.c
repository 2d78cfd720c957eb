// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the stranger answers to the device's own requests */
#include <endian.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_frames.h"

/* ---- answers to the device's own requests ---------------------------- */

static void own_request(struct stage *t, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem, 0, len);
	struct ibv_send_wr wr = wr_to(op, &sge, &t->mem, 0);

	wr.wr_id = 7;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(end_post(&t->end, &wr));
}

static void own_ended(struct stage *t, enum ibv_wc_status status)
{
	PANE_AT(cq_expect(t->end.scq, 7, status, NULL));
}

static struct spec answer_of(struct stage *t, uint8_t op, uint32_t psn,
			     uint8_t syndrome)
{
	struct spec s = spec_of(t);

	s.opcode = op;
	s.apsn = psn & 0xffffff;
	s.len = 0;
	if (op != READ_RESP_MIDDLE)
		spec_aeth(&s, syndrome, 1);
	return s;
}

static const struct {
	uint8_t syndrome;
	enum ibv_wc_status status;
} naks[] = {
	{ NAK_INVALID, IBV_WC_REM_INV_REQ_ERR },
	{ NAK_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ NAK_OPERATION, IBV_WC_REM_OP_ERR },
	{ 0x64, IBV_WC_BAD_RESP_ERR },
	{ 0x7f, IBV_WC_BAD_RESP_ERR },
	{ 0xff, IBV_WC_BAD_RESP_ERR },
};

/* Each NAK has its completion status; those that are none, too */
static void nak_statuses(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	for (unsigned int i = 0; i < ARRAY_SIZE(naks); i++) {
		stage_open(&t);
		own_request(&t, IBV_WR_RDMA_WRITE, 100);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.psn, t.sq_psn);
		CHECK(seen.ack_req, "no ACK is asked for");
		s = answer_of(&t, ACKNOWLEDGE, t.sq_psn, naks[i].syndrome);
		stranger_send(&t.s, &s);
		own_ended(&t, naks[i].status);
		CHECK_EQ(end_state(&t.end), IBV_QPS_ERR);
		stage_still_works(&t);
		stage_close(&t);
	}
}

/* A NAK of what was not sent, or was acknowledged, is nothing */
static void nak_of_nothing(const void *arg)
{
	static const int off[] = { -2, -1, 1, 2, 0x7fffff };
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	own_request(&t, IBV_WR_RDMA_WRITE, 100);
	stranger_wait(&t.s, &seen);
	stage_note(&t);
	for (unsigned int i = 0; i < ARRAY_SIZE(off); i++) {
		s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + off[i], NAK_ACCESS);
		stranger_send(&t.s, &s);
	}
	stage_expect(&t, "unexpected_response=5");
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn, ACK_OK);
	stranger_send(&t.s, &s);
	own_ended(&t, IBV_WC_SUCCESS);
	stage_still_works(&t);
	stage_close(&t);
}

/* Sent again from the packet that is missing, at once */
static void nak_sequence(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	stage_note(&t);
	own_request(&t, IBV_WR_RDMA_WRITE, 5 * MTU);
	for (unsigned int i = 0; i < 5; i++)
		stranger_wait(&t.s, &seen);
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + 2, NAK_SEQUENCE);
	stranger_send(&t.s, &s);
	for (unsigned int i = 2; i < 5; i++) {
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.psn, (t.sq_psn + i) & 0xffffff);
		CHECK_EQ(seen.opcode, i == 4 ? WRITE_LAST : WRITE_MIDDLE);
		CHECK(!memcmp(seen.hdr, t.mem.addr + i * MTU, MTU),
		      "other data");
	}
	stage_expect(&t, "rcvd_seq_err retransmits");
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + 4, ACK_OK);
	stranger_send(&t.s, &s);
	own_ended(&t, IBV_WC_SUCCESS);
	stage_close(&t);
}

static void nak_not_ready(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	stage_note(&t);
	own_request(&t, IBV_WR_SEND, 2 * MTU);
	stranger_wait(&t.s, &seen);
	stranger_wait(&t.s, &seen);
	/* 0.01 ms */
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn, 0x20 | 1);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.psn, t.sq_psn);
	CHECK_EQ(seen.opcode, SEND_FIRST);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, SEND_LAST);
	stage_expect(&t, "rcvd_rnr_err");
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + 1, ACK_OK);
	stranger_send(&t.s, &s);
	own_ended(&t, IBV_WC_SUCCESS);
	stage_close(&t);
}

/* READ data of a length that was not asked for goes nowhere */
static void read_data_length(const void *arg)
{
	static const int lens[] = { 0, 99, 101, 300, MTU };
	uint8_t data[MTU];
	struct seen seen;
	struct stage t;
	struct spec s;

	memset(data, 0xee, sizeof(data));
	for (unsigned int i = 0; i < ARRAY_SIZE(lens); i++) {
		stage_open(&t);
		memset(t.mem.addr, 0x11, MEM_LEN);
		own_request(&t, IBV_WR_RDMA_READ, 100);
		stranger_wait(&t.s, &seen);
		CHECK_EQ(seen.opcode, READ_REQUEST);
		s = answer_of(&t, READ_RESP_ONLY, t.sq_psn, ACK_OK);
		s.payload = data;
		s.len = lens[i];
		stranger_send(&t.s, &s);
		own_ended(&t, IBV_WC_BAD_RESP_ERR);
		for (unsigned int at = 0; at < 2 * MTU; at++)
			CHECK_EQ(t.mem.addr[at], 0x11);
		stage_still_works(&t);
		stage_close(&t);
	}
}

/* A kind of answer that does not answer what was asked */
static void other_answer(const void *arg)
{
	static const struct {
		enum ibv_wr_opcode asked;
		uint8_t answer;
	} wrong[] = {
		{ IBV_WR_RDMA_WRITE, READ_RESP_ONLY },
		{ IBV_WR_RDMA_WRITE, READ_RESP_MIDDLE },
		{ IBV_WR_RDMA_WRITE, ATOMIC_ACK },
		{ IBV_WR_RDMA_READ, ATOMIC_ACK },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, READ_RESP_ONLY },
	};
	struct ibv_wc wc;
	struct seen seen;
	struct stage t;
	struct spec s;

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		stage_open(&t);
		memset(t.mem.addr, 0x11, MEM_LEN);
		own_request(&t, wrong[i].asked, 8);
		stranger_wait(&t.s, &seen);
		stage_note(&t);
		s = answer_of(&t, wrong[i].answer, t.sq_psn, ACK_OK);
		if (wrong[i].answer == ATOMIC_ACK)
			spec_atomic_ack(&s, -1);
		else
			s.len = 8;
		stranger_send(&t.s, &s);
		stage_expect(&t, "unexpected_response");
		CHECK_EQ(ibv_poll_cq(t.end.scq, 1, &wc), 0);
		CHECK_EQ(t.mem.addr[0], 0x11);
		stage_still_works(&t);
		stage_close(&t);
	}
}

/* Data of the right length in the wrong place, or with a refusal */
static void contradictions(const void *arg)
{
	static const uint8_t data[MTU];
	static const struct {
		uint32_t read;
		uint8_t opcode, syndrome;
		uint32_t len;
	} answers[] = {
		{ 2 * MTU, READ_RESP_ONLY, ACK_OK, MTU },
		{ 2 * MTU, READ_RESP_LAST, ACK_OK, MTU },
		{ MTU, READ_RESP_FIRST, ACK_OK, MTU },
		{ MTU, READ_RESP_MIDDLE, ACK_OK, MTU },
		{ 16, READ_RESP_ONLY, 0x62, 16 },
		{ 16, READ_RESP_ONLY, 0x20, 16 },
	};
	struct seen seen;
	struct stage t;
	struct spec s;

	for (unsigned int i = 0; i < ARRAY_SIZE(answers); i++) {
		stage_open(&t);
		own_request(&t, IBV_WR_RDMA_READ, answers[i].read);
		stranger_wait(&t.s, &seen);
		s = answer_of(&t, answers[i].opcode, t.sq_psn,
			      answers[i].syndrome);
		s.payload = data;
		s.len = answers[i].len;
		stranger_send(&t.s, &s);
		own_ended(&t, IBV_WC_BAD_RESP_ERR);
		stage_close(&t);
	}
}

/* The next request is a READ of @length bytes, @offset bytes into the region */
static void asks_for(struct stage *t, uint32_t offset, uint32_t length)
{
	struct seen seen;
	uint32_t len;
	uint64_t va;

	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.opcode, READ_REQUEST);
	memcpy(&va, seen.hdr, sizeof(va));
	CHECK_EQ(be64toh(va), (uintptr_t)t->mem.addr + offset);
	memcpy(&len, seen.hdr + 12, sizeof(len));
	CHECK_EQ(be32toh(len), length);
}

/* Answer number @pkt, of @size bytes, to a READ of @pkts packets */
static void answer_read(struct stage *t, uint32_t pkt, uint32_t pkts,
			uint32_t size)
{
	static const uint8_t data[MTU];
	uint8_t opcode = READ_RESP_MIDDLE;
	struct spec s;

	if (pkts == 1)
		opcode = READ_RESP_ONLY;
	else if (pkt == 0)
		opcode = READ_RESP_FIRST;
	else if (pkt == pkts - 1)
		opcode = READ_RESP_LAST;
	s = answer_of(t, opcode, t->sq_psn + pkt, ACK_OK);
	s.payload = data;
	s.len = size;
	stranger_send(&t->s, &s);
}

/*
 * A READ is one request however long it is, since all of it is to be read under
 * one binding (A6). When an answer is lost what is left is asked for again.
 */
static void long_read(const void *arg)
{
	const uint32_t mtu = 256, pkts = 300, length = (pkts - 1) * mtu + 1;
	const uint32_t lost = 10;
	struct qp_opts qo = stage_opts();
	struct ibv_send_wr wr;
	struct region to;
	struct ibv_sge sge;
	struct stage t;

	random_seed();
	qo.mtu = IBV_MTU_256;
	stage_open_with(&t, qo);
	region_open(&to, t.p.node[0].pd, length, 0, IBV_ACCESS_LOCAL_WRITE);
	sge = sge_of(&to, 0, length);
	wr = wr_to(IBV_WR_RDMA_READ, &sge, &t.mem, 0);
	wr.wr_id = 7;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(end_post(&t.end, &wr));
	asks_for(&t, 0, length);
	for (uint32_t i = 0; i < lost; i++)
		answer_read(&t, i, pkts, mtu);
	answer_read(&t, lost + 1, pkts, mtu);
	asks_for(&t, lost * mtu, length - lost * mtu);
	for (uint32_t i = lost; i < pkts - 1; i++)
		answer_read(&t, i, pkts, mtu);
	answer_read(&t, pkts - 1, pkts, 1);
	own_ended(&t, IBV_WC_SUCCESS);
	region_close(&to);
	stage_close(&t);
}

/* An ACK that passes a READ tells that its answer was lost */
static void implied_nak(const void *arg)
{
	struct seen seen;
	struct stage t;
	struct spec s;

	stage_open(&t);
	own_request(&t, IBV_WR_RDMA_READ, 16);
	own_request(&t, IBV_WR_RDMA_WRITE, 16);
	stranger_wait(&t.s, &seen);
	stranger_wait(&t.s, &seen);
	stage_note(&t);
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + 1, ACK_OK);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, READ_REQUEST);
	CHECK_EQ(seen.psn, t.sq_psn);
	stranger_wait(&t.s, &seen);
	stage_expect(&t, "implied_nak retransmits");
	s = answer_of(&t, READ_RESP_ONLY, t.sq_psn, ACK_OK);
	s.len = 16;
	stranger_send(&t.s, &s);
	own_ended(&t, IBV_WC_SUCCESS);
	s = answer_of(&t, ACKNOWLEDGE, t.sq_psn + 1, ACK_OK);
	stranger_send(&t.s, &s);
	own_ended(&t, IBV_WC_SUCCESS);
	stage_close(&t);
}

void list_answers(void)
{
	pane_test(0, nak_statuses, NULL, "the status that a NAK gives");
	pane_test(0, nak_of_nothing, NULL, "NAKs of nothing");
	pane_test(0, nak_sequence, NULL, "a sequence NAK");
	pane_test(0, nak_not_ready, NULL, "an RNR NAK");
	pane_test(0, read_data_length, NULL, "READ data of another length");
	pane_test(0, contradictions, NULL, "answers that contradict themselves");
	pane_test(0, long_read, NULL, "a long READ is one request");
	pane_test(0, other_answer, NULL, "an answer of another kind");
	pane_test(0, implied_nak, NULL, "an implied NAK");
}
