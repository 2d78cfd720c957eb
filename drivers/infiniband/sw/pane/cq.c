// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/wait_bit.h>
#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "pane.h"
#include "umap.h"

/* ---- posting --------------------------------------------------------- */

/* Entries that nobody took yet, as far as the other side tells the truth */
u32 pane_cq_unread(const struct pane_cq *cq)
{
	return cq->prod - (cq->ctl ? READ_ONCE(cq->ctl->cons) : cq->cons);
}

/* A full CQ: the entry is lost, which its users learn by an event, once */
static void cq_overrun(struct pane_cq *cq)
{
	pane_count(to_pane_dev(cq->ibcq.device), cq_overrun);
	if (cq->overrun)
		return;
	cq->overrun = true;
	queue_work(pane_wq, &cq->error_work);
}

static void cq_write(struct pane_cq *cq, const struct pane_wc *wc)
{
	struct pane_cqe *slot;

	if (!cq->ctl) {
		cq->kring[cq->prod++ & cq->mask] = *wc;
		return;
	}
	slot = &cq->ring[cq->prod & cq->mask];
	memcpy(slot, &wc->cqe, offsetof(struct pane_cqe, seq));
	if (cq->timestamps)
		slot->timestamp = ktime_get_raw_ns();
	/* pairs with the acquire of user space's poll */
	smp_store_release(&slot->seq, ++cq->prod);
}

static u32 *cq_arm(struct pane_cq *cq)
{
	return cq->ctl ? &cq->ctl->arm : &cq->arm;
}

/* Is an event wanted? */
bool pane_cq_armed(struct pane_cq *cq)
{
	return READ_ONCE(*cq_arm(cq));
}

/*
 * He who waits for entries is told now, if there is anyone: true, and
 * pane_cq_notify() is due
 */
static bool cq_disarm(struct pane_cq *cq)
{
	cq->held = 0;
	/* user space may write it any moment: only who clears it notifies */
	if (!xchg(cq_arm(cq), 0))
		return false;
	atomic_inc(&cq->notifying);
	return true;
}

/* Moderation: is he to be told later, of more entries at once? */
static bool cq_hold(struct pane_cq *cq)
{
	if (likely(cq->hold_count <= 1) || ++cq->held >= cq->hold_count)
		return false;
	if (cq->held == 1 && cq->hold_time)
		hrtimer_start(&cq->hold_timer,
			      ns_to_ktime(cq->hold_time * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/* Is somebody waiting for this entry? If so, he is served now, or soon. */
static bool cq_tell(struct pane_cq *cq, bool solicited)
{
	u32 wanted = READ_ONCE(*cq_arm(cq));

	if (likely(!wanted))
		return false;
	if (!(wanted & PANE_CQ_ARM_NEXT) && !solicited)
		return false;
	return !cq_hold(cq) && cq_disarm(cq);
}

/**
 * pane_cq_post - add a completion
 * @cq: the queue
 * @wc: the entry
 * @solicited: the entry is of a solicited message, or an error
 *
 * Context: any but hard interrupts.
 * Return: enum pane_cq_result. After PANE_CQ_NOTIFY the queue stays until
 * pane_cq_notify() was called, which must be without locks.
 */
enum pane_cq_result pane_cq_post(struct pane_cq *cq, const struct pane_wc *wc,
				 bool solicited)
{
	enum pane_cq_result result = PANE_CQ_POSTED;

	spin_lock_bh(&cq->lock);
	if (unlikely(pane_cq_unread(cq) > cq->mask)) {
		cq_overrun(cq);
		result = PANE_CQ_OVERRUN;
		goto out;
	}
	cq_write(cq, wc);
	/* the entry first, then the look at arm: its setter polls after it */
	smp_mb();
	if (cq_tell(cq, solicited))
		result = PANE_CQ_NOTIFY;
out:
	spin_unlock_bh(&cq->lock);
	return result;
}

/* Call the completion handler that pane_cq_post() asked for; no lock held */
void pane_cq_notify(struct pane_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	if (atomic_dec_and_test(&cq->notifying))
		wake_up_var(&cq->notifying);
}

/* Entries that were held back are told of now */
static void cq_tell_held(struct pane_cq *cq)
{
	bool tell;

	spin_lock_bh(&cq->lock);
	tell = cq->held && cq_disarm(cq);
	spin_unlock_bh(&cq->lock);
	if (tell)
		pane_cq_notify(cq);
}

static enum hrtimer_restart cq_hold_over(struct hrtimer *timer)
{
	cq_tell_held(container_of(timer, struct pane_cq, hold_timer));
	return HRTIMER_NORESTART;
}

/**
 * pane_modify_cq - ibv_modify_cq(): moderation of events
 * @ibcq: the queue
 * @count: an event for so many completions; 0 or 1 for each
 * @period: but not later than this after the first one, in us; 0 for no limit
 *
 * Return: 0
 */
int pane_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct pane_cq *cq = to_pane_cq(ibcq);

	spin_lock_bh(&cq->lock);
	cq->hold_count = count;
	cq->hold_time = period;
	spin_unlock_bh(&cq->lock);
	/* by the old rule */
	cq_tell_held(cq);
	return 0;
}

/* A kernel user need not poll to make room for others than what is void */
static void cq_skip_void(struct pane_cq *cq)
{
	while (cq->cons != cq->prod &&
	       cq->kring[cq->cons & cq->mask].cqe.flags & PANE_CQE_VOID)
		cq->cons++;
}

/**
 * pane_cq_forget - take back what was not polled of a QP
 * @cq: the queue
 * @qpn: number of the QP, which is being reset or destroyed
 *
 * Nobody is told any more of requests that the QP has forgotten.
 */
void pane_cq_forget(struct pane_cq *cq, u32 qpn)
{
	struct pane_cqe *cqe;
	u32 i, unread;

	spin_lock_bh(&cq->lock);
	unread = min(pane_cq_unread(cq), cq->mask + 1);
	for (i = cq->prod - unread; i != cq->prod; i++) {
		cqe = cq->ctl ? &cq->ring[i & cq->mask] :
				&cq->kring[i & cq->mask].cqe;
		if (cqe->qp_num == qpn)
			cqe->flags |= PANE_CQE_VOID;
	}
	if (!cq->ctl)
		cq_skip_void(cq);
	spin_unlock_bh(&cq->lock);
}

static void cq_notify_work(struct work_struct *work)
{
	pane_cq_notify(container_of(work, struct pane_cq, notify_work));
}

static void cq_error_work(struct work_struct *work)
{
	struct pane_cq *cq = container_of(work, struct pane_cq, error_work);
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

/* ---- creation and destruction ---------------------------------------- */

/*
 * An entry that was never written must not look like one that was, whatever
 * index the ring begins with: a slot holds entries whose seq is one more than
 * its number, modulo the size.
 */
static void cq_clear_ring(struct pane_cqe *ring, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		ring[i].seq = i;
}

/* At least two, for cq_clear_ring() */
static u32 cq_count(u32 wanted)
{
	return roundup_pow_of_two(max(wanted, 2U));
}

static int cq_alloc_user(struct pane_cq *cq, struct ib_udata *udata, u32 count)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);
	struct pane_create_cq_resp resp = {};
	int err;

	cq->ring_map = pane_umap_create(&uc->ibuc, count * sizeof(*cq->ring),
					true);
	if (IS_ERR(cq->ring_map))
		return PTR_ERR(cq->ring_map);
	cq->ctl_map = pane_umap_create(&uc->ibuc, sizeof(*cq->ctl), false);
	if (IS_ERR(cq->ctl_map)) {
		err = PTR_ERR(cq->ctl_map);
		goto err_ring;
	}
	cq->ring = cq->ring_map->mem;
	cq->ctl = cq->ctl_map->mem;
	cq_clear_ring(cq->ring, count);

	resp.ring_count = count;
	resp.ring_offset = pane_umap_offset(cq->ring_map);
	resp.ring_size = cq->ring_map->size;
	resp.ctl_offset = pane_umap_offset(cq->ctl_map);
	err = ib_respond_udata(udata, resp);
	if (!err)
		return 0;

	pane_umap_destroy(cq->ctl_map);
err_ring:
	pane_umap_destroy(cq->ring_map);
	return err;
}

static void cq_free(struct pane_cq *cq)
{
	if (cq->ctl) {
		pane_umap_destroy(cq->ctl_map);
		pane_umap_destroy(cq->ring_map);
	} else {
		kvfree(cq->kring);
	}
}

/**
 * pane_create_cq - ibv_create_cq(), ib_create_cq()
 * @ibcq: the queue
 * @attr: its attributes
 * @attrs: of the uverbs call, NULL for kernel users
 *
 * Return: 0; -EINVAL for a size or vector out of range; -EOPNOTSUPP for flags;
 * -ENOMEM
 */
int pane_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct pane_dev *dev = to_pane_dev(ibcq->device);
	struct pane_cq *cq = to_pane_cq(ibcq);
	struct pane_create_cq_req req;
	u32 count;
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > PANE_MAX_CQE)
		return -EINVAL;
	if (udata) {
		err = ib_copy_validate_udata_in_cm(udata, req, reserved, 0);
		if (err)
			return err;
		if (req.reserved)
			return -EINVAL;
	}
	if (!pane_quota_take(&dev->num_cq, PANE_MAX_CQ))
		return -ENOMEM;

	spin_lock_init(&cq->lock);
	INIT_WORK(&cq->notify_work, cq_notify_work);
	INIT_WORK(&cq->error_work, cq_error_work);
	hrtimer_setup(&cq->hold_timer, cq_hold_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	count = cq_count(attr->cqe);
	cq->mask = count - 1;
	if (udata) {
		err = cq_alloc_user(cq, udata, count);
	} else {
		cq->kring = kvcalloc(count, sizeof(*cq->kring), GFP_KERNEL);
		err = cq->kring ? 0 : -ENOMEM;
	}
	if (err) {
		atomic_dec(&dev->num_cq);
		return err;
	}
	ibcq->cqe = count;
	return 0;
}

/* The core has seen to it that no QP uses the queue */
int pane_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibcq->device);
	struct pane_cq *cq = to_pane_cq(ibcq);

	hrtimer_cancel(&cq->hold_timer);
	wait_var_event(&cq->notifying, !atomic_read(&cq->notifying));
	cancel_work_sync(&cq->notify_work);
	cancel_work_sync(&cq->error_work);
	cq_free(cq);
	atomic_dec(&dev->num_cq);
	return 0;
}

/*
 * Let @map take the place of the ring, with the entries nobody took under
 * their old indices. Return: -EINVAL if they do not fit.
 */
static int cq_switch_ring(struct pane_cq *cq, struct pane_umap *map, u32 count)
{
	struct pane_cqe *ring = map->mem;
	u32 i, unread;
	int err = 0;

	spin_lock_bh(&cq->lock);
	unread = min(pane_cq_unread(cq), cq->mask + 1);
	if (unread > count) {
		err = -EINVAL;
		goto out;
	}
	for (i = cq->prod - unread; i != cq->prod; i++)
		ring[i & (count - 1)] = cq->ring[i & cq->mask];
	cq->ring = ring;
	cq->mask = count - 1;
	swap(cq->ring_map, map);
out:
	spin_unlock_bh(&cq->lock);
	/* the old ring, or on failure the new one */
	pane_umap_destroy(map);
	return err;
}

/**
 * pane_resize_user_cq - ibv_resize_cq()
 * @ibcq: the queue
 * @cqe: entries wanted
 * @udata: where to tell of the new ring
 *
 * Return: 0; -EINVAL if the size is out of range or less than the entries that
 * wait to be polled; -ENOMEM, -EFAULT; after an error all is as before
 */
int pane_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
			struct ib_udata *udata)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);
	struct pane_cq *cq = to_pane_cq(ibcq);
	struct pane_resize_cq_resp resp = {};
	struct pane_umap *map;
	u32 count;
	int err;

	if (!cqe || cqe > PANE_MAX_CQE)
		return -EINVAL;
	err = ib_is_udata_in_empty(udata);
	if (err)
		return err;

	count = cq_count(cqe);
	map = pane_umap_create(&uc->ibuc, count * sizeof(*cq->ring), true);
	if (IS_ERR(map))
		return PTR_ERR(map);
	cq_clear_ring(map->mem, count);
	resp.ring_count = count;
	resp.ring_offset = pane_umap_offset(map);
	resp.ring_size = map->size;
	err = ib_respond_udata(udata, resp);
	if (err) {
		pane_umap_destroy(map);
		return err;
	}
	err = cq_switch_ring(cq, map, count);
	if (!err)
		ibcq->cqe = count;
	return err;
}

/* ---- kernel users ---------------------------------------------------- */

/* What only datagrams have */
static void cq_to_wc_grh(const struct pane_wc *from, struct ib_wc *wc)
{
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = from->net_type;
	if (from->vlan != 0xffff) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = from->vlan;
	}
}

static void cq_to_wc(const struct pane_wc *from, struct ib_wc *wc)
{
	const struct pane_cqe *cqe = &from->cqe;

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = from->qp;
	wc->src_qp = cqe->src_qp;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = PANE_PORT;
	if (cqe->flags & PANE_CQE_GRH)
		cq_to_wc_grh(from, wc);
	if (cqe->flags & PANE_CQE_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->ex;
	} else if (cqe->flags & PANE_CQE_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->ex;
	}
}

/* ib_poll_cq() */
int pane_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	unsigned long flags;
	int n;

	/* uverbs has a call for this, but user space polls its ring */
	if (cq->ctl)
		return -EINVAL;

	/* users call this with interrupts disabled, too */
	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num_entries && cq->cons != cq->prod; cq->cons++) {
		const struct pane_wc *from = &cq->kring[cq->cons & cq->mask];

		if (!(from->cqe.flags & PANE_CQE_VOID))
			cq_to_wc(from, &wc[n++]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * pane_req_notify_cq - ib_req_notify_cq()
 * @ibcq: the queue
 * @flags: which completions, and whether to tell of missed ones
 *
 * Return: 1 if IB_CQ_REPORT_MISSED_EVENTS was asked for and entries wait; 0
 */
int pane_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	u32 arm = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ?
		  PANE_CQ_ARM_SOLICITED : PANE_CQ_ARM_NEXT;
	u32 *place = cq_arm(cq);
	unsigned long irqflags;
	int missed;

	spin_lock_irqsave(&cq->lock, irqflags);
	/* user space may write it any moment, and who does both loses one */
	WRITE_ONCE(*place, READ_ONCE(*place) | arm);
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && pane_cq_unread(cq);
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return missed;
}
