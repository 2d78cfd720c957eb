// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages of a region are written down in chunks of 2 MiB of its owner's
 * address space. A chunk is made when the first page of it is found, since a
 * region can be all of the address space, and stays until the region goes.
 */
#include <linux/completion.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "grant.h"
#include "mr.h"
#include "odp.h"
#include "pane.h"
#include "qp.h"
#include "range.h"

#define ODP_CHUNK_SHIFT	21
#define ODP_CHUNK_SIZE	(1UL << ODP_CHUNK_SHIFT)
#define ODP_CHUNK_PAGES	(ODP_CHUNK_SIZE >> PAGE_SHIFT)
/* Pages that are asked for at one time */
#define ODP_BATCH	64UL
/* Bytes that the data path wants at most in advance */
#define ODP_AHEAD	(1UL << 20)
/* Requests of the data path that can wait; others come again */
#define ODP_WANTS	64
/* How long to compete with others who change the address space */
#define ODP_TRY_TIME	HZ

/* In a page's entry, beside its address: what it may be found for */
#define ODP_PAGE_READ	1UL
#define ODP_PAGE_WRITE	2UL
/* It was to be found for writing once */
#define ODP_PAGE_DIRTY	4UL

static struct workqueue_struct *odp_wq;

/**
 * struct odp_chunk - pages that are there
 * @notifier: tells what the address space takes away
 * @mutex: serialises changes of @pages
 * @pages: kernel address and ODP_PAGE_ flags; 0 for one that is not there
 */
struct odp_chunk {
	struct mmu_interval_notifier notifier;
	struct mutex mutex;
	unsigned long pages[ODP_CHUNK_PAGES];
};

/**
 * struct odp_want - pages that a QP waits for
 * @page: the first one
 * @end: address behind the last one
 * @qpn: the QP
 */
struct odp_want {
	struct pane_odp_page page;
	u64 end;
	u32 qpn;
};

/**
 * struct pane_odp - what an on-demand region has instead of pinned pages
 * @mm: its owner's address space
 * @base: address of offset 0, start of a page
 * @chunks: struct odp_chunk by address
 * @users: one for the region, and one for each prefetch
 * @unused: when there are none left
 * @dying: the region goes away
 * @work: finds what is wanted
 * @lock: guards what follows
 * @wants: what is wanted
 * @num_wants: how many
 */
struct pane_odp {
	struct mm_struct *mm;
	u64 base;
	struct xarray chunks;
	refcount_t users;
	struct completion unused;
	bool dying;
	struct work_struct work;
	spinlock_t lock;
	u32 num_wants;
	struct odp_want wants[ODP_WANTS];
};

/* ---- pages ----------------------------------------------------------- */

static struct odp_chunk *odp_chunk_find(const struct pane_odp *odp, u64 va)
{
	return xa_load((struct xarray *)&odp->chunks, va >> ODP_CHUNK_SHIFT);
}

static unsigned long *odp_entry(struct odp_chunk *chunk, u64 va)
{
	return &chunk->pages[(va & (ODP_CHUNK_SIZE - 1)) >> PAGE_SHIFT];
}

/**
 * pane_odp_ptr - where a byte of a region is, if it is there
 * @odp: the region; a grant of it is held
 * @off: of the byte, from the start of its pages
 * @len: bytes wanted; lowered to what is contiguous from there
 * @write: it will be written
 *
 * Return: NULL if the page is not there, or not to be written
 */
void *pane_odp_ptr(const struct pane_odp *odp, u64 off, u32 *len, bool write)
{
	u64 va = odp->base + off;
	struct odp_chunk *chunk = odp_chunk_find(odp, va);
	unsigned long entry;

	if (!chunk)
		return NULL;
	entry = READ_ONCE(*odp_entry(chunk, va));
	if (!(entry & (write ? ODP_PAGE_WRITE : ODP_PAGE_READ)))
		return NULL;
	*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(va));
	return (void *)((entry & PAGE_MASK) + offset_in_page(va));
}

/*
 * Take back pages @from to @to of a chunk. First nobody can find them, then
 * those who had found them are waited for. No page table knows of what they
 * wrote, so that is told to the pages themselves.
 */
static void odp_take_back(struct odp_chunk *chunk, unsigned long from,
			  unsigned long to)
{
	unsigned long i, *entry = chunk->pages;

	for (i = from; i <= to; i++)
		WRITE_ONCE(entry[i],
			   entry[i] & ~(ODP_PAGE_READ | ODP_PAGE_WRITE));
	pane_grant_sync();
	for (i = from; i <= to; i++) {
		if (entry[i] & ODP_PAGE_DIRTY)
			folio_mark_dirty(virt_to_folio((void *)(entry[i] &
								PAGE_MASK)));
		WRITE_ONCE(entry[i], 0);
	}
}

/* The address space changes */
static bool odp_invalidate(struct mmu_interval_notifier *mni,
			   const struct mmu_notifier_range *range,
			   unsigned long cur_seq)
{
	struct odp_chunk *chunk = container_of(mni, struct odp_chunk, notifier);
	unsigned long start = mni->interval_tree.start;
	unsigned long from = max(range->start, start) - start;
	unsigned long to = min(range->end - 1, mni->interval_tree.last) - start;

	if (mmu_notifier_range_blockable(range))
		mutex_lock(&chunk->mutex);
	else if (!mutex_trylock(&chunk->mutex))
		return false;
	mmu_interval_set_seq(mni, cur_seq);
	odp_take_back(chunk, from >> PAGE_SHIFT, to >> PAGE_SHIFT);
	mutex_unlock(&chunk->mutex);
	return true;
}

static const struct mmu_interval_notifier_ops odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

/* Charged to the owner, for whom the worker does this */
static struct odp_chunk *odp_chunk_alloc(struct pane_odp *odp)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(odp->mm);
	struct mem_cgroup *old = set_active_memcg(memcg);
	struct odp_chunk *chunk = kvzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT);

	set_active_memcg(old);
	mem_cgroup_put(memcg);
	if (chunk)
		mutex_init(&chunk->mutex);
	return chunk;
}

static struct odp_chunk *odp_chunk_create(struct pane_odp *odp, u64 va)
{
	struct odp_chunk *chunk = odp_chunk_alloc(odp);
	int err;

	if (!chunk)
		return ERR_PTR(-ENOMEM);
	err = mmu_interval_notifier_insert(&chunk->notifier, odp->mm,
					   ALIGN_DOWN(va, ODP_CHUNK_SIZE),
					   ODP_CHUNK_SIZE, &odp_notifier_ops);
	if (err) {
		kvfree(chunk);
		return ERR_PTR(err);
	}
	return chunk;
}

/* Nobody looks at it any more */
static void odp_chunk_destroy(struct odp_chunk *chunk)
{
	mmu_interval_notifier_remove(&chunk->notifier);
	kvfree(chunk);
}

/* Two can have made one at the same time: the first one is kept */
static int odp_chunk_publish(struct pane_odp *odp, struct odp_chunk *chunk,
			     u64 va)
{
	return xa_insert(&odp->chunks, va >> ODP_CHUNK_SHIFT, chunk,
			 GFP_KERNEL_ACCOUNT);
}

/* ---- finding pages --------------------------------------------------- */

static void odp_write_down(struct odp_chunk *chunk, u64 va,
			   struct page **pages, unsigned long num, bool write)
{
	unsigned long *entry = odp_entry(chunk, va), i, flags = ODP_PAGE_READ;

	if (write)
		flags |= ODP_PAGE_WRITE | ODP_PAGE_DIRTY;
	for (i = 0; i < num; i++) {
		unsigned long addr = (unsigned long)page_address(pages[i]);

		/* a page stays what it is until it is taken back */
		if ((entry[i] & PAGE_MASK) == addr)
			addr |= entry[i] & ~PAGE_MASK;
		WRITE_ONCE(entry[i], addr | flags);
	}
}

/*
 * Which pages are at @va now? The references that come with the answer are
 * given back when the pages are written down, or the answer is out of date.
 */
static long odp_ask(struct pane_odp *odp, u64 va, unsigned long num,
		    unsigned int flags, struct page **pages)
{
	int locked = 1;
	long found;

	mmap_read_lock(odp->mm);
	found = get_user_pages_remote(odp->mm, va, num, flags, pages, &locked);
	if (locked)
		mmap_read_unlock(odp->mm);
	return found;
}

static void odp_give_back(struct page **pages, long num)
{
	while (num > 0)
		put_page(pages[--num]);
}

/*
 * Find up to @num pages from @va on, all of them in @chunk.
 * Return: how many were found, at least one; -EFAULT if the first one cannot be
 * had; -EBUSY; other errors of get_user_pages()
 */
static long odp_find(struct pane_odp *odp, struct odp_chunk *chunk, u64 va,
		     unsigned long num, unsigned int flags)
{
	unsigned long end = jiffies + ODP_TRY_TIME, seq;
	struct page *pages[ODP_BATCH];
	bool done;
	long found;

	do {
		seq = mmu_interval_read_begin(&chunk->notifier);
		found = odp_ask(odp, va, num, flags, pages);
		if (found <= 0)
			return found ?: -EFAULT;
		mutex_lock(&chunk->mutex);
		done = !mmu_interval_read_retry(&chunk->notifier, seq);
		if (done)
			odp_write_down(chunk, va, pages, found,
				       flags & FOLL_WRITE);
		mutex_unlock(&chunk->mutex);
		odp_give_back(pages, found);
		if (done)
			return found;
	} while (time_before(jiffies, end) && !READ_ONCE(odp->dying));
	return -EBUSY;
}

/* As odp_find(), with a new chunk, which is kept if pages are found */
static long odp_find_first(struct pane_odp *odp, u64 va, unsigned long num,
			   unsigned int flags)
{
	struct odp_chunk *chunk = odp_chunk_create(odp, va);
	long found;
	int err;

	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	found = odp_find(odp, chunk, va, num, flags);
	err = found < 0 ? found : odp_chunk_publish(odp, chunk, va);
	if (!err)
		return found;
	odp_chunk_destroy(chunk);
	/* somebody else's is there: look for the pages in that one */
	chunk = odp_chunk_find(odp, va);
	return chunk ? odp_find(odp, chunk, va, num, flags) : err;
}

static long odp_find_batch(struct pane_odp *odp, u64 va, unsigned long num,
			   unsigned int flags)
{
	struct odp_chunk *chunk = odp_chunk_find(odp, va);

	return chunk ? odp_find(odp, chunk, va, num, flags) :
		       odp_find_first(odp, va, num, flags);
}

/* Pages from @va on that can be asked for at one time, up to @last */
static unsigned long odp_batch(u64 va, u64 last)
{
	u64 left = (last >> PAGE_SHIFT) - (va >> PAGE_SHIFT) + 1;
	u64 chunk = ODP_CHUNK_PAGES -
		    ((va & (ODP_CHUNK_SIZE - 1)) >> PAGE_SHIFT);

	return min3(left, chunk, (u64)ODP_BATCH);
}

/*
 * Find some pages from @va on, up to @last; without faults those that are not
 * in memory are passed over.
 * Return: how many, or an errno
 */
static long odp_find_some(struct pane_odp *odp, u64 va, u64 last,
			  unsigned int flags)
{
	long found;

	if (READ_ONCE(odp->dying) || fatal_signal_pending(current))
		return -EINTR;
	if (va >= odp->mm->task_size)
		return -EFAULT;
	found = odp_find_batch(odp, va, odp_batch(va, last), flags);
	return found == -EFAULT && (flags & FOLL_NOFAULT) ? 1 : found;
}

/*
 * Find the pages from @va up to @last, in order.
 * Return: 0; -EFAULT for the first one that cannot be had; -EBUSY; -EINTR;
 * -ENOMEM
 */
static int odp_find_range(struct pane_odp *odp, u64 va, u64 last,
			  unsigned int flags)
{
	u64 left = (last >> PAGE_SHIFT) - (va >> PAGE_SHIFT) + 1;
	long found = 0;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	for (va &= PAGE_MASK; left; left -= found) {
		found = odp_find_some(odp, va, last, flags);
		if (found < 0)
			break;
		va += (u64)found << PAGE_SHIFT;
		cond_resched();
	}
	mmput(odp->mm);
	return left ? found : 0;
}

/* ---- for the data path ----------------------------------------------- */

/* If there is no room the QP comes again */
static void odp_add_want(struct pane_odp *odp, const struct odp_want *want)
{
	u32 i;

	for (i = 0; i < odp->num_wants; i++) {
		if (odp->wants[i].qpn == want->qpn &&
		    pane_odp_page_same(&odp->wants[i].page, &want->page))
			return;
	}
	if (odp->num_wants < ODP_WANTS)
		odp->wants[odp->num_wants++] = *want;
}

/**
 * pane_odp_absent - pages were not found
 * @odp: the region; a grant of it is held
 * @qp: who needs them, entered
 * @off: of the first byte, from the start of the region's pages
 * @len: bytes that are needed, now and soon
 * @write: they will be written
 *
 * Return: PANE_MEM_ABSENT: they are asked for, the QP has to wait and to try
 * again; PANE_MEM_REFUSED: they cannot be had
 */
enum pane_mem pane_odp_absent(struct pane_odp *odp, struct pane_qp *qp,
			      u64 off, u64 len, bool write)
{
	struct odp_want want = {
		.page = {
			.odp = odp,
			.va = odp->base + off,
			.write = write,
		},
		.qpn = qp->qpn,
	};

	if (qp->refused && pane_odp_page_same(qp->refused, &want.page))
		return PANE_MEM_REFUSED;
	qp->absent = want.page;
	want.end = want.page.va + min_t(u64, len, ODP_AHEAD);
	spin_lock(&odp->lock);
	odp_add_want(odp, &want);
	spin_unlock(&odp->lock);
	queue_work(odp_wq, &odp->work);
	return PANE_MEM_ABSENT;
}

static bool odp_next_want(struct pane_odp *odp, struct odp_want *want)
{
	bool found;

	spin_lock_bh(&odp->lock);
	found = odp->num_wants;
	if (found) {
		*want = odp->wants[0];
		memmove(&odp->wants[0], &odp->wants[1],
			--odp->num_wants * sizeof(*want));
	}
	spin_unlock_bh(&odp->lock);
	return found;
}

/* Is that an answer, or is it to be tried again after a while? */
static bool odp_is_refusal(int err)
{
	return err == -EFAULT || err == -EHWPOISON;
}

/*
 * Who waits needs the first page. If another one cannot be had, that may be
 * one that will not be needed in the end.
 */
static void odp_work(struct work_struct *work)
{
	struct pane_odp *odp = container_of(work, struct pane_odp, work);
	struct odp_want want;
	unsigned int flags;
	int err;

	while (odp_next_want(odp, &want)) {
		flags = want.page.write ? FOLL_WRITE : 0;
		err = odp_find_range(odp, want.page.va, want.end - 1, flags);
		if (odp_is_refusal(err))
			err = odp_find_range(odp, want.page.va, want.page.va,
					     flags);
		if (!err)
			pane_qp_pages_came(want.qpn, NULL);
		else if (odp_is_refusal(err))
			pane_qp_pages_came(want.qpn, &want.page);
	}
}

/* ---- advice ---------------------------------------------------------- */

static void odp_put(struct pane_odp *odp)
{
	if (refcount_dec_and_test(&odp->users))
		complete(&odp->unused);
}

static int advise_check(const struct pane_grant *g, const struct ib_pd *pd,
			const struct ib_sge *sge, bool write)
{
	if (g->key != sge->lkey || g->is_mw)
		return -ENOENT;
	if (&g->pd->ibpd != pd)
		return -EPERM;
	if (!g->mr->odp)
		return -EINVAL;
	if (write && !ib_access_writable(g->access))
		return -EPERM;
	if (!pane_range_contains(g->addr, g->length, sge->addr, sge->length))
		return -EFAULT;
	return 0;
}

/* The region of an element, with a reference, and where in it */
static int advise_get(struct pane_dev *dev, struct ib_pd *pd,
		      const struct ib_sge *sge, bool write,
		      struct pane_odp **odp, u64 *va)
{
	struct pane_slot *slot;
	const struct pane_grant *g;
	int err = -ENOENT;
	u32 slotno;

	local_bh_disable();
	slot = pane_keytab_find(&dev->keys, sge->lkey >> 8, &slotno);
	g = slot ? pane_grant_hold(slot) : NULL;
	if (g) {
		err = advise_check(g, pd, sge, write);
		if (!err) {
			*odp = g->mr->odp;
			*va = (*odp)->base + sge->addr - g->addr + g->offset;
			refcount_inc(&(*odp)->users);
		}
		pane_grant_drop();
	}
	local_bh_enable();
	return err;
}

/* A prefetch that nobody waits for */
struct odp_prefetch {
	struct work_struct work;
	struct pane_odp *odp;
	u64 va;
	u64 last;
	unsigned int flags;
};

static void odp_prefetch_work(struct work_struct *work)
{
	struct odp_prefetch *p = container_of(work, struct odp_prefetch, work);

	odp_find_range(p->odp, p->va, p->last, p->flags);
	odp_put(p->odp);
	kfree(p);
}

static int advise_later(struct pane_odp *odp, u64 va, u64 last,
			unsigned int flags)
{
	struct odp_prefetch *p = kmalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return -ENOMEM;
	INIT_WORK(&p->work, odp_prefetch_work);
	p->odp = odp;
	p->va = va;
	p->last = last;
	p->flags = flags;
	queue_work(odp_wq, &p->work);
	return 0;
}

static int advise_one(struct ib_pd *pd, const struct ib_sge *sge,
		      unsigned int flags, bool wait)
{
	struct pane_odp *odp;
	u64 va, last;
	int err;

	err = advise_get(to_pane_dev(pd->device), pd, sge, flags & FOLL_WRITE,
			 &odp, &va);
	if (err)
		return err;
	last = va + sge->length - 1;
	if (!sge->length) {
		err = 0;
	} else if (!wait) {
		err = advise_later(odp, va, last, flags);
		if (!err)
			return 0;
	} else {
		err = odp_find_range(odp, va, last, flags);
	}
	odp_put(odp);
	return err;
}

/**
 * pane_advise_mr - ibv_advise_mr()
 * @ibpd: protection domain of the regions
 * @advice: PREFETCH, PREFETCH_WRITE, or PREFETCH_NO_FAULT for what is in
 *          memory already
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: return when it is done
 * @sg: ranges of on-demand regions, by their local keys
 * @num_sge: how many
 * @attrs: of the call
 *
 * Return: 0; -EOPNOTSUPP for another advice; -ENOENT: no such key; -EPERM:
 * another protection domain's, or not writable; -EINVAL: a region that is
 * pinned; -EFAULT: not in the region, or with FLUSH not in the address space
 */
int pane_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	bool wait = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	unsigned int how = 0;
	int err = 0;
	u32 i;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		how = FOLL_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		how = FOLL_NOFAULT;
		break;
	default:
		return -EOPNOTSUPP;
	}
	for (i = 0; i < num_sge && !err; i++)
		err = advise_one(ibpd, &sg[i], how, wait);
	return err;
}

/* ---- life ------------------------------------------------------------ */

/**
 * pane_odp_create - for a region of the caller's memory
 * @start: first byte
 * @length: bytes, not 0; nothing has to be there yet
 *
 * Return: it, or an ERR_PTR: -EINVAL if the end has no address; -ENOMEM
 */
struct pane_odp *pane_odp_create(u64 start, u64 length)
{
	struct pane_odp *odp;

	if (!length || start + (length - 1) < start)
		return ERR_PTR(-EINVAL);
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->mm = current->mm;
	mmgrab(odp->mm);
	odp->base = start & PAGE_MASK;
	xa_init(&odp->chunks);
	refcount_set(&odp->users, 1);
	init_completion(&odp->unused);
	INIT_WORK(&odp->work, odp_work);
	spin_lock_init(&odp->lock);
	return odp;
}

/* No grant of the region is published any more */
void pane_odp_destroy(struct pane_odp *odp)
{
	struct odp_chunk *chunk;
	unsigned long index;

	WRITE_ONCE(odp->dying, true);
	cancel_work_sync(&odp->work);
	odp_put(odp);
	wait_for_completion(&odp->unused);
	xa_for_each(&odp->chunks, index, chunk)
		odp_chunk_destroy(chunk);
	xa_destroy(&odp->chunks);
	mmdrop(odp->mm);
	kfree(odp);
}

void pane_odp_set_caps(struct ib_device_attr *attr)
{
	struct ib_odp_caps *caps = &attr->odp_caps;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps = PANE_ODP_RC;
	caps->per_transport_caps.uc_odp_caps = PANE_ODP_UC;
	caps->per_transport_caps.ud_odp_caps = PANE_ODP_UD;
	caps->per_transport_caps.xrc_odp_caps = PANE_ODP_RC;
}

/* A queue of its own: page faults may have to wait for memory to be freed */
int pane_odp_init(void)
{
	odp_wq = alloc_workqueue("pane_odp", WQ_UNBOUND, 0);
	return odp_wq ? 0 : -ENOMEM;
}

void pane_odp_exit(void)
{
	destroy_workqueue(odp_wq);
}
