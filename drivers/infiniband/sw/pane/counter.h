/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counters that QPs are bound to: rdma-statistic(8), "rdma statistic qp" */
#ifndef PANE_COUNTER_H
#define PANE_COUNTER_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

struct ib_qp;
struct rdma_hw_stats;

/* The core's counter, which it allocates and frees */
struct pane_qp_counter {
	struct rdma_counter counter;
};

/* In the table of operations */
#define PANE_COUNTER_OBJECT \
	.counter_init = pane_counter_init,				\
	INIT_RDMA_OBJ_SIZE(rdma_counter, pane_qp_counter, counter),

void pane_counter_init(struct rdma_counter *counter);
int pane_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp,
			 u32 port);
int pane_counter_unbind_qp(struct ib_qp *ibqp, u32 port);
int pane_counter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *pane_counter_alloc_stats(struct rdma_counter *counter);
int pane_counter_update(struct rdma_counter *counter);

#endif /* PANE_COUNTER_H */
