/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the calls of verbs are tried with */
#ifndef PANE_FAULTS_H
#define PANE_FAULTS_H

#include "pane_fault.h"
#include "pane_nldev.h"
#include "pane_util.h"

#define BIG_LEN		(4 << 20)
#define STEP_WR		32

/* Where the window of the stage is in the owner's memory */
#define WIN_OFF		4096
#define WIN_LEN		(40 * 1024)

/* For calls that return an object: 0 or an errno value */
#define MAKE(object, call)	(((object) = (call)) ? 0 : errno)

/**
 * struct stage - objects that calls need, and a place for those they make
 * @d: a connection that all works on
 * @big: memory, not registered but by a call
 * @pd: another domain
 * @xrcd: domain of XRC
 * @cq: for QPs and SRQs
 * @srq: of XRC
 * @ud: datagram QP, ready
 * @other: endpoint whose QP changes its state
 * @win: window of the owner
 * @spare_pd: made by the call, like all that follow
 * @ctx: likewise
 * @mr: likewise
 * @mw: likewise
 * @chan: likewise
 * @new_cq: likewise
 * @new_srq: likewise
 * @new_xrcd: likewise
 * @qp: likewise
 * @ah: likewise
 * @nl: netlink socket
 * @before: objects of the owner's device before a call
 */
struct stage {
	struct duo d;
	struct region big;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *ud;
	struct endpoint other;
	struct ibv_mw *win;

	struct ibv_pd *spare_pd;
	struct ibv_context *ctx;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_comp_channel *chan;
	struct ibv_cq *new_cq;
	struct ibv_srq *new_srq;
	struct ibv_xrcd *new_xrcd;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	int nl;
	struct resources before;
};

/* Callbacks have the type that fault_each() wants */
#define STAGE(ctx)	((struct stage *)(ctx))

static inline uint64_t win_va(const struct stage *st)
{
	return region_at(&st->d.mem, WIN_OFF);
}

/* 0 or an errno value; the attributes are those of every transport */
int qp_step(struct stage *st, struct ibv_qp *qp, enum ibv_qp_state state);

struct faults_list {
	const struct fault_call *calls;
	unsigned int num;
};

extern const struct faults_list faults_objects, faults_queues, faults_data;

#endif
