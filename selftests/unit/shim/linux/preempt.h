/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_PREEMPT_H
#define PANE_SHIM_PREEMPT_H

#include <linux/bug.h>

static inline void preempt_disable(void)
{
	shim_preempt_count++;
}

static inline void preempt_enable(void)
{
	SHIM_BUG_ON(!shim_preempt_count);
	shim_preempt_count--;
}

/* Nothing is preempted where bottom halves are disabled. */
#define preempt_disable_nested() do { } while (0)
#define preempt_enable_nested() do { } while (0)

#endif
