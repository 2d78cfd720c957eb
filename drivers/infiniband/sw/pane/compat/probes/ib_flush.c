// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* FLUSH and ATOMIC WRITE */
#include <rdma/ib_verbs.h>

int probe(void);

int probe(void)
{
	return IB_WC_FLUSH | IB_WC_ATOMIC_WRITE | IB_WR_ATOMIC_WRITE |
	       IB_ACCESS_FLUSH_GLOBAL;
}
