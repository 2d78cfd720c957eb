// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>

#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shim.h"

struct kmem_cache {
	size_t size;
};

__thread unsigned int shim_cpu;
__thread unsigned int shim_preempt_count;
__thread void (*shim_at_barrier)(void);
unsigned long shim_allocs_left = SHIM_NO_LIMIT;

static u64 random_state;

void shim_bug(const char *what, const char *file, int line)
{
	printf("Bail out! %s:%d: BUG: %s\n", file, line, what);
	fflush(stdout);
	abort();
}

void shim_random_seed(u64 seed)
{
	random_state = seed;
}

/* SplitMix64 */
static u64 random_next(void)
{
	u64 z = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15,
				   __ATOMIC_RELAXED);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void get_random_bytes(void *buf, size_t len)
{
	u8 *byte = buf;

	while (len--)
		*byte++ = random_next() >> 56;
}

u32 get_random_u32(void)
{
	return random_next() >> 32;
}

static bool memory_left(void)
{
	if (shim_allocs_left == SHIM_NO_LIMIT)
		return true;
	if (!shim_allocs_left)
		return false;
	shim_allocs_left--;
	return true;
}

/* Not zeroed in the kernel either; here it is never zero by accident. */
void *kzalloc(size_t size, gfp_t gfp)
{
	return memory_left() ? calloc(1, size) : NULL;
}

void kfree(const void *p)
{
	free((void *)p);
}

void *kvmalloc(size_t size, gfp_t gfp)
{
	void *p = memory_left() ? malloc(size) : NULL;

	return p ? memset(p, 0x5a, size) : NULL;
}

void *kvmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return kvmalloc(n * size, gfp);
}

void *kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return memory_left() ? calloc(n, size) : NULL;
}

void kvfree(const void *p)
{
	free((void *)p);
}

void kvfree_sensitive(const void *p, size_t len)
{
	free((void *)p);
}

struct kmem_cache *shim_cache_create(size_t size)
{
	struct kmem_cache *cache = kvmalloc(sizeof(*cache), GFP_KERNEL);

	if (cache)
		cache->size = size;
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	free(cache);
}

void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp)
{
	return kvcalloc(1, cache->size, gfp);
}

/* A reader who comes too late finds poison even where no sanitizer watches. */
void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	memset(p, 0x6b, cache->size);
	free(p);
}
