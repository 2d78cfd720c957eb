/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory that the kernel and user space both map */
#ifndef PANE_UMAP_H
#define PANE_UMAP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * struct pane_umap - memory for one mmap(2) offset
 * @entry: the core's half
 * @mem: zeroed pages
 * @size: bytes, whole pages
 * @readonly: user space may not write
 */
struct pane_umap {
	struct rdma_user_mmap_entry entry;
	void *mem;
	size_t size;
	bool readonly;
};

struct pane_umap *pane_umap_create(struct ib_ucontext *ibuc, size_t size,
				   bool readonly);
void pane_umap_destroy(struct pane_umap *map);
u64 pane_umap_offset(const struct pane_umap *map);
int pane_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void pane_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* PANE_UMAP_H */
