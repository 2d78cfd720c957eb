// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/string.h>

#include "rq.h"

/**
 * pane_rq_take - take the oldest receive request
 * @rq: the queue; the caller has its lock
 * @to: room for max_sge elements
 *
 * Copied once, then checked. A count of requests that the ring cannot hold is
 * nonsense and counts as none.
 */
enum pane_rq_result pane_rq_take(struct pane_rq *rq, struct pane_rwqe *to)
{
	const struct pane_rq_wqe *slot;
	struct pane_rq_wqe head;
	u32 avail, i;

	/* pairs with the release of who posts */
	avail = smp_load_acquire(rq->prod) - rq->taken;
	if (!avail || avail > rq->mask + 1)
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
