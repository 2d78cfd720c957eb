// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The old signatures of operations on top of the new ones */
#include <rdma/uverbs_ioctl.h>

#include "ops.h"

#ifndef HAVE_CREATE_CQ_ATTRS
#undef pane_create_cq
int compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct ib_udata *udata)
{
	return pane_create_cq(ibcq, attr, udata ?
			      rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}
#endif

#ifndef HAVE_RESIZE_USER_CQ
#undef pane_resize_user_cq
/* kernel users could resize, too; none does */
int compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	if (!udata)
		return -EOPNOTSUPP;
	return cqe < 0 ? -EINVAL : pane_resize_user_cq(ibcq, cqe, udata);
}
#endif

#ifndef HAVE_REG_USER_MR_DMAH
#undef pane_reg_user_mr
struct ib_mr *compat_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				 u64 iova, int access, struct ib_udata *udata)
{
	return pane_reg_user_mr(ibpd, start, length, iova, access, NULL, udata);
}
#endif

#ifndef HAVE_REG_DMABUF_DMAH
#undef pane_reg_user_mr_dmabuf
/* the driver asks for none of what differs */
struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					u64 length, u64 iova, int fd,
					int access, COMPAT_DMABUF_ARG)
{
	return pane_reg_user_mr_dmabuf(ibpd, offset, length, iova, fd, access,
				       NULL, NULL);
}
#endif
