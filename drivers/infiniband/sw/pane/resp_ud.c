// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Datagrams that come in */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "cq.h"
#include "pane.h"
#include "qp.h"
#include "resp.h"
#include "rx.h"

/* What precedes a datagram in its buffer; an IPv4 header is at its end */
#define UD_GRH_SIZE	40

static void ud_grh(const struct sk_buff *skb, u8 grh[UD_GRH_SIZE])
{
	u32 len = skb_network_header_len(skb);

	memset(grh, 0, UD_GRH_SIZE);
	memcpy(grh + UD_GRH_SIZE - len, skb_network_header(skb), len);
}

static void ud_complete(struct pane_qp *qp, const struct pane_pkt *p)
{
	const struct pane_deth *deth = pane_pkt_hdr(p, PANE_HDR_DETH);
	struct pane_wc wc;

	pane_wc_init(&wc, qp->resp.rwqe->wr_id, IB_WC_SUCCESS, IB_WC_RECV);
	wc.net_type = pane_rx_net(p->skb);
	wc.vlan = pane_pkt_vlan(p);
	wc.cqe.byte_len = UD_GRH_SIZE + p->len;
	wc.cqe.src_qp = be32_to_cpu(deth->sqpn) & PANE_BTH_QPN;
	wc.cqe.flags = PANE_CQE_GRH;
	if (pane_op_has(p->op, PANE_HDR_IMM)) {
		const struct pane_immdt *imm = pane_pkt_hdr(p, PANE_HDR_IMM);

		wc.cqe.flags |= PANE_CQE_IMM;
		wc.cqe.ex = (__force u32)imm->imm;
	}
	qp->resp.have_rwqe = false;
	pane_qp_complete(qp, qp->recv_cq, &wc, p->solicited);
	pane_qp_count(qp, rdma_recvs);
}

/* Put the datagram into the receive request */
static enum pane_mem ud_place(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;
	enum pane_mem result;
	u8 grh[UD_GRH_SIZE];

	ud_grh(p->skb, grh);
	result = pane_sgl_put(qp, &r->sgl, grh, sizeof(grh));
	if (!result)
		result = pane_sgl_scatter(qp, &r->sgl, p->skb, p->off, p->len);
	return result;
}

/**
 * pane_resp_datagram - handle a packet to a datagram QP
 * @qp: the QP, entered, in a state to receive
 * @p: the packet
 *
 * A sender must not be able to take the QP down: what does not fit is dropped
 * and the receive request stays for the next datagram.
 */
void pane_resp_datagram(struct pane_qp *qp, const struct pane_pkt *p)
{
	struct pane_resp *r = &qp->resp;

	switch (pane_resp_need_rwqe(qp)) {
	case PANE_RESP_DONE:
		break;
	case PANE_RESP_RNR:
		pane_qp_count(qp, rx_ud_no_recv);
		return;
	default:
		pane_qp_error(qp);
		return;
	}
	if (!pane_op_length_ok(p->op, p->len,
			       ib_mtu_enum_to_int(READ_ONCE(qp->dev->mtu))) ||
	    UD_GRH_SIZE + p->len > r->rwqe->length) {
		pane_qp_count(qp, rx_ud_length);
		return;
	}
	switch (ud_place(qp, p)) {
	case PANE_MEM_OK:
		ud_complete(qp, p);
		break;
	case PANE_MEM_ABSENT:
		pane_resp_rewind_rwqe(qp);
		pane_resp_absent(qp);
		break;
	default:
		pane_qp_count(qp, local_prot_err);
		pane_resp_complete(qp, IB_WC_LOC_PROT_ERR, NULL);
		pane_qp_error(qp);
		break;
	}
}
