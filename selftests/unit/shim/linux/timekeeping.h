/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_TIMEKEEPING_H
#define PANE_SHIM_TIMEKEEPING_H

#include <time.h>

#include <linux/types.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

#endif
