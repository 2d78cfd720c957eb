// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A network that means harm: frames of every opcode, spoilt in one place or
 * several, with an ICRC that is right in spite of it or not, from the peer of a
 * connection and from others. Some go to connections of their sender, and some
 * to the connection of an honest process, which must not notice.
 *
 * Nobody can tell a frame that bears a peer's addresses, the right PSN and the
 * right key from the peer's own: such a one, to the honest connection, has a PSN
 * that is far away, or an ICRC that is wrong.
 *
 * PANE_OPERATIONS in the environment is the number of frames; PANE_SEED repeats a
 * run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_badframes.h"
#include "pane_honest.h"

#define FRAMES		100000
/* Sent before anybody looks at what became of them */
#define BURST		16
/* Rounds of the honest process, at least */
#define HONEST_ROUNDS	50

/* What the window of the stranger's opens, and places of receive requests */
#define OPEN_OFF	8192
#define OPEN_LEN	4096
#define RECV_OFF	32768
#define RECV_LEN	4096
#define LAND_OFF	49152
#define LAND_LEN	2048

/* So far from the right one that a PSN is taken for an old one, or a new one */
#define PSN_FAR		(1 << 21)

/**
 * struct beside - what the honest process tells
 * @qpn: of its owner's end, to which the frames go
 * @psn: that this expects
 * @rounds: that were good
 * @stop: it shall end
 */
struct beside {
	uint32_t qpn;
	uint32_t psn;
	unsigned int rounds;
	bool stop;
};

/**
 * struct wire - the stage
 * @p: the device, and that of the honest process's peer; no connection
 * @s: the stranger
 * @mem: memory, of which a window and some receive requests open parts
 * @rc: endpoint whose peer the stranger is
 * @uc: likewise
 * @mw: window of @rc
 * @ud: datagram QP
 * @honest: the honest process
 * @sh: what it tells
 * @came: frames that came to the device before all this
 * @honest_sent: those that the honest process's peer had sent
 * @sent: frames so far
 * @damaged: those whose way to the device was uncertain
 * @naks: that came back to the stranger
 * @joins: times that @rc was connected anew
 */
struct wire {
	struct pair p;
	struct stranger s;
	struct region mem;
	struct endpoint rc;
	struct endpoint uc;
	struct ibv_mw *mw;
	struct end ud;
	pid_t honest;
	struct beside *sh;
	uint64_t came;
	uint64_t honest_sent;
	uint64_t sent;
	uint64_t damaged;
	uint64_t naks;
	unsigned int joins;
};

/* ---- the honest process ---------------------------------------------- */

static uint32_t expected_psn(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_RQ_PSN, &init));
	return attr.rq_psn;
}

static __attribute__((noreturn)) void honest_run(struct beside *sh)
{
	struct honest h;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	honest_open(&h);
	while (!__atomic_load_n(&sh->stop, __ATOMIC_ACQUIRE)) {
		pane_more_time();
		sh->psn = expected_psn(h.d.o.qp);
		__atomic_store_n(&sh->qpn, h.d.o.qp->qp_num, __ATOMIC_RELEASE);
		honest_round(&h);
		__atomic_add_fetch(&sh->rounds, 1, __ATOMIC_RELEASE);
	}
	honest_close(&h);
	_exit(0);
}

static void honest_start(struct wire *w)
{
	struct spin spin = {};

	w->sh = mmap(NULL, sizeof(*w->sh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(w->sh != MAP_FAILED, "%s", strerror(errno));
	fflush(stdout);
	w->honest = fork();
	CHECK(w->honest >= 0, "%s", strerror(errno));
	if (!w->honest)
		honest_run(w->sh);
	while (!__atomic_load_n(&w->sh->rounds, __ATOMIC_ACQUIRE))
		spin_turn(&spin);
}

static void honest_lives(struct wire *w)
{
	int status;

	CHECK(!waitpid(w->honest, &status, WNOHANG),
	      "the honest process ended: status %#x", status);
}

static void honest_stop(struct wire *w)
{
	int status;

	__atomic_store_n(&w->sh->stop, true, __ATOMIC_RELEASE);
	CHECK(waitpid(w->honest, &status, 0) == w->honest && !status,
	      "the honest process: status %#x", status);
}

/* ---- the stranger's connections -------------------------------------- */

static struct endpoint the_stranger(struct wire *w, struct node *node,
				    struct ibv_qp *qp)
{
	node->gid = w->s.gid;
	qp->qp_num = 0xabcde;
	return (struct endpoint) {
		.node = node, .qp = qp, .psn = random_u32() & 0xffffff,
	};
}

static void connect_to(struct wire *w, struct endpoint *ep)
{
	struct node node;
	struct ibv_qp qp;
	struct endpoint stranger = the_stranger(w, &node, &qp);

	ep_modify(ep, IBV_QPS_RESET);
	ep_drain(ep);
	ep->psn = random_u32();
	/* what is not answered is not sent again */
	ep->timeout = 0;
	ep_connect_one(ep, &stranger);
	for (unsigned int i = 0; i < 16; i++)
		CHECK_OK(ep_post_recv(ep, i, w->mem.addr + RECV_OFF, RECV_LEN,
				      w->mem.mr->lkey));
}

/* Something to answer, in which a wrong answer would show */
static void ask(struct wire *w, struct endpoint *ep)
{
	struct req read = {
		.opcode = IBV_WR_RDMA_READ,
		.addr = w->mem.addr + LAND_OFF,
		.len = LAND_LEN,
		.lkey = w->mem.mr->lkey,
		.raddr = 4096,
		.rkey = 0x1234,
	};

	CHECK_OK(ep_post(ep, &read, 1));
}

static void join(struct wire *w)
{
	connect_to(w, &w->rc);
	mw_bind(&w->rc, w->mw, &w->mem, OPEN_OFF, OPEN_LEN, RIGHTS_ALL);
	ask(w, &w->rc);
	w->joins++;
}

static void ud_recvs(struct wire *w)
{
	struct ibv_sge sge = sge_of(&w->mem, RECV_OFF, RECV_LEN);
	struct ibv_wc wc;

	while (ibv_poll_cq(w->ud.rcq, 1, &wc) > 0)
		CHECK_OK(end_post_recv(&w->ud, &sge, 1, 0));
}

static void uc_recvs(struct wire *w)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(w->uc.rcq, 1, &wc) > 0)
		CHECK_OK(ep_post_recv(&w->uc, 0, w->mem.addr + RECV_OFF,
				      RECV_LEN, w->mem.mr->lkey));
}

/* What has ended in the last burst goes on, or begins anew */
static void renew(struct wire *w)
{
	struct ibv_wc wc;

	if (ep_state(&w->rc) != IBV_QPS_RTS)
		join(w);
	if (ep_state(&w->uc) != IBV_QPS_RTS)
		connect_to(w, &w->uc);
	while (ibv_poll_cq(w->rc.rcq, 1, &wc) > 0)
		CHECK_OK(ep_post_recv(&w->rc, 0, w->mem.addr + RECV_OFF,
				      RECV_LEN, w->mem.mr->lkey));
	while (ibv_poll_cq(w->rc.scq, 1, &wc) > 0)
		if (wc.status == IBV_WC_SUCCESS)
			ask(w, &w->rc);
	ud_recvs(w);
	uc_recvs(w);
}

/* Frames that came to the device, whatever it did with them */
static uint64_t came(const struct wire *w)
{
	struct counters now, none = {};
	uint64_t sum;

	counters_read(&w->p.node[0], &now);
	sum = counters_moved(&none, &now, "rcvd_pkts");
	for (enum move m = 0; is_before_qp(m); m++)
		sum += counters_moved(&none, &now, move_counter(m));
	return sum;
}

static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set), "%s", strerror(errno));
}

static void wire_open(struct wire *w)
{
	struct qp_opts ud = stage_opts();
	struct ibv_sge sge;

	memset(w, 0, sizeof(*w));
	random_seed();
	pair_nodes_open(&w->p);
	/* while nothing is on its way */
	w->came = came(w);
	w->honest_sent = counter_read(&w->p.node[1], "sent_pkts");
	honest_start(w);
	/* frames of a burst arrive where they are sent, and are not too many */
	stay_on_this_cpu();
	stranger_open(&w->s, 0);
	region_open(&w->mem, w->p.node[0].pd, MEM_LEN, 0, MR_BINDABLE);
	ep_open_type(&w->rc, &w->p.node[0], w->p.node[0].pd, IBV_QPT_RC);
	ep_open_type(&w->uc, &w->p.node[0], w->p.node[0].pd, IBV_QPT_UC);
	w->mw = mw_open(w->p.node[0].pd, IBV_MW_TYPE_2);
	join(w);
	connect_to(w, &w->uc);
	ud.type = IBV_QPT_UD;
	end_open(&w->ud, &w->p.node[0], &ud);
	end_datagram(&w->ud, QKEY);
	sge = sge_of(&w->mem, RECV_OFF, RECV_LEN);
	for (unsigned int i = 0; i < 16; i++)
		CHECK_OK(end_post_recv(&w->ud, &sge, 1, 0));
}

/* ---- frames ---------------------------------------------------------- */

/* An opcode that there is, mostly; that it is the QP's is up to chance */
static uint8_t random_opcode(void)
{
	static const uint8_t bases[] = { 0, 0, 0, UC_BASE, UD_BASE, XRC_BASE };
	uint8_t opcode;

	switch (random_below(16)) {
	case 0:
		return random_below(256);
	case 1:
		return CNP;
	default:
		do {
			opcode = bases[random_below(ARRAY_SIZE(bases))] +
				 random_below(32);
		} while (!op_flags(opcode));
		return opcode;
	}
}

static uint32_t random_len(void)
{
	const uint32_t lens[] = {
		0, 1, 8, 16, random_below(64), random_below(1024), 1024,
		1025 + random_below(600),
	};

	return lens[random_below(ARRAY_SIZE(lens))];
}

static void spec_headers(struct wire *w, struct spec *s)
{
	static const uint8_t syndromes[] = {
		ACK_OK, 0, NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS,
		NAK_OPERATION, 0x21, 0xff,
	};
	uint64_t va = region_at(&w->mem, OPEN_OFF + random_below(OPEN_LEN));
	unsigned int flags = op_flags(s->opcode);
	uint32_t rkey = w->mw->rkey;

	if (flags & OP_XRCETH)
		spec_word(s, random_u32());
	if (flags & OP_DETH)
		spec_deth(s, QKEY, random_u32());
	if (flags & OP_FETH)
		spec_word(s, 1);
	if (flags & OP_RETH)
		spec_reth(s, va, rkey, flags & OP_READ ? random_below(OPEN_LEN) :
							 s->len);
	if (flags & OP_ATOMIC)
		spec_atomic(s, va & ~7ULL, rkey, random_u32(), 0);
	if (flags & OP_AETH)
		spec_aeth(s, syndromes[random_below(ARRAY_SIZE(syndromes))],
			  random_u32());
	if (flags & OP_ORIG)
		spec_atomic_ack(s, random_u32());
	if (flags & OP_IMM)
		spec_word(s, random_u32());
	if (flags & OP_IETH)
		spec_word(s, random_below(4) ? random_u32() : rkey);
}

/* A frame in order, if its opcode is one of the QP it goes to */
static struct spec random_good(struct wire *w)
{
	static uint8_t data[FRAME_MAX];
	struct ibv_qp *const qps[] = { w->rc.qp, w->rc.qp, w->uc.qp, w->ud.qp };
	struct ibv_qp *qp = qps[random_below(ARRAY_SIZE(qps))];
	struct spec s = {
		.src = w->s.gid,
		.dst = w->p.node[0].gid,
		.ip_id = random_u32(),
		.sport = 0xc000 | random_below(0x4000),
		.dport = UDP_PORT,
		.opcode = random_opcode(),
		.flags = BTH_MIGREQ,
		.pkey = 0xffff,
		.dqpn = qp->qp_num,
		.payload = data,
		.len = random_len(),
		.pad = -1,
		.v1 = net_is("v1"),
	};

	memcpy(s.dmac, w->s.their_mac, 6);
	memcpy(s.smac, w->s.mac, 6);
	/* of its oldest request; the others expect one of their own */
	if (op_flags(s.opcode) & OP_RESPONSE)
		s.apsn = (w->rc.psn + random_below(3)) & 0xffffff;
	else if (qp != w->ud.qp)
		s.apsn = (expected_psn(qp) + random_below(2)) & 0xffffff;
	s.apsn |= random_below(2) ? BTH_ACKREQ : 0;
	spec_headers(w, &s);
	return s;
}

/* Something of what the transport reads, before there is an ICRC */
static void spoil_inside(struct spec *s)
{
	switch (random_below(12)) {
	case 0:
		s->flags ^= 1 << random_below(8);
		break;
	case 1:
		s->pkey ^= 1 << random_below(16);
		break;
	case 2:
		s->dqpn = random_below(2) ? s->dqpn ^ 1U << random_below(32) :
					    random_below(4);
		break;
	case 3:
		s->apsn ^= 1U << random_below(32);
		break;
	case 4:
		s->pad = random_below(4);
		break;
	case 5:
		s->cut = random_below(24);
		break;
	case 6:
		s->opcode = random_below(256);
		break;
	case 7:
		s->len = random_below(1500);
		break;
	default:
		if (s->hdr_len)
			s->hdr[random_below(s->hdr_len)] ^=
				1 << random_below(8);
	}
}

/* To the honest connection: as the peer's own but for the PSN, or a stranger's */
static void aim_at_honest(struct wire *w, struct spec *s)
{
	uint32_t psn = __atomic_load_n(&w->sh->psn, __ATOMIC_ACQUIRE);

	s->dqpn = w->sh->qpn;
	psn += PSN_FAR + random_below((1 << 24) - 2 * PSN_FAR);
	s->apsn = (s->apsn & ~0xffffffU) | (psn & 0xffffff);
	if (random_below(2))
		s->src = w->p.node[1].gid;
}

/*
 * Bits of the finished frame; @from is where those begin that the network stack
 * does not look at. The destination address stays: what is not for the device
 * is nothing that it could count.
 */
static void flip(struct built *b, size_t from)
{
	for (unsigned int i = 1 + random_below(4); i && b->len > from; i--)
		b->frame[from + random_below(b->len - from)] ^=
			1 << random_below(8);
}

/* Does the network stack bring a frame with such a length to the device? */
static bool is_whole(const struct spec *s)
{
	return !s->udp_len_add && !s->ip_len_add && s->dport == UDP_PORT;
}

static void spoil_outside(struct spec *s)
{
	switch (random_below(4)) {
	case 0:
		s->udp_len_add = (int)random_below(40) - 20;
		break;
	case 1:
		s->ip_len_add = (int)random_below(40) - 20;
		break;
	case 2:
		s->dport ^= 1 << random_below(16);
		break;
	default:
		s->tail = random_below(64);
	}
}

static void send_frame(struct wire *w)
{
	struct spec s = random_good(w);
	unsigned int what = random_below(16);
	bool honest = random_below(4) == 0;
	static struct built b;
	bool whole;

	for (unsigned int i = random_below(3); i; i--)
		spoil_inside(&s);
	if (what < 2)
		spoil_outside(&s);
	if (honest)
		aim_at_honest(w, &s);
	whole = is_whole(&s);
	frame_build(&b, &s);
	if (what == 2) {
		flip(&b, 14);
		whole = false;
	} else if (what == 3) {
		/* behind what RoCE v1 calls a GRH or the UDP header */
		flip(&b, b.bth - b.frame);
	}
	CHECK(send(w->s.fd, b.frame, b.len, 0) == (ssize_t)b.len, "%zu: %s",
	      b.len, strerror(errno));
	w->sent++;
	w->damaged += !whole;
}

/* ---- what became of them --------------------------------------------- */

/* The device's answers, each of them a frame in order */
static void listen_to(struct wire *w)
{
	struct seen seen;

	while (stranger_look(&w->s, &seen))
		if (seen.opcode == ACKNOWLEDGE && seen.syndrome >> 5 == 3)
			w->naks++;
}

static void untouched(const struct wire *w, size_t from, size_t to)
{
	static uint8_t pattern[MEM_LEN];

	if (!pattern[1])
		fill_pattern(pattern, MEM_LEN, 0);
	CHECK(!memcmp(w->mem.addr + from, pattern + from, to - from),
	      "memory between %zu and %zu was written", from, to);
}

/* All but what the window and the requests open */
static void memory_kept(const struct wire *w)
{
	untouched(w, 0, OPEN_OFF);
	untouched(w, OPEN_OFF + OPEN_LEN, RECV_OFF);
	untouched(w, RECV_OFF + RECV_LEN, LAND_OFF);
	untouched(w, LAND_OFF + LAND_LEN, MEM_LEN);
}

static void burst(struct wire *w)
{
	for (unsigned int i = 0; i < BURST; i++)
		send_frame(w);
	listen_to(w);
	renew(w);
}

/* No answer without a question, and no more than one */
static void answers_bounded(struct wire *w, const struct counters *before)
{
	static const char *const answers[] = {
		"sent_seq_err", "sent_inv_req", "sent_rem_access",
		"sent_rem_op", "send_rnr_err", "np_cnp_sent",
	};
	struct counters now;
	uint64_t sum = 0;

	counters_read(&w->p.node[0], &now);
	for (unsigned int i = 0; i < ARRAY_SIZE(answers); i++)
		sum += counters_moved(before, &now, answers[i]);
	CHECK(sum <= w->sent, "%llu refusals of %llu frames",
	      (unsigned long long)sum, (unsigned long long)w->sent);
	CHECK(w->naks <= w->sent, "%llu NAKs", (unsigned long long)w->naks);
	ksft_print_msg("%llu frames, %llu of them perhaps lost on the way\n",
		       (unsigned long long)w->sent,
		       (unsigned long long)w->damaged);
	ksft_print_msg("%llu refused, %u connections, %u honest rounds\n",
		       (unsigned long long)sum, w->joins, w->sh->rounds);
}

/* A frame in order is taken as if nothing had been */
static void still_works(struct wire *w)
{
	struct spec s = random_good(w);
	struct ibv_wc wc;

	join(w);
	s.opcode = SEND_ONLY;
	s.dqpn = w->rc.qp->qp_num;
	s.apsn = expected_psn(w->rc.qp) | BTH_ACKREQ;
	s.hdr_len = 0;
	s.len = 16;
	stranger_send(&w->s, &s);
	cq_spin(w->rc.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, 16);
}

static void wire_close(struct wire *w)
{
	ep_close(&w->rc);
	ep_close(&w->uc);
	end_close(&w->ud);
	mw_close(w->mw);
	region_close(&w->mem);
	close(w->s.fd);
	pair_nodes_close(&w->p);
}

/* Every frame of either sender is counted, once */
static void all_counted(struct wire *w)
{
	uint64_t honest = counter_read(&w->p.node[1], "sent_pkts") -
			  w->honest_sent;
	struct spin spin = {};
	uint64_t num;

	do {
		num = came(w) - w->came;
		spin_turn(&spin);
	} while (num < w->sent - w->damaged + honest);
	CHECK(num <= w->sent + honest, "%llu frames counted, %llu and %llu sent",
	      (unsigned long long)num, (unsigned long long)w->sent,
	      (unsigned long long)honest);
}

static void test_wire(const void *arg)
{
	static struct counters before;
	uint64_t wanted = pane_operations(FRAMES);
	static struct wire w;

	wire_open(&w);
	counters_read(&w.p.node[0], &before);
	while (w.sent < wanted || w.sh->rounds < pane_rounds(HONEST_ROUNDS)) {
		pane_more_time();
		burst(&w);
		honest_lives(&w);
		if (w.sent / BURST % 256 == 0)
			memory_kept(&w);
	}
	honest_stop(&w);
	memory_kept(&w);
	all_counted(&w);
	answers_bounded(&w, &before);
	still_works(&w);
	wire_close(&w);
}

static void list(void)
{
	pane_test(0, test_wire, NULL,
		  "frames of every opcode, spoilt, beside an honest process");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
