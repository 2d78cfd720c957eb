/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copying bytes, and their CRC-32. Which code is fastest depends on the kernel and
 * on the machine: crc32_le() has instructions of its own, or tables; memcpy() is
 * one instruction wherever the processor says that it is good at it, which an
 * emulator says as well and then goes byte by byte. So it is measured when the
 * module is loaded, and the kernel's is taken unless it is clearly slower.
 */
#ifndef PANE_COPY_H
#define PANE_COPY_H

#include <linux/types.h>

void pane_copy(void *dst, const void *src, size_t len);
u32 pane_copy_crc(u32 crc, void *dst, const void *src, size_t len);
u32 pane_crc(u32 crc, const void *data, size_t len);
void pane_copy_choose(bool own_copy, bool own_crc);
void pane_copy_init(void);

#endif /* PANE_COPY_H */
