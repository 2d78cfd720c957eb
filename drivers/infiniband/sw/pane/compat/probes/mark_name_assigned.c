// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

void probe(struct ib_device *dev)
{
	ib_mark_name_assigned_by_user(dev);
}
