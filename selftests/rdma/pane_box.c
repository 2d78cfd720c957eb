// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <sched.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_box.h"

#define GUARD_BYTE	0x5a
#define IMM		0x1badcafe

const struct transfer transfers[NUM_TRANSFERS] = {
	{ IBV_WR_SEND, "SEND" },
	{ IBV_WR_SEND_WITH_IMM, "SEND with immediate" },
	{ IBV_WR_RDMA_WRITE, "WRITE" },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE with immediate" },
	{ IBV_WR_RDMA_READ, "READ" },
};

static void box_open(struct box *b, struct node *n, size_t len, int access)
{
	b->len = len;
	region_open(&b->r, n->pd, len + 2 * GUARD, 1 + random_below(100),
		    access);
}

void box_empty(struct box *b)
{
	memset(b->r.addr, GUARD_BYTE, b->r.len);
}

/* @len bytes like those at @data, and nothing else */
void box_check(const struct box *b, const void *data, size_t len)
{
	CHECK(!memcmp(b->r.addr + GUARD, data, len), "other data");
	for (size_t i = 0; i < GUARD; i++) {
		CHECK(b->r.addr[i] == GUARD_BYTE, "written before it");
		CHECK(b->r.addr[GUARD + len + i] == GUARD_BYTE,
		      "written behind it");
	}
}

void boxes_open(struct boxes *b, const struct qp_opts *qo, size_t len)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL;

	pair_open(&b->p, qo);
	box_open(&b->from, &b->p.node[0], len, access);
	box_open(&b->to, &b->p.node[1], len, access);
	random_fill(b->from.r.addr, b->from.r.len);
}

void boxes_close(struct boxes *b)
{
	region_close(&b->from.r);
	region_close(&b->to.r);
	pair_close(&b->p);
}

/* ---- one message ----------------------------------------------------- */

static enum ibv_wc_opcode wc_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return IBV_WC_SEND;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	default:
		return IBV_WC_RDMA_WRITE;
	}
}

/*
 * As end_do(), for what may take as long as the test: the longest message, on a
 * machine that has other things to do
 */
enum ibv_wc_status long_do(struct end *e, struct ibv_send_wr wr)
{
	struct ibv_wc wc;
	int num;

	wr.send_flags |= IBV_SEND_SIGNALED;
	CHECK_OK(end_post(e, &wr));
	do {
		num = ibv_poll_cq(e->scq, 1, &wc);
		if (!num)
			sched_yield();
	} while (!num);
	CHECK_EQ(num, 1);
	if (wc.status == IBV_WC_SUCCESS)
		CHECK_EQ(wc.opcode, wc_opcode(wr.opcode));
	return wc.status;
}

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void boxes_arrived(struct boxes *b, enum ibv_wr_opcode opcode,
			  size_t len)
{
	struct ibv_wc wc;

	cq_spin(b->p.end[1].rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, len);
	CHECK_EQ(wc.byte_len, len);
	CHECK_EQ(wc.qp_num, b->p.end[1].qp->qp_num);
	CHECK_EQ(wc.opcode, opcode == IBV_WR_RDMA_WRITE_WITH_IMM ?
		 IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	/* connections have no GRH to look at, though some devices say so */
	CHECK_EQ(wc.wc_flags & ~IBV_WC_GRH,
		 has_imm(opcode) ? IBV_WC_WITH_IMM : 0);
	if (has_imm(opcode))
		CHECK_EQ(be32toh(wc.imm_data), IMM);
}

/* Nobody says that a WRITE of UC is there, but the message behind it */
static void boxes_follow(struct boxes *b)
{
	struct ibv_sge none = box_sge(&b->from, 0), into = box_sge(&b->to, 0);

	CHECK_OK(end_post_recv(&b->p.end[1], &into, 1, 0));
	CHECK_EQ(long_do(&b->p.end[0], wr_to(IBV_WR_SEND, &none, NULL, 0)),
		 IBV_WC_SUCCESS);
	boxes_arrived(b, IBV_WR_SEND, 0);
}

/* Send the first @len bytes, and see them arrive */
static void boxes_send(struct boxes *b, enum ibv_wr_opcode opcode, size_t len,
		       unsigned int flags)
{
	struct ibv_sge from = box_sge(&b->from, len), to = box_sge(&b->to, len);
	struct ibv_send_wr wr = wr_to(opcode, &from, &b->to.r, GUARD);
	bool receives = has_imm(opcode) || opcode == IBV_WR_SEND;

	box_empty(&b->to);
	wr.imm_data = htobe32(IMM);
	wr.send_flags = flags;
	if (receives)
		CHECK_OK(end_post_recv(&b->p.end[1], &to, 1, len));
	CHECK_EQ(long_do(&b->p.end[0], wr), IBV_WC_SUCCESS);
	if (receives)
		boxes_arrived(b, opcode, len);
	else if (b->p.end[0].qp->qp_type == IBV_QPT_UC)
		boxes_follow(b);
	box_check(&b->to, b->from.r.addr + GUARD, len);
}

/* The first @len bytes of the other end */
static void boxes_read(struct boxes *b, size_t len)
{
	struct ibv_sge into = box_sge(&b->to, len);

	box_empty(&b->to);
	CHECK_EQ(long_do(&b->p.end[1], wr_to(IBV_WR_RDMA_READ, &into,
					     &b->from.r, GUARD)),
		 IBV_WC_SUCCESS);
	box_check(&b->to, b->from.r.addr + GUARD, len);
}

void boxes_transfer(struct boxes *b, enum ibv_wr_opcode opcode, size_t len,
		    unsigned int flags)
{
	if (opcode == IBV_WR_RDMA_READ)
		boxes_read(b, len);
	else
		boxes_send(b, opcode, len, flags);
}
