/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_ATOMIC_H
#define PANE_SHIM_ATOMIC_H

#include <limits.h>

#include <asm/barrier.h>
#include <linux/types.h>

static inline void atomic_set(atomic_t *v, int value)
{
	__atomic_store_n(&v->counter, value, __ATOMIC_RELAXED);
}

/* The value found; it was replaced if it was @old. */
static inline int atomic_cmpxchg(atomic_t *v, int old, int new)
{
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline bool atomic_add_unless(atomic_t *v, int n, int unless)
{
	int old = __atomic_load_n(&v->counter, __ATOMIC_RELAXED);

	do {
		if (old == unless)
			return false;
	} while (!__atomic_compare_exchange_n(&v->counter, &old, old + n, false,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return true;
}

#endif
