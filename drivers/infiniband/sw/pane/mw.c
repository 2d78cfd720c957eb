// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows. The numbers B1 to B11 and those of the form C10-, o10- are
 * the rules in Documentation/infiniband/pane.rst.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/uverbs_ioctl.h>

#include "grant.h"
#include "mr.h"
#include "mw.h"
#include "pane.h"
#include "qp.h"
#include "range.h"
#include "trace.h"

/* Rights a window can give */
#define MW_RIGHTS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)
/* B7; LOCAL_WRITE and MW_BIND because rdma-core's own tests pass them */
#define MW_ACCESS	(MW_RIGHTS | IB_ZERO_BASED | IB_ACCESS_LOCAL_WRITE | \
			 IB_ACCESS_MW_BIND)

/* Find the slot of a key and take its lock */
static struct pane_slot *slot_find_lock(struct pane_dev *dev, u32 key,
					u32 *slotno)
{
	struct pane_slot *slot = pane_keytab_find(&dev->keys, key >> 8, slotno);

	if (slot)
		spin_lock_bh(pane_slot_lock(&dev->keys, *slotno));
	return slot;
}

static void slot_unlock(struct pane_dev *dev, u32 slotno)
{
	spin_unlock_bh(pane_slot_lock(&dev->keys, slotno));
}

/* Lock the slot a window is in; a type 1 window can move while we wait */
static u32 mw_lock(struct pane_dev *dev, struct pane_mw *mw)
{
	u32 slotno;

	for (;;) {
		slotno = READ_ONCE(mw->slotno);
		spin_lock_bh(pane_slot_lock(&dev->keys, slotno));
		if (mw->slotno == slotno)
			return slotno;
		slot_unlock(dev, slotno);
	}
}

static u32 key_new(struct pane_dev *dev, u32 slotno)
{
	return pane_keytab_index(&dev->keys, slotno) << 8 | get_random_u8();
}

/* ---- allocation ------------------------------------------------------ */

static int mw_quota_take(struct pane_dev *dev, enum ib_mw_type type)
{
	if (!pane_quota_take(&dev->num_mw, PANE_MAX_MW))
		return -ENOMEM;
	if (type == IB_MW_TYPE_2) {
		mutex_lock(&dev->mw2_lock);
		dev->num_mw2++;
		mutex_unlock(&dev->mw2_lock);
	}
	return 0;
}

static void mw_quota_give(struct pane_dev *dev, enum ib_mw_type type)
{
	if (type == IB_MW_TYPE_2) {
		mutex_lock(&dev->mw2_lock);
		dev->num_mw2--;
		mutex_unlock(&dev->mw2_lock);
	}
	atomic_dec(&dev->num_mw);
}

/*
 * The key of a type 1 window changes with each bind, also in the eyes of its
 * owner when the bind fails. So its context knows it by its handle, too.
 */
static int mw_note(struct pane_mw *mw, struct pane_ucontext *uc)
{
	if (mw->ibmw.type != IB_MW_TYPE_1)
		return 0;
	mw->handle = mw->ibmw.uobject->id;
	return xa_insert_bh(&uc->mws, mw->handle, mw, GFP_KERNEL_ACCOUNT);
}

static void mw_forget(struct pane_mw *mw, struct pane_ucontext *uc)
{
	if (mw->ibmw.type == IB_MW_TYPE_1)
		xa_erase_bh(&uc->mws, mw->handle);
}

/*
 * The binding of a type 2 window ends before the next one begins, so both can be
 * in the same memory. That of a type 1 window begins before the last one ends.
 */
static int mw_take_grant(struct pane_mw *mw)
{
	if (mw->ibmw.type != IB_MW_TYPE_2)
		return 0;
	mw->grant = pane_grant_alloc(GFP_KERNEL_ACCOUNT);
	return mw->grant ? 0 : -ENOMEM;
}

static void mw_give_grant(struct pane_mw *mw)
{
	if (mw->ibmw.type == IB_MW_TYPE_2)
		pane_grant_free(mw->grant);
}

/* A place in the key table, and a key */
static int mw_publish(struct pane_dev *dev, struct pane_mw *mw)
{
	int err = pane_keytab_alloc(&dev->keys, &mw->slotno);

	if (err)
		return err;
	mw->key = key_new(dev, mw->slotno);
	if (mw->ibmw.type == IB_MW_TYPE_1)
		mw->issued = mw->key;
	mw->ibmw.rkey = mw->key;
	INIT_LIST_HEAD(&mw->qp_node);
	pane_slot_set(&dev->keys, mw->slotno, PANE_SLOT_MW, mw);
	return 0;
}

/**
 * pane_alloc_mw - ibv_alloc_mw()
 * @ibmw: the window; its type was checked by the core
 * @udata: of the call; windows are for users only
 *
 * Return: 0; -ENOMEM over the limit
 */
int pane_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct pane_ucontext *uc = rdma_udata_to_drv_context(
		udata, struct pane_ucontext, ibuc);
	struct pane_dev *dev = to_pane_dev(ibmw->device);
	struct pane_mw *mw = to_pane_mw(ibmw);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	err = mw_quota_take(dev, ibmw->type);
	if (err)
		return err;
	err = mw_take_grant(mw);
	if (err)
		goto err_quota;
	err = mw_note(mw, uc);
	if (err)
		goto err_grant;
	err = mw_publish(dev, mw);
	if (err)
		goto err_note;
	return 0;

err_note:
	mw_forget(mw, uc);
err_grant:
	mw_give_grant(mw);
err_quota:
	mw_quota_give(dev, ibmw->type);
	return err;
}

/* Under the slot lock. On return no access under the binding goes on. */
static void mw_unbind(struct pane_dev *dev, struct pane_mw *mw)
{
	struct pane_slot *slot = pane_keytab_at(&dev->keys, mw->slotno);

	if (mw->ibmw.type == IB_MW_TYPE_2)
		pane_grant_publish(slot, NULL);	/* and keep it */
	else
		pane_grant_replace(slot, NULL);
	atomic_dec(&mw->mr->binds);
	mw->bound = false;
	mw->mr = NULL;
	if (mw->qp) {
		spin_lock_bh(&mw->qp->mw_lock);
		list_del_init(&mw->qp_node);
		spin_unlock_bh(&mw->qp->mw_lock);
		mw->qp = NULL;
	}
}

/* ibv_dealloc_mw(): bound or not, it succeeds and what was open is shut */
int pane_dealloc_mw(struct ib_mw *ibmw)
{
	struct pane_dev *dev = to_pane_dev(ibmw->device);
	struct pane_mw *mw = to_pane_mw(ibmw);
	u32 slotno;

	mw_forget(mw, to_pane_uc(ibmw->uobject->context));
	slotno = mw_lock(dev, mw);
	if (mw->bound)
		mw_unbind(dev, mw);
	pane_slot_clear(pane_keytab_at(&dev->keys, slotno));
	slot_unlock(dev, slotno);

	pane_keytab_free(&dev->keys, slotno);
	mw_give_grant(mw);
	mw_quota_give(dev, ibmw->type);
	return 0;
}

/* ---- bind ------------------------------------------------------------ */

/**
 * pane_mw_reserve_key - choose the key that a type 1 bind will give
 * @dev: the device
 * @b: the request; its new_rkey and new_slotno are set
 *
 * The caller of ibv_bind_mw() learns the key before the bind is executed.
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM
 */
int pane_mw_reserve_key(struct pane_dev *dev, struct pane_bind *b)
{
	int err = pane_keytab_alloc(&dev->keys, &b->new_slotno);

	if (!err)
		b->new_rkey = key_new(dev, b->new_slotno);
	return err;
}

/**
 * pane_mw_issue_key - note that the caller of ibv_bind_mw() will get the key
 * @uc: his context
 * @b: the request, which is posted now
 *
 * If the bind fails, or is flushed, the key is never valid; but it is what the
 * caller has, so it names the window in his next bind.
 */
void pane_mw_issue_key(struct pane_ucontext *uc, struct pane_bind *b)
{
	struct pane_mw *mw;

	xa_lock_bh(&uc->mws);
	mw = xa_load(&uc->mws, b->mw_handle);
	if (mw) {
		b->latest = b->mw_rkey == mw->issued;
		mw->issued = b->new_rkey;
	}
	xa_unlock_bh(&uc->mws);
}

/* For a bind that failed or was flushed */
void pane_mw_unreserve_key(struct pane_dev *dev, const struct pane_bind *b)
{
	pane_keytab_free(&dev->keys, b->new_slotno);
}

/* B2 to B5 and B8: may a window with this access be on this region? */
static enum pane_vendor_err bind_check_mr(const struct pane_grant *g,
					  const struct pane_qp *qp,
					  const struct pane_bind *b)
{
	if (g->key != b->lkey || g->is_mw)
		return PANE_VERR_BIND_MR;
	if (g->pd != to_pane_pd(qp->pd))
		return PANE_VERR_BIND_PD;
	if (!(g->access & IB_ACCESS_MW_BIND))
		return PANE_VERR_BIND_MR_ACCESS;
	if (b->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(g->access & IB_ACCESS_LOCAL_WRITE))
		return PANE_VERR_BIND_LOCAL_WRITE;
	if (!pane_range_contains(g->addr, g->length, b->addr, b->length))
		return PANE_VERR_BIND_RANGE;
	return PANE_VERR_NONE;
}

/* What the window opens, from what the region it is on is */
static void bind_fill_grant(struct pane_grant *w, const struct pane_grant *g,
			    const struct pane_bind *b)
{
	*w = (struct pane_grant) {
		.is_mw = true,
		.access = b->access & MW_RIGHTS,
		.pd = g->pd,
		.mr = g->mr,
		.addr = b->access & IB_ZERO_BASED ? 0 : b->addr,
		.length = b->length,
		.offset = b->addr - g->addr + g->offset,
	};
}

/*
 * Check the request against its region, note there that one more window is
 * bound, and fill in the window's grant @w, which is not published.
 */
static enum pane_vendor_err bind_prepare(struct pane_qp *qp,
					 const struct pane_bind *b,
					 struct pane_grant *w)
{
	struct pane_dev *dev = qp->dev;
	enum pane_vendor_err verr;
	const struct pane_grant *g;
	struct pane_slot *slot;
	u32 slotno;

	if (b->access & ~MW_ACCESS)
		return PANE_VERR_BIND_FLAGS;
	slot = pane_keytab_find(&dev->keys, b->lkey >> 8, &slotno);
	g = slot ? pane_grant_hold(slot) : NULL;
	if (!g)
		return PANE_VERR_BIND_MR;

	verr = bind_check_mr(g, qp, b);
	/* the region stays while its grant is held, then while it is counted */
	if (!verr && !atomic_inc_unless_negative(&g->mr->binds))
		verr = PANE_VERR_BIND_MR;
	if (!verr)
		bind_fill_grant(w, g, b);
	pane_grant_drop();
	return verr;
}

/* B1 for both types, by the upper 24 bits; the slot's lock is held */
static struct pane_mw *bind_find_mw(struct pane_slot *slot, enum ib_mw_type type)
{
	struct pane_mw *mw = slot->owner;

	if (slot->kind != PANE_SLOT_MW || mw->ibmw.type != type)
		return NULL;
	return mw;
}

/* The key that a bind gives to a type 2 window whose key is @key */
static u32 type2_key(u32 key, const struct pane_bind *b)
{
	return (key & ~0xffU) | (b->new_rkey & 0xff);
}

static void bind_count(struct pane_qp *qp, const struct pane_bind *b,
		       u32 new_rkey, enum pane_vendor_err verr)
{
	trace_pane_mw_bind(qp, b, new_rkey, verr);
	if (verr)
		pane_qp_count(qp, bind_refused);
	else
		pane_qp_count(qp, mw_bound);
}

/* The slot that the window which a request names is in now */
static struct pane_slot *type1_find_slot(struct pane_qp *qp,
					 const struct pane_bind *b, u32 *slotno)
{
	struct pane_keytab *keys = &qp->dev->keys;
	struct pane_ucontext *uc;
	struct pane_mw *mw;

	if (!b->latest)
		return pane_keytab_find(keys, b->mw_rkey >> 8, slotno);
	/* the context stays as long as a QP of it executes something */
	uc = to_pane_uc(qp->ibuc);
	xa_lock_bh(&uc->mws);
	mw = xa_load(&uc->mws, b->mw_handle);
	if (mw)
		*slotno = READ_ONCE(mw->slotno);
	xa_unlock_bh(&uc->mws);
	return mw ? pane_keytab_at(keys, *slotno) : NULL;
}

/* The slot is locked */
static enum pane_vendor_err bind_type2_locked(struct pane_qp *qp,
					      struct pane_slot *slot,
					      const struct pane_bind *b)
{
	struct pane_mw *mw = bind_find_mw(slot, IB_MW_TYPE_2);
	struct pane_dev *dev = qp->dev;
	enum pane_vendor_err verr;
	struct pane_grant *w;

	if (!mw)
		return PANE_VERR_BIND_MW;
	if (mw->ibmw.pd != qp->pd)
		return PANE_VERR_BIND_PD;	/* C10-72 */
	if (!b->length)
		return PANE_VERR_BIND_LENGTH;	/* o10-37.2.40 */
	if (mw->bound)
		return PANE_VERR_BIND_STATE;	/* o10-37.2.30 */
	w = mw->grant;
	verr = bind_prepare(qp, b, w);
	if (verr)
		return verr;

	mw->key = type2_key(mw->key, b);
	mw->mr = w->mr;
	mw->qp = qp;
	mw->bound = true;
	spin_lock_bh(&qp->mw_lock);
	list_add(&mw->qp_node, &qp->mws);
	spin_unlock_bh(&qp->mw_lock);
	w->key = mw->key;
	w->qpn = qp->qpn;
	w->xrc = qp->type == IB_QPT_XRC_INI;
	w->peer = pane_qp_av(qp)->daddr;
	/* only the QP's number counts, where the peer's packets name the QP */
	if (dev->mw2 == 'A' && !w->xrc)
		w->pd = NULL;
	pane_grant_publish(slot, w);
	return PANE_VERR_NONE;
}

/**
 * pane_mw_bind_type2 - execute a bind from the send queue
 * @qp: the QP
 * @b: the request
 *
 * Context: qp->lock.
 * Return: 0, or the rule that was broken, and nothing changed
 */
enum pane_vendor_err pane_mw_bind_type2(struct pane_qp *qp,
					const struct pane_bind *b)
{
	enum pane_vendor_err verr = PANE_VERR_BIND_MW;
	struct pane_dev *dev = qp->dev;
	struct pane_slot *slot;
	u32 slotno;

	slot = slot_find_lock(dev, b->mw_rkey, &slotno);
	if (slot) {
		verr = bind_type2_locked(qp, slot, b);
		slot_unlock(dev, slotno);
	}
	bind_count(qp, b, type2_key(b->mw_rkey, b), verr);
	return verr;
}

/* Lock two slots, whose locks may be the same, in the order of the locks */
static void slot_pair_lock(struct pane_dev *dev, u32 a, u32 b)
{
	spinlock_t *la = pane_slot_lock(&dev->keys, a);
	spinlock_t *lb = pane_slot_lock(&dev->keys, b);

	if (la > lb)
		swap(la, lb);
	spin_lock_bh(la);
	if (la != lb)
		spin_lock_nested(lb, SINGLE_DEPTH_NESTING);
}

static void slot_pair_unlock(struct pane_dev *dev, u32 a, u32 b)
{
	spinlock_t *la = pane_slot_lock(&dev->keys, a);
	spinlock_t *lb = pane_slot_lock(&dev->keys, b);

	if (la != lb)
		spin_unlock(lb);
	spin_unlock_bh(la);
}

/*
 * Move a type 1 window to its reserved slot, with grant @w there or, for an
 * unbind, none; then shut the old one. Both slots are locked.
 */
static void type1_move(struct pane_dev *dev, struct pane_mw *mw,
		       const struct pane_bind *b, struct pane_grant *w)
{
	struct pane_slot *from = pane_keytab_at(&dev->keys, mw->slotno);
	struct pane_slot *to = pane_keytab_at(&dev->keys, b->new_slotno);
	u32 old_slotno = mw->slotno;
	struct pane_mr *old_mr = mw->mr;

	to->owner = mw;
	to->kind = PANE_SLOT_MW;
	WRITE_ONCE(mw->slotno, b->new_slotno);
	mw->key = b->new_rkey;
	mw->ibmw.rkey = b->new_rkey;
	mw->mr = w ? w->mr : NULL;
	mw->bound = w;
	if (w) {
		w->key = b->new_rkey;
		pane_grant_replace(to, w);
	}

	pane_grant_replace(from, NULL);		/* C10-68 */
	pane_slot_clear(from);
	if (old_mr)
		atomic_dec(&old_mr->binds);
	pane_keytab_free(&dev->keys, old_slotno);
}

/* The slot is locked. @w is used up on success of a bind with a length. */
static enum pane_vendor_err bind_type1_locked(struct pane_qp *qp,
					      struct pane_slot *slot,
					      const struct pane_bind *b,
					      struct pane_grant *w)
{
	struct pane_mw *mw = bind_find_mw(slot, IB_MW_TYPE_1);
	enum pane_vendor_err verr;

	if (!mw || (b->latest ? mw->handle != b->mw_handle :
				mw->key != b->mw_rkey))
		return PANE_VERR_BIND_MW;
	if (mw->ibmw.pd != qp->pd)
		return PANE_VERR_BIND_PD;
	if (!b->length) {
		type1_move(qp->dev, mw, b, NULL);
		return PANE_VERR_NONE;
	}
	verr = bind_prepare(qp, b, w);
	if (!verr)
		type1_move(qp->dev, mw, b, w);
	return verr;
}

/**
 * pane_mw_bind_type1 - execute ibv_bind_mw()
 * @qp: the QP
 * @b: the request, with a reserved key
 *
 * Context: qp->lock.
 * Return: 0, and the reserved key is the window's; or the rule that was
 * broken, nothing changed, and the key is still the caller's to give back
 */
enum pane_vendor_err pane_mw_bind_type1(struct pane_qp *qp,
					const struct pane_bind *b)
{
	struct pane_grant *w = b->length ? pane_grant_alloc(GFP_ATOMIC) : NULL;
	enum pane_vendor_err verr = PANE_VERR_BIND_MW;
	struct pane_dev *dev = qp->dev;
	struct pane_slot *slot;
	u32 slotno;

	slot = type1_find_slot(qp, b, &slotno);
	if (b->length && !w) {
		verr = PANE_VERR_NO_MEMORY;
	} else if (slot) {
		slot_pair_lock(dev, slotno, b->new_slotno);
		verr = bind_type1_locked(qp, slot, b, w);
		slot_pair_unlock(dev, slotno, b->new_slotno);
	}
	if (verr)
		pane_grant_free(w);
	bind_count(qp, b, b->new_rkey, verr);
	return verr;
}

/* ---- invalidation ---------------------------------------------------- */

/* Was the window bound on this QP, or on the one it stands for (grant.h)? */
static bool mw_is_bound_on(const struct pane_mw *mw, const struct pane_qp *qp)
{
	if (mw->qp == qp)
		return true;
	return qp->type == IB_QPT_XRC_TGT &&
	       mw->qp->type == IB_QPT_XRC_INI &&
	       ipv6_addr_equal(&pane_qp_av(mw->qp)->daddr,
			       &pane_qp_av(qp)->daddr) &&
	       mw->ibmw.pd == qp->resp.pd;
}

/* A window, under its slot lock */
static enum pane_vendor_err invalidate_mw(struct pane_qp *qp,
					  struct pane_mw *mw, u32 key)
{
	if (mw->ibmw.type != IB_MW_TYPE_2)
		return PANE_VERR_INV_TYPE;	/* o10-37.2.26 */
	if (mw->key != key)
		return PANE_VERR_INV_KEY;
	if (!mw->bound)
		return PANE_VERR_INV_STATE;
	if (!mw_is_bound_on(mw, qp))
		return PANE_VERR_INV_QP;
	mw_unbind(qp->dev, mw);
	return PANE_VERR_NONE;
}

/* A region, under its slot lock */
static enum pane_vendor_err invalidate_mr(struct pane_qp *qp,
					  struct pane_slot *slot, u32 key)
{
	const struct pane_grant *g = slot->grant;
	struct pane_mr *mr = slot->owner;

	if (mr->kind != PANE_MR_FAST_REG)
		return PANE_VERR_INV_TYPE;
	if (!g)
		return PANE_VERR_INV_STATE;
	if (g->key != key)
		return PANE_VERR_INV_KEY;
	if (&g->pd->ibpd != qp->resp.pd)
		return PANE_VERR_INV_PD;
	if (!pane_mr_freeze(mr))
		return PANE_VERR_INV_MR_BOUND;	/* o10-37.2.17 */
	pane_grant_replace(slot, NULL);
	pane_mr_thaw(mr);
	return PANE_VERR_NONE;
}

/**
 * pane_key_invalidate - LOCAL_INV, and the invalidate of SEND_WITH_INV
 * @qp: QP it was posted to, or arrived at
 * @key: all 32 bits
 *
 * Context: qp->lock.
 * Return: 0, and no access under the key goes on or begins; or the rule that
 * was broken, and nothing changed
 */
enum pane_vendor_err pane_key_invalidate(struct pane_qp *qp, u32 key)
{
	enum pane_vendor_err verr = PANE_VERR_INV_KEY;
	struct pane_dev *dev = qp->dev;
	struct pane_slot *slot;
	u32 slotno;

	slot = slot_find_lock(dev, key, &slotno);
	if (slot) {
		if (slot->kind == PANE_SLOT_MW)
			verr = invalidate_mw(qp, slot->owner, key);
		else if (slot->kind == PANE_SLOT_MR)
			verr = invalidate_mr(qp, slot, key);
		slot_unlock(dev, slotno);
	}
	trace_pane_invalidate(qp, key, verr);
	/* bottom halves are disabled */
	pane_stats_add_bh(dev->stats, verr ? PANE_CNT_inv_refused :
					     PANE_CNT_mw_invalidated, 1);
	return verr;
}

/**
 * pane_mw_unbind_qp - unbind all windows bound on a QP
 * @qp: the QP, which executes no bind any more
 *
 * For destroy (o10-2.2.5) and the move to RESET. A window's lock comes before
 * the list's, so the list only tells where to look.
 *
 * Context: process.
 */
void pane_mw_unbind_qp(struct pane_qp *qp)
{
	struct pane_dev *dev = qp->dev;
	struct pane_slot *slot;
	struct pane_mw *mw;
	u32 slotno;

	for (;;) {
		spin_lock_bh(&qp->mw_lock);
		mw = list_first_entry_or_null(&qp->mws, struct pane_mw,
					      qp_node);
		if (!mw) {
			spin_unlock_bh(&qp->mw_lock);
			return;
		}
		slotno = mw->slotno;	/* a type 2 window keeps its slot */
		spin_unlock_bh(&qp->mw_lock);

		slot = pane_keytab_at(&dev->keys, slotno);
		spin_lock_bh(pane_slot_lock(&dev->keys, slotno));
		if (slot->kind == PANE_SLOT_MW && slot->owner == mw &&
		    mw->qp == qp)
			mw_unbind(dev, mw);
		slot_unlock(dev, slotno);
	}
}
