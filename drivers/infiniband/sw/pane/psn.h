/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packet sequence numbers: 24 bits that wrap.
 *
 * Two numbers are compared by the sign of their 24-bit difference, which is
 * right as long as they are less than half the space, 2^23, apart.
 */
#ifndef PANE_PSN_H
#define PANE_PSN_H

#include <linux/types.h>

#define PANE_PSN_MASK	0xffffffU
#define PANE_PSN_HALF	0x800000U
/* No PSN */
#define PANE_PSN_NONE	U32_MAX

/* psn + n, wrapped */
static inline u32 pane_psn_add(u32 psn, u32 n)
{
	return (psn + n) & PANE_PSN_MASK;
}

/*
 * How far @a is ahead of @b: negative when it is behind. The 24 bits are moved
 * to the top of a word so that its sign is theirs.
 */
static inline s32 pane_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline bool pane_psn_before(u32 a, u32 b)
{
	return pane_psn_diff(a, b) < 0;
}

/* Packets that a message of @length bytes takes; an empty one takes one */
static inline u32 pane_psn_count(u32 length, u32 mtu_shift)
{
	u32 full = length >> mtu_shift;

	if (length & ((1U << mtu_shift) - 1))
		full++;
	return full ? full : 1;
}

#endif /* PANE_PSN_H */
