// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "crc_sliced.h"

#define CRC_POLYNOMIAL	0xedb88320	/* least significant bit first */
#define CRC_SLICES	16
/* Bytes of each of the two lanes that long runs are taken in */
#define CRC_LANE	512

/* [k][b]: what the byte b adds when k bytes follow it */
static u32 crc_table[CRC_SLICES][256] __ro_after_init;
/* [k][b]: what b as byte k of a value has become a lane of zeros later */
static u32 crc_lane_later[4][256] __ro_after_init;

/* What @crc has become @num bytes of zero later */
static u32 __init crc_zeros(u32 crc, u32 num)
{
	while (num--)
		crc = (crc >> 8) ^ crc_table[0][crc & 0xff];
	return crc;
}

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
		for (byte = 0; byte < 256; byte++)
			crc_table[k][byte] = crc_zeros(crc_table[k - 1][byte],
						       1);
	}
	/* several bits are the sum of each: only those take a lane's time */
	for (k = 0; k < 4; k++) {
		for (byte = 1; byte < 256; byte++) {
			u32 *later = crc_lane_later[k];
			u32 rest = byte & (byte - 1);

			later[byte] = rest ? later[rest] ^ later[byte ^ rest] :
					     crc_zeros(byte << 8 * k, CRC_LANE);
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

/* Bytes taken at a time */
#define CRC_STEP	(2 * sizeof(u64))

/* @dst may be NULL, which is known where this is inlined; here and below */
static __always_inline u32 crc_step(u32 crc, u8 *dst, const u8 *src)
{
	__le64 piece[2];

	memcpy(piece, src, sizeof(piece));
	/* from here on what was read, whatever is there meanwhile */
	OPTIMIZER_HIDE_VAR(piece[0]);
	OPTIMIZER_HIDE_VAR(piece[1]);
	if (dst)
		memcpy(dst, piece, sizeof(piece));
	return crc_eight(le64_to_cpu(piece[0]) ^ crc, 8) ^
	       crc_eight(le64_to_cpu(piece[1]), 0);
}

/*
 * Two lanes side by side: each step waits for the one before it in its lane, and
 * the processor has the other lane to do meanwhile.
 */
static __always_inline u32 crc_lanes(u32 crc, u8 *dst, const u8 *src)
{
	u32 second = 0;
	size_t off;

	for (off = 0; off < CRC_LANE; off += CRC_STEP) {
		crc = crc_step(crc, dst ? dst + off : NULL, src + off);
		second = crc_step(second, dst ? dst + CRC_LANE + off : NULL,
				  src + CRC_LANE + off);
	}
	return crc_lane_later[0][crc & 0xff] ^
	       crc_lane_later[1][crc >> 8 & 0xff] ^
	       crc_lane_later[2][crc >> 16 & 0xff] ^
	       crc_lane_later[3][crc >> 24] ^ second;
}

static __always_inline u32 crc_run(u32 crc, u8 *dst, const u8 *src, size_t len)
{
	u8 byte;

	for (; len >= 2 * CRC_LANE; len -= 2 * CRC_LANE) {
		crc = crc_lanes(crc, dst, src);
		src += 2 * CRC_LANE;
		if (dst)
			dst += 2 * CRC_LANE;
	}
	for (; len >= CRC_STEP; len -= CRC_STEP) {
		crc = crc_step(crc, dst, src);
		src += CRC_STEP;
		if (dst)
			dst += CRC_STEP;
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
