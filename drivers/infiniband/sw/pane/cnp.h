/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Congestion notification: telling a sender that its packets come through a
 * queue that grows. What it makes of that is its own affair; this driver does
 * nothing when it is told.
 */
#ifndef PANE_CNP_H
#define PANE_CNP_H

struct pane_qp;

void pane_cnp_marked(struct pane_qp *qp);

#endif /* PANE_CNP_H */
