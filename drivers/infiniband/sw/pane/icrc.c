// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>

#include "copy.h"
#include "icrc.h"
#include "wire.h"

/* CRC-32 of eight bytes 0xff from the seed ~0: what the missing LRH adds */
#define PANE_ICRC_SEED	0xdebb20e3

/* The headers as they enter the CRC, in one piece */
struct icrc_v4 {
	struct iphdr ip;
	struct udphdr udp;
	struct pane_bth bth;
};

struct icrc_v6 {
	struct ipv6hdr ip;
	struct udphdr udp;
	struct pane_bth bth;
};

struct icrc_v1 {
	struct ipv6hdr grh;
	struct pane_bth bth;
};

/* not a byte of padding: all of it goes into the CRC */
static_assert(sizeof(struct icrc_v4) == 20 + 8 + 12);
static_assert(sizeof(struct icrc_v6) == 40 + 8 + 12);
static_assert(sizeof(struct icrc_v1) == 40 + 12);

/* FECN, BECN and the six reserved bits beside the QP number */
static void icrc_mask_bth(struct pane_bth *bth)
{
	bth->dqpn |= cpu_to_be32(~(u32)PANE_BTH_QPN);
}

static void icrc_mask_udp(struct udphdr *uh)
{
	uh->check = (__force __sum16)0xffff;
}

/* Traffic class, flow label and hop limit; of a global route header, too */
static void icrc_mask_ipv6(struct ipv6hdr *ip6h)
{
	ip6h->priority = 0xf;
	memset(ip6h->flow_lbl, 0xff, sizeof(ip6h->flow_lbl));
	ip6h->hop_limit = 0xff;
}

/**
 * pane_icrc_start_v4 - begin the ICRC of a packet in IPv4
 * @iph: its IP header, without options, total length and ID as sent
 * @uh: its UDP header
 * @bth: its base transport header
 *
 * Return: the value accumulated up to the end of the BTH
 */
u32 pane_icrc_start_v4(const struct iphdr *iph, const struct udphdr *uh,
		       const struct pane_bth *bth)
{
	struct icrc_v4 h = { .ip = *iph, .udp = *uh, .bth = *bth };

	h.ip.tos = 0xff;
	h.ip.ttl = 0xff;
	h.ip.check = (__force __sum16)0xffff;
	icrc_mask_udp(&h.udp);
	icrc_mask_bth(&h.bth);
	return pane_crc(PANE_ICRC_SEED, &h, sizeof(h));
}

/**
 * pane_icrc_start_v6 - begin the ICRC of a packet in IPv6
 * @ip6h: its IP header, payload length as sent
 * @uh: its UDP header, directly behind the IP header
 * @bth: its base transport header
 *
 * Return: the value accumulated up to the end of the BTH
 */
u32 pane_icrc_start_v6(const struct ipv6hdr *ip6h, const struct udphdr *uh,
		       const struct pane_bth *bth)
{
	struct icrc_v6 h = { .ip = *ip6h, .udp = *uh, .bth = *bth };

	icrc_mask_ipv6(&h.ip);
	icrc_mask_udp(&h.udp);
	icrc_mask_bth(&h.bth);
	return pane_crc(PANE_ICRC_SEED, &h, sizeof(h));
}

/**
 * pane_icrc_start_v1 - begin the ICRC of a packet of RoCE v1
 * @grh: its global route header, payload length as sent
 * @bth: its base transport header
 *
 * Return: the value accumulated up to the end of the BTH
 */
u32 pane_icrc_start_v1(const struct ipv6hdr *grh, const struct pane_bth *bth)
{
	struct icrc_v1 h = { .grh = *grh, .bth = *bth };

	icrc_mask_ipv6(&h.grh);
	icrc_mask_bth(&h.bth);
	return pane_crc(PANE_ICRC_SEED, &h, sizeof(h));
}
