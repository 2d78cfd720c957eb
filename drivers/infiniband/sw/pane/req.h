/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester: executes the send queue. All of it runs with the QP entered.
 *
 * Requests are begun in order (cur), and complete in order (cons). A local
 * operation is executed when it is begun, once; going back for a lost packet
 * passes it over.
 */
#ifndef PANE_REQ_H
#define PANE_REQ_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "psn.h"
#include "qp.h"

/* PSNs that may be without an answer */
#define PANE_REQ_WINDOW	256

/*
 * Most packets a READ request asks for: all of a READ, so that all of it is read
 * under one binding. Only where a READ is that long that its packets' numbers
 * would be ambiguous, over 1 GiB with an MTU of 256, it is two requests.
 */
#define PANE_REQ_READ_MAX	(1U << 22)

void pane_req_doorbell(struct pane_qp *qp, bool needed);
void pane_req_kick(struct pane_qp *qp);
void pane_req_retire(struct pane_qp *qp);
void pane_req_finish(struct pane_qp *qp, struct pane_swqe *w,
		     enum ib_wc_status status);
void pane_req_flush(struct pane_qp *qp);
u32 pane_req_next_psn(const struct pane_qp *qp);

/* rexmit.c */
void pane_rexmit_rewind(struct pane_qp *qp, u32 psn);
void pane_rexmit_refused(struct pane_qp *qp, u32 psn);
unsigned long pane_rexmit_delay(const struct pane_txq *txq);
void pane_rexmit_arm(struct pane_qp *qp);
void pane_rexmit_wait(struct pane_qp *qp, unsigned long delay);
void pane_rexmit_pause(struct pane_qp *qp, enum pane_sq_wait why,
		       unsigned long delay);
void pane_rexmit_timeout(struct timer_list *t);
void pane_rexmit_wait_over(struct timer_list *t);
void pane_rexmit_go_back(struct pane_qp *qp, u32 psn);
void pane_rexmit_absent(struct pane_qp *qp, u32 psn);
void pane_rexmit_pages_came(struct pane_qp *qp);

#endif /* PANE_REQ_H */
