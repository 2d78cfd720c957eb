// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* where this is, the core tells of links that go up and down */
#include <rdma/ib_verbs.h>

int probe(struct net_device *ndev)
{
	return ib_get_curr_port_state(ndev);
}
