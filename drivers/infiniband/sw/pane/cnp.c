// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ktime.h>
#include <linux/string.h>

#include "cnp.h"
#include "pane.h"
#include "qp.h"
#include "tx.h"

/* One notification for all marked packets of a connection in this time */
#define CNP_INTERVAL_NS	(50 * NSEC_PER_USEC)

static void cnp_send(struct pane_qp *qp)
{
	struct pane_bth_fields bth = {
		.dqpn = qp->attr.dest_qp_num,
		.becn = true,
	};
	struct pane_frame f;

	/* without memory it is lost, as it can be on the way */
	if (!pane_tx_begin(qp, pane_qp_av(qp), PANE_OPCODE_CNP, PANE_CNP_SIZE,
			   &bth, &f))
		return;
	pane_tx_headers_done(&f);
	memset(f.payload, 0, f.len);
	pane_tx_end(qp, &f);
	pane_qp_count(qp, np_cnp_sent);
}

/**
 * pane_cnp_marked - a packet has come that a queue on its way had marked
 * @qp: a connected QP, entered
 */
void pane_cnp_marked(struct pane_qp *qp)
{
	u64 now = ktime_get_ns();

	pane_qp_count(qp, np_ecn_marked_roce_packets);
	if (!pane_qp_receives(qp) || now - qp->cnp_sent < CNP_INTERVAL_NS)
		return;
	qp->cnp_sent = now;
	cnp_send(qp);
}
