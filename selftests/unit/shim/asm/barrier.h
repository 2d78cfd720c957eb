/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_BARRIER_H
#define PANE_SHIM_BARRIER_H

#include <sched.h>

#include <linux/compiler.h>

#define smp_mb() do {					\
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	\
	barrier();					\
} while (0)
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)

/* Whom a thread waits for may need the processor it runs on. */
#define cpu_relax() sched_yield()

#endif
