// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/string.h>

#include "rq.h"

/*
 * Requests that wait. A count that the ring cannot hold is nonsense and counts
 * as none; it harms its writer only.
 */
u32 pane_rq_avail(const struct pane_rq *rq)
{
	/* pairs with the release of who posts */
	u32 avail = smp_load_acquire(rq->prod) - rq->taken;

	return avail > rq->mask + 1 ? 0 : avail;
}

/**
 * pane_rq_post - post a kernel user's receive request
 * @rq: the queue; the caller has its lock
 * @prod: what rq->prod points to
 * @wr: the request
 *
 * Return: 0; -ENOMEM when the queue is full; -EINVAL for too many elements
 */
int pane_rq_post(struct pane_rq *rq, u32 *prod, const struct ib_recv_wr *wr)
{
	struct pane_rq_wqe *slot;
	int i;

	if (*prod - rq->taken > rq->mask)
		return -ENOMEM;
	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	slot = rq->ring + (size_t)(*prod & rq->mask) * rq->stride;
	slot->wr_id = wr->wr_id;
	slot->num_sge = wr->num_sge;
	slot->reserved = 0;
	for (i = 0; i < wr->num_sge; i++) {
		slot->sge[i].addr = wr->sg_list[i].addr;
		slot->sge[i].length = wr->sg_list[i].length;
		slot->sge[i].lkey = wr->sg_list[i].lkey;
	}
	/* pairs with pane_rq_avail() */
	smp_store_release(prod, *prod + 1);
	return 0;
}

/**
 * pane_rq_take - take the oldest receive request
 * @rq: the queue; the caller has its lock
 * @to: room for max_sge elements
 *
 * Copied once, then checked.
 *
 * Return: enum pane_rq_result
 */
enum pane_rq_result pane_rq_take(struct pane_rq *rq, struct pane_rwqe *to)
{
	const struct pane_rq_wqe *slot;
	struct pane_rq_wqe head;
	u32 i;

	if (!pane_rq_avail(rq))
		return PANE_RQ_EMPTY;

	slot = rq->ring + (size_t)(rq->taken & rq->mask) * rq->stride;
	memcpy(&head, slot, sizeof(head));
	barrier();
	to->wr_id = head.wr_id;
	to->num_sge = 0;
	to->length = 0;
	if (head.num_sge <= rq->max_sge) {
		to->num_sge = head.num_sge;
		memcpy(to->sge, slot->sge, to->num_sge * sizeof(*to->sge));
		barrier();
	}
	for (i = 0; i < to->num_sge; i++)
		to->length += to->sge[i].length;

	rq->taken++;
	/* the slot is free: what it held is here */
	smp_store_release(rq->cons, rq->taken);
	if (head.num_sge > rq->max_sge || head.reserved)
		return PANE_RQ_MALFORMED;
	return PANE_RQ_TAKEN;
}
