// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <rdma/rdma_netlink.h>

#include "copy.h"
#include "debugfs.h"
#include "device.h"
#include "grant.h"
#include "netdev.h"
#include "num.h"
#include "odp.h"
#include "pages.h"
#include "pane.h"
#include "ring.h"
#include "rx.h"
#include "sock.h"
#include "tx.h"

struct workqueue_struct *pane_wq;

static struct rdma_link_ops pane_link_ops = {
	.type = "pane",
	.newlink = pane_device_create,
};

static int __init pane_init(void)
{
	int err;

	pane_tx_init();
	pane_copy_init();
	pane_wq = alloc_workqueue("pane", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!pane_wq)
		return -ENOMEM;
	err = pane_ring_init();
	if (err)
		goto err_wq;
	err = pane_odp_init();
	if (err)
		goto err_ring;
	err = pane_grant_cache_init();
	if (err)
		goto err_odp;
	err = pane_num_init();
	if (err)
		goto err_cache;
	err = pane_sock_init();
	if (err)
		goto err_num;
	err = pane_netdev_init();
	if (err)
		goto err_sock;
	err = pane_device_init();
	if (err)
		goto err_netdev;
	pane_rx_eth_init();
	pane_debugfs_init();
	rdma_link_register(&pane_link_ops);
	return 0;

err_netdev:
	pane_netdev_exit();
err_sock:
	pane_sock_exit();
err_num:
	pane_num_exit();
err_cache:
	pane_grant_cache_exit();
err_odp:
	pane_odp_exit();
err_ring:
	pane_ring_exit();
err_wq:
	destroy_workqueue(pane_wq);
	return err;
}

static void __exit pane_exit(void)
{
	rdma_link_unregister(&pane_link_ops);
	ib_unregister_driver((enum rdma_driver_id)RDMA_DRIVER_PANE);
	pane_debugfs_exit();
	pane_rx_eth_exit();
	pane_device_exit();
	pane_netdev_exit();
	pane_sock_exit();
	/* QPs and address handles are freed after a grace period */
	rcu_barrier();
	pane_pages_exit();
	pane_num_exit();
	pane_grant_cache_exit();
	pane_odp_exit();
	pane_ring_exit();
	destroy_workqueue(pane_wq);
}

module_init(pane_init);
module_exit(pane_exit);

MODULE_DESCRIPTION("Pane: RDMA over Ethernet in software, with memory windows");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1");
MODULE_ALIAS_RDMA_LINK("pane");
