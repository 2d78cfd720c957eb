// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include <linux/slab.h>

#include "grant.h"

DEFINE_PER_CPU(const struct pane_grant *, pane_grant_held);

static struct kmem_cache *pane_grant_cache;

struct pane_grant *pane_grant_alloc(gfp_t gfp)
{
	return kmem_cache_zalloc(pane_grant_cache, gfp);
}

/* For a grant that was never published; NULL is fine */
void pane_grant_free(struct pane_grant *g)
{
	if (g)
		kmem_cache_free(pane_grant_cache, g);
}

/* Wait until no CPU holds @g */
static void grant_quiesce(const struct pane_grant *g)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		/* pairs with the release in pane_grant_drop() */
		while (smp_load_acquire(per_cpu_ptr(&pane_grant_held, cpu)) == g)
			cpu_relax();
	}
}

/**
 * pane_grant_sync - wait for all accesses that are going on
 *
 * Those that begin meanwhile see what the caller wrote before.
 *
 * Context: any but hard interrupts; must not hold a grant.
 */
void pane_grant_sync(void)
{
	const struct pane_grant *g;
	int cpu;

	/* pairs with pane_grant_hold() */
	smp_mb();
	for_each_possible_cpu(cpu) {
		/* pairs with the release in pane_grant_drop() */
		g = smp_load_acquire(per_cpu_ptr(&pane_grant_held, cpu));
		/* likewise; after an end the same grant may be held again */
		while (g && smp_load_acquire(per_cpu_ptr(&pane_grant_held,
							 cpu)) == g)
			cpu_relax();
	}
}

/**
 * pane_grant_publish - publish a grant, or take one away
 * @slot: where
 * @g: the new grant, or NULL
 *
 * When this returns, no access under the old grant is going on or can begin.
 *
 * Context: any but hard interrupts; must not hold a grant. The caller
 * serialises changes of the slot.
 *
 * Return: the old grant, which is the caller's again, or NULL
 */
struct pane_grant *pane_grant_publish(struct pane_slot *slot,
				      struct pane_grant *g)
{
	struct pane_grant *old = slot->grant;

	slot->gen++;
	if (g)
		g->gen = slot->gen;
	/* readers find @g initialised through the address dependency */
	smp_store_release(&slot->grant, g);
	if (!old)
		return NULL;
	/* pairs with pane_grant_hold() */
	smp_mb();
	grant_quiesce(old);
	return old;
}

/* As pane_grant_publish(); the old grant is freed */
void pane_grant_replace(struct pane_slot *slot, struct pane_grant *g)
{
	pane_grant_free(pane_grant_publish(slot, g));
}

int pane_grant_cache_init(void)
{
	pane_grant_cache = KMEM_CACHE(pane_grant, 0);
	return pane_grant_cache ? 0 : -ENOMEM;
}

void pane_grant_cache_exit(void)
{
	kmem_cache_destroy(pane_grant_cache);
}
