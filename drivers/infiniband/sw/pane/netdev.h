/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The Ethernet interface below a device: which it is, and what happens to it */
#ifndef PANE_NETDEV_H
#define PANE_NETDEV_H

#include <linux/netdevice.h>
#include <linux/types.h>

struct in6_addr;
struct pane_dev;

/* Can packets go out and come in? */
static inline bool pane_netdev_is_up(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

int pane_netdev_attach(struct pane_dev *dev, struct net_device *ndev);
void pane_netdev_detach(struct pane_dev *dev);
struct net_device *pane_netdev_get(struct pane_dev *dev);
u32 pane_netdev_speed(struct pane_dev *dev);
struct pane_dev *pane_netdev_on(const struct net *net,
				const struct net_device *ndev);
struct pane_dev *pane_netdev_find(struct net *net, const struct sk_buff *skb);
bool pane_netdev_accepts(struct pane_dev *dev, const struct sk_buff *skb,
			 const struct in6_addr *daddr);
struct pane_dev *pane_netdev_nth(u64 n);
int pane_netdev_init(void);
void pane_netdev_exit(void);

#endif /* PANE_NETDEV_H */
