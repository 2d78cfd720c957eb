/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queues */
#ifndef PANE_CQ_H
#define PANE_CQ_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/pane-abi.h>

struct pane_umap;

/**
 * struct pane_wc - a completion on its way into a queue
 * @cqe: what everybody is told; all but its seq
 * @qp: for kernel users
 * @net_type: RDMA_NETWORK_ of a datagram, for kernel users
 * @vlan: VLAN ID of a datagram, 0xffff for none, for kernel users
 */
struct pane_wc {
	struct pane_cqe cqe;
	struct ib_qp *qp;
	u8 net_type;
	u16 vlan;
};

/* A completion with what all of them have */
static inline void pane_wc_init(struct pane_wc *wc, u64 wr_id,
				enum ib_wc_status status, u8 opcode)
{
	wc->cqe = (struct pane_cqe) {
		.wr_id = wr_id,
		.status = status,
		.opcode = opcode,
	};
	wc->vlan = 0xffff;
}

/**
 * struct pane_cq - a completion queue
 * @ibcq: the core's half
 * @lock: guards the members after it
 * @ring: a user's entries; user space only reads them
 * @kring: a kernel user's entries
 * @mask: entries - 1
 * @prod: next entry to write
 * @cons: kernel users: next entry to read
 * @arm: kernel users: enum pane_cq_arm
 * @overrun: an entry was lost; told by an event once
 * @timestamps: entries tell when they were made
 * @held: entries since the queue was armed, which are not told of yet
 * @hold_count: so many are told of at once; 0 or 1: each
 * @hold_time: but not later than this after the first one, in us; 0: whenever
 * @hold_timer: the end of that time
 * @ctl: user space's cons and arm, else NULL
 * @ring_map: mapping of @ring
 * @ctl_map: mapping of @ctl
 * @notifying: completion handlers running or about to; destroy waits for 0
 * @notify_work: calls the handler for who could not
 * @error_work: raises IB_EVENT_CQ_ERR
 */
struct pane_cq {
	struct ib_cq ibcq;
	spinlock_t lock;
	struct pane_cqe *ring;
	struct pane_wc *kring;
	u32 mask;
	u32 prod;
	u32 cons;
	u32 arm;
	bool overrun;
	bool timestamps;
	u16 held;
	u16 hold_count;
	u16 hold_time;
	struct hrtimer hold_timer;
	struct pane_cq_ctl *ctl;
	struct pane_umap *ring_map;
	struct pane_umap *ctl_map;
	atomic_t notifying;
	struct work_struct notify_work;
	struct work_struct error_work;
};

static inline struct pane_cq *to_pane_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct pane_cq, ibcq);
}

enum pane_cq_result {
	PANE_CQ_POSTED,
	PANE_CQ_NOTIFY,		/* posted; pane_cq_notify() is due */
	PANE_CQ_OVERRUN,	/* lost */
};

enum pane_cq_result pane_cq_post(struct pane_cq *cq, const struct pane_wc *wc,
				 bool solicited);
void pane_cq_notify(struct pane_cq *cq);
u32 pane_cq_unread(const struct pane_cq *cq);
bool pane_cq_armed(struct pane_cq *cq);
void pane_cq_forget(struct pane_cq *cq, u32 qpn);

int pane_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int pane_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int pane_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
			struct ib_udata *udata);
int pane_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int pane_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int pane_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* PANE_CQ_H */
