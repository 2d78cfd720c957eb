/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Checksums */
#ifndef PANE_COMPAT_CRC_H
#define PANE_COMPAT_CRC_H

#ifndef HAVE_CRC32_OPTIMIZATIONS
#include <linux/bits.h>
#include <linux/kconfig.h>
#include <linux/types.h>

#define CRC32_LE_OPTIMIZATION	BIT(0)

/* Configured with one of these, crc32_le() takes a byte or a bit at a time */
static inline u32 crc32_optimizations(void)
{
	return IS_ENABLED(CONFIG_CRC32_SARWATE) ||
	       IS_ENABLED(CONFIG_CRC32_BIT) ? 0 : CRC32_LE_OPTIMIZATION;
}
#endif

#endif /* PANE_COMPAT_CRC_H */
