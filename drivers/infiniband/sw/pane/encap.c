// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>

#include "av.h"
#include "encap.h"
#include "icrc.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"
#include "tx.h"
#include "wire.h"

/* Bytes from the network header to the BTH */
u32 pane_encap_len(const struct pane_av *av)
{
	switch (av->net) {
	case RDMA_NETWORK_IPV4:
		return sizeof(struct iphdr) + sizeof(struct udphdr);
	case RDMA_NETWORK_IPV6:
		return sizeof(struct ipv6hdr) + sizeof(struct udphdr);
	default:
		return sizeof(struct ipv6hdr);
	}
}

/* ---- headers --------------------------------------------------------- */

/* @len: bytes from here to the packet's end */
static void encap_ipv4(struct iphdr *iph, const struct pane_av *av, u16 id,
		       u32 len)
{
	iph->version = IPVERSION;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = av->tclass;
	iph->tot_len = htons(len);
	iph->id = htons(id);
	iph->frag_off = htons(IP_DF);
	iph->ttl = av->hop_limit;
	iph->protocol = IPPROTO_UDP;
	iph->check = 0;
	iph->saddr = pane_av_saddr4(av);
	iph->daddr = pane_av_daddr4(av);
}

/* The global route header has the layout of IPv6's */
static void encap_ipv6(struct ipv6hdr *ip6h, const struct pane_av *av,
		       u8 nexthdr, u32 len)
{
	ip6_flow_hdr(ip6h, av->tclass, htonl(av->flow_label & 0xfffff));
	ip6h->payload_len = htons(len - sizeof(*ip6h));
	ip6h->nexthdr = nexthdr;
	ip6h->hop_limit = av->hop_limit;
	ip6h->saddr = av->saddr;
	ip6h->daddr = av->daddr;
}

static void encap_udp(struct udphdr *uh, const struct pane_av *av, u32 len)
{
	uh->source = htons(av->sport);
	uh->dest = htons(PANE_UDP_PORT);
	uh->len = htons(len);
	uh->check = 0;
}

static void encap_fill_udp(struct sk_buff *skb, const struct pane_av *av,
			   u32 len)
{
	encap_udp(udp_hdr(skb), av, len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

/**
 * pane_encap_fill - fill in the headers of a packet
 * @skb: with room for them, and its data at the first one
 * @av: where it goes
 * @ip_id: IPv4 ID
 * @len: bytes from the first header to the packet's end
 */
void pane_encap_fill(struct sk_buff *skb, const struct pane_av *av, u16 ip_id,
		     u32 len)
{
	skb_reset_network_header(skb);
	switch (av->net) {
	case RDMA_NETWORK_IPV4:
		skb->protocol = htons(ETH_P_IP);
		skb_set_transport_header(skb, sizeof(struct iphdr));
		encap_ipv4(ip_hdr(skb), av, ip_id, len);
		encap_fill_udp(skb, av, len - sizeof(struct iphdr));
		break;
	case RDMA_NETWORK_IPV6:
		skb->protocol = htons(ETH_P_IPV6);
		skb_set_transport_header(skb, sizeof(struct ipv6hdr));
		encap_ipv6(ipv6_hdr(skb), av, IPPROTO_UDP, len);
		encap_fill_udp(skb, av, len - sizeof(struct ipv6hdr));
		break;
	default:
		skb->protocol = htons(ETH_P_IBOE);
		skb_set_transport_header(skb, sizeof(struct ipv6hdr));
		encap_ipv6(ipv6_hdr(skb), av, PANE_GRH_NEXT_BTH, len);
		break;
	}
	skb->priority = av->sl;
}

/**
 * pane_encap_icrc - begin the ICRC of a packet
 * @av: where it goes
 * @ip_id: IPv4 ID
 * @size: bytes from the BTH to the ICRC
 * @bth: its BTH
 *
 * Over the headers as they will be when a train was cut.
 *
 * Return: the value accumulated up to the end of the BTH
 */
u32 pane_encap_icrc(const struct pane_av *av, u16 ip_id, u32 size,
		    const struct pane_bth *bth)
{
	u32 udp_len = sizeof(struct udphdr) + size;
	struct ipv6hdr ip6h;
	struct iphdr iph;
	struct udphdr uh;

	switch (av->net) {
	case RDMA_NETWORK_IPV4:
		encap_udp(&uh, av, udp_len);
		encap_ipv4(&iph, av, ip_id, sizeof(iph) + udp_len);
		return pane_icrc_start_v4(&iph, &uh, bth);
	case RDMA_NETWORK_IPV6:
		encap_udp(&uh, av, udp_len);
		encap_ipv6(&ip6h, av, IPPROTO_UDP, sizeof(ip6h) + udp_len);
		return pane_icrc_start_v6(&ip6h, &uh, bth);
	default:
		encap_ipv6(&ip6h, av, PANE_GRH_NEXT_BTH, sizeof(ip6h) + size);
		return pane_icrc_start_v1(&ip6h, bth);
	}
}

/* ---- out ------------------------------------------------------------- */

/*
 * The lengths of a packet that is complete. The UDP checksum is left to the
 * device, as for any datagram: it guards the packet on the way to the ICRC
 * check, and while it is CHECKSUM_PARTIAL the packet has not left memory.
 */
static void encap_fill_lengths(struct sk_buff *skb)
{
	u32 udp_len = skb->len - skb_transport_offset(skb);
	struct udphdr *uh = udp_hdr(skb);

	uh->len = htons(udp_len);
	if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6h = ipv6_hdr(skb);

		ip6h->payload_len = htons(udp_len);
		uh->check = ~csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr,
					     udp_len, IPPROTO_UDP, 0);
	} else {
		struct iphdr *iph = ip_hdr(skb);

		iph->tot_len = htons(skb->len);
		uh->check = ~csum_tcpudp_magic(iph->saddr, iph->daddr, udp_len,
					       IPPROTO_UDP, 0);
	}
}

static int encap_xmit_ip(struct pane_qp *qp, struct net *net,
			 struct sk_buff *skb)
{
	bool v6 = skb->protocol == htons(ETH_P_IPV6);

	if (!skb_dst(skb)) {
		struct dst_entry *dst = pane_av_route(pane_qp_av(qp), net);

		if (!dst) {
			pane_qp_count(qp, send_no_route);
			kfree_skb(skb);
			return -ENETUNREACH;
		}
		skb_dst_set_noref(skb, dst);
	}
	encap_fill_lengths(skb);
	/* the lower layers find their own control block empty */
	memset(skb->cb, 0, sizeof(skb->cb));
	return v6 ? ip6_local_out(net, NULL, skb) :
		    ip_local_out(net, NULL, skb);
}

/*
 * To our own address: no switch sends a frame back where it came from, so the
 * port does it, as adapters do.
 */
static int encap_loop(struct net_device *ndev, struct sk_buff *skb)
{
	skb->protocol = eth_type_trans(skb, ndev);
	return netif_rx(skb) == NET_RX_DROP ? NET_XMIT_DROP : 0;
}

/* The interface that the source GID is on, where it is up */
static struct net_device *encap_ndev(struct net *net, int ifindex)
{
	struct net_device *ndev = dev_get_by_index_rcu(net, ifindex);

	return ndev && pane_netdev_is_up(ndev) ? ndev : NULL;
}

/* A group's member gets what he sends himself, as from any other */
static void encap_loop_copy(struct pane_qp *qp, struct net_device *ndev,
			    struct sk_buff *skb)
{
	struct sk_buff *copy;

	if (!READ_ONCE(qp->dev->num_mcg))
		return;
	copy = skb_clone(skb, GFP_ATOMIC);
	if (copy)
		encap_loop(ndev, copy);
}

static int encap_xmit_eth(struct pane_qp *qp, struct net *net,
			  struct sk_buff *skb)
{
	const struct pane_tx_cb cb = *pane_tx_cb(skb);
	struct net_device *ndev = encap_ndev(net, cb.oif);
	int ret;

	if (!ndev || dev_hard_header(skb, ndev, ETH_P_IBOE, cb.dmac, NULL,
				     skb->len) < 0) {
		pane_qp_count(qp, send_no_route);
		kfree_skb(skb);
		return -ENETUNREACH;
	}
	skb->dev = ndev;
	memset(skb->cb, 0, sizeof(skb->cb));
	/* a loopback interface does both by itself */
	if (!(ndev->flags & IFF_LOOPBACK)) {
		if (ether_addr_equal(cb.dmac, ndev->dev_addr))
			return encap_loop(ndev, skb);
		if (is_multicast_ether_addr(cb.dmac))
			encap_loop_copy(qp, ndev, skb);
	}
	ret = dev_queue_xmit(skb);
	return net_xmit_eval(ret);
}

/**
 * pane_encap_xmit - hand a packet to the network stack
 * @qp: sender
 * @net: namespace
 * @skb: the packet
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: NET_XMIT_ or an errno
 */
int pane_encap_xmit(struct pane_qp *qp, struct net *net, struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IBOE))
		return encap_xmit_eth(qp, net, skb);
	return encap_xmit_ip(qp, net, skb);
}
