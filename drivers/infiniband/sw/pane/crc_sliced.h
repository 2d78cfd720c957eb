/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ethernet's CRC-32 by tables, 16 bytes at a time, and of bytes while they are
 * copied. copy.c takes it where the kernel's own is slower.
 */
#ifndef PANE_CRC_SLICED_H
#define PANE_CRC_SLICED_H

#include <linux/types.h>

void pane_crc_sliced_init(void);
u32 pane_crc_sliced(u32 crc, const void *data, size_t len);
u32 pane_crc_sliced_copy(u32 crc, void *dst, const void *src, size_t len);

#endif /* PANE_CRC_SLICED_H */
