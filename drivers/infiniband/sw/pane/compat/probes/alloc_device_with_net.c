// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

struct drv {
	struct ib_device ibdev;
};

struct drv *probe(struct net *net)
{
	return ib_alloc_device_with_net(drv, ibdev, net);
}
