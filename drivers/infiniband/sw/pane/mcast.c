// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The first QP attached to a group makes the host join it, by IGMP or MLD, on
 * the device's interface and on those above it that have addresses of the
 * device; the last one makes it leave. So switches bring the frames here, and
 * the IP stack lets them in and loops our own back to us.
 */
#include <linux/hash.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "mcast.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"

static struct hlist_head *mcast_bucket(struct pane_dev *dev,
				       const struct in6_addr *gid)
{
	return &dev->mcgs[hash_32(ipv6_addr_hash(gid),
				  ilog2(PANE_MCAST_HASH))];
}

/**
 * pane_mcg_find - the group with an address
 * @dev: the device
 * @gid: the address; an IPv4 one mapped
 *
 * Context: RCU read side, which the group lives at least as long as; or
 * dev->mcast_lock.
 * Return: the group, or NULL if no QP is attached to it
 */
struct pane_mcg *pane_mcg_find(struct pane_dev *dev, const struct in6_addr *gid)
{
	struct pane_mcg *g;

	hlist_for_each_entry_rcu(g, mcast_bucket(dev, gid), node,
				 lockdep_is_held(&dev->mcast_lock))
		if (ipv6_addr_equal(&g->gid, gid))
			return g;
	return NULL;
}

/* ---- joining --------------------------------------------------------- */

static void mcast_set_ip4(struct net_device *ndev, __be32 group, bool join)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (in_dev && join)
		ip_mc_inc_group(in_dev, group);
	else if (in_dev)
		ip_mc_dec_group(in_dev, group);
}

static void mcast_set_ip6(struct net_device *ndev, const struct in6_addr *group,
			  bool join)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (join)
		ipv6_dev_mc_inc(ndev, group);
	else
		ipv6_dev_mc_dec(ndev, group);
#endif
}

/*
 * Join a group on an interface, or leave it. Without IPv4, or IPv6, that cannot
 * be, but the MAC filter can take the address, which is all that RoCE v1 wants.
 */
static void mcast_set(struct net_device *ndev, const struct in6_addr *gid,
		      bool join)
{
	u8 mac[ETH_ALEN];

	if (ipv6_addr_v4mapped(gid)) {
		mcast_set_ip4(ndev, gid->s6_addr32[3], join);
		return;
	}
	mcast_set_ip6(ndev, gid, join);
	rdma_get_mcast_mac((struct in6_addr *)gid, mac);
	if (join)
		dev_mc_add(ndev, mac);
	else
		dev_mc_del(ndev, mac);
}

static bool mcast_note_if(struct pane_mcg *g, int ifindex)
{
	u32 i;

	for (i = 0; i < g->num_joined; i++)
		if (g->joined[i] == ifindex)
			return false;
	if (g->num_joined == PANE_MCAST_IFS)
		return false;
	g->joined[g->num_joined++] = ifindex;
	return true;
}

/* The interface that one of the device's GIDs is on, or 0 */
static int mcast_gid_if(struct pane_dev *dev, int index)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	int ifindex = 0;

	attr = rdma_get_gid_attr(&dev->ibdev, PANE_PORT, index);
	if (IS_ERR(attr))
		return 0;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ifindex;
}

static void mcast_join_all(struct pane_dev *dev, struct pane_mcg *g)
{
	struct net_device *ndev;
	int i, ifindex;

	rtnl_lock();
	ndev = rtnl_dereference(dev->ndev);
	if (ndev && mcast_note_if(g, ndev->ifindex))
		mcast_set(ndev, &g->gid, true);
	for (i = 0; ndev && i < PANE_GID_TBL_LEN; i++) {
		struct net_device *upper;

		ifindex = mcast_gid_if(dev, i);
		upper = ifindex ? __dev_get_by_index(dev_net(ndev), ifindex) :
				  NULL;
		if (upper && mcast_note_if(g, ifindex))
			mcast_set(upper, &g->gid, true);
	}
	rtnl_unlock();
}

/* Interfaces that are gone have taken their memberships along */
static void mcast_leave_all(struct pane_dev *dev, struct pane_mcg *g)
{
	struct net_device *ndev, *joined;
	u32 i;

	rtnl_lock();
	ndev = rtnl_dereference(dev->ndev);
	for (i = 0; ndev && i < g->num_joined; i++) {
		joined = __dev_get_by_index(dev_net(ndev), g->joined[i]);
		if (joined)
			mcast_set(joined, &g->gid, false);
	}
	rtnl_unlock();
}

/* ---- attaching ------------------------------------------------------- */

static struct pane_mc_member *mcast_member(struct pane_dev *dev,
					   struct pane_mcg *g,
					   const struct pane_qp *qp)
{
	struct pane_mc_member *m;

	list_for_each_entry_rcu(m, &g->members, node,
				lockdep_is_held(&dev->mcast_lock))
		if (m->qp == qp)
			return m;
	return NULL;
}

/* A group without members; nobody finds it yet */
static struct pane_mcg *mcg_create(struct pane_dev *dev,
				   const struct in6_addr *gid)
{
	struct pane_mcg *g;

	if (dev->num_mcg >= PANE_MAX_MCAST_GRP)
		return NULL;
	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return NULL;
	g->gid = *gid;
	INIT_LIST_HEAD(&g->members);
	WRITE_ONCE(dev->num_mcg, dev->num_mcg + 1);
	mcast_join_all(dev, g);
	hlist_add_head_rcu(&g->node, mcast_bucket(dev, gid));
	return g;
}

static void mcg_drop_if_empty(struct pane_dev *dev, struct pane_mcg *g)
{
	if (g->num)
		return;
	hlist_del_rcu(&g->node);
	mcast_leave_all(dev, g);
	WRITE_ONCE(dev->num_mcg, dev->num_mcg - 1);
	kfree_rcu(g, rcu);
}

static int mcast_add(struct pane_dev *dev, struct pane_qp *qp,
		     const struct in6_addr *gid)
{
	struct pane_mcg *g = pane_mcg_find(dev, gid);
	struct pane_mc_member *m;

	if (g && mcast_member(dev, g, qp))
		return 0;
	if (g && g->num >= PANE_MAX_MCAST_QP)
		return -ENOMEM;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	if (!g)
		g = mcg_create(dev, gid);
	if (!g) {
		kfree(m);
		return -ENOMEM;
	}
	m->qp = qp;
	g->num++;
	list_add_tail_rcu(&m->node, &g->members);
	return 0;
}

/**
 * pane_attach_mcast - ibv_attach_mcast(), ib_attach_mcast()
 * @ibqp: a QP of type UD; the core has looked
 * @gid: address of the group, likewise; an IPv4 one is mapped
 * @lid: unused
 *
 * A QP that is attached already stays so.
 *
 * Return: 0; -ENOMEM, over the limits of the device, too
 */
int pane_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct pane_dev *dev = to_pane_dev(ibqp->device);
	int err;

	mutex_lock(&dev->mcast_lock);
	err = mcast_add(dev, to_pane_qp(ibqp), (struct in6_addr *)gid);
	mutex_unlock(&dev->mcast_lock);
	return err;
}

/**
 * pane_detach_mcast - ibv_detach_mcast(), ib_detach_mcast()
 * @ibqp: the QP
 * @gid: address of the group
 * @lid: unused
 *
 * Return: 0; -EINVAL if the QP is not attached to the group
 */
int pane_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct pane_dev *dev = to_pane_dev(ibqp->device);
	struct pane_mc_member *m = NULL;
	struct pane_mcg *g;

	mutex_lock(&dev->mcast_lock);
	g = pane_mcg_find(dev, (struct in6_addr *)gid);
	if (g)
		m = mcast_member(dev, g, to_pane_qp(ibqp));
	if (m) {
		list_del_rcu(&m->node);
		g->num--;
		kfree_rcu(m, rcu);
		mcg_drop_if_empty(dev, g);
	}
	mutex_unlock(&dev->mcast_lock);
	return m ? 0 : -EINVAL;
}
