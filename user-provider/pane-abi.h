/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What travels in the driver part of uverbs calls, in the form that the
 * ibv_cmd_ functions want: core and driver part in one struct.
 */
#ifndef PANE_PROVIDER_ABI_H
#define PANE_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/pane-abi.h>
#include <kernel-abi/pane-abi.h>

DECLARE_DRV_CMD(pane_cmd_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		pane_alloc_ucontext_req, pane_alloc_ucontext_resp);
DECLARE_DRV_CMD(pane_cmd_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, pane_create_ah_resp);
DECLARE_DRV_CMD(pane_cmd_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		pane_create_cq_req, pane_create_cq_resp);
DECLARE_DRV_CMD(pane_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, pane_resize_cq_resp);
DECLARE_DRV_CMD(pane_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		pane_create_qp_req, pane_create_qp_resp);
DECLARE_DRV_CMD(pane_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, pane_create_srq_resp);

#endif /* PANE_PROVIDER_ABI_H */
