// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/string.h>

#include "mr.h"
#include "mw.h"
#include "opcode.h"
#include "pane.h"
#include "wire.h"
#include "wr.h"

/* ---- local operations ------------------------------------------------ */

static enum ib_wc_status wr_bind_result(struct pane_swqe *w,
					enum pane_vendor_err verr)
{
	w->vendor_err = verr;
	return verr ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

static enum ib_wc_status wr_issue_bind1(struct pane_qp *qp, struct pane_swqe *w)
{
	return wr_bind_result(w, pane_mw_bind_type1(qp, &w->bind));
}

static enum ib_wc_status wr_issue_bind2(struct pane_qp *qp, struct pane_swqe *w)
{
	return wr_bind_result(w, pane_mw_bind_type2(qp, &w->bind));
}

/* libibverbs has no status for a failed LOCAL_INV; this one is the nearest */
static enum ib_wc_status wr_issue_local_inv(struct pane_qp *qp,
					    struct pane_swqe *w)
{
	return wr_bind_result(w, pane_key_invalidate(qp, w->ex));
}

static enum ib_wc_status wr_issue_reg_mr(struct pane_qp *qp,
					 struct pane_swqe *w)
{
	return pane_mr_fast_reg(qp, w->reg.mr, w->reg.key, w->reg.access) ?
	       IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

/* ---- the table ------------------------------------------------------- */

/* An XRC QP that has a send queue counts as RC */
#define RC	(BIT(IB_QPT_RC) | BIT(IB_QPT_XRC_INI))
#define UC	BIT(IB_QPT_UC)
#define UD	(BIT(IB_QPT_UD) | BIT(IB_QPT_GSI))

#define SIG	PANE_WR_SIGNALED
#define SOL	PANE_WR_SOLICITED
#define FEN	PANE_WR_FENCE
#define INL	PANE_WR_INLINE

#define WIRE(op, class_, wc_, types_, flags_, first_, last_, only_)	\
	[PANE_WR_##op] = {						\
		.name = #op,						\
		.class = PANE_WRC_##class_,				\
		.wc_opcode = IB_WC_##wc_,				\
		.qp_types = (types_),					\
		.flags = (flags_),					\
		.first = PANE_OP_##first_,				\
		.last = PANE_OP_##last_,				\
		.only = PANE_OP_##only_,				\
	}

/* B11 for binds; the same holds for the other local operations */
#define LOCAL(op, wc_, issue_)						\
	[PANE_WR_##op] = {						\
		.name = #op,						\
		.class = PANE_WRC_LOCAL,				\
		.wc_opcode = IB_WC_##wc_,				\
		.qp_types = RC | UC,					\
		.flags = SIG | FEN,					\
		.issue = issue_,					\
	}

const struct pane_wr_info pane_wr_table[PANE_WR_MAX] = {
	WIRE(SEND, SEND, SEND, RC | UC | UD, SIG | SOL | FEN | INL,
	     SEND_FIRST, SEND_LAST, SEND_ONLY),
	WIRE(SEND_IMM, SEND, SEND, RC | UC | UD, SIG | SOL | FEN | INL,
	     SEND_FIRST, SEND_LAST_IMM, SEND_ONLY_IMM),
	WIRE(SEND_INV, SEND, SEND, RC, SIG | SOL | FEN | INL,
	     SEND_FIRST, SEND_LAST_INV, SEND_ONLY_INV),
	WIRE(WRITE, WRITE, RDMA_WRITE, RC | UC, SIG | SOL | FEN | INL,
	     WRITE_FIRST, WRITE_LAST, WRITE_ONLY),
	WIRE(WRITE_IMM, WRITE, RDMA_WRITE, RC | UC, SIG | SOL | FEN | INL,
	     WRITE_FIRST, WRITE_LAST_IMM, WRITE_ONLY_IMM),
	WIRE(READ, READ, RDMA_READ, RC, SIG | SOL | FEN,
	     READ_REQUEST, READ_REQUEST, READ_REQUEST),
	WIRE(CMP_SWAP, ATOMIC, COMP_SWAP, RC, SIG | SOL | FEN,
	     CMP_SWAP, CMP_SWAP, CMP_SWAP),
	WIRE(FETCH_ADD, ATOMIC, FETCH_ADD, RC, SIG | SOL | FEN,
	     FETCH_ADD, FETCH_ADD, FETCH_ADD),
	/* never solicited (oA19-6) */
	WIRE(FLUSH, FLUSH, FLUSH, RC, SIG | FEN,
	     FLUSH, FLUSH, FLUSH),
	WIRE(ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE, RC, SIG | SOL | FEN | INL,
	     ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE),
	LOCAL(BIND_MW, BIND_MW, wr_issue_bind2),
	LOCAL(BIND_MW1, BIND_MW, wr_issue_bind1),
	LOCAL(LOCAL_INV, LOCAL_INV, wr_issue_local_inv),
	LOCAL(REG_MR, REG_MR, wr_issue_reg_mr),
};

/* ---- from a user's ring ---------------------------------------------- */

static void wr_fail(struct pane_swqe *w, enum ib_wc_status status,
		    enum pane_vendor_err verr)
{
	w->state = PANE_SWQE_FAILED;
	w->status = status;
	w->vendor_err = verr;
}

static u32 wr_feth(const struct pane_sq_wqe *u)
{
	return (u->flush.type & PANE_FLUSH_GLOBAL ? PANE_FETH_GLOBAL : 0) |
	       (u->flush.type & PANE_FLUSH_PERSISTENT ?
		PANE_FETH_PERSISTENT : 0) |
	       (u->flush.level == PANE_FLUSH_MR ? PANE_FETH_SEL_MR :
						  PANE_FETH_SEL_RANGE);
}

/* What the union of a slot holds, by the class of the operation */
static void wr_take_op(struct pane_qp *qp, struct pane_swqe *w,
		       const struct pane_sq_wqe *u)
{
	if (w->op == PANE_WR_BIND_MW) {
		w->bind.addr = u->bind.addr;
		w->bind.length = u->bind.length;
		w->bind.mw_rkey = u->bind.mw_rkey;
		w->bind.new_rkey = u->bind.rkey;
		w->bind.lkey = u->bind.lkey;
		w->bind.access = u->bind.access;
	} else if (pane_wr_info(w)->class == PANE_WRC_ATOMIC) {
		w->rdma.va = u->atomic.remote_addr;
		w->rdma.rkey = u->atomic.rkey;
		w->rdma.srqn = u->atomic.srqn & PANE_BTH_QPN;
		w->rdma.compare_add = u->atomic.compare_add;
		w->rdma.swap = u->atomic.swap;
	} else if (w->op == PANE_WR_FLUSH) {
		w->rdma.va = u->flush.remote_addr;
		w->rdma.rkey = u->flush.rkey;
		w->rdma.srqn = u->flush.srqn & PANE_BTH_QPN;
		w->rdma.feth = wr_feth(u);
		/* that of all of a region has no meaning (oA19-13) */
		w->length = u->flush.level == PANE_FLUSH_MR ? 0 :
							      u->flush.length;
	} else if (pane_qp_is_datagram(qp)) {
		w->ud.ah = u->ud.ah;
		w->ud.qpn = u->ud.remote_qpn & PANE_BTH_QPN;
		w->ud.qkey = u->ud.remote_qkey;
	} else {
		w->rdma.va = u->rdma.remote_addr;
		w->rdma.rkey = u->rdma.rkey;
		w->rdma.srqn = u->rdma.srqn & PANE_BTH_QPN;
	}
}

/* Members that have no meaning for the request are zero */
static bool wr_reserved_ok(const struct pane_qp *qp, const struct pane_swqe *w,
			   const struct pane_sq_wqe *u)
{
	if (pane_wr_info(w)->class == PANE_WRC_ATOMIC ||
	    w->op == PANE_WR_BIND_MW)
		return true;
	if (w->op == PANE_WR_FLUSH)
		/* whether a region is persistent is for its owner to say */
		return u->flush.type &&
		       !(u->flush.type & ~(PANE_FLUSH_GLOBAL |
					   PANE_FLUSH_PERSISTENT)) &&
		       u->flush.level <= PANE_FLUSH_MR &&
		       !u->flush.reserved;
	if (pane_wr_info(w)->class == PANE_WRC_LOCAL)
		return !memchr_inv(&u->rdma, 0, sizeof(u->rdma));
	if (pane_qp_is_datagram(qp) && u->ud.reserved0)
		return false;
	/* inline_len and reserved[] are in the same place for datagrams */
	if (!(w->flags & PANE_WR_INLINE) && u->rdma.inline_len)
		return false;
	return !memchr_inv(u->rdma.reserved, 0, sizeof(u->rdma.reserved));
}

/* Does the device have the operation? */
static bool wr_supported(const struct pane_qp *qp, const struct pane_swqe *w)
{
	u64 caps = qp->dev->ibdev.attrs.device_cap_flags;

	switch (pane_wr_info(w)->class) {
	case PANE_WRC_FLUSH:
		return caps & IB_DEVICE_FLUSH_GLOBAL;
	case PANE_WRC_ATOMIC_WRITE:
		return caps & IB_DEVICE_ATOMIC_WRITE;
	default:
		return true;
	}
}

/* May this QP execute the request? The lists and lengths come later. */
static enum pane_vendor_err wr_check_op(const struct pane_qp *qp,
					const struct pane_swqe *w,
					const struct pane_sq_wqe *u)
{
	const struct pane_wr_info *info = pane_wr_info(w);

	if (!(info->qp_types & BIT(qp->type)) || !wr_supported(qp, w))
		return PANE_VERR_WQE_OPCODE;
	if (w->flags & ~info->flags)
		return PANE_VERR_WQE_FLAGS;
	if (!wr_reserved_ok(qp, w, u))
		return PANE_VERR_WQE_RESERVED;
	if (info->class == PANE_WRC_LOCAL || info->class == PANE_WRC_FLUSH)
		return w->num_sge ? PANE_VERR_WQE_SGE : PANE_VERR_NONE;
	if (w->flags & PANE_WR_INLINE) {
		if (w->num_sge)
			return PANE_VERR_WQE_SGE;
		if (u->rdma.inline_len > qp->sq.max_inline)
			return PANE_VERR_WQE_LENGTH;
	} else if (w->num_sge > qp->sq.max_sge) {
		return PANE_VERR_WQE_SGE;
	}
	return PANE_VERR_NONE;
}

static void wr_take_data(struct pane_swqe *w, const struct pane_sq_wqe *u,
			 const struct pane_sq_wqe *slot)
{
	if (w->flags & PANE_WR_INLINE) {
		w->length = u->rdma.inline_len;
		memcpy(w->sge, slot->sge, w->length);
	} else {
		memcpy(w->sge, slot->sge, w->num_sge * sizeof(*w->sge));
	}
	/* from here on only the copy counts */
	barrier();
}

/**
 * pane_wr_check_length - find the length of a request and check it
 * @qp: where it was posted
 * @w: the request; its length is set
 *
 * Return: 0 or PANE_VERR_WQE_LENGTH
 */
enum pane_vendor_err pane_wr_check_length(const struct pane_qp *qp,
					  struct pane_swqe *w)
{
	const struct pane_wr_info *info = pane_wr_info(w);
	u64 length = 0;
	u32 i;

	/* a FLUSH has a length, but no data */
	if (info->class != PANE_WRC_FLUSH && !(w->flags & PANE_WR_INLINE)) {
		for (i = 0; i < w->num_sge; i++)
			length += w->sge[i].length;
		if (length > PANE_MAX_MSG)
			return PANE_VERR_WQE_LENGTH;
		w->length = length;
	}
	if (w->length > PANE_MAX_MSG ||
	    (pane_qp_is_datagram(qp) && w->length > pane_qp_mtu(qp)) ||
	    (info->class == PANE_WRC_ATOMIC && w->length < sizeof(u64)) ||
	    (info->class == PANE_WRC_ATOMIC_WRITE && w->length != sizeof(u64)))
		return PANE_VERR_WQE_LENGTH;
	return PANE_VERR_NONE;
}

/* Copy one request out of its slot, then look at the copy */
static void wr_take(struct pane_qp *qp, struct pane_swqe *w,
		    const struct pane_sq_wqe *slot)
{
	enum pane_vendor_err verr;
	struct pane_sq_wqe u;

	memcpy(&u, slot, sizeof(u));
	barrier();

	w->op = 0;
	w->state = PANE_SWQE_POSTED;
	w->wr_id = u.wr_id;
	w->flags = u.flags;
	w->ex = u.ex;
	w->num_sge = u.num_sge;
	w->length = 0;
	w->num_pkts = 0;
	w->in_flight = false;
	w->vendor_err = PANE_VERR_NONE;
	if (u.opcode >= PANE_WR_USER_MAX) {
		verr = PANE_VERR_WQE_OPCODE;
		goto fail;
	}
	w->op = u.opcode;
	verr = wr_check_op(qp, w, &u);
	if (verr)
		goto fail;
	wr_take_op(qp, w, &u);
	wr_take_data(w, &u, slot);
	verr = pane_wr_check_length(qp, w);
	if (!verr)
		return;
fail:
	pane_qp_count(qp, wqe_err);
	wr_fail(w, verr == PANE_VERR_WQE_LENGTH ? IB_WC_LOC_LEN_ERR :
		IB_WC_LOC_QP_OP_ERR, verr);
}

/* Requests taken at a time, so that the QP is not held too long */
#define WR_FETCH_MAX	64

/**
 * pane_wr_fetch - take new requests out of a user's send ring
 * @qp: the QP, entered
 *
 * Some, if there are any and they fit. A number of requests that the ring
 * cannot hold is nonsense and ignored; it harms its writer only.
 *
 * Return: true if there were any
 */
bool pane_wr_fetch(struct pane_qp *qp)
{
	struct pane_sq *sq = &qp->sq;
	u32 avail, room;

	if (!sq->ring)
		return false;
	/* pairs with the release of who posts */
	avail = smp_load_acquire(&qp->ctl->sq_prod) - sq->prod;
	room = sq->mask + 1 - (sq->prod - sq->cons);
	if (avail > sq->mask + 1)
		return false;
	avail = min3(avail, room, (u32)WR_FETCH_MAX);
	if (!avail)
		return false;

	for (; avail; avail--) {
		wr_take(qp, pane_swqe(sq, sq->prod),
			sq->ring + (size_t)(sq->prod & sq->mask) *
				   sq->ring_stride);
		sq->prod++;
	}
	return true;
}

/* A request ends that was not executed: give back what it had reserved */
void pane_wr_discard(struct pane_qp *qp, struct pane_swqe *w)
{
	if (w->op == PANE_WR_BIND_MW1 && w->state != PANE_SWQE_DONE)
		pane_mw_unreserve_key(qp->dev, &w->bind);
}
