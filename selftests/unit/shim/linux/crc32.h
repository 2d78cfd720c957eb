/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_CRC32_H
#define PANE_SHIM_CRC32_H

#include <linux/types.h>

/*
 * Ethernet's polynomial, least significant bit first, a bit at a time: slow,
 * and independent of the tables and instructions that the kernel uses.
 */
static inline u32 crc32_le(u32 crc, const void *data, size_t len)
{
	const u8 *byte = data;
	int bit;

	while (len--) {
		crc ^= *byte++;
		for (bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

#endif
