// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "ah.h"
#include "pane.h"
#include "qp.h"
#include "ring.h"

/**
 * pane_ah_find - the address vector of a handle
 * @qp: the QP that sends
 * @num: number of the handle
 *
 * Context: RCU read side, which the vector lives at least as long as.
 * Return: the vector, or NULL if there is no such handle in the QP's PD
 */
struct pane_av *pane_ah_find(struct pane_qp *qp, u32 num)
{
	struct pane_ah_entry *e = xa_load(&qp->dev->ahs, num);

	return e && e->pd == qp->pd ? &e->av : NULL;
}

static void ah_free_rcu(struct rcu_head *rcu)
{
	struct pane_ah_entry *e = container_of(rcu, struct pane_ah_entry, rcu);

	pane_av_release(&e->av);
	kfree(e);
}

/* Handles come and go in any context */
static int ah_number(struct pane_dev *dev, struct pane_ah *ah, gfp_t gfp)
{
	unsigned long flags;
	int err;

	xa_lock_irqsave(&dev->ahs, flags);
	err = __xa_alloc(&dev->ahs, &ah->num, ah->entry,
			 XA_LIMIT(1, PANE_MAX_AH), gfp);
	xa_unlock_irqrestore(&dev->ahs, flags);
	return err == -EBUSY ? -ENOMEM : err;
}

static void ah_unnumber(struct pane_dev *dev, struct pane_ah *ah)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->ahs, flags);
	__xa_erase(&dev->ahs, ah->num);
	xa_unlock_irqrestore(&dev->ahs, flags);
	call_rcu(&ah->entry->rcu, ah_free_rcu);
}

/* Without a flow label all packets of a handle take the same way */
static u16 ah_sport(struct rdma_ah_attr *attr)
{
	return rdma_get_udp_sport(rdma_ah_read_grh(attr)->flow_label, 1, 1);
}

/**
 * pane_create_ah - ibv_create_ah(), rdma_create_ah()
 * @ibah: the core's half
 * @init: attributes, and whether this may sleep
 * @udata: of the call, NULL for kernel users
 *
 * Return: 0; -EINVAL for an address that is not RoCE; -ENOMEM; -EFAULT
 */
int pane_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ?
		    GFP_KERNEL_ACCOUNT : GFP_ATOMIC;
	struct pane_dev *dev = to_pane_dev(ibah->device);
	struct rdma_ah_attr *attr = init->ah_attr;
	struct pane_ah *ah = to_pane_ah(ibah);
	struct pane_create_ah_resp resp = {};
	int err;

	err = ib_is_udata_in_empty(udata);
	if (err)
		return err;
	ah->entry = kzalloc(sizeof(*ah->entry), gfp);
	if (!ah->entry)
		return -ENOMEM;
	ah->entry->pd = ibah->pd;
	err = pane_av_init(&ah->entry->av, attr, ah_sport(attr));
	if (!err)
		err = ah_number(dev, ah, gfp);
	if (err) {
		kfree(ah->entry);
		return err;
	}
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;

	resp.ah = ah->num;
	err = udata ? ib_respond_udata(udata, resp) : 0;
	if (err)
		ah_unnumber(dev, ah);
	return err;
}

/* ibv_query_ah() does not exist; rdma_query_ah() does */
int pane_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_pane_ah(ibah)->attr;
	return 0;
}

/* Nobody goes on with the handle who has posted a datagram to it */
static void ah_finish_sends(struct pane_pd *pd)
{
	struct pane_qp *qp;

	mutex_lock(&pd->ud_lock);
	list_for_each_entry(qp, &pd->ud_qps, ud_node)
		pane_ring_finish(qp);
	mutex_unlock(&pd->ud_lock);
}

/**
 * pane_destroy_ah - ibv_destroy_ah(), rdma_destroy_ah()
 * @ibah: the core's half
 * @flags: whether this may sleep
 *
 * What users have posted to the handle before is sent.
 *
 * Return: 0
 */
int pane_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	if (flags & RDMA_DESTROY_AH_SLEEPABLE)
		ah_finish_sends(to_pane_pd(ibah->pd));
	ah_unnumber(to_pane_dev(ibah->device), to_pane_ah(ibah));
	return 0;
}
