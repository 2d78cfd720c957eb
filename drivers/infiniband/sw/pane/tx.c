// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "av.h"
#include "icrc.h"
#include "pane.h"
#include "qp.h"
#include "tx.h"

/* Room for the link layer's headers, tunnels included */
#define TX_HEADROOM	MAX_HEADER

static u32 tx_pad(u32 len)
{
	return -len & 3;
}

static void tx_ipv4(struct sk_buff *skb, const struct pane_av *av, u16 id)
{
	struct iphdr *iph = ip_hdr(skb);

	iph->version = IPVERSION;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = av->tclass;
	iph->tot_len = htons(skb->len);
	iph->id = htons(id);
	iph->frag_off = htons(IP_DF);
	iph->ttl = av->hop_limit;
	iph->protocol = IPPROTO_UDP;
	iph->check = 0;
	iph->saddr = pane_av_saddr4(av);
	iph->daddr = pane_av_daddr4(av);
}

static void tx_ipv6(struct sk_buff *skb, const struct pane_av *av)
{
	struct ipv6hdr *ip6h = ipv6_hdr(skb);

	ip6_flow_hdr(ip6h, av->tclass, htonl(av->flow_label & 0xfffff));
	ip6h->payload_len = htons(skb->len - sizeof(*ip6h));
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = av->hop_limit;
	ip6h->saddr = av->saddr;
	ip6h->daddr = av->daddr;
}

/*
 * The UDP checksum is left to the device, as for any datagram: it guards the
 * packet on the way to the ICRC check, and CHECKSUM_PARTIAL tells a receiver
 * on this host that the packet never left memory.
 */
static void tx_udp(struct sk_buff *skb, const struct pane_av *av)
{
	struct udphdr *uh = udp_hdr(skb);
	u16 len = skb->len - skb_transport_offset(skb);

	uh->source = htons(av->sport);
	uh->dest = htons(PANE_UDP_PORT);
	uh->len = htons(len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (av->v6)
		uh->check = ~csum_ipv6_magic(&av->saddr, &av->daddr, len,
					     IPPROTO_UDP, 0);
	else
		uh->check = ~csum_tcpudp_magic(pane_av_saddr4(av),
					       pane_av_daddr4(av), len,
					       IPPROTO_UDP, 0);
}

static void tx_bth(struct pane_frame *f, u8 opcode,
		   const struct pane_bth_fields *b)
{
	f->bth->opcode = opcode;
	f->bth->flags = PANE_BTH_MIGREQ | (b->solicited ? PANE_BTH_SE : 0) |
			tx_pad(f->len) << PANE_BTH_PAD_SHIFT;
	f->bth->pkey = cpu_to_be16(PANE_PKEY_DEFAULT);
	f->bth->dqpn = cpu_to_be32(b->dqpn);
	f->bth->apsn = cpu_to_be32(b->psn | (b->ack_req ? PANE_BTH_ACKREQ : 0));
}

/**
 * pane_tx_begin - start a packet
 * @qp: sender; its lock is held
 * @av: destination
 * @opcode: of the packet
 * @len: bytes of payload it will have
 * @bth: the rest of its BTH
 * @f: the frame, set up
 *
 * Return: false without memory
 */
bool pane_tx_begin(struct pane_qp *qp, const struct pane_av *av, u8 opcode,
		   u32 len, const struct pane_bth_fields *bth,
		   struct pane_frame *f)
{
	u32 ip_len = av->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	u32 transport_len;
	struct sk_buff *skb;

	f->op = pane_op_info(opcode);
	f->av = av;
	f->len = len;
	transport_len = f->op->hdr_len + len + tx_pad(len) + PANE_ICRC_SIZE;

	skb = alloc_skb(TX_HEADROOM + ip_len + sizeof(struct udphdr) +
			transport_len, GFP_ATOMIC);
	if (unlikely(!skb)) {
		pane_count(qp->dev, send_no_mem);
		return false;
	}
	f->skb = skb;
	skb_reserve(skb, TX_HEADROOM);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, ip_len);
	f->bth = skb_put(skb, ip_len + sizeof(struct udphdr) + transport_len) +
		 ip_len + sizeof(struct udphdr);
	f->payload = (u8 *)f->bth + f->op->hdr_len;

	if (av->v6) {
		skb->protocol = htons(ETH_P_IPV6);
		tx_ipv6(skb, av);
	} else {
		skb->protocol = htons(ETH_P_IP);
		tx_ipv4(skb, av, qp->ip_id++);
	}
	tx_udp(skb, av);
	tx_bth(f, opcode, bth);
	pane_tx_cb(skb)->psn = bth->psn;
	pane_tx_cb(skb)->kind = PANE_TX_OTHER;
	return true;
}

/* All headers are filled in: the ICRC up to the payload */
void pane_tx_headers_done(struct pane_frame *f)
{
	struct sk_buff *skb = f->skb;
	u32 ext = f->op->hdr_len - sizeof(*f->bth);

	if (f->av->v6)
		f->crc = pane_icrc_start_v6(ipv6_hdr(skb), udp_hdr(skb), f->bth);
	else
		f->crc = pane_icrc_start_v4(ip_hdr(skb), udp_hdr(skb), f->bth);
	if (ext)
		f->crc = pane_icrc_add(f->crc, f->bth + 1, ext);
}

/* The payload is in and f->crc covers it: finish the packet and queue it */
void pane_tx_end(struct pane_qp *qp, struct pane_frame *f)
{
	u32 pad = tx_pad(f->len);
	u8 *end = f->payload + f->len;
	__le32 icrc;

	if (pad) {
		memset(end, 0, pad);
		f->crc = pane_icrc_add(f->crc, end, pad);
	}
	icrc = pane_icrc_final(f->crc);
	memcpy(end + pad, &icrc, sizeof(icrc));

	pane_count(qp->dev, sent_pkts);
	pane_count_add(qp->dev, sent_bytes,
		       f->op->hdr_len + f->len + pad + PANE_ICRC_SIZE);
	__skb_queue_tail(&qp->txq, f->skb);
}

/* The packet is not to be sent after all */
void pane_tx_abort(struct pane_frame *f)
{
	kfree_skb(f->skb);
}

/* Hand a packet to the network stack. Return: NET_XMIT_ or an errno */
static int tx_xmit(struct pane_qp *qp, struct net *net, struct sk_buff *skb)
{
	if (!skb_dst(skb)) {
		struct dst_entry *dst = pane_av_route(&qp->av, net);

		if (!dst) {
			pane_count(qp->dev, send_no_route);
			kfree_skb(skb);
			return -ENETUNREACH;
		}
		skb_dst_set_noref(skb, dst);
	}
	/* the lower layers find their own control block empty */
	memset(skb->cb, 0, sizeof(skb->cb));
	if (skb->protocol == htons(ETH_P_IPV6))
		return ip6_local_out(net, NULL, skb);
	return ip_local_out(net, NULL, skb);
}

/**
 * pane_tx_flush - send a list of packets
 * @qp: sender; its lock is not held
 * @list: the packets; empty on return
 * @psn: set to that of the first refused request
 *
 * When a queue of the network stack has no room for a request, the requests
 * behind it are thrown away: the receiver would only ask for all of them again.
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: true if a request was refused
 */
bool pane_tx_flush(struct pane_qp *qp, struct sk_buff_head *list, u32 *psn)
{
	struct net *net = rcu_dereference(qp->dev->net);
	bool refused = false;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		struct pane_tx_cb cb = *pane_tx_cb(skb);
		int ret;

		if (!net || (refused && cb.kind == PANE_TX_REQUEST)) {
			kfree_skb(skb);
			continue;
		}
		ret = tx_xmit(qp, net, skb);
		if (likely(!ret))
			continue;
		pane_count(qp->dev, send_err);
		if (ret == NET_XMIT_DROP && cb.kind == PANE_TX_REQUEST) {
			refused = true;
			*psn = cb.psn;
		}
	}
	return refused;
}
