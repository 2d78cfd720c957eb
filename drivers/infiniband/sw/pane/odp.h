/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions of user memory whose pages are not pinned.
 *
 * The data path looks for a page without a lock, while it holds a grant. When
 * the page is not there it says what it wants and its QP waits: the worker asks
 * the owner's address space for the pages, writes them down and gets the QP
 * going. A QP that waits longer than it should looks again by itself.
 *
 * When the address space takes pages away, it calls a notifier that returns
 * when no CPU accesses them any more, as an invalidate does (grant.h).
 */
#ifndef PANE_ODP_H
#define PANE_ODP_H

#include <linux/err.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mem.h"

struct pane_mr;
struct pane_odp;
struct pane_qp;

/* Look again after this time, should the worker have forgotten us */
#define PANE_ODP_WAIT	max(HZ / 10, 1)

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING

/* What such a region may be used for: all that a transport has */
#define PANE_ODP_UD	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | \
			 IB_ODP_SUPPORT_SRQ_RECV)
#define PANE_ODP_UC	(PANE_ODP_UD | IB_ODP_SUPPORT_WRITE)

/* Some of it only where the core has these operations */
#define PANE_ODP_RC	(PANE_ODP_UC | IB_ODP_SUPPORT_READ |		\
			 IB_ODP_SUPPORT_ATOMIC | (PANE_FLUSH_CAPS ?	\
				IB_ODP_SUPPORT_FLUSH |			\
				IB_ODP_SUPPORT_ATOMIC_WRITE : 0))

struct pane_odp *pane_odp_create(u64 start, u64 length);
void pane_odp_destroy(struct pane_odp *odp);
void *pane_odp_ptr(const struct pane_odp *odp, u64 off, u32 *len, bool write);
enum pane_mem pane_odp_absent(struct pane_odp *odp, struct pane_qp *qp,
			      u64 off, u64 len, bool write);
int pane_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg, u32 num_sge,
		   struct uverbs_attr_bundle *attrs);
void pane_odp_set_caps(struct ib_device_attr *attr);
int pane_odp_init(void);
void pane_odp_exit(void);

#else

static inline struct pane_odp *pane_odp_create(u64 start, u64 length)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void pane_odp_destroy(struct pane_odp *odp)
{
}

static inline void *pane_odp_ptr(const struct pane_odp *odp, u64 off, u32 *len,
				 bool write)
{
	return NULL;
}

static inline enum pane_mem pane_odp_absent(struct pane_odp *odp,
					    struct pane_qp *qp, u64 off,
					    u64 len, bool write)
{
	return PANE_MEM_REFUSED;
}

#define pane_advise_mr	NULL

static inline void pane_odp_set_caps(struct ib_device_attr *attr)
{
}

static inline int pane_odp_init(void)
{
	return 0;
}

static inline void pane_odp_exit(void)
{
}

#endif

#endif /* PANE_ODP_H */
