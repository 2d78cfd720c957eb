/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_RANDOM_H
#define PANE_SHIM_RANDOM_H

#include <linux/types.h>

void get_random_bytes(void *buf, size_t len);
u32 get_random_u32(void);

#endif
