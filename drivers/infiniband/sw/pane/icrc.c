// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>

#include "icrc.h"
#include "wire.h"

/* CRC-32 of eight bytes 0xff from the seed ~0: what the missing LRH adds */
#define PANE_ICRC_SEED	0xdebb20e3

static u32 icrc_udp_bth(u32 crc, const struct udphdr *uh,
			const struct pane_bth *bth)
{
	struct udphdr u = *uh;
	struct pane_bth b = *bth;

	u.check = (__force __sum16)0xffff;
	/* FECN, BECN and the six reserved bits beside the QP number */
	b.dqpn |= cpu_to_be32(~(u32)PANE_BTH_QPN);

	crc = pane_icrc_add(crc, &u, sizeof(u));
	return pane_icrc_add(crc, &b, sizeof(b));
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
	struct iphdr ip = *iph;

	ip.tos = 0xff;
	ip.ttl = 0xff;
	ip.check = (__force __sum16)0xffff;

	return icrc_udp_bth(pane_icrc_add(PANE_ICRC_SEED, &ip, sizeof(ip)),
			    uh, bth);
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
	struct ipv6hdr ip6 = *ip6h;

	/* traffic class and flow label */
	ip6.priority = 0xf;
	memset(ip6.flow_lbl, 0xff, sizeof(ip6.flow_lbl));
	ip6.hop_limit = 0xff;

	return icrc_udp_bth(pane_icrc_add(PANE_ICRC_SEED, &ip6, sizeof(ip6)),
			    uh, bth);
}
