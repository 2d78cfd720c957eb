/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages that packets are made in. A page that is used up is kept, and used again
 * when all its packets are gone: many kernels fill each page that they give with
 * zeros, which costs about as much as the copy of the data does.
 */
#ifndef PANE_PAGES_H
#define PANE_PAGES_H

#include <linux/mm_types_task.h>
#include <linux/types.h>

bool pane_pages_refill(struct page_frag *frag, u32 len);
void *pane_pages_get(u32 len);
void pane_pages_exit(void);

#endif /* PANE_PAGES_H */
