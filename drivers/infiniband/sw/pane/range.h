/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The one range check of this module. Every comparison of an address and a
 * length with a region or a window goes through it (C10-75, rule B8 and A5).
 */
#ifndef PANE_RANGE_H
#define PANE_RANGE_H

#include <linux/types.h>

/**
 * pane_range_contains - is [addr, addr + len) inside [start, start + size)?
 * @start: first byte of the outer range
 * @size: bytes in the outer range
 * @addr: first byte of the inner range
 * @len: bytes in the inner range
 *
 * Only subtractions that cannot go below zero are made, so no sum wraps: an
 * inner range that runs over the end of the address space is outside. An empty
 * range is inside when its address is, the end included.
 *
 * Return: true if it is
 */
static inline bool pane_range_contains(u64 start, u64 size, u64 addr, u64 len)
{
	return addr >= start && len <= size && addr - start <= size - len;
}

#endif /* PANE_RANGE_H */
