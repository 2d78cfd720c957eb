// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "umap.h"

/* Zeroed memory that can be mapped, on the account of the caller's cgroup */
static void *umap_alloc(size_t size)
{
	unsigned int i, num = size >> PAGE_SHIFT;
	struct page **pages;
	void *mem;

	pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	for (i = 0; i < num; i++) {
		pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i])
			goto err_pages;
	}
	/* vfree() frees pages and array */
	mem = vmap(pages, num, VM_USERMAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (mem)
		return mem;
err_pages:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

/**
 * pane_umap_create - make memory that a context can map
 * @ibuc: the context
 * @size: bytes; rounded up to whole pages
 * @readonly: refuse writable mappings
 *
 * Return: the memory or an ERR_PTR
 */
struct pane_umap *pane_umap_create(struct ib_ucontext *ibuc, size_t size,
				   bool readonly)
{
	struct pane_umap *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!map)
		return ERR_PTR(-ENOMEM);
	map->size = PAGE_ALIGN(size);
	map->readonly = readonly;
	map->mem = umap_alloc(map->size);
	if (!map->mem)
		goto err_free;
	err = rdma_user_mmap_entry_insert(ibuc, &map->entry, map->size);
	if (err)
		goto err_mem;
	return map;

err_mem:
	vfree(map->mem);
err_free:
	kfree(map);
	return ERR_PTR(err);
}

/* No further mapping; the memory goes with the last call of pane_mmap() */
void pane_umap_destroy(struct pane_umap *map)
{
	if (map)
		rdma_user_mmap_entry_remove(&map->entry);
}

/* What user space passes to mmap(2) */
u64 pane_umap_offset(const struct pane_umap *map)
{
	return rdma_user_mmap_get_offset(&map->entry);
}

void pane_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct pane_umap *map = container_of(entry, struct pane_umap, entry);

	/* pages that are still mapped live until they are unmapped */
	vfree(map->mem);
	kfree(map);
}

/**
 * pane_mmap - mmap(2) of a context's file
 * @ibuc: the context
 * @vma: what to map; all of one pane_umap
 *
 * Return: 0; -EINVAL for an offset or a size that is none of ours, or a
 * private mapping; -EPERM for a writable mapping of what is read only
 */
int pane_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct pane_umap *map;
	int err;

	entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!entry)
		return -EINVAL;
	map = container_of(entry, struct pane_umap, entry);

	if (map->readonly && (vma->vm_flags & VM_WRITE)) {
		err = -EPERM;
	} else {
		if (map->readonly)
			vm_flags_clear(vma, VM_MAYWRITE);
		err = remap_vmalloc_range(vma, map->mem, 0);
	}
	rdma_user_mmap_entry_put(entry);
	return err;
}
