// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A dma-buf is mapped for the processor as long as its region is there, which
 * keeps its exporter from moving it: the processor is what accesses memory
 * here, and there is no device that it could be attached to.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "dmabuf.h"
#include "range.h"

/**
 * struct pane_dmabuf - a dma-buf that is mapped
 * @dmabuf: it
 * @map: the whole of it
 * @addr: first byte of the region
 */
struct pane_dmabuf {
	struct dma_buf *dmabuf;
	struct iosys_map map;
	void *addr;
};

static int dmabuf_map(struct pane_dmabuf *buf, u64 offset)
{
	int err;

	err = dma_buf_begin_cpu_access(buf->dmabuf, DMA_BIDIRECTIONAL);
	if (err)
		return err;
	err = dma_buf_vmap_unlocked(buf->dmabuf, &buf->map);
	if (err)
		goto err_access;
	/* a device's own memory is not to be accessed like the host's */
	if (buf->map.is_iomem) {
		err = -EOPNOTSUPP;
		goto err_map;
	}
	buf->addr = buf->map.vaddr + offset;
	return 0;

err_map:
	dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
err_access:
	dma_buf_end_cpu_access(buf->dmabuf, DMA_BIDIRECTIONAL);
	return err;
}

/**
 * pane_dmabuf_open - map a part of a dma-buf
 * @fd: its file descriptor
 * @offset: first byte
 * @length: bytes
 *
 * Return: it, or an ERR_PTR: -EBADF, -EINVAL if the file is no dma-buf or the
 * range is not in it; -EOPNOTSUPP if it is a device's memory, or cannot be
 * mapped; -ENOMEM; others from the exporter
 */
struct pane_dmabuf *pane_dmabuf_open(int fd, u64 offset, u64 length)
{
	struct pane_dmabuf *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	int err;

	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->dmabuf = dma_buf_get(fd);
	if (IS_ERR(buf->dmabuf)) {
		err = PTR_ERR(buf->dmabuf);
		goto err_free;
	}
	err = -EINVAL;
	if (length && pane_range_contains(0, buf->dmabuf->size, offset, length))
		err = dmabuf_map(buf, offset);
	if (!err)
		return buf;
	dma_buf_put(buf->dmabuf);
err_free:
	kfree(buf);
	return ERR_PTR(err);
}

void pane_dmabuf_close(struct pane_dmabuf *buf)
{
	dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
	dma_buf_end_cpu_access(buf->dmabuf, DMA_BIDIRECTIONAL);
	dma_buf_put(buf->dmabuf);
	kfree(buf);
}

void *pane_dmabuf_addr(const struct pane_dmabuf *buf)
{
	return buf->addr;
}

MODULE_IMPORT_NS("DMA_BUF");
