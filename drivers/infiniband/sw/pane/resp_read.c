// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Answers to READs */
#include "odp.h"
#include "pane.h"
#include "psn.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "rx.h"
#include "tx.h"

/* Response packets at a time, then others get a turn */
#define READ_BUDGET	64

static void read_start(struct pane_qp *qp, u32 psn, u64 va, u32 length,
		       const struct pane_keyref *ref)
{
	struct pane_reading *rd = &qp->resp.reading;

	rd->va = va;
	rd->left = length;
	rd->psn = psn;
	rd->first_psn = psn;
	rd->again = false;
	rd->active = true;
	rd->paused = false;
	rd->ref = *ref;
	/* the answer covers what is before it */
	qp->resp.ack_due = false;
}

/**
 * pane_resp_read - execute a READ request: check it and begin its answer
 * @qp: the QP
 * @p: the request
 *
 * Return: enum pane_resp_result
 */
enum pane_resp_result pane_resp_read(struct pane_qp *qp,
				     const struct pane_pkt *p)
{
	const struct pane_reth *reth = pane_pkt_hdr(p, PANE_HDR_RETH);
	u32 length = be32_to_cpu(reth->length);
	u64 va = be64_to_cpu(reth->va);
	struct pane_resp *r = &qp->resp;
	struct pane_keyref ref = {};
	struct pane_res *res;
	u32 num_pkts;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_READ) ||
	    !r->res_size || length > PANE_MAX_MSG)
		return PANE_RESP_INV_REQ;	/* A4b */
	if (length) {				/* A1 */
		if (!pane_resp_hold(qp, &ref, be32_to_cpu(reth->rkey),
				    IB_ACCESS_REMOTE_READ, va, length))
			return PANE_RESP_REM_ACC;
		pane_grant_drop();
	}

	num_pkts = pane_psn_count(length, qp->mtu_shift);
	res = pane_resp_new_res(qp, PANE_KIND_READ, num_pkts);
	res->va = va;
	res->length = length;
	res->ref = ref;
	r->msn++;
	read_start(qp, r->epsn, va, length, &ref);
	r->epsn = pane_psn_add(r->epsn, num_pkts);
	pane_resp_read_run(qp);
	return PANE_RESP_DONE;
}

/*
 * A READ that was answered before, or the rest of one. It is answered again
 * out of the same binding, if that is still there.
 */
void pane_resp_read_again(struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_reth *reth = pane_pkt_hdr(p, PANE_HDR_RETH);
	u32 length = be32_to_cpu(reth->length);
	u64 va = be64_to_cpu(reth->va);
	const struct pane_res *res;
	u32 i, off;
	s32 pkt;

	for (i = 0; i < qp->resp.res_size; i++) {
		res = pane_resp_res(&qp->resp, i);
		pkt = pane_psn_diff(p->psn, res->first_psn);
		if (res->kind != PANE_KIND_READ || pkt < 0 ||
		    pkt >= res->num_pkts)
			continue;
		off = pkt << qp->mtu_shift;
		if (va - res->va != off || length > res->length - off)
			continue;
		read_start(qp, p->psn, va, length, &res->ref);
		qp->resp.reading.again = true;
		pane_resp_read_run(qp);
		return;
	}
}

static u8 read_opcode(bool first, bool last)
{
	if (first)
		return last ? PANE_OP_READ_RESP_ONLY : PANE_OP_READ_RESP_FIRST;
	return last ? PANE_OP_READ_RESP_LAST : PANE_OP_READ_RESP_MIDDLE;
}

/*
 * Copy the payload of a response.
 * Return: 0; -EACCES if the binding is gone, -EFAULT if the memory is; -EAGAIN
 * for pages that have to be waited for
 */
static int read_fill(struct pane_qp *qp, struct pane_frame *f)
{
	struct pane_reading *rd = &qp->resp.reading;
	const struct pane_grant *g;
	enum pane_mem result;

	if (!f->len)
		return 0;
	g = pane_resp_hold_again(qp, &rd->ref);
	if (!g)
		return -EACCES;
	result = pane_remote_read(qp, g, rd->va, rd->left, f->payload, f->len,
				  pane_tx_copy_crc(f));
	pane_grant_drop();
	if (likely(!result))
		return 0;
	return result == PANE_MEM_ABSENT ? -EAGAIN : -EFAULT;
}

/*
 * Build the next response packet.
 * Return: 0; -ENOMEM; else as read_fill()
 */
static int read_step(struct pane_qp *qp)
{
	struct pane_reading *rd = &qp->resp.reading;
	u32 len = min(rd->left, pane_qp_mtu(qp));
	bool last = len == rd->left;
	struct pane_bth_fields bth = {
		.dqpn = qp->attr.dest_qp_num,
		.psn = rd->psn,
	};
	struct pane_frame f;
	int err;

	if (!pane_tx_begin(qp, pane_qp_av(qp),
			   qp->transport |
			   read_opcode(rd->psn == rd->first_psn, last), len,
			   &bth, &f))
		return -ENOMEM;
	if (pane_op_has(f.op, PANE_HDR_AETH))
		pane_resp_fill_aeth(qp, pane_tx_hdr(&f, PANE_HDR_AETH),
				    PANE_AETH_ACK_UNLIMITED);
	pane_tx_headers_done(&f);
	err = read_fill(qp, &f);
	if (unlikely(err)) {
		pane_tx_abort(&f);
		return err;
	}
	pane_tx_end(qp, &f);
	rd->va += len;
	rd->left -= len;
	rd->psn = pane_psn_add(rd->psn, 1);
	rd->active = !last;
	return 0;
}

/**
 * pane_resp_read_refused - the network stack has no room for a response
 * @qp: the QP
 * @psn: of the first response that it refused
 *
 * Those behind it were thrown away. The answer goes on from there a little
 * later; where it was complete the peer has to ask again.
 */
void pane_resp_read_refused(struct pane_qp *qp, u32 psn)
{
	struct pane_reading *rd = &qp->resp.reading;
	s32 back = pane_psn_diff(rd->psn, psn);

	if (!rd->active || back <= 0 || pane_psn_before(psn, rd->first_psn))
		return;
	rd->psn = psn;
	rd->va -= (u64)back << qp->mtu_shift;
	rd->left += (u32)back << qp->mtu_shift;
	rd->paused = true;
	pane_rexmit_wait(qp, pane_rexmit_delay(&qp->tx_resp));
}

/*
 * The answer ends: the binding is gone, or the memory. The peer that asks again
 * may have got the first answer meanwhile: he is done then, the key was taken
 * back in order, and he ignores what he is told.
 */
static void read_refused(struct pane_qp *qp, int err)
{
	struct pane_reading *rd = &qp->resp.reading;
	enum pane_resp_result why = err == -EACCES ? PANE_RESP_REM_ACC :
						     PANE_RESP_REM_OP;

	rd->active = false;
	if (rd->again)
		pane_resp_refuse(qp, why, rd->psn);
	else
		pane_resp_fatal(qp, why, rd->psn);
}

/**
 * pane_resp_read_run - send responses of the READ that is being answered
 * @qp: the QP
 *
 * Sets qp->more if there is more to do at once.
 */
void pane_resp_read_run(struct pane_qp *qp)
{
	struct pane_reading *rd = &qp->resp.reading;
	/* one to see if there is room again */
	u32 budget = qp->tx_resp.refusals ? 1 : READ_BUDGET;
	int err = 0;

	if (rd->paused)
		return;
	while (rd->active && budget-- && !err)
		err = read_step(qp);

	if (err == -EACCES || err == -EFAULT) {
		read_refused(qp, err);
	} else if (err == -EAGAIN) {
		rd->paused = true;
		pane_rexmit_wait(qp, PANE_ODP_WAIT);
	} else if (err) {
		pane_rexmit_wait(qp, 1);
	} else if (rd->active) {
		qp->more = true;
	}
}
