/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device towards the RDMA core */
#ifndef PANE_DEVICE_H
#define PANE_DEVICE_H

struct net_device;

int pane_device_create(const char *name, struct net_device *ndev);
int pane_device_init(void);
void pane_device_exit(void);

#endif /* PANE_DEVICE_H */
