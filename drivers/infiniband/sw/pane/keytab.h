/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A table of objects that peers name by an unguessable 24-bit number: the keys
 * of regions and windows (one table per device), the numbers of queue pairs
 * (one table per module).
 *
 * Slots are dense and come in chunks that stay until the table goes, so a
 * reader needs neither lock nor RCU to look at one. What a slot holds is
 * published by its user: a grant (grant.h), or an object freed after an RCU
 * grace period.
 *
 * A slot given back rests until PANE_KEYTAB_QUARANTINE others were handed out
 * after it, or the table cannot grow: a stale number meets nothing instead of
 * somebody else's object. Of those that have rested a random one is taken, and
 * only when there are PANE_KEYTAB_POOL of them: else the order in which numbers
 * come back would repeat, and who had seen it once would know the next one.
 */
#ifndef PANE_KEYTAB_H
#define PANE_KEYTAB_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "keyperm.h"

#define PANE_KEYTAB_QUARANTINE	65536
#define PANE_KEYTAB_POOL	65536
#define PANE_KEYTAB_CHUNK_BITS	10
#define PANE_KEYTAB_CHUNK	(1U << PANE_KEYTAB_CHUNK_BITS)
/* A million regions, as many windows, and what rests */
#define PANE_KEYTAB_MAX		(1U << 22)
#define PANE_KEYTAB_CHUNKS	(PANE_KEYTAB_MAX >> PANE_KEYTAB_CHUNK_BITS)
#define PANE_KEYTAB_LOCKS	64

struct pane_grant;

enum pane_slot_kind {
	PANE_SLOT_FREE,
	PANE_SLOT_MR,
	PANE_SLOT_MW,
	PANE_SLOT_NUM,
};

/**
 * struct pane_slot - one place of a table
 * @grant: what the number opens at this moment, NULL for nothing; read on the
 *         data path as grant.h says
 * @owner: the object; slot lock, and RCU for PANE_SLOT_NUM
 * @gen: counts the grants published here: (slot, gen) names one of them
 * @freed_at: value of the table's allocation count when the slot came back
 * @kind: enum pane_slot_kind; slot lock
 */
struct pane_slot {
	struct pane_grant *grant;
	void *owner;
	u32 gen;
	u32 freed_at;
	u8 kind;
};

/**
 * struct pane_keytab - the table
 * @perm: from slots to numbers
 * @chunks: slots, PANE_KEYTAB_CHUNK in each; a pointer once set stays
 * @min_index: smallest number handed out
 * @max_index: largest number handed out
 * @grow: serialises growth
 * @lock: guards the members after it
 * @capacity: slots that exist
 * @used: slots that were ever handed out
 * @live: slots handed out now
 * @limit: most of them
 * @allocs: allocations so far
 * @free: numbers of the free slots, a ring in the order they came back, but
 *        for those that have rested, whose order does not matter
 * @free_size: entries of the ring, a power of two; not less than @capacity
 * @head: first entry in use; runs freely
 * @rested: first entry that has not rested long enough
 * @tail: first entry not in use
 * @locks: slot locks: guard which object a slot belongs to, and the state of
 *         that object as far as keys go
 */
struct pane_keytab {
	struct pane_keyperm *perm;
	struct pane_slot **chunks;
	u32 min_index;
	u32 max_index;
	struct mutex grow;
	spinlock_t lock;
	u32 capacity;
	u32 used;
	u32 live;
	u32 limit;
	u32 allocs;
	u32 *free;
	u32 free_size;
	u32 head;
	u32 rested;
	u32 tail;
	spinlock_t locks[PANE_KEYTAB_LOCKS];
};

int pane_keytab_init(struct pane_keytab *tab, u32 min_index, u32 max_index,
		     u32 limit);
void pane_keytab_destroy(struct pane_keytab *tab);
int pane_keytab_alloc(struct pane_keytab *tab, u32 *slotno);
void pane_keytab_free(struct pane_keytab *tab, u32 slotno);
void pane_slot_set(struct pane_keytab *tab, u32 slotno,
		   enum pane_slot_kind kind, void *owner);

/* The slot of a number that pane_keytab_alloc() gave */
static inline struct pane_slot *pane_keytab_at(const struct pane_keytab *tab,
					       u32 slotno)
{
	return &tab->chunks[slotno >> PANE_KEYTAB_CHUNK_BITS]
			   [slotno & (PANE_KEYTAB_CHUNK - 1)];
}

/* The lock of a slot, shared with others; two are taken in address order */
static inline spinlock_t *pane_slot_lock(struct pane_keytab *tab, u32 slotno)
{
	return &tab->locks[slotno % PANE_KEYTAB_LOCKS];
}

/* Forget whose the slot is; under its lock, with no grant in it */
static inline void pane_slot_clear(struct pane_slot *slot)
{
	WRITE_ONCE(slot->owner, NULL);
	slot->kind = PANE_SLOT_FREE;
}

/* What peers see of a slot */
static inline u32 pane_keytab_index(const struct pane_keytab *tab, u32 slotno)
{
	return pane_keyperm_index(tab->perm, slotno);
}

/**
 * pane_keytab_find - the slot that a peer's number means
 * @tab: the table
 * @index: any 24-bit number
 * @slotno: set to the slot's number
 *
 * Context: any; no lock.
 * Return: the slot, which may be free, or NULL if the table has none
 */
static inline struct pane_slot *pane_keytab_find(const struct pane_keytab *tab,
						 u32 index, u32 *slotno)
{
	struct pane_slot *chunk;
	u32 s = pane_keyperm_slot(tab->perm, index & (PANE_PERM_SIZE - 1));

	if (s >= PANE_KEYTAB_MAX)
		return NULL;
	/* pairs with the release in keytab_grow() */
	chunk = smp_load_acquire(&tab->chunks[s >> PANE_KEYTAB_CHUNK_BITS]);
	if (!chunk)
		return NULL;
	*slotno = s;
	return &chunk[s & (PANE_KEYTAB_CHUNK - 1)];
}

#endif /* PANE_KEYTAB_H */
