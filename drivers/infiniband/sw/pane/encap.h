/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a packet has in front of its BTH: the headers of IPv4 or IPv6 and UDP
 * with RoCE v2, the global route header and that of Ethernet with RoCE v1; and
 * how it gets out with them. Kinds are told apart by enum rdma_network_type,
 * of which this driver has RDMA_NETWORK_ROCE_V1, _IPV4 and _IPV6.
 */
#ifndef PANE_ENCAP_H
#define PANE_ENCAP_H

#include <linux/types.h>

struct net;
struct pane_av;
struct pane_bth;
struct pane_qp;
struct sk_buff;

u32 pane_encap_len(const struct pane_av *av);
void pane_encap_fill(struct sk_buff *skb, const struct pane_av *av, u16 ip_id,
		     u32 len);
u32 pane_encap_icrc(const struct pane_av *av, u16 ip_id, u32 size,
		    const struct pane_bth *bth);
int pane_encap_xmit(struct pane_qp *qp, struct net *net, struct sk_buff *skb);

#endif /* PANE_ENCAP_H */
