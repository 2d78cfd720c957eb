// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations for pane_dissect.sh, and what their frames have to look like to
 * somebody who listens.
 *
 *	pane_dissect list	names of the operations
 *	pane_dissect run	does them, and prints the fields of each frame, or
 *				SKIP for what the device does not have
 *	pane_dissect icrc FILE	reads a capture, and prints frames whose ICRC,
 *				padding or lengths are wrong
 *	pane_dissect headers FILE
 *				reads a capture, and prints the headers that
 *				dissectors do not know
 *
 * The expected fields come from what was asked for and from the specification,
 * not from anything that the driver built. Each operation has QPs of its own,
 * so the destination QP tells the frames of one from those of another.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_dissect.h"
#include "pane_fabric.h"
#include "pane_util.h"
#include "pane_verbs.h"

#define IMM		0xcafe0123
#define INVALID_KEY	0x00c0ffee
#define CNP_LEN		16
/* As in uapi/rdma/ib_user_verbs.h, for libraries older than that */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_ATOMIC_WRITE	(1ULL << 40)
/* FETH: visible to all; all that the key opens */
#define FETH_GLOBAL		0x01
#define FETH_WHOLE		0x10

/* ---- messages -------------------------------------------------------- */

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

		x.opcode += op->tr;
		x.srqn = t->srqn;
		if (op->tr == XRC)
			x.headers |= H_XRCETH;
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
		.opcode = t->op->tr + ACKNOWLEDGE,
		.psn = psn,
		.syndrome = syndrome,
		.msn = msn,
	});
}

/* What tells a requester to slow down */
static void expect_cnp(const struct stage *t)
{
	print_frame(t->qp[0]->qp_num, &(struct expected) {
		.opcode = CNP,
		.len = CNP_LEN,
	});
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

	stage_open(&t, op, PSN_A, 21);
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
	if (op->ce)
		expect_cnp(&t);
	if (op->tr != UC)
		expect_ack(&t, PSN_A + packets_of(op->len) - 1, ACK_OK, 1);

	receive(&t, MEM_LEN);
	request(&t, 0, wr, IBV_WC_SUCCESS);
	if (is_send(op->wr) || has_imm(op->wr)) {
		cq_spin(t.rcq[1], &wc);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	} else if (op->tr == UC) {
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

	stage_open(&t, op, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = wr_to(op->wr, &sge, &t.mem[1], 4);
	print_frame(t.qp[1]->qp_num, &(struct expected) {
		.headers = H_RETH | (op->tr == XRC ? H_XRCETH : 0),
		.opcode = op->tr + READ_REQUEST,
		.psn = PSN_A,
		.va = region_at(&t.mem[1], 4),
		.rkey = t.mem[1].mr->rkey,
		.dmalen = op->len,
		.srqn = t.srqn,
	});
	for (unsigned int i = 0; i < num; i++) {
		bool first = !i, last = i + 1 == num;

		print_frame(t.qp[0]->qp_num, &(struct expected) {
			.headers = first || last ? H_AETH : 0,
			.opcode = op->tr + (num == 1 ? READ_RESP_ONLY :
					    first ? READ_RESP_FIRST :
					    last ? READ_RESP_LAST :
					    READ_RESP_MIDDLE),
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

	stage_open(&t, op, PSN_A, 21);
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
		.headers = H_ATOMIC | (op->tr == XRC ? H_XRCETH : 0),
		.opcode = op->tr + (swap ? CMP_SWAP : FETCH_ADD),
		.psn = PSN_A,
		.va = region_at(&t.mem[1], 8),
		.rkey = t.mem[1].mr->rkey,
		.swap = one,
		.compare = swap ? orig : 0,
		.srqn = t.srqn,
	});
	print_frame(t.qp[0]->qp_num, &(struct expected) {
		.headers = H_AETH | H_ORIG,
		.opcode = op->tr + ATOMIC_ACK,
		.psn = PSN_A,
		.syndrome = ACK_OK,
		.msn = 1,
		.orig = orig,
	});
	request(&t, 0, wr, IBV_WC_SUCCESS);
	stage_close(&t);
}

/* What answers ATOMIC WRITE and FLUSH is the answer to a READ of nothing. */
static void expect_done(const struct stage *t)
{
	print_frame(t->qp[0]->qp_num, &(struct expected) {
		.headers = H_AETH,
		.opcode = t->op->tr + READ_RESP_ONLY,
		.psn = PSN_A,
		.syndrome = ACK_OK,
		.msn = 1,
	});
}

static void run_atomic_write(const struct op *op)
{
	struct stage t;

	stage_open(&t, op, PSN_A, 21);
	print_frame(t.qp[1]->qp_num, &(struct expected) {
		.headers = H_RETH | (op->tr == XRC ? H_XRCETH : 0),
		.opcode = op->tr + ATOMIC_WRITE,
		.psn = PSN_A,
		.len = op->len,
		.va = region_at(&t.mem[1], 8),
		.rkey = t.mem[1].mr->rkey,
		.dmalen = op->len,
		.srqn = t.srqn,
	});
	expect_done(&t);
	request_atomic_write(&t);
	CHECK(!memcmp(t.mem[0].addr, t.mem[1].addr + 8, op->len), "other data");
	stage_close(&t);
}

static void expect_flush(const struct stage *t, uint32_t rkey)
{
	const struct op *op = t->op;

	print_frame(t->qp[1]->qp_num, &(struct expected) {
		.headers = H_FETH | H_RETH | (op->tr == XRC ? H_XRCETH : 0),
		.opcode = op->tr + FLUSH,
		.psn = PSN_A,
		.va = region_at(&t->mem[1], 8),
		.rkey = rkey,
		.dmalen = op->len,
		.srqn = t->srqn,
		.type_sel = FETH_GLOBAL | (op->len ? 0 : FETH_WHOLE),
	});
}

static void run_flush(const struct op *op)
{
	struct stage t;

	stage_open(&t, op, PSN_A, 21);
	expect_flush(&t, t.mem[1].mr->rkey);
	expect_done(&t);
	request_flush(&t, t.mem[1].mr->rkey, IBV_WC_SUCCESS);
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

	stage_open(&t, op, PSN_A, 21);
	sge = sge_of(&t.mem[0], 0, op->len);
	wr = wr_to(op->wr, &sge, &t.mem[1], 0);
	wr.wr.rdma.rkey = INVALID_KEY;
	expect_refused(&t, op, region_at(&t.mem[1], 0), INVALID_KEY, PSN_A,
		       NAK_ACCESS);
	request(&t, 0, wr, IBV_WC_REM_ACCESS_ERR);
	stage_close(&t);
}

static void run_nak_flush(const struct op *op)
{
	struct stage t;

	stage_open(&t, op, PSN_A, 21);
	expect_flush(&t, INVALID_KEY);
	expect_ack(&t, PSN_A, NAK_ACCESS, 0);
	request_flush(&t, INVALID_KEY, IBV_WC_REM_ACCESS_ERR);
	stage_close(&t);
}

static void run_nak_invalid(const struct op *op)
{
	struct ibv_sge sge;
	struct stage t;

	stage_open(&t, op, PSN_A, 21);
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

	stage_open(&t, op, PSN_A, 21);
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

	stage_open(&t, op, PSN_A - 3, 18);
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

	stage_open(&t, op, 0, 0);
	attr = stage_ah(&t, 0);
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
		.opcode = op->tr + SEND_ONLY + imm,
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

static const struct {
	void (*run)(const struct op *op);
	struct op op;
} ops[] = {
	{ run_message, { "rc_send_empty", RC, IBV_WR_SEND, 0 } },
	{ run_message, { "rc_send_only", RC, IBV_WR_SEND, 13, .se = true } },
	{ run_message, { "rc_send", RC, IBV_WR_SEND, LONG, .se = true } },
	{ run_message, { "rc_send_imm_only", RC, IBV_WR_SEND_WITH_IMM, 14 } },
	{ run_message, { "rc_send_imm", RC, IBV_WR_SEND_WITH_IMM, LONG } },
	{ run_message, { "rc_send_inv_only", RC, IBV_WR_SEND_WITH_INV, 15 } },
	{ run_message, { "rc_send_inv", RC, IBV_WR_SEND_WITH_INV, LONG } },
	{ run_message, { "rc_write_empty", RC, IBV_WR_RDMA_WRITE, 0 } },
	{ run_message, { "rc_write_only", RC, IBV_WR_RDMA_WRITE, MTU } },
	{ run_message, { "rc_write", RC, IBV_WR_RDMA_WRITE, LONG } },
	{ run_message, { "rc_write_imm_only", RC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 7, .se = true } },
	{ run_message, { "rc_write_imm", RC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 3 * MTU } },
	{ run_read, { "rc_read_only", RC, IBV_WR_RDMA_READ, 9 } },
	{ run_read, { "rc_read", RC, IBV_WR_RDMA_READ, LONG } },
	{ run_atomic, { "rc_compare_swap", RC, IBV_WR_ATOMIC_CMP_AND_SWP } },
	{ run_atomic, { "rc_fetch_add", RC, IBV_WR_ATOMIC_FETCH_AND_ADD } },
	{ run_atomic_write, { "rc_atomic_write", RC, IBV_WR_ATOMIC_WRITE, 8 } },
	{ run_flush, { "rc_flush", RC, WR_FLUSH, 5000 } },
	{ run_flush, { "rc_flush_region", RC, WR_FLUSH, 0 } },
	{ run_message, { "rc_congested", RC, IBV_WR_SEND, 13, .ce = true } },
	{ run_nak_access, { "nak_access", RC, IBV_WR_RDMA_WRITE, 64 } },
	{ run_nak_flush, { "nak_flush", RC, WR_FLUSH, 64 } },
	{ run_nak_invalid, { "nak_invalid", RC, IBV_WR_SEND, 64 } },
	{ run_nak_rnr, { "nak_rnr", RC, IBV_WR_SEND, 64 } },
	{ run_nak_sequence, { "nak_sequence", RC, IBV_WR_SEND, 64 } },
	{ run_message, { "uc_send_only", UC, IBV_WR_SEND, 13 } },
	{ run_message, { "uc_send", UC, IBV_WR_SEND, LONG } },
	{ run_message, { "uc_send_imm_only", UC, IBV_WR_SEND_WITH_IMM, 14 } },
	{ run_message, { "uc_send_imm", UC, IBV_WR_SEND_WITH_IMM, LONG } },
	{ run_message, { "uc_write_only", UC, IBV_WR_RDMA_WRITE, 13 } },
	{ run_message, { "uc_write", UC, IBV_WR_RDMA_WRITE, LONG } },
	{ run_message, { "uc_write_imm_only", UC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 7 } },
	{ run_message, { "uc_write_imm", UC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 LONG } },
	{ run_datagram, { "ud_send", UD, IBV_WR_SEND, MTU } },
	{ run_datagram, { "ud_send_imm", UD, IBV_WR_SEND_WITH_IMM, 13 } },
	{ run_message, { "xrc_send_only", XRC, IBV_WR_SEND, 13, .se = true } },
	{ run_message, { "xrc_send", XRC, IBV_WR_SEND, LONG } },
	{ run_message, { "xrc_send_imm_only", XRC, IBV_WR_SEND_WITH_IMM, 14 } },
	{ run_message, { "xrc_send_imm", XRC, IBV_WR_SEND_WITH_IMM, LONG } },
	{ run_message, { "xrc_send_inv_only", XRC, IBV_WR_SEND_WITH_INV, 15 } },
	{ run_message, { "xrc_send_inv", XRC, IBV_WR_SEND_WITH_INV, LONG } },
	{ run_message, { "xrc_write_only", XRC, IBV_WR_RDMA_WRITE, 13 } },
	{ run_message, { "xrc_write", XRC, IBV_WR_RDMA_WRITE, LONG } },
	{ run_message, { "xrc_write_imm_only", XRC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 7 } },
	{ run_message, { "xrc_write_imm", XRC, IBV_WR_RDMA_WRITE_WITH_IMM,
			 LONG } },
	{ run_read, { "xrc_read_only", XRC, IBV_WR_RDMA_READ, 9 } },
	{ run_read, { "xrc_read", XRC, IBV_WR_RDMA_READ, LONG } },
	{ run_atomic, { "xrc_compare_swap", XRC, IBV_WR_ATOMIC_CMP_AND_SWP } },
	{ run_atomic, { "xrc_fetch_add", XRC, IBV_WR_ATOMIC_FETCH_AND_ADD } },
	{ run_atomic_write, { "xrc_atomic_write", XRC, IBV_WR_ATOMIC_WRITE,
			      8 } },
	{ run_flush, { "xrc_flush", XRC, WR_FLUSH, 5000 } },
};

/* Does the device have it? Older kernels know nothing of the newer operations. */
static bool is_supported(const struct op *op)
{
	uint64_t cap = op->wr == IBV_WR_ATOMIC_WRITE ? CAP_ATOMIC_WRITE :
		       op->wr == WR_FLUSH ? CAP_FLUSH_GLOBAL : 0;
	struct ibv_device_attr_ex attr;
	struct node n;

	if (!cap)
		return true;
	node_open_owner(&n);
	CHECK_OK(ibv_query_device_ex(n.ctx, NULL, &attr));
	node_close(&n);
	return attr.device_cap_flags_ex & cap;
}

static int run(void)
{
	pane_cfg.qp_type = IBV_QPT_RC;
	pane_fabric_open();
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		current = ops[i].op.name;
		if (is_supported(&ops[i].op))
			ops[i].run(&ops[i].op);
		else
			printf("%s|SKIP\n", current);
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
	if (argc == 3 && !strcmp(argv[1], "headers"))
		return read_headers(argv[2]);
	fprintf(stderr, "usage: %s list | run | icrc FILE | headers FILE\n",
		argv[0]);
	return KSFT_FAIL;
}
