// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

int probe = IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE;
