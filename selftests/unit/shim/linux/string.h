/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_STRING_H
#define PANE_SHIM_STRING_H

#include <string.h>

/* The first of @size bytes that is not @c, or NULL */
static inline void *memchr_inv(const void *start, int c, size_t size)
{
	const unsigned char *byte = start;

	for (; size; size--, byte++) {
		if (*byte != (unsigned char)c)
			return (void *)byte;
	}
	return NULL;
}

#endif
