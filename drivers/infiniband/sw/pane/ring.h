/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_RING_H
#define PANE_RING_H

#include "qp.h"

void pane_ring_send(struct pane_qp *qp);
void pane_ring_slow(struct pane_qp *qp);
void pane_ring_finish(struct pane_qp *qp);
void pane_ring_create(struct pane_qp *qp);
void pane_ring_stop(struct pane_qp *qp);
int pane_ring_init(void);
void pane_ring_exit(void);

#endif /* PANE_RING_H */
