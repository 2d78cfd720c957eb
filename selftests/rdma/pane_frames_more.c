// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every opcode, QPs in other states, datagrams, trains and random frames */
#include <errno.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_frames.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

/* ---- every opcode ---------------------------------------------------- */

/* Do opcodes of UC and XRC, and of datagrams, exist? */
static bool exists_elsewhere(unsigned int op)
{
	unsigned int low = op & 0x1f;

	switch (op & 0xe0) {
	case 0x20:
		return low <= WRITE_ONLY_IMM;
	case 0xa0:
		return (low <= SEND_ONLY_INV && low != 0x15) || low == FLUSH ||
		       low == ATOMIC_WRITE;
	default:
		return op == UD_SEND_ONLY || op == UD_SEND_ONLY_IMM;
	}
}

/* What 64 bytes of zeros behind the BTH come to */
static const char *opcode_outcome(unsigned int op)
{
	switch (op) {
	case SEND_ONLY:
	case SEND_ONLY_IMM:
		return "";
	case SEND_ONLY_INV:
		return "sent_rem_access inv_refused";
	case CNP:
		return "rx_length";
	case 0x15:
		return "rx_opcode";
	}
	if (op >= READ_RESP_FIRST && op <= ATOMIC_ACK)
		return "unexpected_response";
	/* FLUSH and ATOMIC WRITE are of another length */
	if (op <= SEND_LAST_INV || op == FLUSH || op == ATOMIC_WRITE)
		return "sent_inv_req";
	return exists_elsewhere(op) ? "rx_transport" : "rx_opcode";
}

static void every_opcode(const void *arg)
{
	static const uint8_t zeros[64];
	struct qp_opts qo = stage_opts();
	struct stage t;
	struct spec s;

	random_seed();
	stage_open_with(&t, qo);
	for (unsigned int op = 0; op < 256; op++) {
		s = spec_of(&t);
		s.opcode = op;
		s.payload = zeros;
		s.len = sizeof(zeros);
		stage_note(&t);
		stranger_send(&t.s, &s);
		if (!*opcode_outcome(op))
			stage_counted(&t, "rdma_recvs", 1);
		stage_expect(&t, opcode_outcome(op));
		/* it may have ended the connection */
		if (op < 0x20) {
			end_close(&t.end);
			stage_connect(&t, &qo);
		}
	}
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- congestion ------------------------------------------------------ */

/* It is for a connection, from its peer, and changes nothing */
static void notification(const void *arg)
{
	static const uint8_t zeros[16];
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	s.opcode = CNP;
	s.apsn = 0;
	s.payload = zeros;
	s.len = sizeof(zeros);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stage_expect(&t, "rx_cnp");
	CHECK_EQ(stage_moved(&t, "sent_pkts"), 0);
	s.src.raw[15] ^= 1;
	stage_drops(&t, &s, "rx_source");
	stage_still_works(&t);
	stage_close(&t);
}

static void mark(struct built *b)
{
	if (*b->ip >> 4 == 4)
		b->ip[1] = 0x5b;
	else
		b->ip[1] |= 0x30;
}

/* A queue on the way had marked the packet: the peer is told, before its ACK */
static void marked(const void *arg)
{
	static const uint8_t zeros[16];
	struct stage t;
	struct spec s;
	struct seen seen;

	stage_open(&t);
	s = spec_of(&t);
	s.after = mark;
	stage_note(&t);
	stranger_send(&t.s, &s);
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, CNP);
	CHECK_EQ(seen.dqpn, t.qpn);
	CHECK_EQ(seen.psn, 0);
	CHECK_EQ(seen.hdr_len, sizeof(zeros));
	CHECK(!memcmp(seen.hdr, zeros, sizeof(zeros)), "reserved bytes");
	stranger_wait(&t.s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, ACK_OK);
	stage_expect(&t, "np_cnp_sent np_ecn_marked_roce_packets");
	stage_close(&t);
}

/* ---- states of the QP ------------------------------------------------ */

static void qp_states(const void *arg)
{
	struct qp_opts qo = stage_opts();
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	end_to(&t.end, IBV_QPS_ERR);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stage_expect(&t, "rx_qp_state");
	stranger_hears_nothing(&t.s);
	end_to(&t.end, IBV_QPS_RESET);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stage_expect(&t, "rx_qp_state");
	end_init(&t.end, &qo);
	stage_note(&t);
	stranger_send(&t.s, &s);
	stage_expect(&t, "rx_qp_state");
	stranger_hears_nothing(&t.s);
	stage_still_works(&t);
	stage_close(&t);
}

/* The first packet in RTR is told, and answered: a connection may be up so */
static void established(const void *arg)
{
	struct qp_opts qo = stage_opts();
	struct stage t;

	stage_open(&t);
	end_close(&t.end);
	end_open(&t.end, &t.p.node[0], &qo);
	end_init(&t.end, &qo);
	stage_recv(&t, 4096);
	end_rtr(&t.end, &qo, &t.s.gid, t.qpn, t.psn);
	stage_alive(&t);
	event_wait(&t.p.node[0], IBV_EVENT_COMM_EST, t.end.qp);
	stage_alive(&t);
	CHECK(!event_pending(&t.p.node[0]), "told twice");
	stage_close(&t);
}

/* ---- datagrams ------------------------------------------------------- */

static struct spec datagram_of(struct stage *t, uint32_t qkey)
{
	struct spec s = spec_of(t);

	s.opcode = UD_SEND_ONLY;
	s.apsn = 5;
	spec_deth(&s, qkey, 0x99);
	return s;
}

static void datagram_arrives(struct stage *t, const struct spec *s)
{
	struct ibv_wc wc;

	stranger_send(&t->s, s);
	cq_spin(t->end.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.src_qp, 0x99);
	CHECK_EQ(wc.byte_len, 40 + s->len);
}

static void datagram_dropped(struct stage *t, const struct spec *s,
			     const char *counter)
{
	struct ibv_wc wc;

	stage_note(t);
	stranger_send(&t->s, s);
	stage_expect(t, counter);
	CHECK_EQ(ibv_poll_cq(t->end.rcq, 1, &wc), 0);
}

static void datagrams(const void *arg)
{
	struct qp_opts qo = stage_opts();
	uint8_t data[4100] = {};
	struct ibv_sge sge;
	struct stage t;
	struct spec s;

	random_seed();
	qo.type = IBV_QPT_UD;
	stage_open_with(&t, qo);
	s = datagram_of(&t, QKEY + 1);
	datagram_dropped(&t, &s, "rx_qkey");
	s = datagram_of(&t, QKEY);
	s.pkey = 0x8123;
	datagram_dropped(&t, &s, "rx_pkey");
	s = spec_of(&t);
	datagram_dropped(&t, &s, "rx_transport");
	s = datagram_of(&t, QKEY);
	s.after = spoilers[0];
	datagram_dropped(&t, &s, "rx_icrc");
	s = datagram_of(&t, QKEY);
	s.len = 0;
	s.hdr_len = 7;
	datagram_dropped(&t, &s, "rx_length");
	s = datagram_of(&t, QKEY);
	s.payload = data;
	s.len = 4057;
	datagram_dropped(&t, &s, "rx_ud_length");
	s.len = 4056;
	datagram_arrives(&t, &s);
	/* any source will do, and it may be no QP's number */
	s = datagram_of(&t, QKEY);
	s.src.raw[15] ^= 1;
	datagram_arrives(&t, &s);
	for (unsigned int i = 2; i < RECVS; i++)
		datagram_arrives(&t, &s);
	datagram_dropped(&t, &s, "rx_ud_no_recv");
	/* a request may have room for more than the MTU */
	sge = sge_of(&t.mem, 0, 8192);
	CHECK_OK(end_post_recv(&t.end, &sge, 1, 1));
	s.payload = data;
	s.len = 4100;
	datagram_dropped(&t, &s, "rx_ud_length");
	s.len = 4096;
	datagram_arrives(&t, &s);
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- trains made by somebody else ------------------------------------ */

/*
 * What a guest of this machine can send through its tap device, and a program
 * through a packet socket: a train cut at any size, with any header.
 */
static bool train_send(int fd, const struct built *b, uint16_t gso_size,
		       uint8_t flags)
{
	struct {
		struct virtio_net_hdr hdr;
		uint8_t frame[FRAME_MAX];
	} __attribute__((packed)) msg = {
		.hdr = {
			.flags = flags,
			.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
			.gso_size = gso_size,
			.hdr_len = b->bth - b->frame,
			.csum_start = b->udp - b->frame,
			.csum_offset = 6,
		},
	};
	size_t len = sizeof(msg.hdr) + b->len;

	memcpy(msg.frame, b->frame, b->len);
	return send(fd, &msg, len, 0) == (ssize_t)len;
}

static void strange_trains(const void *arg)
{
	static const uint16_t sizes[] = {
		1, 3, 8, 12, 15, 16, 17, 28, 32, 100, 1000, 2000,
	};
	uint8_t data[4000];
	struct qp_opts qo = stage_opts();
	struct stage t;
	struct built b;
	struct spec s;

	random_seed();
	stage_open_with(&t, qo);
	close(t.s.fd);
	stranger_open(&t.s, 1);
	random_fill(data, sizeof(data));
	for (unsigned int i = 0; i < pane_rounds(2000); i++) {
		s = spec_of(&t);
		s.payload = data;
		s.len = random_below(3000);
		s.opcode = random_below(2) ? SEND_ONLY : random_below(32);
		frame_build(&b, &s);
		if (!train_send(t.s.fd, &b,
				sizes[random_below(ARRAY_SIZE(sizes))],
				VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
			/* too many pieces, or too small a kernel */
			CHECK_EQ(errno, EINVAL);
			continue;
		}
		if (end_state(&t.end) == IBV_QPS_ERR) {
			end_close(&t.end);
			stage_connect(&t, &qo);
		}
	}
	close(t.s.fd);
	stranger_open(&t.s, 0);
	end_close(&t.end);
	stage_connect(&t, &qo);
	stage_alive(&t);
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- random frames --------------------------------------------------- */

/* Any bytes at all, behind an honest UDP header */
static void random_body(struct spec *s, uint8_t *data, size_t max)
{
	random_fill(data, max);
	s->opcode = random_u32();
	s->flags = random_u32() & 0x8f;
	s->payload = data;
	s->len = random_below(max);
	s->pad = random_below(8) ? -1 : (int)random_below(4);
	s->pkey = random_below(8) ? 0xffff : random_u32();
}

/* Fields that lie near the right ones */
static void random_request(struct stage *t, struct spec *s, uint8_t *data)
{
	s->opcode = random_below(0x18);
	s->apsn = ((t->psn + random_below(6) - 2) & 0xffffff) |
		  (random_below(2) ? BTH_ACKREQ : 0);
	s->payload = data;
	s->len = random_below(4) ? random_below(MTU + 2) : 0;
	if (random_below(2))
		spec_reth(s, mem_at(t, random_below(MEM_LEN)),
			  t->mem.mr->rkey ^ (random_below(4) ? 0 : 1),
			  random_below(2) ? s->len : random_u32());
	else if (random_below(2))
		spec_atomic(s, mem_at(t, random_below(MEM_LEN) & ~7U),
			    t->mem.mr->rkey, 1, 1);
	else if (random_below(2))
		spec_aeth(s, random_u32(), random_u32());
}

static uint32_t random_target(struct stage *t)
{
	switch (random_below(8)) {
	case 0:
		return 1;
	case 1:
		return random_u32();
	default:
		return t->end.qp->qp_num;
	}
}

static void random_frame(struct stage *t, uint8_t *data, size_t max)
{
	struct spec s = spec_of(t);

	if (random_below(2))
		random_body(&s, data, max);
	else
		random_request(t, &s, data);
	s.dqpn = random_target(t);
	if (random_below(8) == 0)
		s.cut = random_below(20);
	if (random_below(8) == 0)
		s.udp_len_add = random_below(100) - 50;
	if (random_below(8) == 0)
		s.after = spoilers[random_below(SPOILERS)];
	if (s.cut > s.len + s.hdr_len)
		s.cut = 0;
	stranger_send(&t->s, &s);
}

/* The QP again, when one of the frames has ended it */
static void stage_revive(struct stage *t, const struct qp_opts *qo)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(t->end.rcq, 1, &wc) > 0)
		if (wc.status == IBV_WC_SUCCESS)
			stage_recv(t, 4096);
	if (end_state(&t->end) != IBV_QPS_ERR)
		return;
	end_close(&t->end);
	stage_connect(t, qo);
}

static void random_frames(const void *arg)
{
	const bool *datagram = arg;
	struct qp_opts qo = stage_opts();
	uint8_t data[2000];
	struct stage t;

	random_seed();
	if (*datagram)
		qo.type = IBV_QPT_UD;
	stage_open_with(&t, qo);
	for (unsigned int i = 0; i < (pane_is_slow() ? 2000 : 20000); i++) {
		random_frame(&t, data, sizeof(data));
		if (i % 16 == 0)
			stage_revive(&t, &qo);
		if (i % 500 == 0)
			stage_still_works(&t);
	}
	stage_still_works(&t);
	end_close(&t.end);
	qo.type = IBV_QPT_RC;
	stage_connect(&t, &qo);
	close(t.s.fd);
	stranger_open(&t.s, 0);
	stage_alive(&t);
	stage_close(&t);
}

static const bool yes = true, no;

void list_others(void)
{
	pane_test(0, every_opcode, NULL, "every opcode");
	pane_test(0, notification, NULL, "a congestion notification");
	pane_test(0, marked, NULL, "a packet marked on the way");
	pane_test(0, qp_states, NULL, "states that receive nothing");
	pane_test(0, established, NULL, "the first packet in RTR");
	pane_test(0, datagrams, NULL, "datagrams");
	pane_test(0, strange_trains, NULL, "strange trains");
	pane_test(0, random_frames, &no, "random frames to a connection");
	pane_test(0, random_frames, &yes, "random frames to a datagram QP");
}
