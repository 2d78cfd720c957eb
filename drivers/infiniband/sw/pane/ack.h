/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The completer: what responses do to the send queue */
#ifndef PANE_ACK_H
#define PANE_ACK_H

#include <rdma/ib_verbs.h>

struct pane_pkt;
struct pane_qp;

void pane_ack_packet(struct pane_qp *qp, const struct pane_pkt *p);
void pane_ack_fail(struct pane_qp *qp, enum ib_wc_status status);
void pane_ack_no_place(struct pane_qp *qp);

#endif /* PANE_ACK_H */
