/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC at the end of every RoCE packet.
 *
 * It is Ethernet's CRC-32 over 64 ones (where an InfiniBand packet has its
 * local route header), the IP and UDP or global route headers and the BTH with
 * the fields that change on the way taken as ones, and the rest up to the
 * padding, which pane_crc() and pane_copy_crc() add. The accumulated value is kept
 * uncomplemented until pane_icrc_final().
 */
#ifndef PANE_ICRC_H
#define PANE_ICRC_H

#include <linux/types.h>
#include <asm/byteorder.h>

struct iphdr;
struct ipv6hdr;
struct udphdr;
struct pane_bth;

u32 pane_icrc_start_v4(const struct iphdr *iph, const struct udphdr *uh,
		       const struct pane_bth *bth);
u32 pane_icrc_start_v6(const struct ipv6hdr *ip6h, const struct udphdr *uh,
		       const struct pane_bth *bth);
u32 pane_icrc_start_v1(const struct ipv6hdr *grh, const struct pane_bth *bth);

/* The value that goes into the packet */
static inline __le32 pane_icrc_final(u32 crc)
{
	return cpu_to_le32(~crc);
}

#endif /* PANE_ICRC_H */
