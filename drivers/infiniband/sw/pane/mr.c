// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

#include "dmabuf.h"
#include "grant.h"
#include "mr.h"
#include "odp.h"
#include "pane.h"
#include "qp.h"

/* Everything that a registration in progress has made so far */
struct mr_pages {
	struct ib_umem *umem;
	u64 *pages;
	u32 num_pages;
};

static struct pane_mr *mr_create(struct pane_dev *dev, enum pane_mr_kind kind)
{
	struct pane_mr *mr;
	int err;

	if (!pane_quota_take(&dev->num_mr, PANE_MAX_MR))
		return ERR_PTR(-ENOMEM);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		err = -ENOMEM;
		goto err_quota;
	}
	mr->kind = kind;
	atomic_set(&mr->binds, 0);

	err = pane_keytab_alloc(&dev->keys, &mr->slotno);
	if (err)
		goto err_free;

	mr->ibmr.lkey = pane_keytab_index(&dev->keys, mr->slotno) << 8 |
			get_random_u8();
	mr->ibmr.rkey = mr->ibmr.lkey;
	pane_slot_set(&dev->keys, mr->slotno, PANE_SLOT_MR, mr);
	return mr;

err_free:
	kfree(mr);
err_quota:
	atomic_dec(&dev->num_mr);
	return ERR_PTR(err);
}

/* The opposite of mr_create(); what the key opened ends here */
static void mr_destroy(struct pane_dev *dev, struct pane_mr *mr)
{
	struct pane_slot *slot = pane_keytab_at(&dev->keys, mr->slotno);

	spin_lock_bh(pane_slot_lock(&dev->keys, mr->slotno));
	pane_grant_replace(slot, NULL);
	pane_slot_clear(slot);
	spin_unlock_bh(pane_slot_lock(&dev->keys, mr->slotno));

	pane_keytab_free(&dev->keys, mr->slotno);
	kvfree(mr->pages);
	if (mr->umem)
		ib_umem_release(mr->umem);
	if (mr->odp)
		pane_odp_destroy(mr->odp);
	if (mr->dmabuf)
		pane_dmabuf_close(mr->dmabuf);
	kfree(mr);
	atomic_dec(&dev->num_mr);
}

static void mr_fill_grant(struct pane_grant *g, struct pane_mr *mr,
			  struct ib_pd *pd, u32 key, int access)
{
	g->key = key;
	g->access = access & PANE_MR_ACCESS;
	g->pd = to_pane_pd(pd);
	g->mr = mr;
}

/* A region, and the grant that it will have */
static struct pane_mr *mr_begin(struct pane_dev *dev, enum pane_mr_kind kind,
				struct pane_grant **g)
{
	struct pane_mr *mr;

	*g = pane_grant_alloc(GFP_KERNEL_ACCOUNT);
	if (!*g)
		return ERR_PTR(-ENOMEM);
	mr = mr_create(dev, kind);
	if (IS_ERR(mr))
		pane_grant_free(*g);
	return mr;
}

/* The opposite of mr_begin() */
static struct ib_mr *mr_give_up(struct pane_dev *dev, struct pane_mr *mr,
				struct pane_grant *g, int err)
{
	mr_destroy(dev, mr);
	pane_grant_free(g);
	return ERR_PTR(err);
}

/* From here on the key opens it */
static struct ib_mr *mr_publish(struct pane_dev *dev, struct pane_mr *mr,
				struct pane_grant *g)
{
	pane_grant_replace(pane_keytab_at(&dev->keys, mr->slotno), g);
	return &mr->ibmr;
}

/*
 * ib_get_dma_mr(): everything the kernel can address. Kernel users only.
 */
struct ib_mr *pane_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct pane_dev *dev = to_pane_dev(ibpd->device);
	struct pane_grant *g;
	struct pane_mr *mr;

	mr = mr_begin(dev, PANE_MR_DMA, &g);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr_fill_grant(g, mr, ibpd, mr->ibmr.lkey, access);
	g->length = U64_MAX;
	return mr_publish(dev, mr, g);
}

static void mr_unpin(struct mr_pages *p)
{
	kvfree(p->pages);
	ib_umem_release(p->umem);
}

/* Pin user memory and write down where its pages are */
static int mr_pin(struct ib_device *ibdev, u64 start, u64 length, int access,
		  struct mr_pages *p)
{
	struct ib_block_iter biter;
	size_t n;

	p->umem = ib_umem_get_va(ibdev, start, length, access);
	if (IS_ERR(p->umem))
		return PTR_ERR(p->umem);

	n = ib_umem_num_dma_blocks(p->umem, PAGE_SIZE);
	p->pages = kvmalloc_array(n, sizeof(*p->pages), GFP_KERNEL_ACCOUNT);
	if (!p->pages) {
		ib_umem_release(p->umem);
		return -ENOMEM;
	}
	p->num_pages = 0;
	rdma_umem_for_each_dma_block(p->umem, &biter, PAGE_SIZE)
		p->pages[p->num_pages++] = rdma_block_iter_dma_address(&biter);
	return 0;
}

static void mr_use_pages(struct pane_mr *mr, const struct mr_pages *p)
{
	mr->umem = p->umem;
	mr->pages = p->pages;
	mr->num_pages = p->num_pages;
	mr->max_pages = p->num_pages;
	mr->page_shift = PAGE_SHIFT;
}

/*
 * IB_ZERO_BASED: requests name the region's bytes from 0 on, ibv_reg_mr(3)
 */
static void mr_user_range(struct pane_grant *g, u64 start, u64 length, u64 iova,
			  int access)
{
	g->addr = access & IB_ZERO_BASED ? 0 : iova;
	g->length = length;
	g->offset = offset_in_page(start);
}

/* Pin the memory, or do not, as @access says */
static int mr_open_user(struct pane_mr *mr, struct ib_device *ibdev, u64 start,
			u64 length, int access)
{
	struct mr_pages p;
	int err;

	if (access & IB_ACCESS_ON_DEMAND) {
		struct pane_odp *odp = pane_odp_create(start, length);

		if (IS_ERR(odp))
			return PTR_ERR(odp);
		mr->kind = PANE_MR_ODP;
		mr->odp = odp;
		return 0;
	}
	err = mr_pin(ibdev, start, length, access, &p);
	if (!err)
		mr_use_pages(mr, &p);
	return err;
}

/*
 * Flags that are known here. Pages of any size will do, so that nothing follows
 * from their being huge.
 */
static bool mr_user_access_ok(int access)
{
	if (IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) &&
	    (access & IB_ACCESS_ON_DEMAND))
		access &= ~(IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB);
	return !(access & ~PANE_MR_ACCESS);
}

/**
 * pane_reg_user_mr - ibv_reg_mr(), ibv_reg_mr_iova()
 * @ibpd: protection domain
 * @start: first byte in the caller's memory
 * @length: bytes
 * @iova: its address in requests; same offset in a page as @start (core)
 * @access: IB_ACCESS_ flags, checked for consistency by the core; optional
 *          ones have no effect here
 * @dmah: not supported
 * @udata: none
 *
 * With IB_ACCESS_ON_DEMAND nothing is pinned, and the range may be all of the
 * address space; a request that meets memory which is not there then fails.
 *
 * Return: the region, or an ERR_PTR: -EINVAL if the end has no address;
 * -EOPNOTSUPP for flags that are not known here; -ENOMEM over the limits
 * (RLIMIT_MEMLOCK too); -EFAULT for memory that cannot be pinned
 */
struct ib_mr *pane_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibpd->device);
	struct pane_grant *g;
	struct pane_mr *mr;
	int err;

	access &= ~IB_ACCESS_OPTIONAL;
	if (dmah || !mr_user_access_ok(access))
		return ERR_PTR(-EOPNOTSUPP);
	if (iova + length < iova)
		return ERR_PTR(-EINVAL);
	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);

	mr = mr_begin(dev, PANE_MR_USER, &g);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_open_user(mr, &dev->ibdev, start, length, access);
	if (err)
		return mr_give_up(dev, mr, g, err);

	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr_fill_grant(g, mr, ibpd, mr->ibmr.lkey, access);
	mr_user_range(g, start, length, iova, access);
	return mr_publish(dev, mr, g);
}

/**
 * pane_reg_user_mr_dmabuf - ibv_reg_dmabuf_mr()
 * @ibpd: protection domain
 * @offset: first byte in the dma-buf
 * @length: bytes
 * @iova: its address in requests; same offset in a page as @offset (core)
 * @fd: the dma-buf
 * @access: IB_ACCESS_ flags, checked by the core
 * @dmah: not supported
 * @attrs: of the call
 *
 * Return: the region, or an ERR_PTR: as pane_reg_user_mr() and
 * pane_dmabuf_open()
 */
struct ib_mr *pane_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	struct pane_dev *dev = to_pane_dev(ibpd->device);
	struct pane_dmabuf *buf;
	struct pane_grant *g;
	struct pane_mr *mr;

	access &= ~IB_ACCESS_OPTIONAL;
	if (dmah || (access & ~PANE_MR_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (iova + length < iova)
		return ERR_PTR(-EINVAL);

	mr = mr_begin(dev, PANE_MR_DMABUF, &g);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	buf = pane_dmabuf_open(fd, offset, length);
	if (IS_ERR(buf))
		return mr_give_up(dev, mr, g, PTR_ERR(buf));

	mr->dmabuf = buf;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr_fill_grant(g, mr, ibpd, mr->ibmr.lkey, access);
	g->addr = iova;
	g->length = length;
	g->offset = (uintptr_t)pane_dmabuf_addr(buf);
	return mr_publish(dev, mr, g);
}

/* The grant a region has now, for its owner, who alone changes it */
static const struct pane_grant *mr_current(struct pane_dev *dev,
					   struct pane_mr *mr)
{
	return pane_keytab_at(&dev->keys, mr->slotno)->grant;
}

/**
 * pane_rereg_user_mr - ibv_rereg_mr()
 * @ibmr: the region; keeps its keys
 * @flags: IB_MR_REREG_ bits: what changes
 * @start: new memory, with IB_MR_REREG_TRANS
 * @length: new length, with IB_MR_REREG_TRANS
 * @iova: new address in requests, with IB_MR_REREG_TRANS
 * @access: new flags, with IB_MR_REREG_ACCESS
 * @ibpd: new protection domain, with IB_MR_REREG_PD; else the present one
 * @udata: none
 *
 * Either all of it happens or nothing does. Accesses meet the old region, then
 * for a moment none, then the new one.
 *
 * Return: NULL, or an ERR_PTR: -EBUSY while a window is bound, else as
 * pane_reg_user_mr()
 */
struct ib_mr *pane_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibmr->device);
	struct pane_mr *mr = to_pane_mr(ibmr);
	struct pane_slot *slot = pane_keytab_at(&dev->keys, mr->slotno);
	const struct pane_grant *cur = mr_current(dev, mr);
	struct mr_pages p = {}, old = {};
	struct pane_grant *g;
	int err;

	if (flags & ~IB_MR_REREG_SUPPORTED || mr->kind != PANE_MR_USER)
		return ERR_PTR(-EOPNOTSUPP);
	access = flags & IB_MR_REREG_ACCESS ? access & ~IB_ACCESS_OPTIONAL :
					      cur->access;
	if (access & ~PANE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if ((flags & IB_MR_REREG_TRANS) && iova + length < iova)
		return ERR_PTR(-EINVAL);
	/* pages pinned for reading cannot be opened for writing */
	if (!(flags & IB_MR_REREG_TRANS) && ib_access_writable(access) &&
	    !mr->umem->writable)
		return ERR_PTR(-EOPNOTSUPP);
	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);

	g = pane_grant_alloc(GFP_KERNEL_ACCOUNT);
	if (!g)
		return ERR_PTR(-ENOMEM);
	*g = *cur;
	mr_fill_grant(g, mr, ibpd, cur->key, access);
	if (flags & IB_MR_REREG_TRANS) {
		err = mr_pin(&dev->ibdev, start, length, access, &p);
		if (err)
			goto err_grant;
		mr_user_range(g, start, length, iova, access);
	}

	if (!pane_mr_freeze(mr)) {
		err = -EBUSY;
		goto err_unpin;
	}
	pane_grant_replace(slot, NULL);
	if (flags & IB_MR_REREG_TRANS) {
		old.umem = mr->umem;
		old.pages = mr->pages;
		mr_use_pages(mr, &p);
		ibmr->iova = iova;
		ibmr->length = length;
	}
	pane_grant_replace(slot, g);
	pane_mr_thaw(mr);
	if (old.umem)
		mr_unpin(&old);
	return NULL;

err_unpin:
	if (p.umem)
		mr_unpin(&p);
err_grant:
	pane_grant_free(g);
	return ERR_PTR(err);
}

/**
 * pane_alloc_mr - ib_alloc_mr(): a region for fast registration
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: most pages it will hold
 *
 * Return: the region, which opens nothing yet, or an ERR_PTR
 */
struct ib_mr *pane_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg)
{
	struct pane_dev *dev = to_pane_dev(ibpd->device);
	struct pane_mr *mr;
	u64 *pages;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > PANE_MAX_FRMR_PAGES)
		return ERR_PTR(-EINVAL);

	pages = kvcalloc(max_num_sg, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	mr = mr_create(dev, PANE_MR_FAST_REG);
	if (IS_ERR(mr)) {
		kvfree(pages);
		return ERR_CAST(mr);
	}
	mr->pages = pages;
	mr->max_pages = max_num_sg;
	return &mr->ibmr;
}

static int mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct pane_mr *mr = to_pane_mr(ibmr);

	if (mr->num_pages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->num_pages++] = addr;
	return 0;
}

/*
 * ib_map_mr_sg(): the pages of the next registration. The page size is the
 * caller's and need not be the system's.
 */
int pane_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	struct pane_mr *mr = to_pane_mr(ibmr);

	mr->num_pages = 0;
	mr->page_shift = ilog2(ibmr->page_size);
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, mr_set_page);
}

/**
 * pane_mr_fast_reg - execute IB_WR_REG_MR
 * @qp: the QP it was posted to
 * @mr: the region
 * @key: key it gets; its upper 24 bits are the region's
 * @access: its rights
 *
 * Context: qp->lock.
 * Return: 0, or -EINVAL if the region is another PD's, is registered already
 * or does not have this key; -ENOMEM
 */
int pane_mr_fast_reg(struct pane_qp *qp, struct pane_mr *mr, u32 key,
		     int access)
{
	struct pane_dev *dev = qp->dev;
	struct pane_slot *slot = pane_keytab_at(&dev->keys, mr->slotno);
	struct pane_grant *g;
	int err = -EINVAL;

	if (mr->kind != PANE_MR_FAST_REG || mr->ibmr.pd != qp->pd ||
	    key >> 8 != pane_keytab_index(&dev->keys, mr->slotno) ||
	    access & ~(PANE_MR_ACCESS | IB_ACCESS_OPTIONAL))
		return -EINVAL;

	g = pane_grant_alloc(GFP_ATOMIC);
	if (!g)
		return -ENOMEM;
	mr_fill_grant(g, mr, mr->ibmr.pd, key, access & ~IB_ACCESS_OPTIONAL);
	g->addr = access & IB_ZERO_BASED ? 0 : mr->ibmr.iova;
	g->length = mr->ibmr.length;
	g->offset = mr->ibmr.iova & ((1ULL << mr->page_shift) - 1);

	spin_lock_bh(pane_slot_lock(&dev->keys, mr->slotno));
	if (!slot->grant) {
		pane_grant_replace(slot, g);
		err = 0;
	}
	spin_unlock_bh(pane_slot_lock(&dev->keys, mr->slotno));
	if (err)
		pane_grant_free(g);
	return err;
}

/**
 * pane_dereg_mr - ibv_dereg_mr()
 * @ibmr: the region
 * @udata: none
 *
 * Return: 0, and no byte of the region is read or written any more; -EBUSY
 * while a window is bound to it, and all goes on as before
 */
int pane_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct pane_mr *mr = to_pane_mr(ibmr);

	if (!pane_mr_freeze(mr)) {
		ibdev_dbg_ratelimited(ibmr->device,
				      "dereg of MR %u refused: windows are bound to it\n",
				      ibmr->res.id);
		return -EBUSY;
	}
	mr_destroy(to_pane_dev(ibmr->device), mr);
	return 0;
}
