/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Multicast groups: which datagram QPs are attached to which */
#ifndef PANE_MCAST_H
#define PANE_MCAST_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct in6_addr;
struct pane_dev;
struct pane_qp;

/* Buckets that a device's groups are in, a power of two */
#define PANE_MCAST_HASH		64
/* Interfaces on which a group is joined */
#define PANE_MCAST_IFS		16

/**
 * struct pane_mcg - a multicast group that QPs are attached to
 * @node: in its bucket; RCU
 * @gid: its address
 * @members: the QPs; RCU
 * @num: how many
 * @joined: numbers of the interfaces on which the host has joined it
 * @num_joined: how many
 * @rcu: frees it
 */
struct pane_mcg {
	struct hlist_node node;
	struct in6_addr gid;
	struct list_head members;
	u32 num;
	int joined[PANE_MCAST_IFS];
	u32 num_joined;
	struct rcu_head rcu;
};

/* One QP in one group */
struct pane_mc_member {
	struct list_head node;
	struct pane_qp *qp;
	struct rcu_head rcu;
};

struct pane_mcg *pane_mcg_find(struct pane_dev *dev,
			       const struct in6_addr *gid);
int pane_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int pane_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

#endif /* PANE_MCAST_H */
