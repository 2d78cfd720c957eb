// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pane_cm.h"

struct rdma_cm_id *cm_endpoint(const char *address, const char *port, int flags,
			       uint32_t send_wr, uint32_t recv_wr)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = send_wr, .max_recv_wr = recv_wr,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;
	int ret;

	if (rdma_getaddrinfo(address, port, &hints, &info))
		return NULL;
	ret = rdma_create_ep(&id, info, NULL, &attr);
	rdma_freeaddrinfo(info);
	return ret ? NULL : id;
}
