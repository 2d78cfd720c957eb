// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "av.h"
#include "pane.h"
#include "wire.h"

/* Both addresses are of one family with RoCE v2; v1 does not look */
static int av_init_net(struct pane_av *av, const struct ib_gid_attr *sgid)
{
	bool v4 = ipv6_addr_v4mapped(&av->saddr);

	if (sgid->gid_type == IB_GID_TYPE_ROCE) {
		av->net = RDMA_NETWORK_ROCE_V1;
		return 0;
	}
	if (sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    v4 != ipv6_addr_v4mapped(&av->daddr))
		return -EINVAL;
	av->net = v4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	return 0;
}

/**
 * pane_av_init - make an address vector of what the core resolved
 * @av: to fill
 * @attr: with a GRH whose sgid_attr is set
 * @sport: UDP source port
 *
 * The type of the source GID tells the version of RoCE.
 *
 * Return: 0; -EINVAL without a GRH or with a GID of another kind; -ENODEV if
 * the source address' interface is gone
 */
int pane_av_init(struct pane_av *av, struct rdma_ah_attr *attr, u16 sport)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	struct net_device *ndev;
	int err;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid)
		return -EINVAL;

	memset(av, 0, sizeof(*av));
	memcpy(&av->saddr, &sgid->gid, sizeof(av->saddr));
	memcpy(&av->daddr, &grh->dgid, sizeof(av->daddr));
	err = av_init_net(av, sgid);
	if (err)
		return err;
	av->hop_limit = grh->hop_limit ?: IPDEFTTL;
	av->tclass = grh->traffic_class;
	av->flow_label = grh->flow_label;
	av->sl = rdma_ah_get_sl(attr);
	av->sport = sport;
	ether_addr_copy(av->dmac, attr->roce.dmac);

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	if (IS_ERR(ndev))
		err = PTR_ERR(ndev);
	else
		av->oif = ndev->ifindex;
	rcu_read_unlock();
	return err;
}

/* The vector is not used any more, but readers under RCU may still look */
void pane_av_release(struct pane_av *av)
{
	dst_release(unrcu_pointer(xchg(&av->dst, NULL)));
}

/**
 * pane_av_create - an address vector of its own, for a connected QP
 * @attr: as for pane_av_init(); NULL for one that leads nowhere
 * @sport: likewise
 *
 * Return: the vector, or an ERR_PTR of pane_av_init()'s or -ENOMEM
 */
struct pane_av *pane_av_create(struct rdma_ah_attr *attr, u16 sport)
{
	struct pane_av *av = kzalloc(sizeof(*av), GFP_KERNEL_ACCOUNT);
	int err;

	if (!av)
		return ERR_PTR(-ENOMEM);
	err = attr ? pane_av_init(av, attr, sport) : 0;
	if (err) {
		kfree(av);
		return ERR_PTR(err);
	}
	return av;
}

static void av_free_rcu(struct rcu_head *rcu)
{
	struct pane_av *av = container_of(rcu, struct pane_av, rcu);

	pane_av_release(av);
	kfree(av);
}

/* Who found the vector under RCU may still look for a route meanwhile */
void pane_av_free(struct pane_av *av)
{
	if (av)
		call_rcu(&av->rcu, av_free_rcu);
}

static struct rtable *av_route4(const struct pane_av *av, struct net *net,
				int oif)
{
	struct flowi4 fl = {
		.flowi4_oif = oif,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = pane_av_saddr4(av),
		.daddr = pane_av_daddr4(av),
		.fl4_sport = htons(av->sport),
		.fl4_dport = htons(PANE_UDP_PORT),
	};

	return ip_route_output_key(net, &fl);
}

/*
 * Does a route forbid it (blackhole, prohibit, unreachable)? With the interface
 * given, the lookup takes a destination that no route leads to for a neighbour,
 * and does not tell the two apart.
 */
static bool av_forbidden4(const struct pane_av *av, struct net *net)
{
	struct rtable *rt = av_route4(av, net, 0);

	if (!IS_ERR(rt)) {
		ip_rt_put(rt);
		return false;
	}
	return PTR_ERR(rt) == -EINVAL || PTR_ERR(rt) == -EACCES ||
	       PTR_ERR(rt) == -EHOSTUNREACH;
}

static struct dst_entry *av_lookup4(struct pane_av *av, struct net *net)
{
	struct rtable *rt;

	if (av_forbidden4(av, net))
		return NULL;
	rt = av_route4(av, net, av->oif);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *av_lookup6(struct pane_av *av, struct net *net)
{
	struct flowi6 fl = {
		.flowi6_oif = av->oif,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = av->saddr,
		.daddr = av->daddr,
		.fl6_sport = htons(av->sport),
		.fl6_dport = htons(PANE_UDP_PORT),
	};
	struct dst_entry *dst;

	dst = ip6_dst_lookup_flow(net, NULL, &fl, NULL);
	if (IS_ERR(dst))
		return NULL;
	if (dst->error) {
		dst_release(dst);
		return NULL;
	}
	WRITE_ONCE(av->cookie, rt6_get_cookie(dst_rt6_info(dst)));
	return dst;
}
#else
static struct dst_entry *av_lookup6(struct pane_av *av, struct net *net)
{
	return NULL;
}
#endif

/**
 * pane_av_route - the route of an address vector
 * @av: the vector
 * @net: namespace
 *
 * Looked up when the cached one is no longer good; who loses a race to cache
 * a new one uses the winner's or its own, both are right.
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: the route, good until the read side ends, or NULL
 */
struct dst_entry *pane_av_route(struct pane_av *av, struct net *net)
{
	struct dst_entry *dst = rcu_dereference(av->dst);

	if (likely(dst && dst_check(dst, READ_ONCE(av->cookie))))
		return dst;

	dst = av->net == RDMA_NETWORK_IPV6 ? av_lookup6(av, net) :
					     av_lookup4(av, net);
	/* freed after a grace period at the earliest */
	dst_release(unrcu_pointer(xchg(&av->dst, RCU_INITIALIZER(dst))));
	return dst;
}

/**
 * pane_av_route_get - as pane_av_route(), with a reference for the caller
 * @av: the vector
 * @net: namespace
 *
 * A route that somebody has just replaced may have lost its last reference.
 * Then there is another one.
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: the route, or NULL
 */
struct dst_entry *pane_av_route_get(struct pane_av *av, struct net *net)
{
	unsigned int tries = 3;
	struct dst_entry *dst;

	while (tries--) {
		dst = pane_av_route(av, net);
		if (!dst || dst_hold_safe(dst))
			return dst;
	}
	return NULL;
}
