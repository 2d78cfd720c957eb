// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <net/sock.h>

#include "pages.h"

/*
 * Pages that a CPU keeps, 32 KiB each where there is memory: some more than are on
 * the way when a QP has as many packets of 4 KiB outstanding as it may
 */
#define PAGES_KEPT	40

/**
 * struct pages_cpu - the pages of a CPU
 * @lock: guards the rest; bottom halves are disabled as well
 * @frag: the page that pane_pages_get() takes from
 * @kept: pages that are used up, a ring, with a reference to each
 * @first: where the one is that is kept longest
 * @num: how many there are
 */
struct pages_cpu {
	local_lock_t lock;
	struct page_frag frag;
	struct page *kept[PAGES_KEPT];
	u32 first;
	u32 num;
};

static DEFINE_PER_CPU(struct pages_cpu, pages_cpu) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/* Are the packets gone that were in the page? Nobody else finds it then. */
static bool page_is_ours(const struct page *page)
{
	return page_ref_count(page) == 1;
}

/* The page that is kept longest; it is the caller's now */
static struct page *pages_take(struct pages_cpu *p)
{
	struct page *page = p->kept[p->first];

	p->first = (p->first + 1) % PAGES_KEPT;
	p->num--;
	return page;
}

/* A page is used up. Memory that is there for emergencies is not kept. */
static void pages_keep(struct pages_cpu *p, struct page *page)
{
	if (page_is_pfmemalloc(page)) {
		put_page(page);
		return;
	}
	if (p->num == PAGES_KEPT)
		put_page(pages_take(p));
	p->kept[(p->first + p->num++) % PAGES_KEPT] = page;
}

/* See that there are @len bytes behind the offset; the lock is held */
static bool pages_refill(struct pages_cpu *p, struct page_frag *frag, u32 len)
{
	struct page *page = frag->page;

	if (page) {
		if (frag->offset + len <= frag->size)
			return true;
		pages_keep(p, page);
		frag->page = NULL;
	}
	if (p->num && page_is_ours(p->kept[p->first])) {
		page = pages_take(p);
		if (len <= page_size(page)) {
			frag->page = page;
			frag->offset = 0;
			frag->size = page_size(page);
			return true;
		}
		put_page(page);
	}
	/* where memory is short it is a single page, whatever was wanted */
	return skb_page_frag_refill(len, frag, GFP_ATOMIC) &&
	       len <= frag->size;
}

/**
 * pane_pages_refill - see that there is room in a page
 * @frag: the page, with a reference to it, and the first byte that is free; or no
 *        page. It may be another one on return, also after a failure.
 * @len: bytes that are wanted
 *
 * Context: bottom halves disabled.
 * Return: false without memory
 */
bool pane_pages_refill(struct page_frag *frag, u32 len)
{
	bool good;

	if (likely(frag->page && frag->offset + len <= frag->size))
		return true;
	local_lock(&pages_cpu.lock);
	good = pages_refill(this_cpu_ptr(&pages_cpu), frag, len);
	local_unlock(&pages_cpu.lock);
	return good;
}

/**
 * pane_pages_get - bytes of a page of this CPU's
 * @len: how many, a multiple of the cache line's size
 *
 * Context: bottom halves disabled.
 * Return: the bytes, with a reference to their page, which skb_free_frag() or the
 * end of a packet made by napi_build_skb() gives back; NULL without memory
 */
void *pane_pages_get(u32 len)
{
	struct page_frag *frag;
	void *bytes = NULL;

	local_lock(&pages_cpu.lock);
	frag = this_cpu_ptr(&pages_cpu.frag);
	if (pages_refill(this_cpu_ptr(&pages_cpu), frag, len)) {
		bytes = page_address(frag->page) + frag->offset;
		get_page(frag->page);
		frag->offset += len;
	}
	local_unlock(&pages_cpu.lock);
	return bytes;
}

/* Nobody makes packets any more */
void pane_pages_exit(void)
{
	struct pages_cpu *p;
	int cpu;

	for_each_possible_cpu(cpu) {
		p = per_cpu_ptr(&pages_cpu, cpu);
		while (p->num)
			put_page(pages_take(p));
		if (p->frag.page)
			put_page(p->frag.page);
		p->frag.page = NULL;
	}
}
