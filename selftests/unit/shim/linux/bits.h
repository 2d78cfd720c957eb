/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_BITS_H
#define PANE_SHIM_BITS_H

#define BITS_PER_LONG __LONG_WIDTH__
#define BITS_PER_LONG_LONG 64

#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(high, low) \
	((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))
#define GENMASK_ULL(high, low) \
	((~0ULL << (low)) & (~0ULL >> (BITS_PER_LONG_LONG - 1 - (high))))

#endif
