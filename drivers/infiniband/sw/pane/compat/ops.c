// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The old signatures of operations on top of the new ones, and the old duties */
#include <rdma/uverbs_ioctl.h>

#include "../pane.h"
#include "events.h"
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
					int access, struct COMPAT_DMABUF *arg)
{
	return pane_reg_user_mr_dmabuf(ibpd, offset, length, iova, fd, access,
				       NULL, NULL);
}
#endif

#ifndef HAVE_CORE_PORT_EVENTS
#undef pane_stats_port_changed
void compat_port_changed(struct pane_dev *dev, bool up)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.element.port_num = PANE_PORT,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	pane_stats_port_changed(dev, up);
	/* a device that is not registered yet, or no more, has no clients */
	if (ib_device_try_get(&dev->ibdev)) {
		ib_dispatch_event(&ev);
		ib_device_put(&dev->ibdev);
	}
}
#endif

#ifndef HAVE_COUNTER_PORT
#undef pane_counter_bind_qp
#undef pane_counter_unbind_qp
int compat_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	return pane_counter_bind_qp(counter, ibqp, PANE_PORT);
}

int compat_counter_unbind_qp(struct ib_qp *ibqp)
{
	return pane_counter_unbind_qp(ibqp, PANE_PORT);
}
#endif
