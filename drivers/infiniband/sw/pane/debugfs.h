/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* /sys/kernel/debug/rdma_pane: what administrators may see of windows */
#ifndef PANE_DEBUGFS_H
#define PANE_DEBUGFS_H

void pane_debugfs_init(void);
void pane_debugfs_exit(void);

#endif /* PANE_DEBUGFS_H */
