/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The RDMA core */
#ifndef PANE_COMPAT_RDMA_H
#define PANE_COMPAT_RDMA_H

#include <linux/uaccess.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#ifndef HAVE_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif

#ifndef HAVE_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(drv_struct, member, net) \
	ib_alloc_device(drv_struct, member)
#endif

#ifndef HAVE_MARK_NAME_ASSIGNED
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* Since 6.2. Where the core lacks them no device offers them. */
#ifndef HAVE_IB_FLUSH
#define IB_DEVICE_FLUSH_GLOBAL	0ULL
#define IB_DEVICE_ATOMIC_WRITE	0ULL
#define IB_ACCESS_FLUSH_GLOBAL	BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define IB_WC_FLUSH		8
#define IB_WC_ATOMIC_WRITE	9
#define IB_WR_ATOMIC_WRITE	15
#endif

#ifndef HAVE_UDATA_HELPERS
static inline int compat_copy_udata_in(struct ib_udata *udata, void *req,
				       size_t size, size_t min)
{
	int err;

	if (udata->inlen < min)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

#define ib_copy_validate_udata_in_cm(_udata, _req, _end_member, _valid_cm)  \
	({								    \
		int __err = compat_copy_udata_in(_udata, &(_req),	    \
				sizeof(_req),				    \
				offsetofend(typeof(_req), _end_member));    \
		if (!__err && ((_req).comp_mask & ~(_valid_cm)))	    \
			__err = -EOPNOTSUPP;				    \
		__err;							    \
	})

static inline int ib_is_udata_in_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen)
		return 0;
	return compat_copy_udata_in(udata, NULL, 0, 0);
}

static inline int compat_respond_udata(struct ib_udata *udata, const void *src,
				       size_t len)
{
	size_t n = min(len, udata->outlen);

	if (copy_to_user(udata->outbuf, src, n) ||
	    clear_user(udata->outbuf + n, udata->outlen - n))
		return -EFAULT;
	return 0;
}

#define ib_respond_udata(_udata, _resp) \
	compat_respond_udata(_udata, &(_resp), sizeof(_resp))
#endif

#ifndef HAVE_NO_UDATA_IO
static inline int ib_no_udata_io(struct ib_udata *udata)
{
	int err = ib_is_udata_in_empty(udata);

	if (err)
		return err;
	if (udata && udata->outlen &&
	    clear_user(udata->outbuf, udata->outlen))
		return -EFAULT;
	return 0;
}
#endif

/* Since 6.16 */
#ifndef HAVE_ODP_FLUSH
#define IB_ODP_SUPPORT_FLUSH		BIT(6)
#define IB_ODP_SUPPORT_ATOMIC_WRITE	BIT(7)
#endif

#endif /* PANE_COMPAT_RDMA_H */
