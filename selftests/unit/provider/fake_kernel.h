/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel as the provider's data path sees it: memory that both map, and a
 * doorbell. The functions of libibverbs that would ask the kernel for objects
 * are replaced, and so is ioctl(2).
 */
#ifndef PANE_FAKE_KERNEL_H
#define PANE_FAKE_KERNEL_H

#include <config.h>

#include "wqe.h"

#define KERNEL_SLOTS		8U
#define KERNEL_MAX_SGE		4U
#define KERNEL_MAX_INLINE	256U
#define KERNEL_QPN		17U

/* Bits of device_cap_flags_ex; older libraries have no names for them */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_ATOMIC_WRITE	(1ULL << 40)
#define KERNEL_CAPS		(CAP_FLUSH_GLOBAL | CAP_ATOMIC_WRITE)

/**
 * struct kernel_qp - the queues of the QP that was made last
 * @ctl: head of the mapping
 * @sq: send ring
 * @rq: receive ring
 */
struct kernel_qp {
	struct pane_qp_ctl *ctl;
	uint8_t *sq;
	uint8_t *rq;
};

/**
 * struct kernel_cq - the CQ that was made or resized last
 * @ring: entries
 * @count: how many
 * @prod: next to write
 * @ctl: what user space tells
 * @during_resize: called when the new ring is filled, before the call returns
 */
struct kernel_cq {
	struct pane_cqe *ring;
	uint32_t count;
	uint32_t prod;
	struct pane_cq_ctl *ctl;
	void (*during_resize)(void);
};

/**
 * struct kernel_doorbell - what came through the doorbell file
 * @send: PANE_DB_SEND
 * @recv: PANE_DB_RECV
 * @bind: PANE_DB_BIND_MW
 * @last_bind: the last of these
 * @new_rkey: the key to answer with
 * @err: errno of all calls from now on, or 0
 */
struct kernel_doorbell {
	unsigned int send;
	unsigned int recv;
	unsigned int bind;
	struct pane_bind_mw last_bind;
	uint32_t new_rkey;
	int err;
};

/**
 * struct kernel_srq - the SRQ that was made last
 * @ctl: head of the mapping
 * @rq: ring
 * @count: its slots
 * @lies: say that a resized ring has another number of slots
 */
struct kernel_srq {
	struct pane_srq_ctl *ctl;
	uint8_t *rq;
	uint32_t count;
	bool lies;
};

extern struct kernel_qp kernel_qp;
extern struct kernel_cq kernel_cq;
extern struct kernel_srq kernel_srq;
extern struct kernel_doorbell doorbell;

extern struct pane_context context;
extern struct pane_pd pd, other_pd;

void kernel_init(void);
void *kernel_mmap(void *addr, size_t size, int prot, int flags, int fd,
		  off_t offset);
int kernel_munmap(void *addr, size_t size);
struct pane_sq_wqe *kernel_wqe(uint32_t index);
struct pane_rq_wqe *kernel_rwqe(uint32_t index);
void kernel_fill_rings(int byte);
void kernel_complete(const struct pane_cqe *cqe);

/* A QP in state RTS with a doorbell that was never rung; 0 for no ibv_wr_ */
struct ibv_qp *new_qp(enum ibv_qp_type type, uint64_t send_ops);
struct ibv_qp *new_qp_in(struct ibv_pd *in_pd, enum ibv_qp_type type,
			 uint64_t send_ops, int sq_sig_all);
void end_qp(struct ibv_qp *qp);

#endif
