// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What comes in. The checks are made in the order of the list in
 * Documentation/design.rst, cheap ones first, and each has its counter; nothing
 * that an off-path host can guess is looked at before the addresses were
 * compared.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/udp.h>
#include <net/busy_poll.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "ack.h"
#include "cnp.h"
#include "copy.h"
#include "icrc.h"
#include "mcast.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"
#include "resp.h"
#include "rx.h"
#include "skb_walk.h"
#include "tx.h"

/* ---- the packet by itself -------------------------------------------- */

/*
 * Read the headers of the packet that p->skb has at p->start. skb->data is at
 * the UDP header, whose length the stack has compared with the IP header's and
 * the packet's.
 */
static enum pane_counter pkt_read(struct pane_pkt *p)
{
	const struct pane_bth *bth;
	u32 pad, rest;

	if (p->size < sizeof(*bth) + PANE_ICRC_SIZE)
		return PANE_CNT_rx_short;
	bth = skb_header_pointer(p->skb, p->start, sizeof(*bth), p->buf);
	if (!bth)
		return PANE_CNT_rx_short;
	if (bth->flags & PANE_BTH_TVER)
		return PANE_CNT_rx_tver;
	p->opcode = bth->opcode;
	p->op = pane_op_info(bth->opcode);
	if (!p->op->name)
		return PANE_CNT_rx_opcode;
	pad = (bth->flags & PANE_BTH_PAD) >> PANE_BTH_PAD_SHIFT;
	rest = p->op->hdr_len + pad + PANE_ICRC_SIZE;
	/* headers are, and padding makes the payload, a multiple of 4 */
	if (rest > p->size || p->size % 4)
		return PANE_CNT_rx_length;
	if (p->op->kind == PANE_KIND_CNP && p->size - rest != PANE_CNP_SIZE)
		return PANE_CNT_rx_length;

	p->hdr = skb_header_pointer(p->skb, p->start, p->op->hdr_len, p->buf);
	if (!p->hdr)
		return PANE_CNT_rx_length;
	p->off = p->start + p->op->hdr_len;
	p->len = p->size - rest;
	bth = (const struct pane_bth *)p->hdr;
	p->psn = be32_to_cpu(bth->apsn) & PANE_BTH_PSN;
	p->ack_req = be32_to_cpu(bth->apsn) & PANE_BTH_ACKREQ;
	p->solicited = bth->flags & PANE_BTH_SE;
	return PANE_CNT_rcvd_pkts;
}

/* Which packet of a train a kept copy stands for */
struct pkt_cb {
	u32 start;
	u32 size;
	u16 vlan;
};

static u16 dev_vlan(const struct net_device *ndev)
{
	return is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) : 0xffff;
}

/* The VLAN that the packet came in by; 0xffff for none */
u16 pane_pkt_vlan(const struct pane_pkt *p)
{
	return p->kept ? ((const struct pkt_cb *)p->skb->cb)->vlan :
			 dev_vlan(p->skb->dev);
}

/* Note in @skb, a copy of p->skb, which packet is meant */
void pane_pkt_save(const struct pane_pkt *p, struct sk_buff *skb)
{
	struct pkt_cb *cb = (struct pkt_cb *)skb->cb;

	cb->start = p->start;
	cb->size = p->size;
	cb->vlan = pane_pkt_vlan(p);
	skb->dev = NULL;
}

/* Read the headers of a packet that was kept */
bool pane_pkt_restore(struct pane_pkt *p, struct sk_buff *skb)
{
	struct pkt_cb *cb = (struct pkt_cb *)skb->cb;

	p->skb = skb;
	p->start = cb->start;
	p->size = cb->size;
	p->kept = true;
	return pkt_read(p) == PANE_CNT_rcvd_pkts;
}

static const struct pane_bth *pkt_bth(const struct pane_pkt *p)
{
	return (const struct pane_bth *)p->hdr;
}

static u32 pkt_dqpn(const struct pane_pkt *p)
{
	return be32_to_cpu(pkt_bth(p)->dqpn) & PANE_BTH_QPN;
}

static void crc_fn(void *ctx, const u8 *data, u32 len)
{
	u32 *crc = ctx;

	*crc = pane_crc(*crc, data, len);
}

/* CRC over @len bytes of a packet from @off on */
static u32 rx_crc(const struct sk_buff *skb, u32 off, u32 len, u32 crc)
{
	pane_skb_walk(skb, off, len, crc_fn, &crc);
	return crc;
}

/*
 * A packet that was made on this host and whose UDP checksum was never filled
 * in has not left memory, and there is nothing its ICRC could tell. The
 * checksum alone does not say so: a train that GRO has made of what came from
 * the wire looks the same.
 */
static bool rx_icrc_needed(const struct sk_buff *skb)
{
	return skb->ip_summed != CHECKSUM_PARTIAL || !pane_tx_made(skb) ||
	       skb_napi_id(skb) >= MIN_NAPI_ID;
}

/*
 * The ICRC up to the end of the BTH, over the headers as they were when the
 * packet was not part of a train, with the IPv4 ID of @index packets later.
 */
static u32 rx_icrc_start(const struct pane_pkt *p, u32 index)
{
	u32 udp_len = sizeof(struct udphdr) + p->size;
	struct ipv6hdr ip6h;
	struct iphdr iph;
	struct udphdr uh;

	switch (pane_rx_net(p->skb)) {
	case RDMA_NETWORK_IPV4:
		uh = *udp_hdr(p->skb);
		uh.len = htons(udp_len);
		iph = *ip_hdr(p->skb);
		iph.tot_len = htons(sizeof(iph) + udp_len);
		iph.id = htons(ntohs(iph.id) + index);
		return pane_icrc_start_v4(&iph, &uh, pkt_bth(p));
	case RDMA_NETWORK_IPV6:
		uh = *udp_hdr(p->skb);
		uh.len = htons(udp_len);
		ip6h = *ipv6_hdr(p->skb);
		ip6h.payload_len = htons(udp_len);
		return pane_icrc_start_v6(&ip6h, &uh, pkt_bth(p));
	default:
		return pane_icrc_start_v1(ipv6_hdr(p->skb), pkt_bth(p));
	}
}

static bool rx_icrc_is(const struct pane_pkt *p, u32 index)
{
	u32 from = p->start + sizeof(struct pane_bth);
	u32 to = p->start + p->size - PANE_ICRC_SIZE;
	__le32 icrc;
	u32 crc;

	crc = rx_crc(p->skb, from, to - from, rx_icrc_start(p, index));
	if (skb_copy_bits(p->skb, to, &icrc, sizeof(icrc)))
		return false;
	return icrc == pane_icrc_final(crc);
}

/*
 * Who cuts a train numbers the packets in order, and GRO joins packets that are
 * numbered so; but also such as all have the same number, and it does not say
 * which.
 */
static bool rx_icrc_ok(const struct pane_pkt *p)
{
	return rx_icrc_is(p, p->index) || (p->index && rx_icrc_is(p, 0));
}

/* IP options and extension headers have no place in the ICRC */
static bool rx_plain_ip(const struct sk_buff *skb)
{
	int len = skb_network_header_len(skb);

	return len == (ip_hdr(skb)->version == 4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr));
}

/* ---- the packet and its QP ------------------------------------------- */

/* The addresses of a packet as GIDs; those of RoCE v1 are in the same place */
void pane_rx_gids(const struct sk_buff *skb, struct in6_addr *saddr,
		  struct in6_addr *daddr)
{
	if (ip_hdr(skb)->version == 4) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, saddr);
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, daddr);
	} else {
		*saddr = ipv6_hdr(skb)->saddr;
		*daddr = ipv6_hdr(skb)->daddr;
	}
}

/* A group's packets are for those attached to it, whatever QP they name */
static bool rx_datagram_addresses_ok(const struct pane_qp *qp,
				     const struct pane_pkt *p)
{
	struct in6_addr saddr, daddr;

	if (pkt_dqpn(p) == PANE_QPN_MULTICAST)
		return true;
	pane_rx_gids(p->skb, &saddr, &daddr);
	return !rdma_is_multicast_addr(&daddr) &&
	       pane_netdev_accepts(qp->dev, p->skb, &daddr);
}

/*
 * Do the addresses belong to the connection, or to the device? The version of
 * RoCE counts as well: it is what firewalls see.
 */
static bool rx_addresses_ok(const struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_av *av = pane_qp_av(qp);
	struct in6_addr saddr, daddr;

	if (pane_qp_is_datagram(qp))
		return rx_datagram_addresses_ok(qp, p);
	pane_rx_gids(p->skb, &saddr, &daddr);
	return pane_rx_net(p->skb) == av->net &&
	       ipv6_addr_equal(&daddr, &av->saddr) &&
	       ipv6_addr_equal(&saddr, &av->daddr);
}

/* The partition's number; membership is not looked at, all are full here */
static bool rx_pkey_ok(const struct pane_pkt *p)
{
	return ((be16_to_cpu(pkt_bth(p)->pkey) ^ PANE_PKEY_DEFAULT) & 0x7fff) ==
	       0;
}

static bool rx_qkey_ok(const struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_deth *deth;

	if (!pane_op_has(p->op, PANE_HDR_DETH))
		return true;
	deth = pane_pkt_hdr(p, PANE_HDR_DETH);
	return be32_to_cpu(deth->qkey) == READ_ONCE(qp->attr.qkey);
}

/*
 * Is the opcode one of the QP's transport? Of a pair of XRC QPs one asks and
 * the other answers. Congestion is told to all connections.
 */
static bool rx_transport_ok(const struct pane_qp *qp, const struct pane_pkt *p)
{
	if (p->op->kind == PANE_KIND_CNP)
		return !pane_qp_is_datagram(qp);
	if ((p->opcode & PANE_TR_MASK) != qp->transport)
		return false;
	if (qp->type == IB_QPT_XRC_INI)
		return p->op->flags & PANE_OPF_RESPONSE;
	if (qp->type == IB_QPT_XRC_TGT)
		return p->op->flags & PANE_OPF_REQUEST;
	return true;
}

/* The rest of the checks. Return: PANE_CNT_rcvd_pkts, or why not */
static enum pane_counter rx_check(const struct pane_qp *qp,
				  const struct pane_pkt *p)
{
	if (!rx_transport_ok(qp, p))
		return PANE_CNT_rx_transport;
	if (!rx_addresses_ok(qp, p))
		return PANE_CNT_rx_source;
	if (!rx_pkey_ok(p))
		return PANE_CNT_rx_pkey;
	if (!rx_qkey_ok(qp, p))
		return PANE_CNT_rx_qkey;
	if (!rx_icrc_needed(p->skb))
		pane_qp_count(qp, rx_icrc_skipped);
	else if (!rx_icrc_ok(p))
		return PANE_CNT_rx_icrc;
	return PANE_CNT_rcvd_pkts;
}

/* The QP, if it is of a device in this namespace */
static struct pane_qp *rx_find_qp(const struct pane_pkt *p, struct net *net)
{
	u32 qpn = pkt_dqpn(p);
	struct pane_qp *qp;

	if (qpn == PANE_QPN_GSI) {
		struct pane_dev *dev = pane_netdev_find(net, p->skb);

		return dev ? rcu_dereference(dev->gsi) : NULL;
	}
	qp = pane_qp_find(qpn);
	if (qp && rcu_access_pointer(qp->dev->net) == net)
		return qp;
	return NULL;
}

/**
 * pane_rx_count - count a packet that reaches no QP
 * @net: namespace it came in
 * @skb: the packet, its network header being right
 * @why: the counter
 *
 * It counts where it came in, if that is known.
 */
void pane_rx_count(struct net *net, const struct sk_buff *skb,
		   enum pane_counter why)
{
	struct pane_dev *dev = pane_netdev_find(net, skb);

	if (dev)
		pane_stats_add_bh(dev->stats, why, 1);
}

/* May the QP have the packet? Both is counted. */
static bool rx_admit(const struct pane_qp *qp, const struct pane_pkt *p)
{
	enum pane_counter why = rx_check(qp, p);

	if (why != PANE_CNT_rcvd_pkts) {
		pane_stats_add_bh(READ_ONCE(qp->stats), why, 1);
		return false;
	}
	pane_qp_count(qp, rcvd_pkts);
	pane_qp_count_add(qp, rcvd_bytes, p->size);
	return true;
}

/* Had a queue on the way marked the packet? */
static bool rx_is_marked(const struct sk_buff *skb)
{
	u8 tclass = pane_rx_net(skb) == RDMA_NETWORK_IPV4 ?
		    ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));

	return INET_ECN_is_ce(tclass);
}

/* Give the packet to its QP, which is entered */
static void rx_deliver(struct pane_qp *qp, struct pane_pkt *p)
{
	if (p->op->kind == PANE_KIND_CNP) {
		pane_qp_count(qp, rx_cnp);
		return;
	}
	if (pane_qp_is_datagram(qp)) {
		pane_resp_packet(qp, p);
		return;
	}
	if (unlikely(rx_is_marked(p->skb)))
		pane_cnp_marked(qp);
	if (p->op->flags & PANE_OPF_RESPONSE)
		pane_ack_packet(qp, p);
	else
		pane_resp_packet(qp, p);
}

/* One ACK answers all packets of a train */
static void rx_leave(struct pane_qp *qp)
{
	struct pane_ack ack;
	bool alone = pane_resp_take_ack(qp, &ack);

	if (!alone)
		pane_resp_send_due_ack(qp);
	pane_qp_leave(qp);
	if (alone)
		pane_resp_send_ack(qp, &ack);
}

/* A copy for every QP that is attached to the group on the device */
static void rx_to_members(struct pane_dev *dev, struct pane_pkt *p)
{
	const struct pane_mc_member *m;
	struct in6_addr saddr, daddr;
	struct pane_mcg *g;

	pane_rx_gids(p->skb, &saddr, &daddr);
	g = pane_mcg_find(dev, &daddr);
	if (!g) {
		pane_count(dev, rx_no_qp);
		return;
	}
	list_for_each_entry_rcu(m, &g->members, node) {
		if (!rx_admit(m->qp, p))
			continue;
		pane_qp_enter(m->qp);
		rx_deliver(m->qp, p);
		pane_qp_leave(m->qp);
	}
}

/*
 * The QP a packet is for, if it names one and passes all checks. @last is the
 * QP of the packet before it in a train, which it mostly shares.
 */
static struct pane_qp *rx_route(struct pane_pkt *p, struct net *net,
				struct pane_qp *last)
{
	struct pane_qp *qp;

	if (last && last->qpn == pkt_dqpn(p))
		qp = last;
	else
		qp = rx_find_qp(p, net);
	if (!qp) {
		pane_rx_count(net, p->skb, PANE_CNT_rx_no_qp);
		return NULL;
	}
	return rx_admit(qp, p) ? qp : NULL;
}

/*
 * Bytes from one packet of a train to the next. A train of pieces too short to
 * be packets, which only a guest could have made, counts as one bad packet.
 */
static u32 rx_step(const struct sk_buff *skb)
{
	u32 size = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0;

	return size < sizeof(struct pane_bth) + PANE_ICRC_SIZE ? skb->len :
								 size;
}

static void rx_multicast(struct net *net, struct pane_pkt *p)
{
	struct pane_dev *dev = pane_netdev_find(net, p->skb);

	if (dev)
		rx_to_members(dev, p);
}

/**
 * pane_rx_packets - hand packets to their QPs
 * @net: namespace they came in
 * @skb: a packet, maybe a train; its network header is right
 * @start: of the first BTH
 *
 * Context: RCU read side; bottom halves disabled.
 */
void pane_rx_packets(struct net *net, struct sk_buff *skb, u32 start)
{
	struct pane_qp *qp, *last = NULL;
	u32 step = rx_step(skb);
	enum pane_counter why;
	struct pane_pkt p;	/* not cleared: pkt_read() sets the rest */

	p.skb = skb;
	p.start = start;
	p.index = 0;
	p.kept = false;
	if (skb->len <= p.start)
		pane_rx_count(net, skb, PANE_CNT_rx_short);
	for (; p.start < skb->len; p.start += step, p.index++) {
		p.size = min(step, skb->len - p.start);
		why = rx_plain_ip(skb) ? pkt_read(&p) : PANE_CNT_rx_length;
		if (why != PANE_CNT_rcvd_pkts) {
			pane_rx_count(net, skb, why);
			continue;
		}
		if (unlikely(pkt_dqpn(&p) == PANE_QPN_MULTICAST)) {
			if (last)
				rx_leave(last);
			last = NULL;
			rx_multicast(net, &p);
			continue;
		}
		qp = rx_route(&p, net, last);
		if (!qp)
			continue;
		if (qp != last) {
			if (last)
				rx_leave(last);
			pane_qp_enter(qp);
			last = qp;
		}
		rx_deliver(qp, &p);
	}
	if (last)
		rx_leave(last);
}

/*
 * Where the UDP header is; negative if there is none, or if it is in another
 * fragment. Behind extension headers of IPv6 it counts as well: the stack would
 * bring the datagram to the port's socket, where nobody reads.
 */
static int rx_udp_offset(const struct sk_buff *skb, u8 pf)
{
	unsigned int off = 0;
	u8 proto = pf == NFPROTO_IPV4 ? ip_hdr(skb)->protocol :
					ipv6_hdr(skb)->nexthdr;

	if (proto == IPPROTO_UDP)
		return skb_transport_offset(skb);
	if (pf == NFPROTO_IPV4 || !ipv6_ext_hdr(proto) ||
	    ipv6_find_hdr(skb, &off, IPPROTO_UDP, NULL, NULL) < 0)
		return -ENOENT;
	return off;
}

/* Is it a datagram to our port? Its headers are then in the linear part. */
static bool rx_is_ours(struct sk_buff *skb, int off)
{
	const struct udphdr *udp;

	if (off < 0 || !pskb_may_pull(skb, off + sizeof(*udp)))
		return false;
	udp = (const struct udphdr *)(skb->data + off);
	return udp->dest == htons(PANE_UDP_PORT);
}

/* Go to the UDP header; what is behind the datagram's end is not looked at */
static bool rx_pull(struct sk_buff *skb)
{
	u32 len;

	skb_pull(skb, skb_transport_offset(skb));
	len = ntohs(udp_hdr(skb)->len);
	return len >= sizeof(struct udphdr) && len <= skb->len &&
	       !pskb_trim(skb, len);
}

/**
 * pane_rx_hook - netfilter hook for what this host is to receive
 * @priv: unused
 * @skb: a packet, from the IP header on
 * @state: where it came in
 *
 * The last hook at this place, so that the host's firewall has had its say. A
 * UDP socket that decapsulates would do as well, but the stack cuts trains for
 * those. The UDP checksum is not looked at: the ICRC tells more.
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: NF_ACCEPT for others' packets, NF_STOLEN for ours
 */
unsigned int pane_rx_hook(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	int off = rx_udp_offset(skb, state->pf);

	if (!rx_is_ours(skb, off))
		return NF_ACCEPT;
	if (off == skb_transport_offset(skb) && rx_pull(skb))
		pane_rx_packets(state->net, skb, sizeof(struct udphdr));
	else
		pane_rx_count(state->net, skb, PANE_CNT_rx_length);
	napi_consume_skb(skb, 1);
	return NF_STOLEN;
}
