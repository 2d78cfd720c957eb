/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests: what each operation of the send queue is, and how requests
 * come into the kernel. A request is copied once and the copy is checked
 * (prep, here); only then does the requester look at it (issue, req.c).
 */
#ifndef PANE_WR_H
#define PANE_WR_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

enum pane_wr_class {
	PANE_WRC_SEND,
	PANE_WRC_WRITE,
	PANE_WRC_READ,
	PANE_WRC_ATOMIC,
	PANE_WRC_FLUSH,
	PANE_WRC_ATOMIC_WRITE,
	PANE_WRC_LOCAL,		/* never on the wire */
};

/**
 * struct pane_wr_info - what an operation is
 * @name: for tracing
 * @class: enum pane_wr_class
 * @wc_opcode: IB_WC_ of its completion
 * @qp_types: BIT(IB_QPT_) that may execute it
 * @flags: enum pane_wr_flags that it may carry
 * @first: PANE_OP_ of the first of several packets
 * @last: of the last; that of a middle one follows @first
 * @only: of the only one
 * @issue: executes it, if it is local
 */
struct pane_wr_info {
	const char *name;
	u8 class;
	u8 wc_opcode;
	u16 qp_types;
	u16 flags;
	u8 first;
	u8 last;
	u8 only;
	enum ib_wc_status (*issue)(struct pane_qp *qp, struct pane_swqe *w);
};

extern const struct pane_wr_info pane_wr_table[PANE_WR_MAX];

static inline const struct pane_wr_info *pane_wr_info(const struct pane_swqe *w)
{
	return &pane_wr_table[w->op];
}

static inline bool pane_wr_is_local(const struct pane_swqe *w)
{
	return pane_wr_info(w)->class == PANE_WRC_LOCAL;
}

/*
 * Does the request get its answer in packets of its own? That of FLUSH and
 * ATOMIC WRITE is the answer to a READ of nothing.
 */
static inline bool pane_wr_reads(const struct pane_swqe *w)
{
	u8 class = pane_wr_info(w)->class;

	return class == PANE_WRC_READ || class == PANE_WRC_ATOMIC ||
	       class == PANE_WRC_FLUSH || class == PANE_WRC_ATOMIC_WRITE;
}

bool pane_wr_fetch(struct pane_qp *qp);
void pane_wr_discard(struct pane_qp *qp, struct pane_swqe *w);
enum pane_vendor_err pane_wr_check_length(const struct pane_qp *qp,
					  struct pane_swqe *w);

/* post.c */
int pane_post_bind_mw(struct pane_qp *qp, const struct pane_bind_mw *req,
		      const struct pane_bind *b);
int pane_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int pane_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif /* PANE_WR_H */
