// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Another size for a shared receive queue. The requests that wait go into a new
 * ring under their old indices. uverbs' own call has no answer, which a user
 * needs to find his new ring, so users come by a method of this driver.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>
#define UVERBS_MODULE_NAME pane
#include <rdma/uverbs_named_ioctl.h>

#include "pane.h"
#include "srq.h"
#include "umap.h"

/* Requests that wait, from one ring to the other; srq->lock */
static void resize_copy(const struct pane_rq *from, struct pane_rq *to, u32 num)
{
	u32 i, index;

	for (i = 0; i < num; i++) {
		index = from->taken + i;
		memcpy(to->ring + (size_t)(index & to->mask) * to->stride,
		       from->ring + (size_t)(index & from->mask) * from->stride,
		       from->stride);
	}
	to->taken = from->taken;
}

/*
 * Put the queue into another ring, which holds @count requests; srq->lock. A
 * limit that the new size cannot reach would never be left behind.
 * Return: 0; -EINVAL if the requests that wait, or the limit, do not fit
 */
static int resize_switch(struct pane_srq *srq, void *ring, u32 count,
			 struct pane_srq_ctl *ctl)
{
	u32 num = pane_rq_avail(&srq->rq);
	struct pane_rq to = srq->rq;

	if (num > count || srq->limit > count)
		return -EINVAL;
	to.ring = ring;
	to.mask = count - 1;
	resize_copy(&srq->rq, &to, num);
	if (ctl) {
		ctl->prod = to.taken + num;
		ctl->cons = to.taken;
		to.prod = &ctl->prod;
		to.cons = &ctl->cons;
	}
	srq->rq = to;
	return 0;
}

static int resize_check(u32 max_wr)
{
	return max_wr && max_wr <= PANE_MAX_SRQ_WR ? 0 : -EINVAL;
}

/**
 * pane_srq_resize_kernel - ib_modify_srq() with IB_SRQ_MAX_WR
 * @srq: the queue, a kernel user's
 * @max_wr: requests it is to hold, at least
 *
 * Context: process.
 * Return: 0; -EINVAL for a size over the device's, or under what waits; -ENOMEM
 */
int pane_srq_resize_kernel(struct pane_srq *srq, u32 max_wr)
{
	unsigned long flags;
	void *ring;
	int err;

	err = resize_check(max_wr);
	if (err)
		return err;
	max_wr = roundup_pow_of_two(max_wr);
	ring = kvcalloc(max_wr, srq->rq.stride, GFP_KERNEL);
	if (!ring)
		return -ENOMEM;

	spin_lock_irqsave(&srq->lock, flags);
	err = resize_switch(srq, ring, max_wr, NULL);
	if (!err)
		swap(srq->kring, ring);
	spin_unlock_irqrestore(&srq->lock, flags);
	/* the old ring, or on failure the new one */
	kvfree(ring);
	return err;
}

/* A user's; he posts nothing meanwhile. @resp tells where the new ring is. */
static int srq_resize_user(struct pane_srq *srq, struct ib_ucontext *ibuc,
			   u32 max_wr, struct pane_resize_srq_resp *resp)
{
	struct pane_umap *map, *old = srq->map;
	u32 stride = srq->rq.stride;
	int err;

	err = resize_check(max_wr);
	if (err)
		return err;
	max_wr = roundup_pow_of_two(max_wr);
	map = pane_umap_create(ibuc, sizeof(struct pane_srq_ctl) +
			       (size_t)max_wr * stride, false);
	if (IS_ERR(map))
		return PTR_ERR(map);

	spin_lock_bh(&srq->lock);
	err = resize_switch(srq, map->mem + sizeof(struct pane_srq_ctl),
			    max_wr, map->mem);
	if (!err)
		srq->map = map;
	spin_unlock_bh(&srq->lock);
	if (!err)
		*resp = (struct pane_resize_srq_resp) {
			.ring_offset = pane_umap_offset(map),
			.ring_size = map->size,
			.rq_offset = sizeof(struct pane_srq_ctl),
			.rq_stride = stride,
			.rq_count = max_wr,
		};
	pane_umap_destroy(err ? map : old);
	return err;
}

static int UVERBS_HANDLER(PANE_METHOD_SRQ_RESIZE)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, PANE_ATTR_SRQ_RESIZE_HANDLE);
	struct ib_srq *ibsrq = uobj->object;
	struct pane_resize_srq_resp resp;
	u32 max_wr;
	int err;

	err = uverbs_copy_from(&max_wr, attrs, PANE_ATTR_SRQ_RESIZE_MAX_WR);
	if (!err)
		err = srq_resize_user(to_pane_srq(ibsrq),
				      uobj->context, max_wr, &resp);
	if (err)
		return err;
	return uverbs_copy_to(attrs, PANE_ATTR_SRQ_RESIZE_RESP, &resp,
			      sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(
	PANE_METHOD_SRQ_RESIZE,
	UVERBS_ATTR_IDR(PANE_ATTR_SRQ_RESIZE_HANDLE,
			UVERBS_OBJECT_SRQ,
			UVERBS_ACCESS_WRITE,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PANE_ATTR_SRQ_RESIZE_MAX_WR,
			   UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PANE_ATTR_SRQ_RESIZE_RESP,
			    UVERBS_ATTR_TYPE(struct pane_resize_srq_resp),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(pane_srq,
		   UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(PANE_METHOD_SRQ_RESIZE));

const struct uapi_definition pane_srq_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &pane_srq),
	{},
};
