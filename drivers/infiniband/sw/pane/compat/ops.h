/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Included ahead of device.c: operations whose types have changed. The
 * driver's own functions are declared first, by their headers; then the table
 * is made to name the adapters in ops.c.
 */
#ifndef PANE_COMPAT_OPS_H
#define PANE_COMPAT_OPS_H

#include "../counter.h"
#include "../cq.h"
#include "../device.h"
#include "../mr.h"

#ifndef HAVE_CREATE_CQ_ATTRS
int compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct ib_udata *udata);
#define pane_create_cq compat_create_cq
#endif

#ifndef HAVE_RESIZE_USER_CQ
int compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
#define resize_user_cq resize_cq
#define pane_resize_user_cq compat_resize_cq
#endif

#ifndef HAVE_REG_USER_MR_DMAH
struct ib_mr *compat_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				 u64 iova, int access, struct ib_udata *udata);
#define pane_reg_user_mr compat_reg_user_mr
#endif

#ifndef HAVE_REG_DMABUF_DMAH
#ifdef HAVE_REG_DMABUF_ATTRS
#define COMPAT_DMABUF uverbs_attr_bundle
#else
#define COMPAT_DMABUF ib_udata
#endif
struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					u64 length, u64 iova, int fd,
					int access, struct COMPAT_DMABUF *arg);
#define pane_reg_user_mr_dmabuf compat_reg_user_mr_dmabuf
#endif

/* the core had a size of its own */
#ifndef HAVE_COUNTER_OBJ_SIZE
#undef PANE_COUNTER_OBJECT
#define PANE_COUNTER_OBJECT
#endif

#ifndef HAVE_QUERY_PORT_SPEED
#undef PANE_PORT_SPEED
#define PANE_PORT_SPEED
#endif

#ifndef HAVE_COUNTER_PORT
int compat_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp);
int compat_counter_unbind_qp(struct ib_qp *ibqp);
#define pane_counter_bind_qp compat_counter_bind_qp
#define pane_counter_unbind_qp compat_counter_unbind_qp
#endif

#endif /* PANE_COMPAT_OPS_H */
