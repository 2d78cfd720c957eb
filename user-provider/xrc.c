// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: domains, and QPs that processes share.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "pane.h"

struct ibv_xrcd *pane_open_xrcd(struct ibv_context *ibctx,
				struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *vxrcd;
	int ret;

	vxrcd = calloc(1, sizeof(*vxrcd));
	if (!vxrcd)
		return NULL;

	ret = ibv_cmd_open_xrcd(ibctx, vxrcd, sizeof(*vxrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vxrcd);
		errno = ret;
		return NULL;
	}
	return &vxrcd->xrcd;
}

int pane_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *vxrcd = container_of(ibxrcd, struct verbs_xrcd,
						xrcd);
	int ret;

	ret = ibv_cmd_close_xrcd(vxrcd);
	if (!ret)
		free(vxrcd);
	return ret;
}

/* A target QP has no queues, so there is nothing to map */
struct ibv_qp *pane_open_qp(struct ibv_context *ibctx,
			    struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct pane_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = ibv_cmd_open_qp(ibctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(qp);
		errno = ret;
		return NULL;
	}

	pane_lock_init(&qp->sq.q.lock, false);
	pane_lock_init(&qp->rq.lock, false);
	return &qp->vqp.qp;
}

int pane_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	struct pane_srq *srq = to_pane_srq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;

	*srq_num = srq->vsrq.srq_num;
	return 0;
}
