// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "crc_sliced.h"

#define CRC_POLYNOMIAL	0xedb88320	/* least significant bit first */
#define CRC_SLICES	16

/* [k][b]: what the byte b adds when k bytes follow it */
static u32 crc_table[CRC_SLICES][256] __ro_after_init;

void __init pane_crc_sliced_init(void)
{
	u32 byte, bit, crc, k;

	for (byte = 0; byte < 256; byte++) {
		crc = byte;
		for (bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
		crc_table[0][byte] = crc;
	}
	for (k = 1; k < CRC_SLICES; k++) {
		for (byte = 0; byte < 256; byte++) {
			crc = crc_table[k - 1][byte];
			crc_table[k][byte] = (crc >> 8) ^
					     crc_table[0][crc & 0xff];
		}
	}
}

/* What eight bytes add, the last of them being followed by @behind others */
static __always_inline u32 crc_eight(u64 bytes, u32 behind)
{
	return crc_table[behind + 7][bytes & 0xff] ^
	       crc_table[behind + 6][bytes >> 8 & 0xff] ^
	       crc_table[behind + 5][bytes >> 16 & 0xff] ^
	       crc_table[behind + 4][bytes >> 24 & 0xff] ^
	       crc_table[behind + 3][bytes >> 32 & 0xff] ^
	       crc_table[behind + 2][bytes >> 40 & 0xff] ^
	       crc_table[behind + 1][bytes >> 48 & 0xff] ^
	       crc_table[behind][bytes >> 56];
}

/* @dst may be NULL, which is known where this is inlined */
static __always_inline u32 crc_run(u32 crc, u8 *dst, const u8 *src, size_t len)
{
	__le64 piece[2];
	u8 byte;

	for (; len >= sizeof(piece); len -= sizeof(piece)) {
		memcpy(piece, src, sizeof(piece));
		/* from here on what was read, whatever is there meanwhile */
		OPTIMIZER_HIDE_VAR(piece[0]);
		OPTIMIZER_HIDE_VAR(piece[1]);
		if (dst) {
			memcpy(dst, piece, sizeof(piece));
			dst += sizeof(piece);
		}
		src += sizeof(piece);
		crc = crc_eight(le64_to_cpu(piece[0]) ^ crc, 8) ^
		      crc_eight(le64_to_cpu(piece[1]), 0);
	}
	for (; len; len--) {
		byte = READ_ONCE(*src++);
		if (dst)
			*dst++ = byte;
		crc = (crc >> 8) ^ crc_table[0][(crc ^ byte) & 0xff];
	}
	return crc;
}

/**
 * pane_crc_sliced - as crc32_le()
 * @crc: value so far
 * @data: bytes
 * @len: how many
 *
 * Return: the value over them, too
 */
u32 pane_crc_sliced(u32 crc, const void *data, size_t len)
{
	return crc_run(crc, NULL, data, len);
}

/**
 * pane_crc_sliced_copy - copy bytes and take their CRC
 * @crc: value so far
 * @dst: where they go
 * @src: bytes. Others may write to them meanwhile: the CRC is that of the copy.
 * @len: how many
 *
 * Return: the value over them, too
 */
u32 pane_crc_sliced_copy(u32 crc, void *dst, const void *src, size_t len)
{
	return crc_run(crc, dst, src, len);
}
