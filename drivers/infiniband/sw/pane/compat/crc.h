/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Checksums */
#ifndef PANE_COMPAT_CRC_H
#define PANE_COMPAT_CRC_H

#ifndef HAVE_CRC32_OPTIMIZATIONS
#include <linux/bits.h>
#include <linux/kconfig.h>
#include <linux/types.h>

#define CRC32_LE_OPTIMIZATION	BIT(0)

/* Which architectures have code of their own for crc32_le() */
static inline u32 crc32_optimizations(void)
{
	return IS_ENABLED(CONFIG_ARM64) || IS_ENABLED(CONFIG_RISCV) ?
	       CRC32_LE_OPTIMIZATION : 0;
}
#endif

#endif /* PANE_COMPAT_CRC_H */
