/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A grant says what one key opens: a range of a region, the rights, and who
 * may use it. It never changes. Registering, binding, rebinding and
 * invalidating publish another grant in the key's slot, or none: a reader sees
 * the old one or the new one, whole.
 *
 * The data path holds a grant while it copies, by naming it in a slot of its
 * CPU (a hazard pointer): no lock, no counter that two queue pairs share.
 * Whoever takes a grant away unpublishes it and then waits until no CPU names
 * it. When that is done not one more byte moves under the grant, and its
 * memory is free.
 *
 * A holder runs with bottom halves disabled, takes no lock that somebody holds
 * who waits for holders, and calls nothing that could wait, so the wait is for
 * one packet's copy at the most; it spins and is legal in softirq.
 */
#ifndef PANE_GRANT_H
#define PANE_GRANT_H

#include <linux/in6.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>

#include "keytab.h"

struct pane_mr;
struct pane_pd;

/**
 * struct pane_grant - what a key opens
 * @key: the key, all 32 bits
 * @gen: of the slot when this was published
 * @access: IB_ACCESS_ rights
 * @is_mw: a window's; else a region's
 * @xrc: a type 2 window's that was bound on an XRC QP, see @peer
 * @qpn: the only QP that may use it, or 0 for any of @pd
 * @pd: protection domain; NULL if it does not matter (type 2A)
 * @mr: where the pages are
 * @addr: first byte, as requests name it
 * @length: bytes
 * @offset: first byte, counted from the start of the region's pages
 * @peer: with @xrc: an XRC QP that sends cannot receive, so XRC QPs that
 *        receive from the same peer stand for it
 */
struct pane_grant {
	u32 key;
	u32 gen;
	u16 access;
	bool is_mw;
	bool xrc;
	u32 qpn;
	struct pane_pd *pd;
	struct pane_mr *mr;
	u64 addr;
	u64 length;
	u64 offset;
	struct in6_addr peer;
};

DECLARE_PER_CPU(const struct pane_grant *, pane_grant_held);

/**
 * pane_grant_hold - look at a slot's grant and keep it
 * @slot: the slot
 *
 * Context: bottom halves disabled; one grant at a time on a CPU.
 * Return: the grant, to be given back by pane_grant_drop(); or NULL, and there
 * is nothing to give back
 */
static inline const struct pane_grant *pane_grant_hold(struct pane_slot *slot)
{
	const struct pane_grant *g;

	/* on PREEMPT_RT disabled bottom halves can be preempted */
	preempt_disable();
	while ((g = READ_ONCE(slot->grant))) {
		/* this_cpu_write() disables interrupts on some machines */
		WRITE_ONCE(*this_cpu_ptr(&pane_grant_held), g);
		/* pairs with pane_grant_replace(): it sees us, or we see it */
		smp_mb();
		/* the same address may be another grant than at first */
		if (likely(smp_load_acquire(&slot->grant) == g))
			return g;
	}
	WRITE_ONCE(*this_cpu_ptr(&pane_grant_held), NULL);
	preempt_enable();
	return NULL;
}

/* Let go of the grant that pane_grant_hold() returned */
static inline void pane_grant_drop(void)
{
	/* what was copied is visible to whoever finds the place empty */
	smp_store_release(this_cpu_ptr(&pane_grant_held), NULL);
	preempt_enable();
}

struct pane_grant *pane_grant_alloc(gfp_t gfp);
void pane_grant_free(struct pane_grant *g);
void pane_grant_sync(void);
struct pane_grant *pane_grant_publish(struct pane_slot *slot,
				      struct pane_grant *g);
void pane_grant_replace(struct pane_slot *slot, struct pane_grant *g);
int pane_grant_cache_init(void);
void pane_grant_cache_exit(void);

#endif /* PANE_GRANT_H */
