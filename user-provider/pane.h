/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs provider of the Pane RDMA device: its objects and what its files offer
 * each other.
 *
 * Locks. Every send, receive, shared receive and completion queue has one spin
 * lock. The provider never takes a second lock while it holds one, whatever the
 * kinds. Users can nest them: between ibv_start_poll() and ibv_end_poll() the
 * lock of the CQ is held and requests may be posted; the other way round,
 * polling between ibv_wr_start() and ibv_wr_complete(), is a deadlock where
 * another thread does the former with the same two queues. The order is
 *
 *	CQ resize mutex -> CQ -> SQ, RQ, SRQ
 *
 * No spin lock is held over a system call, with two exceptions that the ABI
 * asks for: binding a type 1 window (mw.c) and resizing an SRQ.
 */
#ifndef PANE_PROVIDER_H
#define PANE_PROVIDER_H

#include <stdatomic.h>
#include <stddef.h>

#include <infiniband/driver.h>
#include <ccan/container_of.h>

#include "pane-abi.h"
#include "ring.h"

/**
 * struct pane_context - an opened device
 * @doorbell_fd: the doorbell file
 * @caps: device_cap_flags_ex
 */
struct pane_context {
	struct verbs_context vctx;
	int doorbell_fd;
	uint64_t caps;
};

struct pane_td {
	struct ibv_td ibv_td;
	atomic_uint users;	/* parent domains */
};

/**
 * struct pane_pd - protection domain or parent domain
 * @ibv_pd: a parent domain has the handle of its protection domain
 * @domain: of a parent domain: the protection domain it extends; else NULL
 * @td: of a parent domain: its thread domain or NULL
 * @users: of a protection domain: parent domains that extend it
 */
struct pane_pd {
	struct ibv_pd ibv_pd;
	struct pane_pd *domain;
	struct pane_td *td;
	atomic_uint users;
};

struct pane_ah {
	struct ibv_ah ibv_ah;
	uint32_t number;
};

/**
 * struct pane_cq - completion queue
 * @lock: protects @ring, @mask, @cons, @cur, @resizing and @ctl->cons; held from
 *        start_poll to end_poll
 * @ring: mapped read-only
 * @ring_size: bytes of that mapping; changed under @resize only
 * @mask: slots of @ring minus one
 * @cons: index of the entry to take next, or that @cur points to
 * @cur: entry that the read_ functions of the extended CQ look at
 * @ctl: mapped page; @ctl->arm is set without the lock
 * @resize: one resize at a time
 * @resizing: @ring may not be the kernel's any more: wait for @resize
 */
struct pane_cq {
	struct verbs_cq vcq;
	struct pane_lock lock;
	const struct pane_cqe *ring;
	uint64_t ring_size;
	uint32_t mask;
	uint32_t cons;
	const struct pane_cqe *cur;
	struct pane_cq_ctl *ctl;
	pthread_mutex_t resize;
	bool resizing;
};

/* A key that a window gets when the batch that binds it is accepted */
struct pane_new_rkey {
	struct ibv_mw *mw;
	uint32_t rkey;
};

/**
 * struct pane_batch - requests between ibv_wr_start() and ibv_wr_complete();
 *		       protected by the lock of the send queue
 * @first: q.prod at the start, where a failed batch goes back to
 * @err: first error, or 0
 * @wqe: request that the setters work on; NULL without one or after an error
 * @op: its operation
 * @needs_addr: ibv_wr_set_ud_addr() has yet to be called for @wqe
 * @rkeys: @num_rkeys keys to hand out; room for @max_rkeys
 */
struct pane_batch {
	uint32_t first;
	int err;
	struct pane_sq_wqe *wqe;
	const struct pane_send_op *op;
	bool needs_addr;
	struct pane_new_rkey *rkeys;
	uint32_t num_rkeys;
	uint32_t max_rkeys;
};

/**
 * struct pane_sq - send queue
 * @q: the ring
 * @max_inline: bytes of inline data a request may have
 * @flag_mask: enum ibv_send_flags that mean something to this type of QP
 * @flag_always: IBV_SEND_SIGNALED for a QP created with sq_sig_all
 * @batch: used by the ibv_wr_ functions only
 */
struct pane_sq {
	struct pane_queue q;
	uint32_t max_inline;
	unsigned int flag_mask;
	unsigned int flag_always;
	struct pane_batch batch;
};

struct pane_qp {
	struct verbs_qp vqp;
	void *ring;
	uint64_t ring_size;
	struct pane_sq sq;
	struct pane_queue rq;
};

struct pane_srq {
	struct verbs_srq vsrq;
	void *ring;
	uint64_t ring_size;
	struct pane_queue q;
};

static inline struct pane_context *to_pane_context(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct pane_context, vctx.context);
}

static inline struct pane_td *to_pane_td(struct ibv_td *ibtd)
{
	return container_of(ibtd, struct pane_td, ibv_td);
}

static inline struct pane_pd *to_pane_pd(struct ibv_pd *ibpd)
{
	return container_of(ibpd, struct pane_pd, ibv_pd);
}

static inline struct pane_ah *to_pane_ah(struct ibv_ah *ibah)
{
	return container_of(ibah, struct pane_ah, ibv_ah);
}

static inline struct pane_cq *to_pane_cq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct pane_cq, vcq.cq);
}

static inline struct pane_cq *to_pane_cq_ex(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct pane_cq, vcq.cq_ex);
}

static inline struct pane_qp *to_pane_qp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct pane_qp, vqp.qp);
}

static inline struct pane_qp *to_pane_qp_ex(struct ibv_qp_ex *ibqp)
{
	return container_of(ibqp, struct pane_qp, vqp.qp_ex);
}

static inline struct pane_srq *to_pane_srq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct pane_srq, vsrq.srq);
}

/* pane.c */
void *pane_map_ring(struct ibv_context *ibctx, uint64_t offset, uint64_t size,
		    int prot);
int pane_ring_doorbell(struct ibv_qp *ibqp, unsigned long request);

/* pd.c */
struct ibv_pd *pane_alloc_pd(struct ibv_context *ibctx);
struct ibv_pd *pane_alloc_parent_domain(
	struct ibv_context *ibctx, struct ibv_parent_domain_init_attr *attr);
int pane_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_pd *pane_import_pd(struct ibv_context *ibctx, uint32_t handle);
void pane_unimport_pd(struct ibv_pd *ibpd);
struct ibv_td *pane_alloc_td(struct ibv_context *ibctx,
			     struct ibv_td_init_attr *attr);
int pane_dealloc_td(struct ibv_td *ibtd);
bool pane_pd_single_threaded(struct ibv_pd *ibpd);
bool pane_same_pd(const struct ibv_pd *a, const struct ibv_pd *b);

/* mr.c */
struct ibv_mr *pane_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length,
			   uint64_t iova, int access);
struct ibv_mr *pane_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access);
int pane_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		  void *addr, size_t length, int access);
int pane_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *pane_import_mr(struct ibv_pd *ibpd, uint32_t handle);
void pane_unimport_mr(struct ibv_mr *ibmr);

/* mw.c */
struct ibv_mw *pane_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type);
int pane_dealloc_mw(struct ibv_mw *ibmw);
int pane_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *ibmw,
		 struct ibv_mw_bind *bind);
int pane_check_bind(const struct ibv_qp *ibqp, const struct ibv_mw *ibmw,
		    const struct ibv_mw_bind_info *info);
uint32_t pane_bind_rkey(const struct ibv_mw *ibmw, uint32_t rkey);
void pane_fill_bind(struct pane_sq_wqe *wqe, const struct ibv_mw *ibmw,
		    uint32_t rkey, const struct ibv_mw_bind_info *info);

/* ah.c */
struct ibv_ah *pane_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr);
int pane_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *pane_create_cq(struct ibv_context *ibctx, int cqe,
			      struct ibv_comp_channel *channel,
			      int comp_vector);
struct ibv_cq_ex *pane_create_cq_ex(struct ibv_context *ibctx,
				    struct ibv_cq_init_attr_ex *attr);
int pane_resize_cq(struct ibv_cq *ibcq, int cqe);
void pane_lock_to_poll(struct pane_cq *cq);
int pane_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int pane_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
int pane_destroy_cq(struct ibv_cq *ibcq);

/* poll.c */
int pane_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
void pane_init_cq_ex(struct ibv_cq_ex *cq_ex, uint64_t wc_flags);

/* qp.c */
struct ibv_qp *pane_create_qp(struct ibv_pd *ibpd,
			      struct ibv_qp_init_attr *attr);
struct ibv_qp *pane_create_qp_ex(struct ibv_context *ibctx,
				 struct ibv_qp_init_attr_ex *attr);
int pane_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr);
int pane_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask);
int pane_destroy_qp(struct ibv_qp *ibqp);

/* post.c */
int pane_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr);
int pane_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr);
int pane_queue_recv_list(struct pane_queue *q, struct ibv_recv_wr **wr);

/* wr.c */
void pane_init_qp_ex(struct ibv_qp_ex *qp_ex);

/* srq.c */
struct ibv_srq *pane_create_srq(struct ibv_pd *ibpd,
				struct ibv_srq_init_attr *attr);
struct ibv_srq *pane_create_srq_ex(struct ibv_context *ibctx,
				   struct ibv_srq_init_attr_ex *attr);
int pane_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		    int attr_mask);
int pane_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int pane_destroy_srq(struct ibv_srq *ibsrq);
int pane_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr);

/* xrc.c */
struct ibv_xrcd *pane_open_xrcd(struct ibv_context *ibctx,
				struct ibv_xrcd_init_attr *attr);
int pane_close_xrcd(struct ibv_xrcd *ibxrcd);
struct ibv_qp *pane_open_qp(struct ibv_context *ibctx,
			    struct ibv_qp_open_attr *attr);
int pane_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);

#endif /* PANE_PROVIDER_H */
