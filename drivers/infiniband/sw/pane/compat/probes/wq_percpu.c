// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/workqueue.h>

int probe = WQ_PERCPU;
