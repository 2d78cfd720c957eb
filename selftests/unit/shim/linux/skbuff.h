/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_SKBUFF_H
#define PANE_SHIM_SKBUFF_H

#include <linux/types.h>

struct sk_buff;

struct page_frag {
	unsigned int offset;
	unsigned int size;
};

struct sk_buff_head {
	struct list_head list;
};

#endif
