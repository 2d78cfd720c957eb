/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues, XRC ones too.
 *
 * struct pane_srq is apart from the core's half and lives until an RCU grace
 * period after destroy: XRC packets name it by number.
 */
#ifndef PANE_SRQ_H
#define PANE_SRQ_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "num.h"
#include "rq.h"

struct pane_cq;
struct pane_dev;
struct pane_umap;

/**
 * struct pane_srq - a shared receive queue
 * @dev: its device
 * @ibsrq: the core's half
 * @pd: protection domain of the buffers
 * @xrcd: XRC domain, else NULL
 * @cq: where an XRC SRQ's receives complete, else NULL
 * @num: its number
 * @lock: guards the members up to @limit
 * @dead: being destroyed
 * @rq: the queue
 * @limit: an event is raised when fewer requests are left; 0 for none
 * @map: a user's ring
 * @kring: a kernel user's ring
 * @kprod: a kernel user's count of posted requests
 * @kcons: where the kernel user's taken count goes
 * @limit_work: raises IB_EVENT_SRQ_LIMIT_REACHED
 * @rcu: frees it
 */
struct pane_srq {
	struct pane_dev *dev;
	struct ib_srq *ibsrq;
	struct ib_pd *pd;
	struct ib_xrcd *xrcd;
	struct pane_cq *cq;
	struct pane_num num;

	spinlock_t lock;
	bool dead;
	struct pane_rq rq;
	u32 limit;

	struct pane_umap *map;
	void *kring;
	u32 kprod;
	u32 kcons;
	struct work_struct limit_work;
	struct rcu_head rcu;
};

/* The core's half, which the core allocates and frees */
struct pane_ibsrq {
	struct ib_srq ibsrq;
	struct pane_srq *srq;
};

static inline struct pane_srq *to_pane_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct pane_ibsrq, ibsrq)->srq;
}

struct pane_srq *pane_srq_find(u32 srqn);
enum pane_rq_result pane_srq_take(struct pane_srq *srq, struct pane_rwqe *to);
int pane_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int pane_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int pane_srq_resize_kernel(struct pane_srq *srq, u32 max_wr);
extern const struct uapi_definition pane_srq_uapi_defs[];
int pane_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int pane_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int pane_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif /* PANE_SRQ_H */
