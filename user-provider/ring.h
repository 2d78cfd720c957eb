/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the kernel.
 *
 * Memory ordering, stated here once; no other file names a memory order.
 *
 *  - An index is stored with release semantics after the slots it covers, and
 *    loaded with acquire semantics before them. So a request is whole when the
 *    kernel sees the new producer index, and a slot is written again only after
 *    the kernel has copied the request that was in it.
 *  - "Publish, then look whether the other side sleeps" is a store followed by
 *    a load of another word. Only a full barrier between the two keeps both
 *    sides from missing each other; the kernel has the mirror image (set the
 *    flag, full barrier, look at the index once more). There are two of these:
 *    the doorbell flags of a queue and the arm word of a CQ.
 *
 * Indices run freely over 32 bits, and differences are taken modulo 2^32. What
 * the kernel writes is used for differences only; a slot is always chosen by
 * the provider's own index.
 */
#ifndef PANE_RING_H
#define PANE_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/pane-abi.h>

static inline uint32_t pane_load_acquire(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint32_t pane_load_relaxed(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void pane_store_release(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void pane_set_bits(uint32_t *word, uint32_t bits)
{
	__atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static inline void pane_full_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * A lock that costs nothing where the user vouches for a single thread: a
 * thread domain, or IBV_CREATE_CQ_ATTR_SINGLE_THREADED.
 */
struct pane_lock {
	pthread_spinlock_t spin;
	bool needed;
};

static inline void pane_lock_init(struct pane_lock *lock, bool single_threaded)
{
	lock->needed = !single_threaded;
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
}

static inline void pane_lock_destroy(struct pane_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

static inline void pane_lock(struct pane_lock *lock)
{
	if (lock->needed)
		pthread_spin_lock(&lock->spin);
}

static inline void pane_unlock(struct pane_lock *lock)
{
	if (lock->needed)
		pthread_spin_unlock(&lock->spin);
}

/**
 * struct pane_queue - a ring that user space fills: send, receive or shared
 *		       receive queue
 * @lock: protects all that follows and the slots
 * @slots: first slot, in the mapping
 * @stride: bytes from one slot to the next
 * @count: slots, a power of two; 0 when the object has no such queue
 * @max_sge: elements a request may have
 * @prod: index of the slot to fill next; ahead of *@ctl_prod while a list of
 *        requests is being put together
 * @cons: *@ctl_cons as last seen
 * @ctl_prod: what the kernel is told of @prod
 * @ctl_cons: where the kernel tells which slots are free again
 * @ctl_flags: enum pane_db_flags; NULL for a queue without doorbell
 */
struct pane_queue {
	struct pane_lock lock;
	uint8_t *slots;
	uint32_t stride;
	uint32_t count;
	uint32_t max_sge;
	uint32_t prod;
	uint32_t cons;
	uint32_t *ctl_prod;
	const uint32_t *ctl_cons;
	const uint32_t *ctl_flags;
};

/*
 * The copy in @cons is nearly always good enough, so that the line the kernel
 * writes is only fetched when the queue looks full.
 */
static inline bool pane_queue_full(struct pane_queue *q)
{
	if (q->prod - q->cons < q->count)
		return false;

	q->cons = pane_load_acquire(q->ctl_cons);
	return q->prod - q->cons >= q->count;
}

static inline void *pane_queue_slot(const struct pane_queue *q)
{
	return q->slots + (size_t)(q->prod & (q->count - 1)) * q->stride;
}

static inline void pane_queue_publish(struct pane_queue *q)
{
	pane_store_release(q->ctl_prod, q->prod);
}

/* After pane_queue_publish(), with or without the lock */
static inline bool pane_queue_needs_doorbell(const struct pane_queue *q)
{
	pane_full_barrier();
	return pane_load_relaxed(q->ctl_flags) & PANE_NEED_DOORBELL;
}

/* Forget the requests that the kernel did not take and never will */
static inline void pane_queue_reset(struct pane_queue *q)
{
	if (!q->count)
		return;

	pane_lock(&q->lock);
	q->cons = pane_load_acquire(q->ctl_cons);
	q->prod = q->cons;
	pane_queue_publish(q);
	pane_unlock(&q->lock);
}

/**
 * struct pane_layout - where a ring is in a mapping
 * @size: bytes of the mapping
 * @offset: of the first slot
 * @stride: bytes from one slot to the next
 * @count: slots, or 0 when there is no such ring
 * @slot_size: bytes of a slot that are used
 */
struct pane_layout {
	uint64_t size;
	uint32_t offset;
	uint32_t stride;
	uint32_t count;
	uint64_t slot_size;
};

/* Whatever the index, a slot lies within the mapping and in no other slot */
static inline bool pane_layout_valid(const struct pane_layout *l)
{
	if (!l->count)
		return true;
	return !(l->count & (l->count - 1)) && l->slot_size <= l->stride &&
	       l->offset <= l->size &&
	       (uint64_t)l->stride * l->count <= l->size - l->offset;
}

/* Where the slots are from now on; the caller sets the ctl_ members */
static inline void pane_queue_set_ring(struct pane_queue *q, void *ring,
				       const struct pane_layout *layout)
{
	q->slots = (uint8_t *)ring + layout->offset;
	q->stride = layout->stride;
	q->count = layout->count;
}

/* The caller sets the ctl_ members */
static inline void pane_queue_init(struct pane_queue *q, void *ring,
				   const struct pane_layout *layout,
				   uint32_t max_sge, bool single_threaded)
{
	pane_lock_init(&q->lock, single_threaded);
	q->count = layout->count;
	if (!q->count)
		return;

	pane_queue_set_ring(q, ring, layout);
	q->max_sge = max_sge;
}

#endif /* PANE_RING_H */
