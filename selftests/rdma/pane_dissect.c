// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations for pane_dissect.sh, and what their frames have to look like to
 * somebody who listens.
 *
 *	pane_dissect list	names of the operations
 *	pane_dissect run	does them, and prints the fields of each frame
 *	pane_dissect icrc FILE	reads a capture, and prints frames whose ICRC,
 *				padding or lengths are wrong
 *
 * The expected fields come from what was asked for and from the specification,
 * not from anything that the driver built. Each operation has QPs of its own,
 * so the destination QP tells the frames of one from those of another.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_dissect.h"
#include "pane_fabric.h"
#include "pane_frames_build.h"
#include "pane_util.h"
#include "pane_verbs.h"

#define MTU		1024
#define MEM_LEN		8192
#define IMM		0xcafe0123
/* the third packet of a message has number 0 */
#define PSN_A		0xfffffeU
#define PSN_B		0x000123U
#define RNR_TIMER	12
#define UC		0x20	/* added to opcodes of RC */
#define UD_OPCODE	0x64
#define INVALID_KEY	0x00c0ffee

/* ---- connections ----------------------------------------------------- */

/**
 * struct stage - two QPs, the second of which is the responder
 * @p: their devices
 * @qp: they
 * @scq: completions of their requests
 * @rcq: and of what they receive
 * @mem: memory on each side
 */
struct stage {
	struct pair p;
	struct ibv_qp *qp[2];
	struct ibv_cq *scq[2];
	struct ibv_cq *rcq[2];
	struct region mem[2];
};

static void make_qp(struct stage *t, unsigned int i, enum ibv_qp_type type)
{
	struct node *n = &t->p.node[i];
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	t->scq[i] = ibv_create_cq(n->ctx, 16, NULL, NULL, 0);
	t->rcq[i] = ibv_create_cq(n->ctx, 16, NULL, NULL, 0);
	CHECK(t->scq[i] && t->rcq[i], "%s", strerror(errno));
	init.send_cq = t->scq[i];
	init.recv_cq = t->rcq[i];
	t->qp[i] = ibv_create_qp(n->pd, &init);
	CHECK(t->qp[i], "%s", strerror(errno));
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RIGHTS_ALL,
		.qkey = QKEY,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp->qp_type == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

static struct ibv_ah_attr ah_to(const struct node *from, const struct node *to)
{
	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = to->gid,
			.sgid_index = from->gid_index,
			.hop_limit = 64,
		},
	};
}

static void to_rtr(struct stage *t, unsigned int i, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = t->qp[!i]->qp_num,
		.rq_psn = psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = ah_to(&t->p.node[i], &t->p.node[!i]),
	};
	int mask = IBV_QP_STATE;

	if (t->qp[i]->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (t->qp[i]->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK_OK(ibv_modify_qp(t->qp[i], &attr, mask));
}

/*
 * No request is sent twice: a busy machine is waited for long, and where
 * nothing comes back there is no second try.
 */
static void to_rts(struct ibv_qp *qp, uint32_t psn, uint8_t timeout)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = timeout,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

/* @expected_psn: what the responder waits for */
static void stage_open(struct stage *t, enum ibv_qp_type type,
		       uint32_t expected_psn, uint8_t timeout)
{
	static const uint32_t psn[2] = { PSN_A, PSN_B };

	pair_nodes_open(&t->p);
	for (unsigned int i = 0; i < 2; i++) {
		make_qp(t, i, type);
		region_open(&t->mem[i], t->p.node[i].pd, MEM_LEN, 0,
			    MR_BINDABLE | RIGHTS_ALL);
		fill_pattern(t->mem[i].addr, MEM_LEN, i);
		to_init(t->qp[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		to_rtr(t, i, i ? expected_psn : PSN_B);
	for (unsigned int i = 0; i < 2; i++)
		to_rts(t->qp[i], psn[i], timeout);
}

static void stage_close(struct stage *t)
{
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_OK(ibv_destroy_qp(t->qp[i]));
		CHECK_OK(ibv_destroy_cq(t->scq[i]));
		CHECK_OK(ibv_destroy_cq(t->rcq[i]));
		region_close(&t->mem[i]);
	}
	pair_nodes_close(&t->p);
}

static void receive(struct stage *t, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem[1], 0, len);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_recv(t->qp[1], &wr, &bad));
}

static void request(struct stage *t, unsigned int i, struct ibv_send_wr wr,
		    enum ibv_wc_status status)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.send_flags |= IBV_SEND_SIGNALED;
	CHECK_OK(ibv_post_send(t->qp[i], &wr, &bad));
	cq_spin(t->scq[i], &wc);
	CHECK_EQ(wc.status, status);
}

/* ---- messages -------------------------------------------------------- */

/**
 * struct op - an operation that succeeds, or is refused
 * @name: of it
 * @type: of the QPs
 * @wr: opcode
 * @len: bytes
 * @se: with a solicited event
 */
struct op {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode wr;
	uint32_t len;
	bool se;
};

static bool is_send(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
	       op == IBV_WR_SEND_WITH_INV;
}

static bool has_imm(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Opcode of a packet of a request, at RC */
static unsigned int opcode_of(enum ibv_wr_opcode op, bool first, bool last)
{
	unsigned int base = is_send(op) ? SEND_FIRST : WRITE_FIRST;

	if (!last)
		return base + (first ? 0 : 1);
	if (op == IBV_WR_SEND_WITH_INV)
		return first ? SEND_ONLY_INV : SEND_LAST_INV;
	return base + (first ? 4 : 2) + has_imm(op);
}

static unsigned int packets_of(uint32_t len)
{
	return len ? (len + MTU - 1) / MTU : 1;
}

/* All packets of a SEND or WRITE */
static void expect_request(const struct stage *t, const struct op *op,
			   uint64_t va, uint32_t rkey, uint32_t word)
{
	unsigned int num = packets_of(op->len);

	for (unsigned int i = 0; i < num; i++) {
		bool first = !i, last = i + 1 == num;
		struct expected x = {
			.opcode = opcode_of(op->wr, first, last),
			.psn = PSN_A + i,
			.len = last ? op->len - i * MTU : MTU,
			.va = va,
			.rkey = rkey,
			.dmalen = op->len,
			.word = word,
		};

		if (op->type == IBV_QPT_UC)
			x.opcode += UC;
		if (first && !is_send(op->wr))
			x.headers |= H_RETH;
		if (last && has_imm(op->wr))
			x.headers |= H_IMM;
		if (last && op->wr == IBV_WR_SEND_WITH_INV)
			x.headers |= H_IETH;
		if (last && op->se)
			x.headers |= H_SE;
		print_frame(t->qp[1]->qp_num, &x);
	}
}

static void expect_ack(const struct stage *t, uint32_t psn,
		       unsigned int syndrome, uint32_t msn)
{
	print_frame(t->qp[0]->qp_num, &(struct expected) {
		.headers = H_AETH,
		.opcode = ACKNOWLEDGE,
		.psn = psn,
		.syndrome = syndrome,
		.msn = msn,
	});
}

/* A window of the responder's over all of its memory */
static struct ibv_mw *bound_window(struct stage *t)
{
	struct ibv_mw *mw = mw_open(t->p.node[1].pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind_info(&t->mem[1], 0, MEM_LEN,
					       RIGHTS_RW),
		},
	};

	request(t, 1, wr, IBV_WC_SUCCESS);
	return mw;
}

/* SEND and WRITE */
static void run_message(const struct op *op)
{
	uint64_t va;
	struct ibv_mw *mw = NULL;
	struct spin spin = {};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct stage t;
	struct ibv_wc wc;

	stage_open(&t, op->type, PSN_A, 21);
	va = region_at(&t.mem[1], 0);
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = wr_to(op->wr, &sge, &t.mem[1], 0);
	wr.num_sge = !!op->len;
	if (has_imm(op->wr))
		wr.imm_data = htobe32(IMM);
	if (op->wr == IBV_WR_SEND_WITH_INV) {
		mw = bound_window(&t);
		wr.invalidate_rkey = mw->rkey;
	}
	if (op->se)
		wr.send_flags |= IBV_SEND_SOLICITED;
	expect_request(&t, op, va, t.mem[1].mr->rkey,
		       mw ? mw->rkey : IMM);
	if (op->type == IBV_QPT_RC)
		expect_ack(&t, PSN_A + packets_of(op->len) - 1, ACK_OK, 1);

	receive(&t, MEM_LEN);
	request(&t, 0, wr, IBV_WC_SUCCESS);
	if (is_send(op->wr) || has_imm(op->wr)) {
		cq_spin(t.rcq[1], &wc);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	} else if (op->type == IBV_QPT_UC) {
		/* nothing tells that it has arrived but what it writes */
		while (memcmp(t.mem[0].addr, t.mem[1].addr, op->len))
			spin_turn(&spin);
	}
	if (mw)
		mw_close(mw);
	stage_close(&t);
}

static void run_read(const struct op *op)
{
	unsigned int num = packets_of(op->len);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = wr_to(op->wr, &sge, &t.mem[1], 4);
	print_frame(t.qp[1]->qp_num, &(struct expected) {
		.headers = H_RETH,
		.opcode = READ_REQUEST,
		.psn = PSN_A,
		.va = region_at(&t.mem[1], 4),
		.rkey = t.mem[1].mr->rkey,
		.dmalen = op->len,
	});
	for (unsigned int i = 0; i < num; i++) {
		bool first = !i, last = i + 1 == num;

		print_frame(t.qp[0]->qp_num, &(struct expected) {
			.headers = first || last ? H_AETH : 0,
			.opcode = num == 1 ? READ_RESP_ONLY :
				  first ? READ_RESP_FIRST :
				  last ? READ_RESP_LAST : READ_RESP_MIDDLE,
			.psn = PSN_A + i,
			.len = last ? op->len - i * MTU : MTU,
			.syndrome = ACK_OK,
			.msn = 1,
		});
	}
	request(&t, 0, wr, IBV_WC_SUCCESS);
	stage_close(&t);
}

static void run_atomic(const struct op *op)
{
	const uint64_t orig = 0x1122334455667788, one = 0x0102030405060708;
	bool swap = op->wr == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A, 21);
	memcpy(t.mem[1].addr + 8, &orig, sizeof(orig));
	sge = sge_of(&t.mem[0], 0, sizeof(orig));
	wr = (struct ibv_send_wr) {
		.opcode = op->wr,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = {
			.remote_addr = region_at(&t.mem[1], 8),
			.rkey = t.mem[1].mr->rkey,
			.compare_add = swap ? orig : one,
			.swap = swap ? one : 0,
		},
	};
	print_frame(t.qp[1]->qp_num, &(struct expected) {
		.headers = H_ATOMIC,
		.opcode = swap ? CMP_SWAP : FETCH_ADD,
		.psn = PSN_A,
		.va = region_at(&t.mem[1], 8),
		.rkey = t.mem[1].mr->rkey,
		.swap = one,
		.compare = swap ? orig : 0,
	});
	print_frame(t.qp[0]->qp_num, &(struct expected) {
		.headers = H_AETH | H_ORIG,
		.opcode = ATOMIC_ACK,
		.psn = PSN_A,
		.syndrome = ACK_OK,
		.msn = 1,
		.orig = orig,
	});
	request(&t, 0, wr, IBV_WC_SUCCESS);
	stage_close(&t);
}

/* ---- refusals -------------------------------------------------------- */

static void expect_refused(const struct stage *t, const struct op *op,
			   uint64_t va, uint32_t rkey, uint32_t psn,
			   unsigned int syndrome)
{
	expect_request(t, op, va, rkey, 0);
	expect_ack(t, psn, syndrome, 0);
}

static void run_nak_access(const struct op *op)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = wr_to(op->wr, &sge, &t.mem[1], 0);
	wr.wr.rdma.rkey = INVALID_KEY;
	expect_refused(&t, op, region_at(&t.mem[1], 0), INVALID_KEY, PSN_A,
		       NAK_ACCESS);
	request(&t, 0, wr, IBV_WC_REM_ACCESS_ERR);
	stage_close(&t);
}

static void run_nak_invalid(const struct op *op)
{
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	expect_refused(&t, op, 0, 0, PSN_A, NAK_INVALID);
	/* one byte too short */
	receive(&t, op->len - 1);
	request(&t, 0, wr_to(op->wr, &sge, &t.mem[1], 0),
		IBV_WC_REM_INV_REQ_ERR);
	stage_close(&t);
}

static void run_nak_rnr(const struct op *op)
{
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	expect_refused(&t, op, 0, 0, PSN_A, 0x20 | RNR_TIMER);
	request(&t, 0, wr_to(op->wr, &sge, &t.mem[1], 0),
		IBV_WC_RNR_RETRY_EXC_ERR);
	stage_close(&t);
}

/* The responder has missed three packets that were never sent. */
static void run_nak_sequence(const struct op *op)
{
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op->type, PSN_A - 3, 18);
	sge = sge_of(&t.mem[0], 0, op->len);
	receive(&t, MEM_LEN);
	expect_refused(&t, op, 0, 0, PSN_A - 3, NAK_SEQUENCE);
	request(&t, 0, wr_to(op->wr, &sge, &t.mem[1], 0),
		IBV_WC_RETRY_EXC_ERR);
	stage_close(&t);
}

/* ---- datagrams ------------------------------------------------------- */

static void run_datagram(const struct op *op)
{
	bool imm = has_imm(op->wr);
	struct ibv_ah_attr attr;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct stage t;
	struct ibv_wc wc;

	stage_open(&t, op->type, 0, 0);
	attr = ah_to(&t.p.node[0], &t.p.node[1]);
	ah = ibv_create_ah(t.p.node[0].pd, &attr);
	CHECK(ah, "%s", strerror(errno));
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = (struct ibv_send_wr) {
		.opcode = op->wr,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(IMM),
		.wr.ud = {
			.ah = ah,
			.remote_qpn = t.qp[1]->qp_num,
			.remote_qkey = QKEY,
		},
	};
	print_frame(t.qp[1]->qp_num, &(struct expected) {
		.headers = H_DETH | (imm ? H_IMM : 0),
		.opcode = UD_OPCODE + imm,
		.psn = PSN_A,
		.len = op->len,
		.word = IMM,
		.sqpn = t.qp[0]->qp_num,
	});
	receive(&t, MEM_LEN);
	request(&t, 0, wr, IBV_WC_SUCCESS);
	cq_spin(t.rcq[1], &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_OK(ibv_destroy_ah(ah));
	stage_close(&t);
}

/* ---- the list -------------------------------------------------------- */

#define LONG	(2 * MTU + 5)
#define RC	IBV_QPT_RC

static const struct {
	void (*run)(const struct op *op);
	struct op op;
} ops[] = {
	{ run_message, { "rc_send_empty", RC, IBV_WR_SEND, 0 } },
	{ run_message, { "rc_send_only", RC, IBV_WR_SEND, 13, true } },
	{ run_message, { "rc_send", RC, IBV_WR_SEND, LONG, true } },
	{ run_message, { "rc_send_imm_only", RC, IBV_WR_SEND_WITH_IMM, 14 } },
	{ run_message, { "rc_send_imm", RC, IBV_WR_SEND_WITH_IMM, LONG } },
	{ run_message, { "rc_send_inv_only", RC, IBV_WR_SEND_WITH_INV, 15 } },
	{ run_message, { "rc_send_inv", RC, IBV_WR_SEND_WITH_INV, LONG } },
	{ run_message, { "rc_write_empty", RC, IBV_WR_RDMA_WRITE, 0 } },
	{ run_message, { "rc_write_only", RC, IBV_WR_RDMA_WRITE, MTU } },
	{ run_message, { "rc_write", RC, IBV_WR_RDMA_WRITE, LONG } },
	{ run_message, { "rc_write_imm_only", RC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 7, true } },
	{ run_message, { "rc_write_imm", RC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 3 * MTU } },
	{ run_read, { "rc_read_only", RC, IBV_WR_RDMA_READ, 9 } },
	{ run_read, { "rc_read", RC, IBV_WR_RDMA_READ, LONG } },
	{ run_atomic, { "rc_compare_swap", RC, IBV_WR_ATOMIC_CMP_AND_SWP } },
	{ run_atomic, { "rc_fetch_add", RC, IBV_WR_ATOMIC_FETCH_AND_ADD } },
	{ run_nak_access, { "nak_access", RC, IBV_WR_RDMA_WRITE, 64 } },
	{ run_nak_invalid, { "nak_invalid", RC, IBV_WR_SEND, 64 } },
	{ run_nak_rnr, { "nak_rnr", RC, IBV_WR_SEND, 64 } },
	{ run_nak_sequence, { "nak_sequence", RC, IBV_WR_SEND, 64 } },
	{ run_message, { "uc_send_only", IBV_QPT_UC, IBV_WR_SEND, 13 } },
	{ run_message, { "uc_send", IBV_QPT_UC, IBV_WR_SEND, LONG } },
	{ run_message, { "uc_send_imm", IBV_QPT_UC, IBV_WR_SEND_WITH_IMM,
			 LONG } },
	{ run_message, { "uc_write_only", IBV_QPT_UC, IBV_WR_RDMA_WRITE,
			 13 } },
	{ run_message, { "uc_write", IBV_QPT_UC, IBV_WR_RDMA_WRITE, LONG } },
	{ run_message, { "uc_write_imm", IBV_QPT_UC,
			 IBV_WR_RDMA_WRITE_WITH_IMM, LONG } },
	{ run_datagram, { "ud_send", IBV_QPT_UD, IBV_WR_SEND, MTU } },
	{ run_datagram, { "ud_send_imm", IBV_QPT_UD, IBV_WR_SEND_WITH_IMM,
			  13 } },
};

static int run(void)
{
	pane_cfg.qp_type = RC;
	pane_fabric_open();
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		current = ops[i].op.name;
		ops[i].run(&ops[i].op);
	}
	return KSFT_PASS;
}

static int list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++)
		puts(ops[i].op.name);
	return KSFT_PASS;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 2 && !strcmp(argv[1], "run"))
		return run();
	if (argc == 3 && !strcmp(argv[1], "icrc"))
		return check_icrc(argv[2]);
	fprintf(stderr, "usage: %s list | run | icrc FILE\n", argv[0]);
	return KSFT_FAIL;
}
