// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: making, resizing, arming. Taking entries out is in poll.c.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pane.h"

static size_t pane_ctl_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Map a ring of @count slots; 0, or an error that leaves nothing mapped */
static int pane_map_cqes(struct ibv_context *ibctx, uint64_t offset,
			 uint64_t size, uint32_t count,
			 const struct pane_cqe **ring)
{
	const struct pane_layout layout = {
		.size = size,
		.stride = sizeof(**ring),
		.count = count,
		.slot_size = sizeof(**ring),
	};

	if (!count || !pane_layout_valid(&layout))
		return EPROTO;

	*ring = pane_map_ring(ibctx, offset, size, PROT_READ);
	return *ring ? 0 : errno;
}

static int pane_map_cq(struct ibv_context *ibctx, struct pane_cq *cq,
		       const struct pane_create_cq_resp *resp)
{
	int ret;

	ret = pane_map_cqes(ibctx, resp->ring_offset, resp->ring_size,
			    resp->ring_count, &cq->ring);
	if (ret)
		return ret;

	cq->ring_size = resp->ring_size;
	cq->mask = resp->ring_count - 1;
	cq->ctl = pane_map_ring(ibctx, resp->ctl_offset, pane_ctl_size(),
				PROT_READ | PROT_WRITE);
	if (!cq->ctl) {
		ret = errno;
		munmap((void *)cq->ring, cq->ring_size);
		return ret;
	}
	return 0;
}

/* What extended completions can tell */
#define PANE_WC_FLAGS	(IBV_WC_STANDARD_FLAGS | \
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static int pane_check_cq_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr->wc_flags & ~(uint64_t)PANE_WC_FLAGS)
		return EOPNOTSUPP;
	return 0;
}

static bool pane_cq_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return true;
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	       pane_pd_single_threaded(attr->parent_domain);
}

static int pane_cmd_create_cq(struct ibv_context *ibctx, struct pane_cq *cq,
			      struct ibv_cq_init_attr_ex *attr)
{
	struct pane_cmd_create_cq cmd = {};
	struct pane_cmd_create_cq_resp resp = {};
	int ret;

#if IBVERBS_PABI_VERSION >= 59
	ret = ibv_cmd_create_cq_ex(ibctx, attr, NULL, &cq->vcq, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp), 0);
#else
	ret = ibv_cmd_create_cq_ex(ibctx, attr, &cq->vcq, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp), 0);
#endif
	if (ret)
		return ret;

	ret = pane_map_cq(ibctx, cq, &resp.drv_payload);
	if (ret)
		ibv_cmd_destroy_cq(&cq->vcq.cq);
	return ret;
}

struct ibv_cq_ex *pane_create_cq_ex(struct ibv_context *ibctx,
				    struct ibv_cq_init_attr_ex *attr)
{
	struct pane_cq *cq;
	int ret;

	ret = pane_check_cq_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = pane_cmd_create_cq(ibctx, cq, attr);
	if (ret) {
		free(cq);
		errno = ret;
		return NULL;
	}

	pane_lock_init(&cq->lock, pane_cq_single_threaded(attr));
	pthread_mutex_init(&cq->resize, NULL);
	pane_init_cq_ex(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

struct ibv_cq *pane_create_cq(struct ibv_context *ibctx, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq_ex = pane_create_cq_ex(ibctx, &attr);

	return cq_ex ? ibv_cq_ex_to_cq(cq_ex) : NULL;
}

/*
 * The kernel moved the entries that were not taken out to the new ring, under
 * their indices.
 */
static void pane_switch_ring(struct pane_cq *cq, const struct pane_cqe *ring,
			     const struct pane_resize_cq_resp *resp)
{
	const struct pane_cqe *old_ring;
	uint64_t old_size = cq->ring_size;

	pane_lock(&cq->lock);
	old_ring = cq->ring;
	cq->ring = ring;
	cq->mask = resp->ring_count - 1;
	pane_unlock(&cq->lock);

	cq->ring_size = resp->ring_size;
	munmap((void *)old_ring, old_size);
}

/*
 * A failure to map the new ring, where the process runs out of mappings, leaves
 * a CQ that delivers what the old ring holds and nothing after it.
 */
static int pane_resize_locked(struct pane_cq *cq, int cqe)
{
	struct pane_cmd_resize_cq_resp resp = {};
	const struct pane_cqe *ring;
	struct ibv_resize_cq cmd = {};
	int ret;

	ret = ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;

	ret = pane_map_cqes(cq->vcq.cq.context, resp.ring_offset,
			    resp.ring_size, resp.ring_count, &ring);
	if (ret)
		return ret;

	pane_switch_ring(cq, ring, &resp.drv_payload);
	return 0;
}

static void pane_set_resizing(struct pane_cq *cq, bool resizing)
{
	pane_lock(&cq->lock);
	cq->resizing = resizing;
	pane_unlock(&cq->lock);
}

int pane_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	int ret;

	pthread_mutex_lock(&cq->resize);
	pane_set_resizing(cq, true);
	ret = pane_resize_locked(cq, cqe);
	pane_set_resizing(cq, false);
	pthread_mutex_unlock(&cq->resize);
	return ret;
}

/*
 * Who polls waits until both sides use the same ring. While the kernel fills the
 * new one already and asks for no event, one who looks into the old ring, asks
 * for an event, looks again and sleeps would miss the entries; and those of a QP
 * that is reset meanwhile would not be void there.
 */
void pane_lock_to_poll(struct pane_cq *cq)
{
	pane_lock(&cq->lock);
	while (cq->resizing) {
		pane_unlock(&cq->lock);
		pthread_mutex_lock(&cq->resize);
		pthread_mutex_unlock(&cq->resize);
		pane_lock(&cq->lock);
	}
}

/*
 * Bits are added, never taken away, so a request for the next completion stays
 * one when a request for solicited completions follows it. The barrier makes
 * the poll that follows see what the kernel wrote before it could see the bit.
 */
int pane_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct pane_cq *cq = to_pane_cq(ibcq);

	pane_set_bits(&cq->ctl->arm, solicited_only ? PANE_CQ_ARM_SOLICITED :
						      PANE_CQ_ARM_NEXT);
	pane_full_barrier();
	return 0;
}

int pane_destroy_cq(struct ibv_cq *ibcq)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	munmap((void *)cq->ring, cq->ring_size);
	munmap(cq->ctl, pane_ctl_size());
	pthread_mutex_destroy(&cq->resize);
	pane_lock_destroy(&cq->lock);
	free(cq);
	return 0;
}

int pane_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}
