/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device towards the RDMA core */
#ifndef PANE_DEVICE_H
#define PANE_DEVICE_H

#include <linux/types.h>

struct ib_device;
struct net_device;

/* In the table of operations */
#define PANE_PORT_SPEED .query_port_speed = pane_query_port_speed,

int pane_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);
int pane_device_create(const char *name, struct net_device *ndev);
int pane_device_init(void);
void pane_device_exit(void);

#endif /* PANE_DEVICE_H */
