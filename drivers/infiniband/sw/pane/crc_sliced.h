/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ethernet's CRC-32, 16 bytes at a time, for kernels whose own takes one byte
 * at a time: those of architectures without code for it.
 */
#ifndef PANE_CRC_SLICED_H
#define PANE_CRC_SLICED_H

#include <linux/types.h>

void pane_crc_sliced_init(void);
u32 pane_crc_sliced(u32 crc, const void *data, size_t len);
u32 pane_crc_sliced_copy(u32 crc, void *dst, const void *src, size_t len);

#endif /* PANE_CRC_SLICED_H */
