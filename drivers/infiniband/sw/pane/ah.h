/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles */
#ifndef PANE_AH_H
#define PANE_AH_H

#include <rdma/ib_verbs.h>

#include "av.h"

struct pane_qp;

/**
 * struct pane_ah_entry - what the number of a handle stands for
 * @av: the address vector
 * @pd: protection domain of the handle, to compare
 * @rcu: frees it
 */
struct pane_ah_entry {
	struct pane_av av;
	struct ib_pd *pd;
	struct rcu_head rcu;
};

/**
 * struct pane_ah - an address handle
 * @ibah: the core's half
 * @num: its number; requests name it so
 * @entry: found by the number
 * @attr: for query
 */
struct pane_ah {
	struct ib_ah ibah;
	u32 num;
	struct pane_ah_entry *entry;
	struct rdma_ah_attr attr;
};

static inline struct pane_ah *to_pane_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct pane_ah, ibah);
}

struct pane_av *pane_ah_find(struct pane_qp *qp, u32 num);
int pane_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata);
int pane_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int pane_destroy_ah(struct ib_ah *ibah, u32 flags);

#endif /* PANE_AH_H */
