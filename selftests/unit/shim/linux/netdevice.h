/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_NETDEVICE_H
#define PANE_SHIM_NETDEVICE_H

#include <linux/kernel.h>

struct net;
struct net_device;

typedef struct {
	int unused;
} netdevice_tracker;

#endif
