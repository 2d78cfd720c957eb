/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receive queues: taking requests out of a ring */
#ifndef PANE_RQ_H
#define PANE_RQ_H

#include "qp.h"

enum pane_rq_result {
	PANE_RQ_TAKEN,
	PANE_RQ_EMPTY,
	PANE_RQ_MALFORMED,	/* taken, but cannot be used */
};

u32 pane_rq_avail(const struct pane_rq *rq);
int pane_rq_post(struct pane_rq *rq, u32 *prod, const struct ib_recv_wr *wr);
enum pane_rq_result pane_rq_take(struct pane_rq *rq, struct pane_rwqe *to);

#endif /* PANE_RQ_H */
