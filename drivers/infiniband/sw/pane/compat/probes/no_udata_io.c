// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/uverbs_ioctl.h>

int probe(struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}
