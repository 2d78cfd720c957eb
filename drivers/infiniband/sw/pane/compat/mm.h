/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory management */
#ifndef PANE_COMPAT_MM_H
#define PANE_COMPAT_MM_H

#include <linux/mm.h>

/* Before 6.5 it could return the areas, too */
#ifndef HAVE_GUP_REMOTE_NO_VMAS
#define get_user_pages_remote(mm, start, num, flags, pages, locked) \
	get_user_pages_remote(mm, start, num, flags, pages, NULL, locked)
#endif

/* Before 6.2 there were no rules about locks */
#ifndef HAVE_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked(dmabuf, map) dma_buf_vmap(dmabuf, map)
#define dma_buf_vunmap_unlocked(dmabuf, map) dma_buf_vunmap(dmabuf, map)
#endif

#endif /* PANE_COMPAT_MM_H */
