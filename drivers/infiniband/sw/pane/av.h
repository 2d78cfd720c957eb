/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address vectors: where a QP's or an address handle's packets go */
#ifndef PANE_AV_H
#define PANE_AV_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dst_entry;
struct net;
struct pane_dev;

/**
 * struct pane_av - an address vector
 * @net: enum rdma_network_type: RoCE v1, or v2 over IPv4 or IPv6
 * @sl: service level; the priority of its packets
 * @dmac: RoCE v1: MAC address of the destination
 * @hop_limit: TTL or hop limit
 * @tclass: TOS or traffic class
 * @flow_label: of IPv6 packets
 * @sport: UDP source port
 * @oif: interface of the source address
 * @saddr: source address; an IPv4 one in the last four bytes, mapped
 * @daddr: destination address, likewise
 * @dst: cached route; RCU. RoCE v1 has none.
 * @cookie: that tells whether an IPv6 route is still good
 * @rcu: frees a connected QP's
 *
 * Only the route changes after pane_av_init().
 */
struct pane_av {
	u8 net;
	u8 sl;
	u8 dmac[ETH_ALEN];
	u8 hop_limit;
	u8 tclass;
	u32 flow_label;
	u16 sport;
	int oif;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct dst_entry __rcu *dst;
	u32 cookie;
	struct rcu_head rcu;
};

struct pane_av *pane_av_create(struct rdma_ah_attr *attr, u16 sport);
void pane_av_free(struct pane_av *av);
int pane_av_init(struct pane_av *av, struct rdma_ah_attr *attr, u16 sport);
void pane_av_release(struct pane_av *av);
struct dst_entry *pane_av_route(struct pane_av *av, struct net *net);
struct dst_entry *pane_av_route_get(struct pane_av *av, struct net *net);

static inline __be32 pane_av_saddr4(const struct pane_av *av)
{
	return av->saddr.s6_addr32[3];
}

static inline __be32 pane_av_daddr4(const struct pane_av *av)
{
	return av->daddr.s6_addr32[3];
}

#endif /* PANE_AV_H */
