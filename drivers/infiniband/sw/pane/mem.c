// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <net/ipv6.h>

#include "copy.h"
#include "mem.h"
#include "mr.h"
#include "pane.h"
#include "qp.h"
#include "range.h"
#include "skb_walk.h"

/* ---- local keys ------------------------------------------------------ */

/* Rules for a local key; windows have none (they are remote only) */
static bool local_ok(const struct pane_grant *g, const struct ib_pd *pd,
		     const struct pane_sge *sge, bool write)
{
	return g->key == sge->lkey && !g->is_mw && &g->pd->ibpd == pd &&
	       (!write || (g->access & IB_ACCESS_LOCAL_WRITE)) &&
	       pane_range_contains(g->addr, g->length, sge->addr, sge->length);
}

/*
 * Hold the region of the element the place is in. Looked up by key once per
 * element, then by slot, but checked each time: the region can go any moment.
 */
static const struct pane_grant *local_hold(struct pane_qp *qp,
					   struct pane_sgl *sgl, bool write)
{
	const struct pane_sge *sge = &sgl->sge[sgl->cur];
	const struct pane_grant *g;
	u32 slotno;

	if (!sgl->ref.slot)
		sgl->ref.slot = pane_keytab_find(&qp->dev->keys,
						 sge->lkey >> 8, &slotno);
	g = sgl->ref.slot ? pane_grant_hold(sgl->ref.slot) : NULL;
	if (!g)
		return NULL;
	if (local_ok(g, sgl->pd, sge, write))
		return g;
	pane_grant_drop();
	return NULL;
}

/* The key that stands for all of kernel memory, without a region behind it */
static bool local_is_kernel(const struct pane_qp *qp, u32 lkey)
{
	return !qp->user && lkey == qp->dev->ibdev.local_dma_lkey;
}

static void sgl_next(struct pane_sgl *sgl)
{
	sgl->cur++;
	sgl->off = 0;
	sgl->ref.slot = NULL;
}

/* Go to byte @pos of the list */
void pane_sgl_seek(struct pane_sgl *sgl, u32 pos)
{
	sgl->cur = 0;
	sgl->ref.slot = NULL;
	while (sgl->cur < sgl->num && pos >= sgl->sge[sgl->cur].length)
		pos -= sgl->sge[sgl->cur++].length;
	sgl->off = pos;
}

/* One contiguous piece of memory, and what is to be done with it */
typedef void (*sgl_fn)(void *ctx, void *mem, u32 len);

/*
 * Walk @len bytes of one element, the region being held; @ahead more of them
 * will follow. Absent pages end the walk, which begins from the start then.
 */
static __always_inline enum pane_mem
sge_walk(struct pane_qp *qp, const struct pane_grant *g, u64 addr, u32 len,
	 u32 ahead, bool write, sgl_fn fn, void *ctx)
{
	u64 off = g ? addr - g->addr + g->offset : 0;

	while (len) {
		u32 n = len;
		void *mem = g ? pane_mr_ptr(g->mr, off, &n, write) :
				(void *)(uintptr_t)addr;

		if (unlikely(g && !mem))
			return pane_odp_absent(g->mr->odp, qp, off,
					       (u64)len + ahead, write);
		fn(ctx, mem, n);
		off += n;
		len -= n;
	}
	return PANE_MEM_OK;
}

/*
 * Walk @len bytes from the place on. It moves, but not if they are absent. They
 * are refused when a key, range or right is wrong or the list is too short.
 */
static __always_inline enum pane_mem
sgl_walk(struct pane_qp *qp, struct pane_sgl *sgl, u32 len, bool write,
	 sgl_fn fn, void *ctx)
{
	u32 cur = sgl->cur, off = sgl->off;
	enum pane_mem result;

	while (len) {
		const struct pane_grant *g = NULL;
		const struct pane_sge *sge;
		u32 n;

		if (sgl->cur == sgl->num)
			return PANE_MEM_REFUSED;
		sge = &sgl->sge[sgl->cur];
		n = min(len, sge->length - sgl->off);
		if (n && !local_is_kernel(qp, sge->lkey)) {
			g = local_hold(qp, sgl, write);
			if (!g)
				return PANE_MEM_REFUSED;
		}
		result = sge_walk(qp, g, sge->addr + sgl->off, n, sgl->whole ?
				  sge->length - sgl->off - n : 0, write, fn,
				  ctx);
		if (g)
			pane_grant_drop();
		if (unlikely(result)) {
			sgl->cur = cur;
			sgl->off = off;
			sgl->ref.slot = NULL;
			return result;
		}
		sgl->off += n;
		len -= n;
		if (sgl->off == sge->length)
			sgl_next(sgl);
	}
	return PANE_MEM_OK;
}

struct gather {
	u8 *dst;
	u32 *crc;	/* or NULL */
};

static void gather_fn(void *ctx, void *mem, u32 len)
{
	struct gather *t = ctx;

	if (t->crc)
		*t->crc = pane_copy_crc(*t->crc, t->dst, mem, len);
	else
		pane_copy(t->dst, mem, len);
	t->dst += len;
}

/**
 * pane_sgl_gather - copy from a list into a packet
 * @qp: whose list
 * @sgl: the list; its place moves on
 * @dst: in the packet
 * @len: bytes
 * @crc: ICRC so far, carried on over the bytes; or NULL
 *
 * Context: bottom halves disabled.
 * Return: enum pane_mem
 */
enum pane_mem pane_sgl_gather(struct pane_qp *qp, struct pane_sgl *sgl,
			      u8 *dst, u32 len, u32 *crc)
{
	struct gather t = { .dst = dst, .crc = crc };

	return sgl_walk(qp, sgl, len, false, gather_fn, &t);
}

struct scatter {
	const struct sk_buff *skb;
	u32 off;
};

static void place_fn(void *ctx, const u8 *data, u32 len)
{
	u8 **mem = ctx;

	pane_copy(*mem, data, len);
	*mem += len;
}

static void scatter_fn(void *ctx, void *mem, u32 len)
{
	struct scatter *t = ctx;

	/* rx.c has checked that the packet is this long */
	pane_skb_walk(t->skb, t->off, len, place_fn, &mem);
	t->off += len;
}

/**
 * pane_sgl_scatter - copy from a packet into a list
 * @qp: whose list
 * @sgl: the list; its place moves on
 * @skb: the packet
 * @off: of the first byte in the packet
 * @len: bytes
 *
 * Context: bottom halves disabled.
 * Return: enum pane_mem
 */
enum pane_mem pane_sgl_scatter(struct pane_qp *qp, struct pane_sgl *sgl,
			       const struct sk_buff *skb, u32 off, u32 len)
{
	struct scatter t = { .skb = skb, .off = off };

	return sgl_walk(qp, sgl, len, true, scatter_fn, &t);
}

static void put_fn(void *ctx, void *mem, u32 len)
{
	const u8 **src = ctx;

	memcpy(mem, *src, len);
	*src += len;
}

/* Copy @len bytes from @src into a list; as pane_sgl_scatter() */
enum pane_mem pane_sgl_put(struct pane_qp *qp, struct pane_sgl *sgl,
			   const void *src, u32 len)
{
	return sgl_walk(qp, sgl, len, true, put_fn, &src);
}

/* ---- remote keys ----------------------------------------------------- */

/* In the error state the QP that a window was bound on cannot be reached */
static bool remote_sender_ok(u32 qpn)
{
	const struct pane_qp *qp = pane_qp_find(qpn);

	return qp && READ_ONCE(qp->state) != IB_QPS_ERR;
}

/*
 * A bound type 2 window names its QP. One that was bound on an XRC QP, which
 * only sends, is for what its peer sends to our XRC QPs that receive.
 */
static bool remote_qp_ok(const struct pane_grant *g, const struct pane_qp *qp)
{
	if (!g->qpn || g->qpn == qp->qpn)
		return true;
	return g->xrc && qp->type == IB_QPT_XRC_TGT &&
	       remote_sender_ok(g->qpn) &&
	       ipv6_addr_equal(&g->peer, &pane_qp_av(qp)->daddr);
}

/* May @qp use the grant by this key? A window's rule (A3) is in the grant. */
static enum pane_access remote_check(const struct pane_grant *g,
				     const struct pane_qp *qp, u32 rkey,
				     int access, u64 va, u64 len)
{
	if (g->key != rkey)
		return PANE_ACCESS_KEY;
	if (g->pd && &g->pd->ibpd != qp->resp.pd)
		return PANE_ACCESS_PD;
	if (!remote_qp_ok(g, qp))
		return PANE_ACCESS_QP;
	if (access & ~(int)g->access)
		return PANE_ACCESS_RIGHTS;
	if (len != PANE_WHOLE &&
	    !pane_range_contains(g->addr, g->length, va, len))
		return PANE_ACCESS_RANGE;
	return PANE_ACCESS_OK;
}

/**
 * pane_remote_hold - find what a remote key opens, check it and hold it
 * @qp: the QP the request came to
 * @ref: set for pane_keyref_hold() by later packets of the message
 * @rkey: the key
 * @access: IB_ACCESS_REMOTE_ rights that are needed, all of them (C10-77)
 * @va: first byte
 * @len: bytes of the whole message; PANE_WHOLE for all that the key opens
 * @why: set to the reason when the answer is NULL
 *
 * Context: bottom halves disabled; may be the only grant held on the CPU.
 * Return: the grant, held until pane_grant_drop(), or NULL
 */
const struct pane_grant *pane_remote_hold(struct pane_qp *qp,
					  struct pane_keyref *ref, u32 rkey,
					  int access, u64 va, u64 len,
					  enum pane_access *why)
{
	const struct pane_grant *g;
	u32 slotno;

	ref->slot = pane_keytab_find(&qp->dev->keys, rkey >> 8, &slotno);
	g = ref->slot ? pane_grant_hold(ref->slot) : NULL;
	*why = g ? remote_check(g, qp, rkey, access, va, len) :
		   PANE_ACCESS_KEY;
	if (*why == PANE_ACCESS_OK) {
		ref->key = rkey;
		ref->gen = g->gen;
		return g;
	}
	if (g)
		pane_grant_drop();
	return NULL;
}

/*
 * Hold the grant that @ref names if it is still the one that is published.
 * Its rights and range were checked for the whole message and cannot change.
 */
const struct pane_grant *pane_keyref_hold(const struct pane_keyref *ref)
{
	const struct pane_grant *g = pane_grant_hold(ref->slot);

	if (!g)
		return NULL;
	if (g->gen == ref->gen && g->key == ref->key)
		return g;
	pane_grant_drop();
	return NULL;
}

/*
 * Copy @len of the @left bytes of a message from a packet; range and rights
 * were checked, @g is held
 */
enum pane_mem pane_remote_write(struct pane_qp *qp, const struct pane_grant *g,
				u64 va, u32 left, const struct sk_buff *skb,
				u32 off, u32 len)
{
	struct scatter t = { .skb = skb, .off = off };

	return sge_walk(qp, g, va, len, left - len, true, scatter_fn, &t);
}

/* Copy into a packet; likewise, and @crc as above */
enum pane_mem pane_remote_read(struct pane_qp *qp, const struct pane_grant *g,
			       u64 va, u32 left, u8 *dst, u32 len, u32 *crc)
{
	struct gather t = { .dst = dst, .crc = crc };

	return sge_walk(qp, g, va, len, left - len, false, gather_fn, &t);
}

/**
 * pane_remote_atomic - the word an atomic operation acts on
 * @qp: who asks
 * @g: held grant, range and rights checked for 8 bytes
 * @va: its address in the request
 * @word: set to the word, or to NULL if it is not aligned: in a zero-based
 *        window an aligned address can name an unaligned word
 *
 * The operation is then the CPU's own, so it is atomic towards programs as
 * well (IB_ATOMIC_GLOB).
 *
 * Return: enum pane_mem
 */
enum pane_mem pane_remote_atomic(struct pane_qp *qp,
				 const struct pane_grant *g, u64 va,
				 atomic64_t **word)
{
	u64 off = va - g->addr + g->offset;
	u32 n = sizeof(u64);
	void *mem = pane_mr_ptr(g->mr, off, &n, true);

	if (!mem)
		return pane_odp_absent(g->mr->odp, qp, off, sizeof(u64), true);
	*word = IS_ALIGNED((uintptr_t)mem, sizeof(u64)) ? mem : NULL;
	return PANE_MEM_OK;
}
