/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What kernels from 6.1 on lack of the newest one's API. Included ahead of
 * every file in builds outside the kernel tree.
 */
#ifndef PANE_COMPAT_H
#define PANE_COMPAT_H

#include <linux/timer.h>
#include <linux/workqueue.h>

#include "features.h"

/* New in that kernel */
#ifndef HAVE_VMA_ITERATOR
#error "rdma_pane needs Linux 6.1 or newer"
#endif

#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#ifndef HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

#ifndef HAVE_TIMER_SHUTDOWN
#define timer_delete_sync(timer) del_timer_sync(timer)
/* nobody may start the timer any more; our callers see to that themselves */
#define timer_shutdown_sync(timer) del_timer_sync(timer)
#endif

#ifndef HAVE_HRTIMER_SETUP
#include <linux/hrtimer.h>

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* Before 6.13 it made a string of its argument: not a probe like the others */
#ifdef HAVE_IMPORT_NS_BARE
#include <linux/module.h>
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)
#endif

#include "mm.h"
#include "rdma.h"
#include "net.h"

#endif /* PANE_COMPAT_H */
