// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cells of the matrix whose messages are datagrams, on links that lose nothing */
#include <string.h>

#include "../kselftest.h"
#include "pane_matrix.h"

#define GRH		40
#define GUARD		64
#define CANARY		0xa5
#define QKEY		0x77777
#define BATCH		16	/* datagrams on their way */

/**
 * struct post - who writes to whom
 * @from: sender's QP
 * @to: receiver's QP
 * @ah: how to get there
 * @near: what is sent
 * @far: slots for it
 * @len: bytes of a datagram
 */
struct post {
	struct end from;
	struct end to;
	struct ibv_ah *ah;
	struct region near;
	struct region far;
	uint32_t len;
};

static size_t slot_len(const struct post *p)
{
	return GRH + p->len + 2 * GUARD;
}

static void post_open(struct post *p, struct node *from, struct node *to,
		      uint32_t len)
{
	struct qp_opts qo = qp_opts_default();

	qo.type = IBV_QPT_UD;
	p->len = len;
	end_open(&p->from, from, &qo);
	end_open(&p->to, to, &qo);
	end_datagram(&p->from, QKEY);
	end_datagram(&p->to, QKEY);
	p->ah = node_make_ah(from, &to->gid, 0);
	region_open(&p->near, from->pd, BATCH * (len + 1), random_below(200),
		    IBV_ACCESS_LOCAL_WRITE);
	region_open(&p->far, to->pd, BATCH * slot_len(p), random_below(200),
		    IBV_ACCESS_LOCAL_WRITE);
}

static void post_close(struct post *p)
{
	CHECK_OK(ibv_destroy_ah(p->ah));
	end_close(&p->from);
	end_close(&p->to);
	region_close(&p->near);
	region_close(&p->far);
}

static void post_recv(struct post *p, unsigned int i)
{
	struct ibv_sge sge = sge_of(&p->far, i * slot_len(p) + GUARD,
				    GRH + p->len);

	CHECK_OK(end_post_recv(&p->to, &sge, 1, i));
}

static void post_send(struct post *p, unsigned int i, uint32_t key)
{
	struct ibv_sge sge = sge_of(&p->near, i * (p->len + 1), p->len);
	struct ibv_send_wr wr = {
		.wr_id = i,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = key + i,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud.ah = p->ah,
		.wr.ud.remote_qpn = p->to.qp->qp_num,
		.wr.ud.remote_qkey = QKEY,
	};

	fill_pattern(p->near.addr + i * (p->len + 1), p->len, key + i);
	CHECK_OK(end_post(&p->from, &wr));
}

static void check_canaries(const uint8_t *at, uint32_t len)
{
	for (size_t i = 0; i < GUARD; i++)
		CHECK(at[i] == CANARY, "a datagram of %u bytes: written beside",
		      len);
}

static void post_check(const struct post *p, unsigned int i, uint32_t key)
{
	const uint8_t *slot = p->far.addr + i * slot_len(p);
	struct ibv_wc wc;

	CHECK_WC(p->from.scq, i, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_SEND);
	CHECK_WC(p->to.rcq, i, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, GRH + p->len);
	CHECK_EQ(wc.src_qp, p->from.qp->qp_num);
	CHECK_EQ(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	CHECK_EQ(wc.imm_data, key + i);
	check_canaries(slot, p->len);
	CHECK(has_pattern(slot + GUARD + GRH, p->len, key + i),
	      "a datagram of %u bytes: other data", p->len);
	check_canaries(slot + GUARD + GRH + p->len, p->len);
}

static void post_batch(struct post *p)
{
	uint32_t key = random_u32();

	memset(p->far.addr, CANARY, p->far.len);
	for (unsigned int i = 0; i < BATCH; i++)
		post_recv(p, i);
	for (unsigned int i = 0; i < BATCH; i++)
		post_send(p, i, key);
	for (unsigned int i = 0; i < BATCH; i++)
		post_check(p, i, key);
}

void datagrams_run(struct node node[2], uint32_t len, unsigned int num,
		   struct tally *tally)
{
	const unsigned int batches = num / BATCH + 1;
	struct ibv_wc wc;
	struct post p;

	for (unsigned int i = 0; i < 2; i++) {
		post_open(&p, &node[i], &node[!i], len);
		for (unsigned int n = 0; n < batches; n++)
			post_batch(&p);
		CHECK(!ibv_poll_cq(p.to.rcq, 1, &wc), "one datagram too many");
		post_close(&p);
		tally->messages += batches * BATCH;
		tally->bytes += (uint64_t)batches * BATCH * len;
		tally->sends[!i] += batches * BATCH;
	}
}
