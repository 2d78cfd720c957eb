// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "keytab.h"

/**
 * pane_keytab_init - make an empty table
 * @tab: the table
 * @min_index: smallest number to hand out
 * @max_index: largest number to hand out
 * @limit: most objects at a time
 *
 * Return: 0 or -ENOMEM
 */
int pane_keytab_init(struct pane_keytab *tab, u32 min_index, u32 max_index,
		     u32 limit)
{
	unsigned int i;

	memset(tab, 0, sizeof(*tab));
	tab->perm = kvmalloc(sizeof(*tab->perm), GFP_KERNEL);
	tab->chunks = kvcalloc(PANE_KEYTAB_CHUNKS, sizeof(*tab->chunks),
			       GFP_KERNEL);
	if (!tab->perm || !tab->chunks) {
		kvfree(tab->chunks);
		kvfree(tab->perm);
		return -ENOMEM;
	}
	get_random_bytes(tab->perm, sizeof(*tab->perm));

	tab->min_index = min_index;
	tab->max_index = max_index;
	tab->limit = limit;
	mutex_init(&tab->grow);
	spin_lock_init(&tab->lock);
	for (i = 0; i < PANE_KEYTAB_LOCKS; i++)
		spin_lock_init(&tab->locks[i]);
	return 0;
}

/* No reader may be left, and nothing handed out */
void pane_keytab_destroy(struct pane_keytab *tab)
{
	unsigned int i;

	WARN_ON_ONCE(tab->live);
	for (i = 0; i < PANE_KEYTAB_CHUNKS && tab->chunks[i]; i++)
		kvfree(tab->chunks[i]);
	kvfree(tab->chunks);
	kvfree(tab->free);
	kvfree_sensitive(tab->perm, sizeof(*tab->perm));
	mutex_destroy(&tab->grow);
}

static u32 *keytab_free_at(const struct pane_keytab *tab, u32 pos)
{
	return &tab->free[pos & (tab->free_size - 1)];
}

/* Make the ring of free slots large enough for one more chunk */
static int keytab_grow_free(struct pane_keytab *tab)
{
	u32 size = max(tab->free_size * 2, PANE_KEYTAB_CHUNK);
	u32 *ring, *old = tab->free;
	u32 i;

	if (tab->capacity + PANE_KEYTAB_CHUNK <= tab->free_size)
		return 0;
	ring = kvmalloc_array(size, sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return -ENOMEM;

	spin_lock_bh(&tab->lock);
	for (i = tab->head; i != tab->tail; i++)
		ring[i & (size - 1)] = *keytab_free_at(tab, i);
	tab->free = ring;
	tab->free_size = size;
	spin_unlock_bh(&tab->lock);
	kvfree(old);
	return 0;
}

static int keytab_grow_chunk(struct pane_keytab *tab)
{
	struct pane_slot *chunk;

	chunk = kvcalloc(PANE_KEYTAB_CHUNK, sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;
	/* pairs with pane_keytab_find() */
	smp_store_release(&tab->chunks[tab->capacity >> PANE_KEYTAB_CHUNK_BITS],
			  chunk);
	spin_lock_bh(&tab->lock);
	tab->capacity += PANE_KEYTAB_CHUNK;
	spin_unlock_bh(&tab->lock);
	return 0;
}

/* Add a chunk unless somebody did since @capacity was read */
static int keytab_grow(struct pane_keytab *tab, u32 capacity)
{
	int err = 0;

	mutex_lock(&tab->grow);
	if (tab->capacity == capacity) {
		err = keytab_grow_free(tab);
		if (!err)
			err = keytab_grow_chunk(tab);
	}
	mutex_unlock(&tab->grow);
	return err;
}

/* Slots looked at by one allocation */
#define KEYTAB_WAKE	16

/*
 * See which slots have rested long enough by now. Each allocation looks at
 * more than one, which is enough to keep up, but at no more than a few: a
 * million may have been freed at a time.
 */
static void keytab_wake(struct pane_keytab *tab)
{
	const struct pane_slot *slot;
	unsigned int n;

	for (n = 0; n < KEYTAB_WAKE && tab->rested != tab->tail; n++) {
		slot = pane_keytab_at(tab, *keytab_free_at(tab, tab->rested));
		if (tab->allocs - slot->freed_at < PANE_KEYTAB_QUARANTINE)
			return;
		tab->rested++;
	}
}

/* Take a random one of the first @n free slots */
static u32 keytab_pick(struct pane_keytab *tab, u32 n)
{
	u32 k = (u64)get_random_u32() * n >> 32;

	swap(*keytab_free_at(tab, tab->head),
	     *keytab_free_at(tab, tab->head + k));
	return *keytab_free_at(tab, tab->head++);
}

/*
 * Take a slot: a rested one, else a new one, else, when there can be no more,
 * whichever is free.
 * Return: 0, -EAGAIN to grow first, -ENOMEM
 */
static int keytab_take(struct pane_keytab *tab, u32 *slotno)
{
	lockdep_assert_held(&tab->lock);

	if (tab->live >= tab->limit)
		return -ENOMEM;

	keytab_wake(tab);
	if (tab->rested - tab->head >= PANE_KEYTAB_POOL) {
		*slotno = keytab_pick(tab, tab->rested - tab->head);
	} else if (tab->used < tab->capacity) {
		*slotno = tab->used;
		/* who lists all slots looks at it without the lock */
		WRITE_ONCE(tab->used, tab->used + 1);
	} else if (tab->capacity < PANE_KEYTAB_MAX) {
		return -EAGAIN;
	} else if (tab->rested != tab->head) {
		*slotno = keytab_pick(tab, tab->rested - tab->head);
	} else if (tab->tail != tab->head) {
		*slotno = keytab_pick(tab, 1);
		tab->rested = tab->head;
	} else {
		return -ENOMEM;
	}
	return 0;
}

/* A slot whose number is reserved is passed over for good */
static bool keytab_index_reserved(const struct pane_keytab *tab, u32 slotno)
{
	u32 index = pane_keytab_index(tab, slotno);

	return index < tab->min_index || index > tab->max_index;
}

/**
 * pane_keytab_alloc - take a slot
 * @tab: the table
 * @slotno: set to its number
 *
 * Context: process; may sleep.
 * Return: 0, or -ENOMEM when the table is full or memory is short
 */
int pane_keytab_alloc(struct pane_keytab *tab, u32 *slotno)
{
	u32 capacity;
	int err;

	for (;;) {
		spin_lock_bh(&tab->lock);
		err = keytab_take(tab, slotno);
		if (!err && !keytab_index_reserved(tab, *slotno)) {
			tab->live++;
			tab->allocs++;
			spin_unlock_bh(&tab->lock);
			return 0;
		}
		capacity = tab->capacity;
		spin_unlock_bh(&tab->lock);

		if (err == -EAGAIN)
			err = keytab_grow(tab, capacity);
		if (err)
			return err;
	}
}

/**
 * pane_keytab_free - give a slot back
 * @tab: the table
 * @slotno: from pane_keytab_alloc(), with nothing published in it
 *
 * Context: any but hard interrupts.
 */
void pane_keytab_free(struct pane_keytab *tab, u32 slotno)
{
	struct pane_slot *slot = pane_keytab_at(tab, slotno);

	spin_lock_bh(&tab->lock);
	slot->freed_at = tab->allocs;
	*keytab_free_at(tab, tab->tail++) = slotno;
	tab->live--;
	spin_unlock_bh(&tab->lock);
}

/* Say whose a slot is; @owner is complete */
void pane_slot_set(struct pane_keytab *tab, u32 slotno,
		   enum pane_slot_kind kind, void *owner)
{
	struct pane_slot *slot = pane_keytab_at(tab, slotno);
	spinlock_t *lock = pane_slot_lock(tab, slotno);

	spin_lock_bh(lock);
	slot->kind = kind;
	/* pairs with the look-up of QPs, which takes no lock */
	smp_store_release(&slot->owner, owner);
	spin_unlock_bh(lock);
}
