// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Execution of requests. A1 to A7 are the rules for remote access in
 * Documentation/infiniband/pane.rst.
 */
#include <linux/jiffies.h>

#include "cq.h"
#include "mw.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "resp.h"
#include "rq.h"
#include "rx.h"
#include "srq.h"
#include "trace.h"

/* Wrong keys in a second that an unreliable QP's peer has free */
#define RESP_BAD_KEYS	16

/* ---- receive requests ------------------------------------------------ */

/*
 * Where receives complete. With XRC that is the SRQ's CQ, which stays while the
 * SRQ is not dead.
 */
static void resp_post_wc(struct pane_qp *qp, struct pane_wc *wc, bool solicited)
{
	enum pane_cq_result result = PANE_CQ_POSTED;
	struct pane_srq *srq;

	if (qp->type != IB_QPT_XRC_TGT) {
		pane_qp_complete(qp, qp->recv_cq, wc, solicited);
		return;
	}
	srq = pane_srq_find(qp->resp.srqn);
	if (!srq)
		return;
	spin_lock(&srq->lock);
	if (!srq->dead)
		result = pane_qp_post_wc(qp, srq->cq, wc, solicited);
	spin_unlock(&srq->lock);
	if (result == PANE_CQ_OVERRUN)
		pane_qp_error(qp);
}

/* One receive request ends. @p: the packet that ended it, or NULL */
void pane_resp_complete(struct pane_qp *qp, enum ib_wc_status status,
			const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	struct pane_wc wc;

	pane_wc_init(&wc, r->rwqe->wr_id, status, IB_WC_RECV);
	wc.cqe.byte_len = r->rcvd;
	if (p && p->op->kind == PANE_KIND_WRITE)
		wc.cqe.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	if (p && pane_op_has(p->op, PANE_HDR_IMM)) {
		const struct pane_immdt *imm = pane_pkt_hdr(p, PANE_HDR_IMM);

		wc.cqe.flags |= PANE_CQE_IMM;
		wc.cqe.ex = (__force u32)imm->imm;
	} else if (p && !status && pane_op_has(p->op, PANE_HDR_IETH)) {
		const struct pane_ieth *ieth = pane_pkt_hdr(p, PANE_HDR_IETH);

		wc.cqe.flags |= PANE_CQE_INV;
		wc.cqe.ex = be32_to_cpu(ieth->rkey);
	}
	r->have_rwqe = false;
	resp_post_wc(qp, &wc, status || (p && p->solicited));
}

/* Take a request from where the QP has them */
static enum pane_rq_result resp_take_rwqe(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	if (qp->type == IB_QPT_XRC_TGT)
		return pane_srq_take(r->srq, r->rwqe);
	if (qp->srq)
		return pane_srq_take(qp->srq, r->rwqe);
	return pane_rq_take(&qp->rq, r->rwqe);
}

/* Whose buffers they are */
static struct ib_pd *resp_rwqe_pd(const struct pane_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->resp.pd;
}

/**
 * pane_resp_need_rwqe - see that there is a receive request to fill
 * @qp: the QP
 *
 * Return: PANE_RESP_DONE, PANE_RESP_RNR, or PANE_RESP_REM_OP for one that is
 * malformed, which has completed then
 */
enum pane_resp_result pane_resp_need_rwqe(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	if (r->have_rwqe)
		return PANE_RESP_DONE;
	switch (resp_take_rwqe(qp)) {
	case PANE_RQ_EMPTY:
		return PANE_RESP_RNR;
	case PANE_RQ_MALFORMED:
		pane_qp_count(qp, wqe_err);
		r->rcvd = 0;
		pane_resp_complete(qp, IB_WC_LOC_QP_OP_ERR, NULL);
		return PANE_RESP_REM_OP;
	default:
		break;
	}
	r->have_rwqe = true;
	pane_resp_rewind_rwqe(qp);
	return PANE_RESP_DONE;
}

/* Fill the receive request from its start */
void pane_resp_rewind_rwqe(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	r->rcvd = 0;
	pane_sgl_init(&r->sgl, resp_rwqe_pd(qp), r->rwqe->sge,
		      r->rwqe->num_sge);
}

/* What becomes of a request whose key was right, when memory was looked for */
enum pane_resp_result pane_resp_of(struct pane_qp *qp, enum pane_mem result)
{
	if (result == PANE_MEM_ABSENT) {
		pane_resp_absent(qp);
		return PANE_RESP_WAIT;
	}
	if (!result)
		return PANE_RESP_DONE;
	/* what an unreliable peer asks for must not take us down */
	return pane_qp_is_reliable(qp) ? PANE_RESP_REM_OP : PANE_RESP_REM_ACC;
}

/* ---- SEND ------------------------------------------------------------ */

/*
 * The invalidate of a SEND_WITH_INV. A refused one is told to both sides; the
 * peer would wait for its time-out otherwise.
 */
static enum pane_resp_result resp_invalidate(struct pane_qp *qp,
					     const struct pane_pkt *p)
{
	const struct pane_ieth *ieth = pane_pkt_hdr(p, PANE_HDR_IETH);

	if (!pane_key_invalidate(qp, be32_to_cpu(ieth->rkey)))
		return PANE_RESP_DONE;
	pane_resp_complete(qp, IB_WC_REM_INV_REQ_ERR, NULL);
	return PANE_RESP_REM_ACC_TOLD;
}

static enum pane_resp_result resp_send(struct pane_qp *qp,
				       const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	enum pane_resp_result result = pane_resp_need_rwqe(qp);
	enum pane_mem mem;

	if (result)
		return result;
	if (p->len > min_t(u64, r->rwqe->length, PANE_MAX_MSG) - r->rcvd) {
		/* without a NAK the message is as if it had been lost */
		if (pane_qp_is_reliable(qp))
			pane_resp_complete(qp, IB_WC_LOC_LEN_ERR, NULL);
		return PANE_RESP_INV_REQ;
	}
	mem = pane_sgl_scatter(qp, &r->sgl, p->skb, p->off, p->len);
	if (mem == PANE_MEM_ABSENT)
		return pane_resp_of(qp, mem);
	if (mem) {
		pane_qp_count(qp, local_prot_err);
		pane_resp_complete(qp, IB_WC_LOC_PROT_ERR, NULL);
		return PANE_RESP_REM_OP;
	}
	r->rcvd += p->len;
	r->phase = PANE_RESP_SEND;
	if (p->op->flags & PANE_OPF_LAST) {
		if (pane_op_has(p->op, PANE_HDR_IETH)) {
			result = resp_invalidate(qp, p);
			if (result)
				return result;
		}
		pane_resp_complete(qp, IB_WC_SUCCESS, p);
		pane_qp_count(qp, rdma_recvs);
		r->phase = PANE_RESP_IDLE;
		r->msn++;
	}
	r->epsn = pane_psn_add(r->epsn, 1);
	return PANE_RESP_DONE;
}

/* ---- remote access --------------------------------------------------- */

/* Count the reason why a key did not open what was asked for */
static void resp_count_access(struct pane_qp *qp, enum pane_access why)
{
	static const enum pane_counter counter[] = {
		[PANE_ACCESS_KEY] = PANE_CNT_access_key,
		[PANE_ACCESS_PD] = PANE_CNT_access_pd,
		[PANE_ACCESS_QP] = PANE_CNT_access_qp,
		[PANE_ACCESS_RIGHTS] = PANE_CNT_access_rights,
		[PANE_ACCESS_RANGE] = PANE_CNT_access_range,
		[PANE_ACCESS_DEAD] = PANE_CNT_access_dead,
	};

	pane_stats_add_bh(qp->stats, counter[why], 1);
	trace_pane_access_violation(qp, why);
}

/*
 * On RC a wrong key costs the peer its connection. On UC it costs nothing, so
 * guesses are limited: after some of them in a second no key of this peer is
 * looked at for the rest of it, the right one neither.
 */
static bool resp_keys_barred(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	if (pane_qp_is_reliable(qp) || r->bad_keys < RESP_BAD_KEYS)
		return false;
	if (time_after(jiffies, r->bad_since + HZ)) {
		r->bad_keys = 0;
		return false;
	}
	pane_qp_count(qp, access_barred);
	return true;
}

static void resp_note_bad_key(struct pane_qp *qp)
{
	struct pane_resp *r = &qp->resp;

	if (pane_qp_is_reliable(qp))
		return;
	if (time_after(jiffies, r->bad_since + HZ))
		r->bad_keys = 0;
	if (!r->bad_keys++)
		r->bad_since = jiffies;
}

/**
 * pane_resp_hold - find and hold what a request's key opens
 * @qp: the QP
 * @ref: names the binding for later packets
 * @rkey: the key
 * @access: rights needed
 * @va: first byte
 * @len: bytes, not 0; PANE_WHOLE for all that the key opens
 *
 * Return: the grant, held; NULL if it is refused, which was counted
 */
const struct pane_grant *pane_resp_hold(struct pane_qp *qp,
					struct pane_keyref *ref, u32 rkey,
					int access, u64 va, u64 len)
{
	enum pane_access why;
	const struct pane_grant *g;

	if (resp_keys_barred(qp))
		return NULL;
	g = pane_remote_hold(qp, ref, rkey, access, va, len, &why);
	if (!g) {
		resp_count_access(qp, why);
		resp_note_bad_key(qp);
	}
	return g;
}

/* As pane_resp_hold(), for later packets of a message (A6) */
const struct pane_grant *pane_resp_hold_again(struct pane_qp *qp,
					      const struct pane_keyref *ref)
{
	const struct pane_grant *g = pane_keyref_hold(ref);

	if (!g)
		resp_count_access(qp, PANE_ACCESS_DEAD);
	return g;
}

/* ---- WRITE ----------------------------------------------------------- */

/* The first packet of a WRITE names what is written */
static enum pane_resp_result resp_write_begin(struct pane_qp *qp,
					      const struct pane_pkt *p,
					      const struct pane_grant **g)
{
	const struct pane_reth *reth = pane_pkt_hdr(p, PANE_HDR_RETH);
	struct pane_resp *r = &qp->resp;
	u32 length = be32_to_cpu(reth->length);

	if (length > PANE_MAX_MSG)
		return PANE_RESP_INV_REQ;
	r->va = be64_to_cpu(reth->va);
	r->left = length;
	r->length = length;
	r->ref.slot = NULL;
	if (!length)
		return PANE_RESP_DONE;		/* A1 */
	*g = pane_resp_hold(qp, &r->ref, be32_to_cpu(reth->rkey),
			    IB_ACCESS_REMOTE_WRITE, r->va, length);
	return *g ? PANE_RESP_DONE : PANE_RESP_REM_ACC;
}

/*
 * A WRITE that fails with an immediate tells our side by the receive request
 * that it would have completed
 */
static enum pane_resp_result resp_write_refused(struct pane_qp *qp,
						const struct pane_pkt *p,
						enum pane_resp_result result)
{
	if (!pane_op_has(p->op, PANE_HDR_IMM) || !pane_qp_is_reliable(qp))
		return result;
	pane_resp_complete(qp, IB_WC_LOC_ACCESS_ERR, NULL);
	return result == PANE_RESP_REM_ACC ? PANE_RESP_REM_ACC_TOLD : result;
}

static enum pane_resp_result resp_write_data(struct pane_qp *qp,
					     const struct pane_pkt *p)
{
	enum pane_resp_result result = PANE_RESP_DONE;
	const struct pane_grant *g = NULL;
	struct pane_resp *r = &qp->resp;

	if (p->op->flags & PANE_OPF_FIRST) {
		result = resp_write_begin(qp, p, &g);
	} else {
		g = pane_resp_hold_again(qp, &r->ref);
		if (!g)
			result = PANE_RESP_REM_ACC;
	}
	/* the lengths of the packets make up that of the message */
	if (!result && (p->op->flags & PANE_OPF_LAST ? p->len != r->left :
						       p->len >= r->left))
		result = PANE_RESP_INV_REQ;
	if (!result && p->len)
		result = pane_resp_of(qp, pane_remote_write(qp, g, r->va,
							    r->left, p->skb,
							    p->off, p->len));
	if (g)
		pane_grant_drop();
	return result;
}

static enum pane_resp_result resp_write(struct pane_qp *qp,
					const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	enum pane_resp_result result;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return PANE_RESP_INV_REQ;	/* A4b */
	if (pane_op_has(p->op, PANE_HDR_IMM)) {
		result = pane_resp_need_rwqe(qp);
		if (result)
			return result;
	}
	result = resp_write_data(qp, p);
	if (result == PANE_RESP_WAIT)
		return result;
	if (result)
		return resp_write_refused(qp, p, result);

	r->va += p->len;
	r->left -= p->len;
	r->phase = PANE_RESP_WRITE;
	if (p->op->flags & PANE_OPF_LAST) {
		if (pane_op_has(p->op, PANE_HDR_IMM)) {
			r->rcvd = r->length;
			pane_resp_complete(qp, IB_WC_SUCCESS, p);
		}
		r->phase = PANE_RESP_IDLE;
		r->msn++;
	}
	r->epsn = pane_psn_add(r->epsn, 1);
	return PANE_RESP_DONE;
}

/* ---- answers that are kept --------------------------------------------- */

/*
 * The READ or atomic that came @age others ago. Who searches begins with the
 * newest: a PSN comes again after some time.
 */
const struct pane_res *pane_resp_res(const struct pane_resp *r, u32 age)
{
	return &r->res[(r->res_next + r->res_size - 1 - age) % r->res_size];
}

/* The place for what a duplicate will need; the oldest one goes */
struct pane_res *pane_resp_new_res(struct pane_qp *qp, u8 kind, u32 num_pkts)
{
	struct pane_resp *r = &qp->resp;
	struct pane_res *res = &r->res[r->res_next];

	r->res_next = (r->res_next + 1) % r->res_size;
	res->kind = kind;
	res->first_psn = r->epsn;
	res->num_pkts = num_pkts;
	return res;
}

/* ---- all requests ---------------------------------------------------- */

/**
 * pane_resp_exec - execute the request packet that was expected
 * @qp: the QP
 * @p: the packet: opcode and length fit the message so far
 *
 * Return: enum pane_resp_result
 */
enum pane_resp_result pane_resp_exec(struct pane_qp *qp,
				     const struct pane_pkt *p)
{
	switch (p->op->kind) {
	case PANE_KIND_SEND:
		return resp_send(qp, p);
	case PANE_KIND_WRITE:
		return resp_write(qp, p);
	case PANE_KIND_READ:
		return pane_resp_read(qp, p);
	case PANE_KIND_ATOMIC:
		return pane_resp_atomic(qp, p);
	case PANE_KIND_ATOMIC_WRITE:
		return pane_resp_atomic_write(qp, p);
	case PANE_KIND_FLUSH:
		return pane_resp_flush_memory(qp, p);
	default:
		return PANE_RESP_INV_REQ;
	}
}
