// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a program does, some of it and in some order. Calls fail, because of
 * what the spoilt ones before them have done: that is nobody's concern here.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_fuzz.h"
#include "pane_verbs.h"

#define STEPS		60
#define QPS		4
#define SCRIPT_QKEY	0x1234

/**
 * struct script - what a program has; NULL what it has not
 * @ctx: context
 * @pd: domain
 * @mr: region of the arena
 * @mw: a window of each type
 * @cq: completion queue
 * @srq: shared receive queue
 * @ah: address handle
 * @xrcd: domain of XRC
 * @qp: queue pairs, of each type
 * @gid: a peer's address
 */
struct script {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw[2];
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp[QPS];
	union ibv_gid gid;
};

static void step_mr(struct script *s)
{
	int access = random_below(2) ? MR_BINDABLE | RIGHTS_ALL :
				       random_below(1 << 7);

	if (!s->mr)
		s->mr = ibv_reg_mr(s->pd, fuzz_arena,
				   1 + random_below(ARENA_LEN / 2), access);
	else if (random_below(2))
		ibv_rereg_mr(s->mr, random_below(8), s->pd,
			     fuzz_arena + random_below(8192), 8192, access);
	else if (!ibv_dereg_mr(s->mr))
		s->mr = NULL;
}

static void step_mw(struct script *s)
{
	unsigned int i = random_below(2);

	if (!s->mw[i])
		s->mw[i] = ibv_alloc_mw(s->pd, i ? IBV_MW_TYPE_2 :
						   IBV_MW_TYPE_1);
	else if (!ibv_dealloc_mw(s->mw[i]))
		s->mw[i] = NULL;
}

static void step_cq(struct script *s)
{
	struct ibv_wc wc[8];

	if (!s->cq)
		s->cq = ibv_create_cq(s->ctx, 1 + random_below(200), NULL, NULL,
				      0);
	else if (random_below(2))
		ibv_resize_cq(s->cq, 1 + random_below(1000));
	else
		ibv_poll_cq(s->cq, 8, wc);
}

static void step_srq(struct script *s)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 1 + random_below(100), .max_sge = 2 },
	};
	struct ibv_srq_attr attr = {
		.max_wr = 1 + random_below(200),
		.srq_limit = random_below(50),
	};

	if (!s->srq)
		s->srq = ibv_create_srq(s->pd, &init);
	else if (random_below(3))
		ibv_modify_srq(s->srq, &attr, 1 + random_below(3));
	else if (!ibv_destroy_srq(s->srq))
		s->srq = NULL;
}

static struct ibv_ah_attr address(const struct script *s)
{
	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = s->gid,
			.sgid_index = random_below(4),
			.hop_limit = 64,
		},
	};
}

static void step_ah(struct script *s)
{
	struct ibv_ah_attr attr = address(s);

	if (!s->ah)
		s->ah = ibv_create_ah(s->pd, &attr);
	else if (!ibv_destroy_ah(s->ah))
		s->ah = NULL;
}

static void step_xrcd(struct script *s)
{
	if (!s->xrcd)
		s->xrcd = xrcd_open(s->ctx);
	else if (!ibv_close_xrcd(s->xrcd))
		s->xrcd = NULL;
}

static void make_qp(struct script *s, unsigned int i)
{
	static const enum ibv_qp_type types[QPS] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC,
	};
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = i == 3 ? s->srq : NULL,
		.cap = {
			.max_send_wr = 1 + random_below(64),
			.max_recv_wr = 1 + random_below(64),
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = random_below(128),
		},
		.qp_type = types[i],
	};

	if (s->cq)
		s->qp[i] = ibv_create_qp(s->pd, &attr);
}

/* Attributes that fit or not, for a state that is the next one or not */
static void move_qp(struct script *s, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = 1 + random_below(6),
		.port_num = 1,
		.qp_access_flags = RIGHTS_ALL,
		.qkey = SCRIPT_QKEY,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 1,
		.retry_cnt = 1,
		.ah_attr = address(s),
	};
	bool ud = qp->qp_type == IBV_QPT_UD;
	int mask = IBV_QP_STATE;

	if (attr.qp_state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	else if (attr.qp_state == IBV_QPS_RTR && !ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | qp_mask_rtr(qp);
	else if (attr.qp_state == IBV_QPS_RTS)
		mask |= IBV_QP_SQ_PSN | (ud ? 0 : qp_mask_rts(qp));
	if (random_below(8) == 0)
		mask ^= 1 << random_below(24);
	ibv_modify_qp(qp, &attr, mask);
}

static void post(struct script *s, struct ibv_qp *qp)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)fuzz_arena,
		.length = random_below(5000),
		.lkey = s->mr ? s->mr->lkey : 0,
	};
	struct ibv_send_wr *bad, wr = {
		.opcode = random_below(7),
		.send_flags = random_below(16) & ~IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };

	if (qp->qp_type == IBV_QPT_UD) {
		wr.opcode = IBV_WR_SEND;
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = qp->qp_num;
		wr.wr.ud.remote_qkey = SCRIPT_QKEY;
	} else if (s->mr) {
		wr.wr.rdma.remote_addr = (uintptr_t)fuzz_arena;
		wr.wr.rdma.rkey = s->mr->rkey;
	}
	if (qp->qp_type == IBV_QPT_UD && !s->ah)
		return;
	if (!qp->srq)
		ibv_post_recv(qp, &recv, &bad_recv);
	ibv_post_send(qp, &wr, &bad);
}

static void bind_type1(struct script *s, struct ibv_qp *qp)
{
	struct ibv_mw_bind bind = {
		.bind_info = {
			.mr = s->mr,
			.addr = (uintptr_t)fuzz_arena,
			.length = random_below(4096),
			.mw_access_flags = random_below(16),
		},
	};

	if (s->mr && s->mw[0])
		ibv_bind_mw(qp, s->mw[0], &bind);
}

/* 239.7.7.x */
static void join(struct script *s, struct ibv_qp *qp)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 7, 7 } };

	gid.raw[15] = random_below(4);
	if (random_below(2))
		ibv_attach_mcast(qp, &gid, 0);
	else
		ibv_detach_mcast(qp, &gid, 0);
}

static void step_qp(struct script *s)
{
	unsigned int i = random_below(QPS);
	struct ibv_qp *qp = s->qp[i];

	if (!qp) {
		make_qp(s, i);
		return;
	}
	switch (random_below(10)) {
	case 0:
		if (!ibv_destroy_qp(qp))
			s->qp[i] = NULL;
		break;
	case 1:
		bind_type1(s, qp);
		break;
	case 2:
		join(s, qp);
		break;
	case 3 ... 5:
		post(s, qp);
		break;
	default:
		move_qp(s, qp);
	}
}

static void step_query(struct script *s)
{
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;

	ibv_query_device_ex(s->ctx, NULL, &dev);
	ibv_query_port(s->ctx, 1, &port);
	ibv_query_gid_ex(s->ctx, 1, random_below(8), &gid, 0);
}

static void step_map(struct script *s)
{
	fuzz_map(s->ctx->cmd_fd);
}

static void (*const steps[])(struct script *s) = {
	step_mr, step_mw, step_cq, step_srq, step_ah, step_xrcd, step_qp,
	step_qp, step_qp, step_qp, step_query, step_map,
};

/* What is in the way of something stays for the context to take along */
static void script_close(struct script *s)
{
	for (unsigned int i = 0; i < QPS; i++)
		if (s->qp[i])
			ibv_destroy_qp(s->qp[i]);
	if (random_below(2) && s->srq)
		ibv_destroy_srq(s->srq);
	if (random_below(2) && s->cq)
		ibv_destroy_cq(s->cq);
	if (random_below(2) && s->mr)
		ibv_dereg_mr(s->mr);
	ibv_close_device(s->ctx);
}

void fuzz_script(void)
{
	struct script s = {};

	s.ctx = ibv_open_device(pane_devices[random_below(2)]);
	if (!s.ctx)
		return;
	ibv_query_gid(s.ctx, 1, random_below(4), &s.gid);
	s.pd = ibv_alloc_pd(s.ctx);
	for (unsigned int i = 0; s.pd && i < STEPS && !fuzz_is_short(); i++)
		steps[random_below(ARRAY_SIZE(steps))](&s);
	script_close(&s);
	/* files that spoilt calls have opened, and nobody knows of */
	close_range(STDERR_FILENO + 1, ~0U, 0);
}
