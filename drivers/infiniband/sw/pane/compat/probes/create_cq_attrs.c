// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

static int f(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
	     struct uverbs_attr_bundle *attrs)
{
	return 0;
}

const struct ib_device_ops probe = { .create_cq = f };
