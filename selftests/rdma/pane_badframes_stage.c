// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A queue pair of each kind, what the device knows, and the signs of life */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_badframes.h"

/* Parts of the device's memory; the first one is what frames have keys of */
#define READ_OFF	8192
#define READ_LEN	(BAD_MTU + 44)
#define RC_OFF		32768
#define UC_OFF		40960
#define XRC_OFF		45056
#define UD_OFF		49152
#define RECV_LEN	4096
/* One byte less than what precedes each datagram */
#define SHORT_LEN	39

#define TEXT		"sixteen bytes..."
#define TEXT_LEN	16
#define GRH_LEN		40
#define WR_ID		0xbad

/* ---- opening --------------------------------------------------------- */

/* The order in which frames arrive is that in which they were sent */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set), "%s", strerror(errno));
}

struct qp_opts bad_opts(enum ibv_qp_type type)
{
	struct qp_opts qo = stage_opts();

	qo.type = type;
	qo.mtu = IBV_MTU_256;
	qo.timeout = 0;
	return qo;
}

/* The stranger's end of a connection, of which there is not much */
static void connect_stranger(struct bad *b, struct endpoint *ep, uint32_t psn)
{
	struct ibv_qp qp = { .qp_num = b->t.qpn };
	struct node node = { .gid = b->t.s.gid };
	struct endpoint remote = {
		.node = &node,
		.qp = &qp,
		.srq = ep->srq,
		.psn = psn,
	};

	ep->mtu = IBV_MTU_256;
	ep->timeout = 0;
	ep->psn = psn + 0x1000;
	ep_connect_one(ep, &remote);
}

static void recv_for_end(struct bad *b, struct end *e, size_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(&b->t.mem, off, len);

	CHECK_OK(end_post_recv(e, &sge, 1, WR_ID));
}

static void open_connected(struct bad *b)
{
	struct node *n = &b->t.p.node[0];
	struct ibv_sge sge = sge_of(&b->t.mem, XRC_OFF, RECV_LEN);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr_id = WR_ID;
	ep_open_type(&b->uc, n, n->pd, IBV_QPT_UC);
	connect_stranger(b, &b->uc, UC_PSN);
	CHECK_OK(ep_post_recv(&b->uc, WR_ID, b->t.mem.addr + UC_OFF, RECV_LEN,
			      b->t.mem.mr->lkey));
	ep_open_type(&b->xrc, n, n->pd, IBV_QPT_XRC_SEND);
	connect_stranger(b, &b->xrc, XRC_PSN);
	CHECK_OK(ibv_get_srq_num(b->xrc.srq, &b->srqn));
	CHECK_OK(ibv_post_srq_recv(b->xrc.srq, &wr, &bad));
}

static void open_others(struct bad *b)
{
	struct qp_opts ud = bad_opts(IBV_QPT_UD), rc = bad_opts(IBV_QPT_RC);
	struct node *n = &b->t.p.node[0];
	struct end gone;

	end_open(&b->ud_empty, n, &ud);
	end_datagram(&b->ud_empty, QKEY);
	end_open(&b->ud_short, n, &ud);
	end_datagram(&b->ud_short, QKEY);
	recv_for_end(b, &b->ud_short, UD_OFF, SHORT_LEN);
	end_open(&b->init, n, &rc);
	end_init(&b->init, &rc);
	end_open(&b->err, n, &rc);
	end_init(&b->err, &rc);
	end_rtr(&b->err, &rc, &b->t.s.gid, b->t.qpn, 1);
	end_to(&b->err, IBV_QPS_ERR);
	end_open(&gone, n, &rc);
	b->dead_qpn = gone.qp->qp_num;
	end_close(&gone);
}

/* Requests of the device that wait for the stranger's answer */
static void ask_stranger(struct bad *b)
{
	struct ibv_sge to = sge_of(&b->t.mem, READ_OFF, READ_LEN);
	struct ibv_sge from = sge_of(&b->t.mem, READ_OFF, TEXT_LEN);
	struct ibv_send_wr read = wr_to(IBV_WR_RDMA_READ, &to, &b->t.mem, 0);
	struct ibv_send_wr send = wr_to(IBV_WR_SEND, &from, NULL, 0), *bad;
	struct seen seen;

	read.wr_id = WR_ID;
	read.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(end_post(&b->t.end, &read));
	stranger_wait(&b->t.s, &seen);
	CHECK_EQ(seen.opcode, READ_REQUEST);
	CHECK_EQ(seen.psn, b->t.sq_psn);

	send.wr_id = WR_ID;
	send.send_flags = IBV_SEND_SIGNALED;
	send.qp_type.xrc.remote_srqn = 0x515;
	CHECK_OK(ibv_post_send(b->xrc.qp, &send, &bad));
	stranger_wait(&b->t.s, &seen);
	CHECK_EQ(seen.opcode, XRC_BASE + SEND_ONLY);
	CHECK_EQ(seen.psn, b->xrc.psn & 0xffffff);
}

/* ---- what the device knows ------------------------------------------- */

/* Send one that is in order: the reason that is counted, and if it was let in */
static enum move probe(struct bad *b, const struct frame *f, bool *rcvd)
{
	struct spec s = bad_spec_of(b, f);
	struct counters now;
	struct spin spin = {};

	stage_note(&b->t);
	stranger_send(&b->t.s, &s);
	for (;;) {
		counters_read(&b->t.p.node[0], &now);
		for (enum move m = 0; m < R_TAKEN; m++) {
			if (!counters_moved(&b->t.before, &now,
					    move_counter(m)))
				continue;
			*rcvd = stage_moved(&b->t, "rcvd_pkts");
			return m;
		}
		spin_turn(&spin);
	}
}

static void learn_opcode(struct bad *b, uint8_t opcode)
{
	struct frame f = { .opcode = opcode, .size = 100, .target = T_NONE };
	bool rcvd;

	if (probe(b, &f, &rcvd) != R_OPCODE)
		b->m.optional |= 1U << opcode;
}

static void learn(struct bad *b)
{
	b->m.uc_psn = UC_PSN;
	learn_opcode(b, FLUSH);
	learn_opcode(b, ATOMIC_WRITE);
	stage_note(&b->t);
}

void bad_open(struct bad *b)
{
	memset(b, 0, sizeof(*b));
	random_seed();
	stay_on_this_cpu();
	stage_open_with(&b->t, bad_opts(IBV_QPT_RC));
	open_connected(b);
	open_others(b);
	ask_stranger(b);
	batch_open(b);
	learn(b);
}

/* ---- signs of life --------------------------------------------------- */

static void cq_is_empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK(!ibv_poll_cq(cq, 1, &wc), "id %#llx: %s",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

static void nothing_happened(struct bad *b)
{
	struct end *const ends[] = {
		&b->t.end, &b->ud_empty, &b->ud_short, &b->err, &b->init,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		cq_is_empty(ends[i]->scq);
		cq_is_empty(ends[i]->rcq);
	}
	cq_is_empty(b->uc.scq);
	cq_is_empty(b->uc.rcq);
	cq_is_empty(b->xrc.scq);
	cq_is_empty(b->xrc.rcq);
	CHECK(!event_pending(&b->t.p.node[0]), "an event");
	CHECK(has_pattern(b->t.mem.addr, MEM_LEN, 0), "memory was written");
}

/* A message in order */
static void say_text(struct bad *b, enum target to, uint8_t opcode,
		     uint32_t psn)
{
	struct frame f = { .opcode = opcode, .size = 64, .target = to };
	struct spec s = bad_spec_of(b, &f);

	s.apsn = (psn & 0xffffff) | BTH_ACKREQ;
	s.payload = TEXT;
	s.len = TEXT_LEN;
	stranger_send(&b->t.s, &s);
}

static void text_came(struct bad *b, struct ibv_cq *cq, size_t off,
		      unsigned int grh_len)
{
	struct ibv_wc wc;

	cq_expect(cq, WR_ID, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.byte_len, grh_len + TEXT_LEN);
	CHECK(!memcmp(b->t.mem.addr + off + grh_len, TEXT, TEXT_LEN),
	      "other data");
	cq_is_empty(cq);
}

static void receivers_live(struct bad *b)
{
	struct seen seen;

	stage_alive(&b->t);

	say_text(b, T_UC, UC_BASE + SEND_ONLY, b->m.uc_psn);
	text_came(b, b->uc.rcq, UC_OFF, 0);

	say_text(b, T_XRC_TGT, XRC_BASE + SEND_ONLY, XRC_PSN);
	stranger_wait(&b->t.s, &seen);
	CHECK_EQ(seen.opcode, XRC_BASE + ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, ACK_OK);
	CHECK_EQ(seen.psn, XRC_PSN);
	text_came(b, b->xrc.rcq, XRC_OFF, 0);

	recv_for_end(b, &b->ud_empty, UD_OFF, RECV_LEN);
	say_text(b, T_UD_EMPTY, UD_SEND_ONLY, 0);
	text_came(b, b->ud_empty.rcq, UD_OFF, GRH_LEN);
}

static void answer_read(struct bad *b, uint8_t opcode, unsigned int i,
			uint32_t len)
{
	static const uint8_t data[READ_LEN] = { 1, 2, 3, 4 };
	struct spec s = spec_of(&b->t);

	s.opcode = opcode;
	s.apsn = (b->t.sq_psn + i) & 0xffffff;
	spec_aeth(&s, ACK_OK, 1);
	s.payload = data + (size_t)i * BAD_MTU;
	s.len = len;
	stranger_send(&b->t.s, &s);
}

/* What was asked before all the bad frames is answered now */
static void requesters_live(struct bad *b)
{
	struct frame f = {
		.opcode = XRC_BASE + ACKNOWLEDGE,
		.size = 20,
		.target = T_XRC_INI,
	};
	struct spec s = bad_spec_of(b, &f);

	answer_read(b, READ_RESP_FIRST, 0, BAD_MTU);
	answer_read(b, READ_RESP_LAST, 1, READ_LEN - BAD_MTU);
	CHECK_WC(b->t.end.scq, WR_ID, IBV_WC_SUCCESS, NULL);
	CHECK(b->t.mem.addr[READ_OFF] == 1 && b->t.mem.addr[READ_OFF + 3] == 4,
	      "other data");

	s.apsn = b->xrc.psn & 0xffffff;
	stranger_send(&b->t.s, &s);
	CHECK_WC(b->xrc.scq, WR_ID, IBV_WC_SUCCESS, NULL);
}

/* What was posted to it is as it was */
static void short_one_waits(struct bad *b)
{
	end_to(&b->ud_short, IBV_QPS_ERR);
	CHECK_WC(b->ud_short.rcq, WR_ID, IBV_WC_WR_FLUSH_ERR, NULL);
	cq_is_empty(b->ud_short.rcq);
}

static void nothing_was_repeated(struct bad *b)
{
	static const char *const names[] = {
		"retransmits", "ack_timeouts", "rcvd_seq_err", "rcvd_rnr_err",
		"implied_nak", "local_prot_err", "wqe_err", "cq_overrun",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(!stage_moved(&b->t, names[i]), "%s", names[i]);
}

void bad_close(struct bad *b)
{
	bad_flush(b);
	batch_close(b);
	nothing_happened(b);
	receivers_live(b);
	requesters_live(b);
	short_one_waits(b);
	nothing_was_repeated(b);
	stage_still_works(&b->t);
	end_close(&b->ud_empty);
	end_close(&b->ud_short);
	end_close(&b->err);
	end_close(&b->init);
	ep_close(&b->uc);
	ep_close(&b->xrc);
	stage_close(&b->t);
}
