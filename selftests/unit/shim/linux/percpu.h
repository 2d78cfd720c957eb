/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Static per-CPU variables are arrays, indexed by the CPU that a thread plays.
 * Of what a test allocates in alloc_percpu()'s place there is one copy, which
 * all CPUs share: enough for counters.
 */
#ifndef PANE_SHIM_PERCPU_H
#define PANE_SHIM_PERCPU_H

#include <asm/barrier.h>
#include <linux/compiler.h>

#include "../shim.h"

#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name[SHIM_CPUS]
#define DEFINE_PER_CPU(type, name) __typeof__(type) name[SHIM_CPUS]

#define per_cpu_ptr(p, cpu) (&(*(p))[cpu])
#define this_cpu_ptr(p) per_cpu_ptr(p, shim_cpu)

/* CPUs share one copy here, so it is no less atomic */
#define __this_cpu_add(x, n) this_cpu_add(x, n)
#define this_cpu_inc(x) this_cpu_add(x, 1)
#define this_cpu_add(x, n) \
	((void)__atomic_fetch_add(&(x), n, __ATOMIC_RELAXED))

#endif
