// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What comes in. The checks are made in the order of the list in
 * Documentation/design.rst, cheap ones first, and each has its counter; nothing
 * that an off-path host can guess is looked at before the addresses were
 * compared.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "ack.h"
#include "icrc.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"
#include "resp.h"
#include "rx.h"

/* ---- the packet by itself -------------------------------------------- */

/*
 * Read the headers. @skb->data is at the UDP header, whose length the stack
 * has compared with the IP header's and the packet's.
 */
static enum pane_counter pkt_read(struct pane_pkt *p, struct sk_buff *skb)
{
	u32 len = skb->len - sizeof(struct udphdr);
	const struct pane_bth *bth;
	u32 pad, rest;

	if (skb->len < sizeof(struct udphdr) + sizeof(*bth) + PANE_ICRC_SIZE)
		return PANE_CNT_rx_short;
	bth = skb_header_pointer(skb, sizeof(struct udphdr), sizeof(*bth),
				 p->buf);
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
	if (rest > len)
		return PANE_CNT_rx_length;

	p->hdr = skb_header_pointer(skb, sizeof(struct udphdr), p->op->hdr_len,
				    p->buf);
	if (!p->hdr)
		return PANE_CNT_rx_length;
	p->skb = skb;
	p->off = sizeof(struct udphdr) + p->op->hdr_len;
	p->len = len - rest;
	bth = (const struct pane_bth *)p->hdr;
	p->psn = be32_to_cpu(bth->apsn) & PANE_BTH_PSN;
	p->ack_req = be32_to_cpu(bth->apsn) & PANE_BTH_ACKREQ;
	p->solicited = bth->flags & PANE_BTH_SE;
	return PANE_CNT_rcvd_pkts;
}

/* Read the headers of a packet that was checked before */
bool pane_pkt_parse(struct pane_pkt *p, struct sk_buff *skb)
{
	return pkt_read(p, skb) == PANE_CNT_rcvd_pkts;
}

static const struct pane_bth *pkt_bth(const struct pane_pkt *p)
{
	return (const struct pane_bth *)p->hdr;
}

/* CRC over @len bytes of a packet from @off on, wherever they are */
static u32 rx_crc(const struct sk_buff *skb, u32 off, u32 len, u32 crc)
{
	struct skb_seq_state st;
	unsigned int n, done = 0;
	const u8 *data;

	if (skb_headlen(skb) >= off + len)
		return pane_icrc_add(crc, skb->data + off, len);

	skb_prepare_seq_read((struct sk_buff *)skb, off, off + len, &st);
	while ((n = skb_seq_read(done, &data, &st))) {
		crc = pane_icrc_add(crc, data, n);
		done += n;
	}
	return crc;
}

/*
 * A packet whose UDP checksum was never filled in has not left this host's
 * memory, and there is nothing its ICRC could tell.
 */
static bool rx_icrc_needed(const struct sk_buff *skb)
{
	return skb->ip_summed != CHECKSUM_PARTIAL;
}

static bool rx_icrc_ok(const struct pane_pkt *p)
{
	const struct sk_buff *skb = p->skb;
	u32 from = sizeof(struct udphdr) + sizeof(struct pane_bth);
	u32 to = skb->len - PANE_ICRC_SIZE;
	__le32 icrc;
	u32 crc;

	if (ip_hdr(skb)->version == 4)
		crc = pane_icrc_start_v4(ip_hdr(skb), udp_hdr(skb),
					 pkt_bth(p));
	else
		crc = pane_icrc_start_v6(ipv6_hdr(skb), udp_hdr(skb),
					 pkt_bth(p));
	crc = rx_crc(skb, from, to - from, crc);
	if (skb_copy_bits(skb, to, &icrc, sizeof(icrc)))
		return false;
	return icrc == pane_icrc_final(crc);
}

/* IP options and extension headers have no place in the ICRC */
static bool rx_plain_ip(const struct sk_buff *skb)
{
	int len = skb_network_header_len(skb);

	return len == (ip_hdr(skb)->version == 4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr));
}

/* ---- the packet and its QP ------------------------------------------- */

/* The addresses of a packet as GIDs */
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

/* Do the addresses belong to the connection, or to the device? */
static bool rx_addresses_ok(const struct pane_qp *qp, const struct sk_buff *skb)
{
	struct in6_addr saddr, daddr;

	pane_rx_gids(skb, &saddr, &daddr);
	if (pane_qp_is_datagram(qp))
		return pane_netdev_accepts(qp->dev, skb, &daddr);
	return ipv6_addr_equal(&daddr, &qp->av.saddr) &&
	       ipv6_addr_equal(&saddr, &qp->av.daddr);
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

/* The rest of the checks. Return: PANE_CNT_rcvd_pkts, or why not */
static enum pane_counter rx_check(const struct pane_qp *qp,
				  const struct pane_pkt *p)
{
	if ((p->opcode & PANE_TR_MASK) != qp->transport)
		return PANE_CNT_rx_transport;
	if (!rx_addresses_ok(qp, p->skb))
		return PANE_CNT_rx_source;
	if (!rx_pkey_ok(p))
		return PANE_CNT_rx_pkey;
	if (!rx_qkey_ok(qp, p))
		return PANE_CNT_rx_qkey;
	if (!rx_icrc_needed(p->skb))
		pane_count(qp->dev, rx_icrc_skipped);
	else if (!rx_icrc_ok(p))
		return PANE_CNT_rx_icrc;
	return PANE_CNT_rcvd_pkts;
}

/* The QP, if it is of a device in this namespace */
static struct pane_qp *rx_find_qp(const struct pane_pkt *p, struct net *net)
{
	u32 qpn = be32_to_cpu(pkt_bth(p)->dqpn) & PANE_BTH_QPN;
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

/* Give the packet to its QP. Return: true if it was kept */
static bool rx_deliver(struct pane_qp *qp, struct pane_pkt *p)
{
	bool kept = false;

	pane_count(qp->dev, rcvd_pkts);
	pane_count_add(qp->dev, rcvd_bytes, p->skb->len - sizeof(struct udphdr));

	pane_qp_enter(qp);
	if (p->op->flags & PANE_OPF_RESPONSE)
		pane_ack_packet(qp, p);
	else if (pane_qp_is_datagram(qp))
		pane_resp_datagram(qp, p);
	else
		kept = pane_resp_packet(qp, p);
	pane_resp_send_due_ack(qp);
	pane_qp_leave(qp);
	return kept;
}

/* Packets that reach no QP count where they came in, if that is known */
static void rx_count_lost(struct net *net, const struct sk_buff *skb,
			  enum pane_counter why)
{
	struct pane_dev *dev = pane_netdev_find(net, skb);

	if (dev)
		this_cpu_inc(dev->stats->c[why]);
}

/**
 * pane_rx_encap - a datagram came to our port
 * @sk: our socket
 * @skb: the datagram, from the UDP header on
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: 0, the datagram is ours
 */
int pane_rx_encap(struct sock *sk, struct sk_buff *skb)
{
	struct net *net = sock_net(sk);
	enum pane_counter why;
	struct pane_qp *qp;
	struct pane_pkt p;

	why = rx_plain_ip(skb) ? pkt_read(&p, skb) : PANE_CNT_rx_length;
	if (why != PANE_CNT_rcvd_pkts) {
		rx_count_lost(net, skb, why);
		goto drop;
	}
	if (p.op->kind == PANE_KIND_CNP) {
		rx_count_lost(net, skb, PANE_CNT_rx_cnp);
		goto drop;
	}
	qp = rx_find_qp(&p, net);
	if (!qp) {
		rx_count_lost(net, skb, PANE_CNT_rx_no_qp);
		goto drop;
	}
	why = rx_check(qp, &p);
	if (why != PANE_CNT_rcvd_pkts) {
		this_cpu_inc(qp->dev->stats->c[why]);
		goto drop;
	}
	if (!rx_deliver(qp, &p))
		consume_skb(skb);
	return 0;
drop:
	kfree_skb(skb);
	return 0;
}
