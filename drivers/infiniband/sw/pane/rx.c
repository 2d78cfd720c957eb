// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What comes in. The checks are made in the order of the list in
 * Documentation/design.rst, cheap ones first, and each has its counter; nothing
 * that an off-path host can guess is looked at before the addresses were
 * compared.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/udp.h>
#include <net/busy_poll.h>
#include <net/ipv6.h>

#include "ack.h"
#include "icrc.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"
#include "resp.h"
#include "rx.h"
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
	if (rest > p->size)
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
};

/* Note in @skb, a copy of p->skb, which packet is meant */
void pane_pkt_save(const struct pane_pkt *p, struct sk_buff *skb)
{
	struct pkt_cb *cb = (struct pkt_cb *)skb->cb;

	cb->start = p->start;
	cb->size = p->size;
}

/* Read the headers of a packet that was kept */
bool pane_pkt_restore(struct pane_pkt *p, struct sk_buff *skb)
{
	struct pkt_cb *cb = (struct pkt_cb *)skb->cb;

	p->skb = skb;
	p->start = cb->start;
	p->size = cb->size;
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

/* CRC over @len bytes of a packet from @off on, wherever they are */
static u32 rx_crc(const struct sk_buff *skb, u32 off, u32 len, u32 crc)
{
	struct skb_seq_state st;
	unsigned int n, done = 0;
	const u8 *data;

	if (skb_headlen(skb) >= off + len)
		return pane_icrc_add(crc, skb->data + off, len);

	skb_prepare_seq_read((struct sk_buff *)skb, off, off + len, &st);
	while (done < len && (n = skb_seq_read(done, &data, &st))) {
		n = min(n, len - done);
		crc = pane_icrc_add(crc, data, n);
		done += n;
	}
	skb_abort_seq_read(&st);
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
	struct udphdr uh = *udp_hdr(p->skb);
	struct ipv6hdr ip6h;

	uh.len = htons(udp_len);
	if (ip_hdr(p->skb)->version == 4) {
		struct iphdr iph = *ip_hdr(p->skb);

		iph.tot_len = htons(sizeof(iph) + udp_len);
		iph.id = htons(ntohs(iph.id) + index);
		return pane_icrc_start_v4(&iph, &uh, pkt_bth(p));
	}
	ip6h = *ipv6_hdr(p->skb);
	ip6h.payload_len = htons(udp_len);
	return pane_icrc_start_v6(&ip6h, &uh, pkt_bth(p));
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
	const struct pane_av *av = pane_qp_av(qp);
	struct in6_addr saddr, daddr;

	pane_rx_gids(skb, &saddr, &daddr);
	if (pane_qp_is_datagram(qp))
		return pane_netdev_accepts(qp->dev, skb, &daddr);
	return ipv6_addr_equal(&daddr, &av->saddr) &&
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

/* Of a pair of XRC QPs one asks and the other answers */
static bool rx_role_ok(const struct pane_qp *qp, const struct pane_op_info *op)
{
	if (qp->type == IB_QPT_XRC_INI)
		return op->flags & PANE_OPF_RESPONSE;
	if (qp->type == IB_QPT_XRC_TGT)
		return op->flags & PANE_OPF_REQUEST;
	return true;
}

/* The rest of the checks. Return: PANE_CNT_rcvd_pkts, or why not */
static enum pane_counter rx_check(const struct pane_qp *qp,
				  const struct pane_pkt *p)
{
	if ((p->opcode & PANE_TR_MASK) != qp->transport ||
	    !rx_role_ok(qp, p->op))
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

/* Packets that reach no QP count where they came in, if that is known */
static void rx_count_lost(struct net *net, const struct sk_buff *skb,
			  enum pane_counter why)
{
	struct pane_dev *dev = pane_netdev_find(net, skb);

	if (dev)
		this_cpu_inc(dev->stats->c[why]);
}

/*
 * The QP a packet is for, if the packet passes all checks. @last is the QP of
 * the packet before it in a train, which it mostly shares.
 */
static struct pane_qp *rx_admit(struct pane_pkt *p, struct net *net,
				struct pane_qp *last)
{
	struct pane_qp *qp = NULL;
	enum pane_counter why;

	why = rx_plain_ip(p->skb) ? pkt_read(p) : PANE_CNT_rx_length;
	if (why == PANE_CNT_rcvd_pkts) {
		if (p->op->kind == PANE_KIND_CNP)
			why = PANE_CNT_rx_cnp;
		else if (last && last->qpn == pkt_dqpn(p))
			qp = last;
		else
			qp = rx_find_qp(p, net);
	}
	if (!qp) {
		rx_count_lost(net, p->skb, why == PANE_CNT_rcvd_pkts ?
			      PANE_CNT_rx_no_qp : why);
		return NULL;
	}
	why = rx_check(qp, p);
	if (why != PANE_CNT_rcvd_pkts) {
		this_cpu_inc(qp->dev->stats->c[why]);
		return NULL;
	}
	pane_count(qp->dev, rcvd_pkts);
	pane_count_add(qp->dev, rcvd_bytes, p->size);
	return qp;
}

/* Give the packet to its QP, which is entered */
static void rx_deliver(struct pane_qp *qp, struct pane_pkt *p)
{
	if (p->op->flags & PANE_OPF_RESPONSE)
		pane_ack_packet(qp, p);
	else if (pane_qp_is_datagram(qp))
		pane_resp_datagram(qp, p);
	else
		pane_resp_packet(qp, p);
}

/* One ACK answers all packets of a train */
static void rx_leave(struct pane_qp *qp)
{
	pane_resp_send_due_ack(qp);
	pane_qp_leave(qp);
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

/* Hand every packet of a datagram, which is maybe a train, to its QP */
static void rx_datagram(struct net *net, struct sk_buff *skb)
{
	struct pane_qp *qp, *last = NULL;
	u32 step = rx_step(skb);
	struct pane_pkt p;	/* not cleared: pkt_read() sets the rest */

	p.skb = skb;
	p.start = sizeof(struct udphdr);
	p.index = 0;
	if (skb->len <= p.start)
		rx_count_lost(net, skb, PANE_CNT_rx_short);
	for (; p.start < skb->len; p.start += step, p.index++) {
		p.size = min(step, skb->len - p.start);
		qp = rx_admit(&p, net, last);
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
		rx_datagram(state->net, skb);
	else
		rx_count_lost(state->net, skb, PANE_CNT_rx_length);
	consume_skb(skb);
	return NF_STOLEN;
}
