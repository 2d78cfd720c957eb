/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Details of objects, for administrators */
#ifndef PANE_RESTRACK_H
#define PANE_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct sk_buff;

int pane_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int pane_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int pane_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);

#endif /* PANE_RESTRACK_H */
