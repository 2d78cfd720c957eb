/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_TIMER_H
#define PANE_SHIM_TIMER_H

#include <linux/types.h>

struct timer_list {
	unsigned long expires;
};

#endif
