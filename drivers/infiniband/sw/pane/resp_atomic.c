// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that are one packet, have an answer of their own, and must not be
 * executed twice: atomics, ATOMIC WRITE, FLUSH.
 */
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "resp.h"
#include "rx.h"

/* It is executed: kept for duplicates, and answered */
static enum pane_resp_result resp_done(struct pane_qp *qp, u8 kind, u64 orig)
{
	struct pane_resp *r = &qp->resp;
	struct pane_res *res;

	r->msn++;
	res = pane_resp_new_res(qp, kind, 1);
	res->orig = orig;
	r->ack_due = false;	/* the answer covers what is before it */
	pane_resp_answer(qp, res);
	r->epsn = pane_psn_add(r->epsn, 1);
	return PANE_RESP_DONE;
}

/* ---- atomics --------------------------------------------------------- */

/* Do it. The word is what @g, held, opens. */
static u64 resp_atomic_op(const struct pane_pkt *p, atomic64_t *word)
{
	const struct pane_atomic_eth *eth = pane_pkt_hdr(p, PANE_HDR_ATOMIC);

	if ((p->opcode & PANE_OP_MASK) == PANE_OP_CMP_SWAP)
		return atomic64_cmpxchg(word, be64_to_cpu(eth->compare),
					be64_to_cpu(eth->swap_add));
	return atomic64_fetch_add(be64_to_cpu(eth->swap_add), word);
}

/**
 * pane_resp_atomic - execute CMP_SWAP or FETCH_ADD
 * @qp: the QP
 * @p: the request
 *
 * Return: enum pane_resp_result
 */
enum pane_resp_result pane_resp_atomic(struct pane_qp *qp,
				       const struct pane_pkt *p)
{
	const struct pane_atomic_eth *eth = pane_pkt_hdr(p, PANE_HDR_ATOMIC);
	u64 va = be64_to_cpu(eth->va);
	const struct pane_grant *g;
	struct pane_keyref ref;
	enum pane_mem result;
	atomic64_t *word;
	u64 orig = 0;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC) ||
	    !qp->resp.res_size)
		return PANE_RESP_INV_REQ;	/* A4b */
	if (va & (sizeof(u64) - 1))
		return PANE_RESP_INV_REQ;	/* A7 */
	g = pane_resp_hold(qp, &ref, be32_to_cpu(eth->rkey),
			   IB_ACCESS_REMOTE_ATOMIC, va, sizeof(u64));
	if (!g)
		return PANE_RESP_REM_ACC;
	result = pane_remote_atomic(qp, g, va, &word);
	if (!result && word)
		orig = resp_atomic_op(p, word);
	pane_grant_drop();
	if (result)
		return pane_resp_of(qp, result);
	return word ? resp_done(qp, PANE_KIND_ATOMIC, orig) :
		      PANE_RESP_INV_REQ;
}

/* ---- ATOMIC WRITE and FLUSH ------------------------------------------ */

/**
 * pane_resp_atomic_write - execute ATOMIC WRITE
 * @qp: the QP
 * @p: the request; it has 8 bytes of payload (oA19-28)
 *
 * The word is seen whole, and after all that was written before it.
 *
 * Return: enum pane_resp_result
 */
enum pane_resp_result pane_resp_atomic_write(struct pane_qp *qp,
					     const struct pane_pkt *p)
{
	const struct pane_reth *reth = pane_pkt_hdr(p, PANE_HDR_RETH);
	u64 va = be64_to_cpu(reth->va), value;
	const struct pane_grant *g;
	struct pane_keyref ref;
	enum pane_mem result;
	atomic64_t *word;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) ||
	    !(qp->dev->ibdev.attrs.device_cap_flags & IB_DEVICE_ATOMIC_WRITE) ||
	    !qp->resp.res_size)
		return PANE_RESP_INV_REQ;	/* A4b */
	if (va & (sizeof(u64) - 1) ||
	    be32_to_cpu(reth->length) != sizeof(u64) ||
	    skb_copy_bits(p->skb, p->off, &value, sizeof(value)))
		return PANE_RESP_INV_REQ;	/* A7 */
	g = pane_resp_hold(qp, &ref, be32_to_cpu(reth->rkey),
			   IB_ACCESS_REMOTE_WRITE, va, sizeof(u64));
	if (!g)
		return PANE_RESP_REM_ACC;
	result = pane_remote_atomic(qp, g, va, &word);
	if (!result && word)
		atomic64_set_release(word, value);
	pane_grant_drop();
	if (result)
		return pane_resp_of(qp, result);
	return word ? resp_done(qp, PANE_KIND_ATOMIC_WRITE, 0) :
		      PANE_RESP_INV_REQ;
}

/* Rights that a FLUSH needs: one bit for each kind of visibility (oA19-4) */
static int resp_flush_rights(u32 type_sel)
{
	return (type_sel & PANE_FETH_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (type_sel & PANE_FETH_PERSISTENT ?
		IB_ACCESS_FLUSH_PERSISTENT : 0);
}

/**
 * pane_resp_flush_memory - execute FLUSH
 * @qp: the QP
 * @p: the request
 *
 * What was written before it is in memory already, where every processor and
 * device sees it; a barrier makes sure of the order. Persistence is nothing
 * this device has, so no key has the right to ask for it.
 *
 * Return: enum pane_resp_result
 */
enum pane_resp_result pane_resp_flush_memory(struct pane_qp *qp,
					     const struct pane_pkt *p)
{
	const struct pane_feth *feth = pane_pkt_hdr(p, PANE_HDR_FETH);
	const struct pane_reth *reth = pane_pkt_hdr(p, PANE_HDR_RETH);
	u32 type_sel = be32_to_cpu(feth->type_sel);
	bool whole = type_sel & PANE_FETH_SEL_MR;
	int rights = resp_flush_rights(type_sel);
	u32 length = be32_to_cpu(reth->length);
	u64 va = be64_to_cpu(reth->va);
	struct pane_keyref ref;

	if (!rights || (type_sel & PANE_FETH_SEL) > PANE_FETH_SEL_MR ||
	    rights & ~qp->attr.qp_access_flags || !qp->resp.res_size ||
	    (length > PANE_MAX_MSG && !whole))
		return PANE_RESP_INV_REQ;
	/* the range has no meaning for all of a region (oA19-13) */
	if (!pane_resp_hold(qp, &ref, be32_to_cpu(reth->rkey), rights, va,
			    whole ? PANE_WHOLE : length))
		return PANE_RESP_REM_ACC;
	pane_grant_drop();
	/* what the packets before wrote comes before the answer */
	smp_mb();
	return resp_done(qp, PANE_KIND_FLUSH, 0);
}
