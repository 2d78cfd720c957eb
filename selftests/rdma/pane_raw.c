// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_raw.h"

#define RAW_WR		32
#define RAW_SGE		4
#define RAW_INLINE	64

/* PSNs of both directions begin here */
#define RAW_PSN		0x7000
/* 8 us: what is refused without an answer is over soon */
#define RAW_TIMEOUT	1

/* ---- commands -------------------------------------------------------- */

/* A command of write(2); @resp is where its body says the answer goes */
static void uverbs_write(struct raw_qp *qp, unsigned int command,
			 const void *body, size_t len, size_t resp_len)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t body[64];
	} cmd = {
		.hdr = {
			.command = command,
			.in_words = (sizeof(cmd.hdr) + len) / 4,
			.out_words = resp_len / 4,
		},
	};
	ssize_t all = sizeof(cmd.hdr) + len;

	memcpy(cmd.body, body, len);
	CHECK(write(qp->node->ctx->cmd_fd, &cmd, all) == all,
	      "command %u: %s", command, strerror(errno));
}

static void create(struct raw_qp *qp, const struct ibv_pd *pd)
{
	struct {
		struct ib_uverbs_create_qp_resp ib;
		struct pane_create_qp_resp drv;
	} resp = {};
	struct {
		struct ib_uverbs_create_qp ib;
		struct pane_create_qp_req drv;
	} cmd = {
		.ib = {
			.response = (uintptr_t)&resp,
			.pd_handle = pd->handle,
			.send_cq_handle = qp->scq->handle,
			.recv_cq_handle = qp->rcq->handle,
			.max_send_wr = RAW_WR,
			.max_recv_wr = RAW_WR,
			.max_send_sge = RAW_SGE,
			.max_recv_sge = RAW_SGE,
			.max_inline_data = RAW_INLINE,
			.qp_type = qp->type,
		},
	};

	uverbs_write(qp, IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd),
		     sizeof(resp));
	qp->handle = resp.ib.qp_handle;
	qp->qpn = resp.ib.qpn;
	qp->ring = resp.drv;
}

static void destroy(struct raw_qp *qp)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_destroy_qp cmd = {
		.response = (uintptr_t)&resp,
		.qp_handle = qp->handle,
	};

	uverbs_write(qp, IB_USER_VERBS_CMD_DESTROY_QP, &cmd, sizeof(cmd),
		     sizeof(resp));
}

static void modify(struct raw_qp *qp, struct ib_uverbs_modify_qp cmd,
		   uint32_t mask)
{
	cmd.qp_handle = qp->handle;
	cmd.attr_mask = IBV_QP_STATE | mask;
	uverbs_write(qp, IB_USER_VERBS_CMD_MODIFY_QP, &cmd, sizeof(cmd), 0);
}

/* The context's second file, for the calls of the data path */
static int doorbell_open(struct ibv_context *ctx)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr;
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = PANE_OBJECT_DOORBELL,
			.method_id = PANE_METHOD_DOORBELL_ALLOC,
			.num_attrs = 1,
			.driver_id = RDMA_DRIVER_PANE,
		},
		.attr = {
			.attr_id = PANE_ATTR_DOORBELL_ALLOC_FD,
			.flags = UVERBS_ATTR_F_MANDATORY,
		},
	};

	CHECK(!ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd), "%s",
	      strerror(errno));
	return cmd.attr.data_s64;
}

void raw_open(struct raw_qp *qp, struct node *n, struct ibv_pd *pd,
	      struct ibv_cq *scq, struct ibv_cq *rcq)
{
	raw_open_type(qp, n, pd, scq, rcq, IBV_QPT_RC);
}

void raw_open_type(struct raw_qp *qp, struct node *n, struct ibv_pd *pd,
		   struct ibv_cq *scq, struct ibv_cq *rcq,
		   enum ibv_qp_type type)
{
	*qp = (struct raw_qp) {
		.node = n,
		.scq = scq,
		.rcq = rcq,
		.type = type,
		.timeout = RAW_TIMEOUT,
		.sq_psn = RAW_PSN,
		.rq_psn = RAW_PSN,
	};
	create(qp, pd);
	qp->ctl = mmap(NULL, qp->ring.ring_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED, n->ctx->cmd_fd, qp->ring.ring_offset);
	CHECK(qp->ctl != MAP_FAILED, "%s", strerror(errno));
	qp->doorbell = doorbell_open(n->ctx);
}

void raw_close(struct raw_qp *qp)
{
	destroy(qp);
	munmap(qp->ctl, qp->ring.ring_size);
	close(qp->doorbell);
}

/* ---- states ---------------------------------------------------------- */

void raw_modify(struct raw_qp *qp, enum ibv_qp_state state)
{
	modify(qp, (struct ib_uverbs_modify_qp) { .qp_state = state }, 0);
	if (state != IBV_QPS_RESET)
		return;
	/* what was in the rings is forgotten, the indices run on */
	qp->sq_prod = qp->ctl->sq_cons;
	qp->rq_prod = qp->ctl->rq_cons;
	qp->ctl->sq_prod = qp->sq_prod;
	qp->ctl->rq_prod = qp->rq_prod;
}

void raw_connect(struct raw_qp *qp, const struct endpoint *ep)
{
	struct ib_uverbs_modify_qp cmd = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RIGHTS_ALL,
	};
	int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN;
	struct ibv_wc wc;

	raw_modify(qp, IBV_QPS_RESET);
	while (ibv_poll_cq(qp->scq, 1, &wc) > 0 ||
	       ibv_poll_cq(qp->rcq, 1, &wc) > 0)
		;
	modify(qp, cmd, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	cmd.qp_state = IBV_QPS_RTR;
	cmd.dest = (struct ib_uverbs_qp_dest) {
		.sgid_index = qp->node->gid_index,
		.hop_limit = 64,
		.is_global = 1,
		.port_num = 1,
	};
	memcpy(cmd.dest.dgid, ep->node->gid.raw, sizeof(cmd.dest.dgid));
	cmd.path_mtu = IBV_MTU_1024;
	cmd.dest_qp_num = ep->qp->qp_num;
	cmd.rq_psn = qp->rq_psn;
	cmd.max_dest_rd_atomic = 4;
	cmd.min_rnr_timer = 1;
	if (qp->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	modify(qp, cmd, mask);

	cmd.qp_state = IBV_QPS_RTS;
	cmd.sq_psn = qp->sq_psn;
	cmd.timeout = qp->timeout;
	cmd.retry_cnt = 1;
	cmd.rnr_retry = 0;
	cmd.max_rd_atomic = 4;
	modify(qp, cmd, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

void raw_reconnect(struct raw_qp *qp, struct endpoint *ep)
{
	struct ibv_qp fake_qp = { .qp_num = qp->qpn };
	struct endpoint remote = {
		.node = qp->node,
		.qp = &fake_qp,
		.psn = RAW_PSN,
	};

	ep_modify(ep, IBV_QPS_RESET);
	ep_drain(ep);
	ep->psn = RAW_PSN;
	raw_connect(qp, ep);
	ep_connect_one(ep, &remote);
}

enum ibv_qp_state raw_state(struct raw_qp *qp)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_query_qp cmd = {
		.response = (uintptr_t)&resp,
		.qp_handle = qp->handle,
		.attr_mask = IBV_QP_STATE,
	};

	uverbs_write(qp, IB_USER_VERBS_CMD_QUERY_QP, &cmd, sizeof(cmd),
		     sizeof(resp));
	return resp.qp_state;
}

/* ---- rings ----------------------------------------------------------- */

static void *ring_slot(struct raw_qp *qp, uint32_t offset, uint32_t stride,
		       uint32_t count, uint32_t index)
{
	return (char *)qp->ctl + offset +
	       (size_t)stride * (index & (count - 1));
}

struct pane_sq_wqe *raw_slot(struct raw_qp *qp, uint32_t ahead)
{
	return ring_slot(qp, qp->ring.sq_offset, qp->ring.sq_stride,
			 qp->ring.sq_count, qp->sq_prod + ahead);
}

struct pane_rq_wqe *raw_recv_slot(struct raw_qp *qp)
{
	return ring_slot(qp, qp->ring.rq_offset, qp->ring.rq_stride,
			 qp->ring.rq_count, qp->rq_prod);
}

int raw_ring(struct raw_qp *qp, unsigned long request, unsigned long arg)
{
	return ioctl(qp->doorbell, request, arg) ? errno : 0;
}

int raw_push(struct raw_qp *qp, uint32_t num)
{
	qp->sq_prod += num;
	__atomic_store_n(&qp->ctl->sq_prod, qp->sq_prod, __ATOMIC_RELEASE);
	return raw_ring(qp, PANE_DB_SEND, qp->qpn);
}

void raw_push_recv(struct raw_qp *qp)
{
	qp->rq_prod++;
	__atomic_store_n(&qp->ctl->rq_prod, qp->rq_prod, __ATOMIC_RELEASE);
}
