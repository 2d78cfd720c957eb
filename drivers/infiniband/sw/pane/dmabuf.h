/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory that other drivers share as dma-bufs */
#ifndef PANE_DMABUF_H
#define PANE_DMABUF_H

#include <linux/types.h>

struct pane_dmabuf;

struct pane_dmabuf *pane_dmabuf_open(int fd, u64 offset, u64 length);
void pane_dmabuf_close(struct pane_dmabuf *buf);
void *pane_dmabuf_addr(const struct pane_dmabuf *buf);

#endif /* PANE_DMABUF_H */
