/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a test sees of the shim, beside the kernel's own names */
#ifndef PANE_SHIM_H
#define PANE_SHIM_H

#include <linux/types.h>

/* The CPU that the calling thread plays; others must not play the same. */
#define SHIM_CPUS 8
extern __thread unsigned int shim_cpu;

/* preempt_disable() without preempt_enable(), of the calling thread */
extern __thread unsigned int shim_preempt_count;

/* After this many allocations no memory is left; SHIM_NO_LIMIT by default. */
#define SHIM_NO_LIMIT (~0UL)
extern unsigned long shim_allocs_left;

/* What get_random_bytes() returns follows from the seed. */
void shim_random_seed(u64 seed);

/* Ends the program: a rule of the kernel was broken. */
#define SHIM_BUG_ON(condition) do {				\
	if (condition)						\
		shim_bug(#condition, __FILE__, __LINE__);	\
} while (0)

__attribute__((noreturn))
void shim_bug(const char *what, const char *file, int line);

#endif
