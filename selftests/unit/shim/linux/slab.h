/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_SLAB_H
#define PANE_SHIM_SLAB_H

#include <linux/types.h>

#define GFP_KERNEL 0U
#define GFP_ATOMIC 1U

struct kmem_cache;

#define KMEM_CACHE(type, flags) shim_cache_create(sizeof(struct type))

struct kmem_cache *shim_cache_create(size_t size);
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp);
void kmem_cache_free(struct kmem_cache *cache, void *p);

void *kzalloc(size_t size, gfp_t gfp);
void kfree(const void *p);
void *kvmalloc(size_t size, gfp_t gfp);
void *kvmalloc_array(size_t n, size_t size, gfp_t gfp);
void *kvcalloc(size_t n, size_t size, gfp_t gfp);
void kvfree(const void *p);
void kvfree_sensitive(const void *p, size_t len);

#endif
