// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that the second device refuses or cannot take, as the first one sees
 * it.
 */
#include <string.h>

#include "../kselftest.h"
#include "pane_peer.h"

static void check_broken(struct boxes *b)
{
	struct ibv_sge none = box_sge(&b->from, 0);

	end_is_over(&b->p.end[0]);
	CHECK_EQ(end_do(&b->p.end[0], wr_to(IBV_WR_SEND, &none, NULL, 0)),
		 IBV_WC_WR_FLUSH_ERR);
}

/* ---- keys and places ------------------------------------------------- */

/**
 * struct wrong - a request that is refused
 * @name: what is wrong
 * @opcode: what is asked for
 * @at: offset in the region, which is of PEER_LEN bytes
 * @len: bytes
 * @key: difference from the key
 * @access: of the region
 * @status: how it ends
 */
struct wrong {
	const char *name;
	enum ibv_wr_opcode opcode;
	size_t at;
	uint32_t len;
	uint32_t key;
	int access;
	enum ibv_wc_status status;
};

#define NO_WRITE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)
#define NO_READ		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static const struct wrong wrongs[] = {
	{ "WRITE with another key", IBV_WR_RDMA_WRITE, 0, 5000, 1,
	  PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "READ with another key", IBV_WR_RDMA_READ, 0, 5000, 1,
	  PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "an atomic with another key", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 1,
	  PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "WRITE with a key of nothing", IBV_WR_RDMA_WRITE, 0, 5000, 0x40000000,
	  PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "WRITE behind the region", IBV_WR_RDMA_WRITE, PEER_LEN - 4999, 5000,
	  0, PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "READ behind the region", IBV_WR_RDMA_READ, PEER_LEN - 4999, 5000,
	  0, PEER_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ "WRITE without the right", IBV_WR_RDMA_WRITE, 0, 1, 0,
	  NO_WRITE, IBV_WC_REM_ACCESS_ERR },
	{ "READ without the right", IBV_WR_RDMA_READ, 0, 1, 0,
	  NO_READ, IBV_WC_REM_ACCESS_ERR },
	{ "an atomic without the right", IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0,
	  NO_READ, IBV_WC_REM_ACCESS_ERR },
};

/* By ibv_post_send() the provider of rdma_rxe does not take it */
static const struct wrong odd_address = {
	"an atomic at an odd address", IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 8, 0,
	PEER_ACCESS, IBV_WC_REM_INV_REQ_ERR,
};

static void refused(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	const struct wrong *w = arg;
	struct region r;
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, PEER_LEN);
	region_open(&r, b.p.node[1].pd, PEER_LEN, 0, w->access);
	CHECK_EQ(peer_do(&b, peer_wr(w->opcode, region_at(&r, w->at),
				     r.mr->rkey ^ w->key), w->len), w->status);
	CHECK(has_pattern(r.addr, r.len, 0), "written");
	check_broken(&b);
	region_close(&r);
	boxes_close(&b);
}

/* ---- receivers ------------------------------------------------------- */

static void recv_post(struct boxes *b, size_t len)
{
	struct ibv_sge to = box_sge(&b->to, len);

	CHECK_OK(end_post_recv(&b->p.end[1], &to, 1, len));
}

/*
 * Older versions of rdma_rxe blame the operation instead of the request, and
 * receivers have words of their own.
 */
static void too_long(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;
	struct qp_opts qo = qp_opts_default();
	enum ibv_wc_status status;
	struct ibv_wc wc;
	struct boxes b;

	random_seed();
	boxes_open(&b, &qo, PEER_LEN);
	box_empty(&b.to);
	recv_post(&b, 3000);
	status = peer_do(&b, peer_wr(*opcode, 0, 0), 3001);
	CHECK(status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_OP_ERR,
	      "%s", ibv_wc_status_str(status));
	cq_spin(b.p.end[1].rcq, &wc);
	CHECK_EQ(wc.wr_id, 3000);
	CHECK(wc.status == IBV_WC_LOC_LEN_ERR ||
	      wc.status == IBV_WC_REM_INV_REQ_ERR ||
	      wc.status == IBV_WC_LOC_QP_OP_ERR, "%s",
	      ibv_wc_status_str(wc.status));
	CHECK_EQ(b.to.r.addr[GUARD + 3000], b.to.r.addr[0]);
	check_broken(&b);
	boxes_close(&b);
}

static const enum ibv_wr_opcode send = IBV_WR_SEND;
static const enum ibv_wr_opcode send_imm = IBV_WR_SEND_WITH_IMM;

/* Told to come back again and again, until there is room */
static void receiver_is_late(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;
	struct qp_opts qo = qp_opts_default();
	struct ibv_sge from;
	struct ibv_send_wr wr;
	struct spin spin = {};
	struct boxes b;
	struct ibv_wc wc;
	uint64_t naks;

	random_seed();
	boxes_open(&b, &qo, PEER_LEN);
	box_empty(&b.to);
	naks = counter_read(&b.p.node[0], "rcvd_rnr_err");
	from = box_sge(&b.from, 5000);
	wr = wr_to(*opcode, &from, NULL, 0);
	wr.wr_id = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(end_post(&b.p.end[0], &wr));
	while (counter_read(&b.p.node[0], "rcvd_rnr_err") < naks + 8)
		spin_turn(&spin);
	recv_post(&b, 5000);
	CHECK_WC(b.p.end[0].scq, 1, IBV_WC_SUCCESS, NULL);
	CHECK_WC(b.p.end[1].rcq, 5000, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.byte_len, 5000);
	box_check(&b.to, b.from.r.addr + GUARD, 5000);
	boxes_close(&b);
}

static void receiver_never_comes(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct boxes b;

	random_seed();
	qo.rnr_retry = 2;
	boxes_open(&b, &qo, PEER_LEN);
	CHECK_EQ(peer_do(&b, peer_wr(IBV_WR_SEND, 0, 0), 5000),
		 IBV_WC_RNR_RETRY_EXC_ERR);
	check_broken(&b);
	boxes_close(&b);
}

static void nobody_answers(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	struct boxes b;

	random_seed();
	/* 8 ms each */
	qo.timeout = 11;
	qo.retry_cnt = 3;
	boxes_open(&b, &qo, PEER_LEN);
	end_to(&b.p.end[1], IBV_QPS_RESET);
	CHECK_EQ(peer_do(&b, peer_wr(IBV_WR_SEND, 0, 0), 5000),
		 IBV_WC_RETRY_EXC_ERR);
	check_broken(&b);
	boxes_close(&b);
}

void list_refusals(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(wrongs); i++)
		pane_test(0, refused, &wrongs[i], "refused: %s",
			  wrongs[i].name);
	pane_test(V_WR, refused, &odd_address, "refused: %s",
		  odd_address.name);
	pane_test(0, too_long, &send, "refused: SEND that is too long");
	pane_test(0, too_long, &send_imm,
		  "refused: SEND with immediate that is too long");
	pane_test(V_APIS, receiver_is_late, &send, "the receiver is late");
	pane_test(0, receiver_never_comes, NULL, "the receiver never comes");
	pane_test(0, nobody_answers, NULL, "nobody answers");
}
