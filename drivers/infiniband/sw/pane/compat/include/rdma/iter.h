/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Found where the kernel has no such header, and declares the same elsewhere */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
