// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/uverbs_ioctl.h>

int probe(struct ib_udata *udata, u32 resp)
{
	return ib_respond_udata(udata, resp) ?: ib_is_udata_in_empty(udata);
}
