// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ethtool.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "netdev.h"
#include "pane.h"
#include "rx.h"
#include "sock.h"
#include "wire.h"

/* Devices whose interface exists; changed under RTNL, read under RCU */
static LIST_HEAD(pane_devs);

static enum ib_mtu netdev_mtu(const struct net_device *ndev)
{
	return iboe_get_mtu(ndev->mtu) ?: IB_MTU_256;
}

static struct pane_dev *netdev_find_attached(const struct net_device *ndev)
{
	struct pane_dev *dev;

	ASSERT_RTNL();
	list_for_each_entry(dev, &pane_devs, node)
		if (rtnl_dereference(dev->ndev) == ndev)
			return dev;
	return NULL;
}

static int netdev_attach_locked(struct pane_dev *dev, struct net_device *ndev)
{
	int err;

	if (ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (netdev_find_attached(ndev))
		return -EEXIST;
	err = pane_sock_get(dev_net(ndev));
	if (err == -EADDRINUSE && net_ratelimit())
		netdev_info(ndev,
			    "rdma_pane: UDP port %u is taken in this network namespace, by rdma_rxe or a socket\n",
			    PANE_UDP_PORT);
	if (err)
		return err;

	netdev_hold(ndev, &dev->tracker, GFP_KERNEL);
	dev->ifindex = ndev->ifindex;
	dev->mtu = netdev_mtu(ndev);
	dev->port_up = pane_netdev_is_up(ndev);
	rcu_assign_pointer(dev->ndev, ndev);
	rcu_assign_pointer(dev->net, dev_net(ndev));
	list_add_tail_rcu(&dev->node, &pane_devs);
	return 0;
}

/**
 * pane_netdev_attach - put a device on an interface
 * @dev: the device, not registered yet
 * @ndev: the interface
 *
 * Context: process, without RTNL.
 * Return: 0, and pane_netdev_detach() is due; -EEXIST if the interface has a
 * device already; -EADDRINUSE if somebody else has the port in its namespace;
 * -ENODEV, -ENOMEM
 */
int pane_netdev_attach(struct pane_dev *dev, struct net_device *ndev)
{
	int err;

	rtnl_lock();
	err = netdev_attach_locked(dev, ndev);
	rtnl_unlock();
	return err;
}

/* From here on no packet goes out or comes in, and the interface may go */
static void netdev_detach_locked(struct pane_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (!ndev)
		return;
	list_del_rcu(&dev->node);
	RCU_INIT_POINTER(dev->net, NULL);
	RCU_INIT_POINTER(dev->ndev, NULL);
	pane_sock_put(dev_net(ndev));
	synchronize_net();
	netdev_put(ndev, &dev->tracker);
}

/* The opposite of pane_netdev_attach(), if the interface is still there */
void pane_netdev_detach(struct pane_dev *dev)
{
	rtnl_lock();
	netdev_detach_locked(dev);
	rtnl_unlock();
}

/* The interface, to be given back by dev_put(); NULL when it is gone */
struct net_device *pane_netdev_get(struct pane_dev *dev)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* What the interface's driver says of its speed, in Mb/s; 0 for nothing */
u32 pane_netdev_speed(struct pane_dev *dev)
{
	struct ethtool_link_ksettings settings = {};
	struct net_device *ndev;
	u32 speed = 0;

	rtnl_lock();
	ndev = rtnl_dereference(dev->ndev);
	if (ndev && !__ethtool_get_link_ksettings(ndev, &settings) &&
	    settings.base.speed != (u32)SPEED_UNKNOWN)
		speed = settings.base.speed;
	rtnl_unlock();
	return speed;
}

/* ---- whose packet is it? --------------------------------------------- */

/*
 * Did the packet come in through an interface above the device's: a VLAN, or
 * the bridge or bond that it is a port of?
 */
static bool netdev_received_above(const struct pane_dev *dev,
				  const struct sk_buff *skb)
{
	struct net_device *ndev = rcu_dereference(dev->ndev);

	return ndev && netdev_has_upper_dev_all_rcu(ndev, skb->dev);
}

static bool netdev_received(const struct pane_dev *dev,
			    const struct sk_buff *skb)
{
	return dev->ifindex == skb->dev->ifindex ||
	       netdev_received_above(dev, skb);
}

/* Is @daddr one of the device's GIDs, for packets of this kind? */
static bool netdev_has_gid(struct pane_dev *dev, const struct sk_buff *skb,
			   const struct in6_addr *daddr)
{
	enum ib_gid_type type = pane_rx_net(skb) == RDMA_NETWORK_ROCE_V1 ?
				IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(&dev->ibdev, (const union ib_gid *)daddr,
				     type, PANE_PORT, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/**
 * pane_netdev_accepts - is a datagram for this device?
 * @dev: the device of the QP it names
 * @skb: the datagram
 * @daddr: its destination
 *
 * Packets between addresses of one host come in through another interface than
 * the address is on. The IP stack has seen to it that the destination is one of
 * this host's; with RoCE v1 nobody has.
 *
 * Context: RCU read side.
 * Return: true if it is
 */
bool pane_netdev_accepts(struct pane_dev *dev, const struct sk_buff *skb,
			 const struct in6_addr *daddr)
{
	if (pane_rx_net(skb) != RDMA_NETWORK_ROCE_V1 &&
	    netdev_received(dev, skb))
		return true;
	return netdev_has_gid(dev, skb, daddr);
}

/**
 * pane_netdev_on - the device on an interface
 * @net: namespace
 * @ndev: the interface
 *
 * Context: RCU read side, which the device lives at least as long as.
 * Return: the device or NULL
 */
struct pane_dev *pane_netdev_on(const struct net *net,
				const struct net_device *ndev)
{
	struct pane_dev *dev;

	list_for_each_entry_rcu(dev, &pane_devs, node)
		if (rcu_access_pointer(dev->net) == net &&
		    dev->ifindex == ndev->ifindex)
			return dev;
	return NULL;
}

/**
 * pane_netdev_find - the device a packet is for, without the help of a QP
 * @net: namespace it came in
 * @skb: the packet, with its network header
 *
 * Several may be: the one on the interface that it came in through goes first.
 *
 * Context: RCU read side, which the device lives at least as long as.
 * Return: the device or NULL
 */
struct pane_dev *pane_netdev_find(struct net *net, const struct sk_buff *skb)
{
	struct pane_dev *dev = pane_netdev_on(net, skb->dev);
	struct in6_addr saddr, daddr;

	if (dev)
		return dev;
	pane_rx_gids(skb, &saddr, &daddr);
	list_for_each_entry_rcu(dev, &pane_devs, node)
		if (rcu_access_pointer(dev->net) == net &&
		    netdev_has_gid(dev, skb, &daddr))
			return dev;
	list_for_each_entry_rcu(dev, &pane_devs, node)
		if (rcu_access_pointer(dev->net) == net &&
		    netdev_received_above(dev, skb))
			return dev;
	return NULL;
}

/* The @n-th device that has an interface, or NULL; it stays until RTNL is given up */
struct pane_dev *pane_netdev_nth(u64 n)
{
	struct pane_dev *dev;

	ASSERT_RTNL();
	list_for_each_entry(dev, &pane_devs, node)
		if (!n--)
			return dev;
	return NULL;
}

/* ---- what happens to it ---------------------------------------------- */

static void netdev_state(struct pane_dev *dev, struct net_device *ndev)
{
	bool up = pane_netdev_is_up(ndev);

	if (dev->port_up == up)
		return;
	dev->port_up = up;
	pane_stats_port_changed(dev, up);
}

/* The interface goes: the device follows when the core gets to it */
static void netdev_gone(struct pane_dev *dev)
{
	netdev_detach_locked(dev);
	/* else it is being unregistered, or not registered yet */
	if (ib_device_try_get(&dev->ibdev)) {
		ib_unregister_device_queued(&dev->ibdev);
		ib_device_put(&dev->ibdev);
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct pane_dev *dev = netdev_find_attached(ndev);

	if (!dev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UNREGISTER:
		netdev_gone(dev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		netdev_state(dev, ndev);
		break;
	case NETDEV_CHANGEMTU:
		WRITE_ONCE(dev->mtu, netdev_mtu(ndev));
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block pane_netdev_nb = {
	.notifier_call = netdev_event,
};

int pane_netdev_init(void)
{
	return register_netdevice_notifier(&pane_netdev_nb);
}

void pane_netdev_exit(void)
{
	unregister_netdevice_notifier(&pane_netdev_nb);
}
