// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/ib_verbs.h>

const struct ib_device_ops probe = { .size_rdma_counter = 8 };
