/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_WORKQUEUE_H
#define PANE_SHIM_WORKQUEUE_H

#include <linux/types.h>

struct workqueue_struct;

struct work_struct {
	struct list_head entry;
};

#endif
