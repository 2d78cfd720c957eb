/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_HRTIMER_H
#define PANE_SHIM_HRTIMER_H

/* only a member of structures here */
struct hrtimer {
	int unused;
};

#endif
