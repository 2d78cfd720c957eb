/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_SPINLOCK_H
#define PANE_SHIM_SPINLOCK_H

#include <errno.h>
#include <pthread.h>

#include <asm/barrier.h>
#include <linux/bug.h>
#include <linux/types.h>

/* Checks what lockdep would: nobody takes it twice, or gives back another's. */
typedef struct {
	pthread_mutex_t mutex;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	SHIM_BUG_ON(pthread_mutex_init(&lock->mutex, &attr));
	pthread_mutexattr_destroy(&attr);
}

static inline void spin_lock(spinlock_t *lock)
{
	SHIM_BUG_ON(pthread_mutex_lock(&lock->mutex));
}

static inline void spin_unlock(spinlock_t *lock)
{
	SHIM_BUG_ON(pthread_mutex_unlock(&lock->mutex));
}

#define spin_lock_bh(lock) spin_lock(lock)
#define spin_unlock_bh(lock) spin_unlock(lock)

#define lockdep_assert_held(lock) \
	SHIM_BUG_ON(pthread_mutex_lock(&(lock)->mutex) != EDEADLK)

#endif
