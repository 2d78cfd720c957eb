// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../kselftest.h"
#include "pane_verbs.h"

#define SEND_OPS	(IBV_QP_EX_WITH_RDMA_WRITE |			\
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		\
			 IBV_QP_EX_WITH_SEND |				\
			 IBV_QP_EX_WITH_SEND_WITH_IMM |			\
			 IBV_QP_EX_WITH_RDMA_READ |			\
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		\
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define SEND_OPS_UC	(IBV_QP_EX_WITH_RDMA_WRITE |			\
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		\
			 SEND_OPS_UD)
#define SEND_OPS_UD	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

struct qp_opts qp_opts_default(void)
{
	return (struct qp_opts) {
		.type = IBV_QPT_RC,
		.mtu = IBV_MTU_1024,
		.psn = { random_u32(), random_u32() },
		/* half a second, so that a busy machine is not a lost packet */
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.rd_atomic = 16,
		.access = RIGHTS_ALL,
		.send_wr = 64,
		.recv_wr = 64,
		.sge = 32,
		.inline_len = 512,
		.cqe = 256,
	};
}

/* ---- nodes ----------------------------------------------------------- */

/* PANE_NET is a list of words */
bool net_is(const char *what)
{
	const char *words = getenv("PANE_NET");
	size_t len = strlen(what);

	while (words && *words) {
		if (!strncmp(words, what, len) &&
		    (!words[len] || words[len] == ' '))
			return true;
		words = strchr(words, ' ');
		if (words)
			words++;
	}
	return false;
}

static bool gid_is_wanted(const struct ibv_gid_entry *entry)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool ip4 = !memcmp(entry->gid.raw, mapped, sizeof(mapped));

	return entry->gid_type == (net_is("v1") ? IBV_GID_TYPE_ROCE_V1 :
						  IBV_GID_TYPE_ROCE_V2) &&
	       entry->gid.raw[0] != 0xfe && ip4 != net_is("ip6");
}

/* Of the version and family that PANE_NET says; RoCE v2 over IPv4 without */
static void node_take_gid(struct node *n)
{
	struct ibv_gid_entry entry;

	for (int i = 0; i < 32; i++) {
		if (ibv_query_gid_ex(n->ctx, 1, i, &entry, 0) ||
		    !gid_is_wanted(&entry))
			continue;
		n->gid = entry.gid;
		n->gid_index = i;
		return;
	}
	CHECK(false, "no GID of this kind");
}

void pair_nodes_open(struct pair *p)
{
	node_open_owner(&p->node[0]);
	node_open_peer(&p->node[1]);
	for (unsigned int i = 0; i < 2; i++)
		node_take_gid(&p->node[i]);
}

void pair_nodes_close(struct pair *p)
{
	node_close(&p->node[0]);
	node_close(&p->node[1]);
}

struct ibv_ah *node_make_ah(struct node *n, const union ibv_gid *dgid,
			    uint8_t tclass)
{
	struct ibv_ah_attr attr = ah_attr_to(n, dgid);
	struct ibv_ah *ah;

	attr.grh.traffic_class = tclass;
	ah = ibv_create_ah(n->pd, &attr);
	CHECK(ah, "%s", strerror(errno));
	return ah;
}

/* ---- queue pairs ----------------------------------------------------- */

static struct ibv_cq *end_make_cq(struct node *n, unsigned int cqe)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(n->ctx);
	struct ibv_cq *cq;

	CHECK(channel, "%s", strerror(errno));
	cq = ibv_create_cq(n->ctx, cqe, NULL, channel, 0);
	CHECK(cq, "%s", strerror(errno));
	return cq;
}

static void end_drop_cq(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;

	CHECK_OK(ibv_destroy_cq(cq));
	CHECK_OK(ibv_destroy_comp_channel(channel));
}

static uint64_t send_ops(const struct qp_opts *o)
{
	switch (o->type) {
	case IBV_QPT_UD:
		return SEND_OPS_UD;
	case IBV_QPT_UC:
		return SEND_OPS_UC;
	default:
		return SEND_OPS | o->more_ops;
	}
}

static struct ibv_qp_init_attr_ex end_attr(const struct end *e,
					   const struct qp_opts *o)
{
	return (struct ibv_qp_init_attr_ex) {
		.cap = {
			.max_send_wr = o->send_wr,
			.max_recv_wr = o->recv_wr,
			.max_send_sge = o->sge,
			.max_recv_sge = o->sge,
			.max_inline_data = o->inline_len,
		},
		.qp_type = o->type,
		.sq_sig_all = o->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->node->pd,
		.send_ops_flags = send_ops(o),
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.srq = o->shared ?: e->srq,
	};
}

static struct ibv_srq *end_make_srq(struct node *n, const struct qp_opts *o)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = o->recv_wr, .max_sge = 1 },
	};
	struct ibv_srq *srq = ibv_create_srq(n->pd, &init);

	CHECK(srq, "%s", strerror(errno));
	return srq;
}

void end_open(struct end *e, struct node *n, const struct qp_opts *opts)
{
	struct ibv_qp_init_attr_ex init;

	e->node = n;
	e->scq = end_make_cq(n, opts->cqe);
	e->rcq = end_make_cq(n, opts->cqe);
	e->srq = opts->srq ? end_make_srq(n, opts) : NULL;
	init = end_attr(e, opts);
	e->qp = ibv_create_qp_ex(n->ctx, &init);
	CHECK(e->qp, "%s", strerror(errno));
	e->qpx = ibv_qp_to_qp_ex(e->qp);
	e->max_inline = init.cap.max_inline_data;
	CHECK(e->max_inline >= opts->inline_len, "%u", e->max_inline);
}

void end_close(struct end *e)
{
	/* a test may have done so, and left NULL */
	if (e->qp)
		CHECK_OK(ibv_destroy_qp(e->qp));
	if (e->srq)
		CHECK_OK(ibv_destroy_srq(e->srq));
	end_drop_cq(e->scq);
	end_drop_cq(e->rcq);
}

void end_init(struct end *e, const struct qp_opts *opts)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = opts->access,
	};

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE |
			       IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS));
}

int end_try_rtr(struct end *e, const struct qp_opts *opts,
		const union ibv_gid *dgid, uint32_t dqpn, uint32_t rq_psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = opts->mtu,
		.dest_qp_num = dqpn,
		.rq_psn = rq_psn & 0xffffff,
		.max_dest_rd_atomic = opts->rd_atomic,
		.min_rnr_timer = opts->min_rnr_timer,
		.ah_attr = ah_attr_to(e->node, dgid),
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | qp_mask_rtr(e->qp));
}

void end_rtr(struct end *e, const struct qp_opts *opts,
	     const union ibv_gid *dgid, uint32_t dqpn, uint32_t rq_psn)
{
	CHECK_OK(end_try_rtr(e, opts, dgid, dqpn, rq_psn));
}

int end_try_rts(struct end *e, const struct qp_opts *opts, uint32_t sq_psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = sq_psn & 0xffffff,
		.timeout = opts->timeout,
		.retry_cnt = opts->retry_cnt,
		.rnr_retry = opts->rnr_retry,
		.max_rd_atomic = opts->rd_atomic,
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     qp_mask_rts(e->qp));
}

void end_rts(struct end *e, const struct qp_opts *opts, uint32_t sq_psn)
{
	CHECK_OK(end_try_rts(e, opts, sq_psn));
}

/* Both are in RESET, then both in RTS */
void ends_connect(struct end *a, struct end *b, const struct qp_opts *opts)
{
	end_init(a, opts);
	end_init(b, opts);
	end_rtr(a, opts, &b->node->gid, b->qp->qp_num, opts->psn[1]);
	end_rtr(b, opts, &a->node->gid, a->qp->qp_num, opts->psn[0]);
	end_rts(a, opts, opts->psn[0]);
	end_rts(b, opts, opts->psn[1]);
}

/* A UD QP, from RESET to RTS */
void end_datagram(struct end *e, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = qkey,
	};

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE |
			       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

enum ibv_qp_state end_state(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

void end_to(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
}

void pair_open(struct pair *p, const struct qp_opts *opts)
{
	pair_nodes_open(p);
	end_open(&p->end[0], &p->node[0], opts);
	end_open(&p->end[1], &p->node[1], opts);
	if (opts->type != IBV_QPT_UD)
		ends_connect(&p->end[0], &p->end[1], opts);
}

void pair_close(struct pair *p)
{
	end_close(&p->end[0]);
	end_close(&p->end[1]);
	pair_nodes_close(p);
}

/* ---- what requests are ----------------------------------------------- */

bool opcode_is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool opcode_is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool opcode_arrives(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool opcode_has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

enum ibv_wc_opcode opcode_wc(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

/* ---- posting --------------------------------------------------------- */

static void wr_build_rdma(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	uint32_t rkey = wr->wr.rdma.rkey;
	uint64_t addr = wr->wr.rdma.remote_addr;

	if (wr->opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(qpx, rkey, addr);
	else if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		ibv_wr_rdma_write_imm(qpx, rkey, addr, wr->imm_data);
	else
		ibv_wr_rdma_read(qpx, rkey, addr);
}

static void wr_build_op(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qpx, wr->bind_mw.mw, wr->bind_mw.rkey,
			       &wr->bind_mw.bind_info);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, wr->wr.atomic.rkey,
				      wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey,
					wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	default:
		wr_build_rdma(qpx, wr);
	}
}

static bool wr_has_data(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_LOCAL_INV && wr->opcode != IBV_WR_BIND_MW;
}

static void wr_build_data(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf bufs[32];

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		ibv_wr_set_sge_list(qpx, wr->num_sge, wr->sg_list);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		bufs[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		bufs[i].length = wr->sg_list[i].length;
	}
	ibv_wr_set_inline_data_list(qpx, wr->num_sge, bufs);
}

static int end_post_batch(struct end *e, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = e->qpx;

	ibv_wr_start(qpx);
	for (; wr; wr = wr->next) {
		qpx->wr_id = wr->wr_id;
		qpx->wr_flags = wr->send_flags & ~IBV_SEND_INLINE;
		wr_build_op(qpx, wr);
		if (e->qp->qp_type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(qpx, wr->wr.ud.ah,
					   wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		if (wr_has_data(wr))
			wr_build_data(qpx, wr);
	}
	return ibv_wr_complete(qpx);
}

/* A list, by the interface of the test's variant; 0 or an errno value */
int end_post(struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (pane_cfg.wr_api)
		return end_post_batch(e, wr);
	return ibv_post_send(e->qp, wr, &bad);
}

int end_post_recv(struct end *e, struct ibv_sge *sge, int num, uint64_t id)
{
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = sge,
		.num_sge = num,
	};

	if (e->srq)
		return ibv_post_srq_recv(e->srq, &wr, &bad);
	return ibv_post_recv(e->qp, &wr, &bad);
}

enum ibv_wc_status end_do(struct end *e, struct ibv_send_wr wr)
{
	struct ibv_wc wc;

	wr.wr_id = 0xd0d0;
	wr.send_flags |= IBV_SEND_SIGNALED;
	CHECK_OK(end_post(e, &wr));
	cq_spin(e->scq, &wc);
	CHECK_EQ(wc.wr_id, wr.wr_id);
	CHECK_EQ(wc.qp_num, e->qp->qp_num);
	return wc.status;
}

struct ibv_sge sge_of(const struct region *r, size_t offset, uint32_t len)
{
	return (struct ibv_sge) {
		.addr = region_at(r, offset),
		.length = len,
		.lkey = r->mr->lkey,
	};
}

/* A request with one element to, or from, a place in the other end's memory */
struct ibv_send_wr wr_to(enum ibv_wr_opcode opcode, struct ibv_sge *sge,
			 const struct region *to, size_t offset)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = 1,
	};

	if (opcode_is_atomic(opcode)) {
		wr.wr.atomic.remote_addr = region_at(to, offset);
		wr.wr.atomic.rkey = to->mr->rkey;
	} else if (to) {
		wr.wr.rdma.remote_addr = region_at(to, offset);
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	return wr;
}

/* ---- random numbers -------------------------------------------------- */

static uint64_t random_state;

void random_seed(void)
{
	const char *text = getenv("PANE_SEED");
	struct timespec ts;
	uint32_t seed;

	clock_gettime(CLOCK_REALTIME, &ts);
	seed = text ? strtoul(text, NULL, 0) : ts.tv_nsec ^ ts.tv_sec;
	ksft_print_msg("PANE_SEED=%u\n", seed);
	random_state = (uint64_t)seed << 32 | 0x9e3779b9;
}

void random_branch(unsigned int number)
{
	random_state ^= (number + 1) * 0x9e3779b97f4a7c15ULL;
	for (unsigned int i = 0; i < 8; i++)
		random_u32();
}

/* xorshift64* */
uint32_t random_u32(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dULL >> 32;
}

uint32_t random_below(uint32_t limit)
{
	return ((uint64_t)random_u32() * limit) >> 32;
}

void random_fill(void *addr, size_t len)
{
	uint8_t *to = addr;

	for (size_t i = 0; i < len; i++)
		to[i] = random_u32();
}
