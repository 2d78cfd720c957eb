// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "pane.h"

/* Map a ring that the kernel made for the queue, and publish there from now on */
static int pane_map_srq_ring(struct ibv_context *ibctx, struct pane_srq *srq,
			     uint64_t offset, const struct pane_layout *layout)
{
	struct pane_srq_ctl *ctl;

	if (!layout->count || !pane_layout_valid(layout))
		return EPROTO;

	ctl = pane_map_ring(ibctx, offset, layout->size,
			    PROT_READ | PROT_WRITE);
	if (!ctl)
		return errno;

	srq->ring = ctl;
	srq->ring_size = layout->size;
	srq->q.ctl_prod = &ctl->prod;
	srq->q.ctl_cons = &ctl->cons;
	return 0;
}

static int pane_map_srq(struct ibv_context *ibctx, struct pane_srq *srq,
			const struct pane_create_srq_resp *resp,
			const struct ibv_srq_init_attr_ex *attr)
{
	uint64_t sges = (uint64_t)attr->attr.max_sge * sizeof(struct pane_sge);
	const struct pane_layout layout = {
		.size = resp->ring_size,
		.offset = resp->rq_offset,
		.stride = resp->rq_stride,
		.count = resp->rq_count,
		.slot_size = sizeof(struct pane_rq_wqe) + sges,
	};
	int ret;

	ret = pane_map_srq_ring(ibctx, srq, resp->ring_offset, &layout);
	if (!ret)
		pane_queue_init(&srq->q, srq->ring, &layout,
				attr->attr.max_sge,
				pane_pd_single_threaded(attr->pd));
	return ret;
}

static int pane_init_srq(struct ibv_context *ibctx, struct pane_srq *srq,
			 struct ibv_srq_init_attr_ex *attr)
{
	struct pane_cmd_create_srq cmd = {};
	struct pane_cmd_create_srq_resp resp = {};
	int ret;

	ret = ibv_cmd_create_srq_ex(ibctx, &srq->vsrq, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;

	ret = pane_map_srq(ibctx, srq, &resp.drv_payload, attr);
	if (ret)
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
	return ret;
}

static struct pane_srq *pane_new_srq(struct ibv_context *ibctx,
				     struct ibv_srq_init_attr_ex *attr)
{
	struct pane_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	ret = pane_init_srq(ibctx, srq, attr);
	if (ret) {
		free(srq);
		errno = ret;
		return NULL;
	}
	return srq;
}

struct ibv_srq *pane_create_srq(struct ibv_pd *ibpd,
				struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex own = {
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = ibpd,
	};
	struct pane_srq *srq = pane_new_srq(ibpd->context, &own);

	if (!srq)
		return NULL;

	attr->attr = own.attr;
	return &srq->vsrq.srq;
}

/* libibverbs sets the first members for a basic SRQ only */
struct ibv_srq *pane_create_srq_ex(struct ibv_context *ibctx,
				   struct ibv_srq_init_attr_ex *attr)
{
	struct pane_srq *srq;

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type == IBV_SRQT_TM) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}

	srq = pane_new_srq(ibctx, attr);
	if (!srq)
		return NULL;

	srq->vsrq.srq.srq_context = attr->srq_context;
	srq->vsrq.srq.pd = attr->pd;
	return &srq->vsrq.srq;
}

static int pane_ask_for_size(struct pane_srq *srq, uint32_t max_wr,
			     struct pane_resize_srq_resp *resp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_SRQ, PANE_METHOD_SRQ_RESIZE,
			       3);

	fill_attr_in_obj(cmd, PANE_ATTR_SRQ_RESIZE_HANDLE,
			 srq->vsrq.srq.handle);
	fill_attr_in(cmd, PANE_ATTR_SRQ_RESIZE_MAX_WR, &max_wr,
		     sizeof(max_wr));
	fill_attr_out_ptr(cmd, PANE_ATTR_SRQ_RESIZE_RESP, resp);
	return execute_ioctl(srq->vsrq.srq.context, cmd);
}

/* Go on in the new ring, where the kernel has put what waits */
static int pane_move_srq(struct pane_srq *srq,
			 const struct pane_resize_srq_resp *resp)
{
	const struct pane_layout layout = {
		.size = resp->ring_size,
		.offset = resp->rq_offset,
		.stride = resp->rq_stride,
		.count = resp->rq_count,
		.slot_size = srq->q.stride,
	};
	uint64_t old_size = srq->ring_size;
	void *old_ring = srq->ring;
	int ret;

	ret = pane_map_srq_ring(srq->vsrq.srq.context, srq, resp->ring_offset,
				&layout);
	if (ret)
		return ret;

	munmap(old_ring, old_size);
	pane_queue_set_ring(&srq->q, srq->ring, &layout);
	return 0;
}

/*
 * Nobody may post meanwhile, so the lock is held over the call. A failure to
 * map the new ring, where the process runs out of mappings, leaves a queue that
 * holds what was posted and takes nothing more.
 */
static int pane_resize_srq(struct pane_srq *srq, uint32_t max_wr)
{
	struct pane_resize_srq_resp resp = {};
	int ret;

	pane_lock(&srq->q.lock);
	ret = pane_ask_for_size(srq, max_wr, &resp);
	if (!ret) {
		ret = pane_move_srq(srq, &resp);
		/* the kernel does not look at the old ring any more */
		if (ret)
			srq->q.count = 0;
	}
	pane_unlock(&srq->q.lock);
	return ret;
}

int pane_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		    int attr_mask)
{
	struct ibv_modify_srq cmd = {};
	int ret;

	if (attr_mask & IBV_SRQ_MAX_WR) {
		if ((attr_mask & IBV_SRQ_LIMIT) &&
		    attr->srq_limit > attr->max_wr)
			return EINVAL;
		ret = pane_resize_srq(to_pane_srq(ibsrq), attr->max_wr);
		if (ret || attr_mask == IBV_SRQ_MAX_WR)
			return ret;
		attr_mask &= ~IBV_SRQ_MAX_WR;
	}
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
}

int pane_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int pane_destroy_srq(struct ibv_srq *ibsrq)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	munmap(srq->ring, srq->ring_size);
	pane_lock_destroy(&srq->q.lock);
	free(srq);
	return 0;
}

/* There is no doorbell: the kernel looks when a message needs a buffer */
int pane_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *end = wr;
	int ret;

	ret = pane_queue_recv_list(&to_pane_srq(ibsrq)->q, &end);
	if (ret)
		*bad_wr = end;
	return ret;
}
