/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions: user memory, all of kernel memory, fast registration */
#ifndef PANE_MR_H
#define PANE_MR_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "odp.h"

struct ib_dmah;
struct pane_dev;
struct pane_qp;
struct uverbs_attr_bundle;

/* What a region may be registered with beside the optional flags */
#define PANE_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED | \
			 IB_ACCESS_FLUSH_GLOBAL)

enum pane_mr_kind {
	PANE_MR_USER,
	PANE_MR_ODP,
	PANE_MR_DMABUF,
	PANE_MR_DMA,
	PANE_MR_FAST_REG,
};

/**
 * struct pane_mr - a memory region
 * @ibmr: the core's half. Its keys are what the owner was told last; kernel
 *        users change them for their next registration, so nothing is
 *        compared with them.
 * @kind: what it is made of
 * @slotno: its place in the key table
 * @page_shift: log2 of the bytes of a page in @pages
 * @num_pages: entries in use
 * @max_pages: entries there are
 * @pages: kernel addresses of the pages; NULL for all of kernel memory and for
 *         dma-bufs, where an offset is an address, and with @odp
 * @umem: what pins user memory
 * @dmabuf: what the region is a part of
 * @odp: what finds the pages of a region that is not pinned
 * @binds: windows bound; negative while the region changes or goes away, and
 *         no window can be bound
 */
struct pane_mr {
	struct ib_mr ibmr;
	enum pane_mr_kind kind;
	u32 slotno;
	unsigned int page_shift;
	u32 num_pages;
	u32 max_pages;
	u64 *pages;
	struct ib_umem *umem;
	struct pane_dmabuf *dmabuf;
	struct pane_odp *odp;
	atomic_t binds;
};

static inline struct pane_mr *to_pane_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct pane_mr, ibmr);
}

/**
 * pane_mr_ptr - where a byte of a region is
 * @mr: the region
 * @offset: of the byte, from the start of its pages; inside the region
 * @len: bytes wanted; lowered to what is contiguous from there, at least 1
 * @write: it will be written
 *
 * Return: NULL for a page that has to be waited for, see pane_odp_absent()
 */
static inline void *pane_mr_ptr(const struct pane_mr *mr, u64 offset, u32 *len,
				bool write)
{
	u64 page_size, in_page;

	if (!mr->pages)
		return mr->odp ? pane_odp_ptr(mr->odp, offset, len, write) :
				 (void *)(uintptr_t)offset;

	page_size = 1ULL << mr->page_shift;
	in_page = offset & (page_size - 1);
	if (*len > page_size - in_page)
		*len = page_size - in_page;
	return (void *)(uintptr_t)(mr->pages[offset >> mr->page_shift] +
				   in_page);
}

/* From here on no window can be bound; false if some are */
static inline bool pane_mr_freeze(struct pane_mr *mr)
{
	return atomic_cmpxchg(&mr->binds, 0, INT_MIN) == 0;
}

static inline void pane_mr_thaw(struct pane_mr *mr)
{
	atomic_set(&mr->binds, 0);
}

struct ib_mr *pane_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *pane_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
struct ib_mr *pane_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);
struct ib_mr *pane_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *pane_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int pane_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
int pane_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int pane_mr_fast_reg(struct pane_qp *qp, struct pane_mr *mr, u32 key,
		     int access);

#endif /* PANE_MR_H */
