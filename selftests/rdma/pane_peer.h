/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests between devices of different drivers have in common.
 */
#ifndef PANE_PEER_H
#define PANE_PEER_H

#include "pane_box.h"

#define PEER_LEN	100000	/* memory at each end */
#define PEER_ACCESS	(IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL)

/* From the first end's message, or into it */
static inline enum ibv_wc_status
peer_do(struct boxes *b, struct ibv_send_wr wr, uint32_t len)
{
	struct ibv_sge sge = box_sge(&b->from, len);

	wr.sg_list = &sge;
	wr.num_sge = 1;
	return end_do(&b->p.end[0], wr);
}

/* A request to any place, with any key */
static inline struct ibv_send_wr peer_wr(enum ibv_wr_opcode opcode,
					 uint64_t addr, uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	return wr;
}

/* rdma_rxe completes what was refused before it changes the state. */
static inline void end_is_over(struct end *e)
{
	struct spin spin = {};

	while (end_state(e) != IBV_QPS_ERR)
		spin_turn(&spin);
}

/* pane_peer_place.c: FLUSH and ATOMIC WRITE */
void list_placement(void);
/* pane_peer_mw.c */
void list_windows(void);
/* pane_peer_end.c: how requests end that are refused, or have to wait */
void list_refusals(void);

#endif
