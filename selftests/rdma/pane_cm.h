/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What programs on top of librdmacm have in common */
#ifndef PANE_CM_H
#define PANE_CM_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/*
 * One that listens, if @flags has RAI_PASSIVE, or connects; RC, with room for so
 * many requests of one element each. NULL with errno.
 */
struct rdma_cm_id *cm_endpoint(const char *address, const char *port, int flags,
			       uint32_t send_wr, uint32_t recv_wr);

#endif
