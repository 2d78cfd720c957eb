/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_MUTEX_H
#define PANE_SHIM_MUTEX_H

#include <pthread.h>

#include <linux/atomic.h>
#include <linux/spinlock.h>

struct mutex {
	spinlock_t lock;
};

static inline void mutex_init(struct mutex *mutex)
{
	spin_lock_init(&mutex->lock);
}

static inline void mutex_lock(struct mutex *mutex)
{
	spin_lock(&mutex->lock);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	spin_unlock(&mutex->lock);
}

static inline void mutex_destroy(struct mutex *mutex)
{
	SHIM_BUG_ON(pthread_mutex_destroy(&mutex->lock.mutex));
}

#endif
