/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair without the provider: created by the kernel's own interface, its
 * rings mapped and written by the test. Nobody checks what is put into them but
 * the kernel. All else (domains, regions, windows, completion queues) is of
 * libibverbs, in the same context.
 */
#ifndef PANE_RAW_H
#define PANE_RAW_H

#include <rdma/pane-abi.h>

#include "pane_util.h"

/**
 * struct raw_qp - the QP
 * @node: where it is
 * @scq: for its send requests
 * @rcq: for its receive requests
 * @type: of the QP; no other than IBV_QPT_RC can receive
 * @timeout: code, for the next raw_connect(); short unless a test changes it
 * @sq_psn: likewise, of its first packet
 * @rq_psn: likewise, of the first packet that comes
 * @handle: of uverbs
 * @qpn: number
 * @doorbell: file to ring
 * @ring: where its rings are
 * @ctl: the mapping
 * @sq_prod: requests put into the send ring
 * @rq_prod: requests put into the receive ring
 */
struct raw_qp {
	struct node *node;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	enum ibv_qp_type type;
	uint8_t timeout;
	uint32_t sq_psn;
	uint32_t rq_psn;
	uint32_t handle;
	uint32_t qpn;
	int doorbell;
	struct pane_create_qp_resp ring;
	struct pane_qp_ctl *ctl;
	uint32_t sq_prod;
	uint32_t rq_prod;
};

void raw_open(struct raw_qp *qp, struct node *n, struct ibv_pd *pd,
	      struct ibv_cq *scq, struct ibv_cq *rcq);
/* One that only sends, if it is IBV_QPT_XRC_SEND */
void raw_open_type(struct raw_qp *qp, struct node *n, struct ibv_pd *pd,
		   struct ibv_cq *scq, struct ibv_cq *rcq,
		   enum ibv_qp_type type);
void raw_close(struct raw_qp *qp);

/* From whatever state to RTS, with empty rings; @ep stays as it is */
void raw_connect(struct raw_qp *qp, const struct endpoint *ep);
/* Both ends */
void raw_reconnect(struct raw_qp *qp, struct endpoint *ep);
void raw_modify(struct raw_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state raw_state(struct raw_qp *qp);

/* The slot after those in use, counted from @ahead; as it was left */
struct pane_sq_wqe *raw_slot(struct raw_qp *qp, uint32_t ahead);
struct pane_rq_wqe *raw_recv_slot(struct raw_qp *qp);
/* Publish @num more requests and ring; 0 or an errno value */
int raw_push(struct raw_qp *qp, uint32_t num);
void raw_push_recv(struct raw_qp *qp);
int raw_ring(struct raw_qp *qp, unsigned long request, unsigned long arg);

#endif
