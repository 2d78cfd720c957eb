/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder: executes requests of the peer. All of it runs with the QP
 * entered.
 *
 * A request packet goes through resp.c (is it the next one, may it come here?)
 * to resp_exec.c (do what it says). READs are answered by resp_read.c, which
 * may take several turns; packets that come meanwhile wait.
 */
#ifndef PANE_RESP_H
#define PANE_RESP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mem.h"

struct pane_pkt;
struct pane_qp;
struct pane_res;
struct pane_resp;

/* What became of a request packet */
enum pane_resp_result {
	PANE_RESP_DONE,		/* executed; the next PSN is expected */
	PANE_RESP_RNR,		/* no receive request: the peer is to wait */
	PANE_RESP_WAIT,		/* we have to: for pages that are absent */
	PANE_RESP_INV_REQ,	/* fatal: NAK 0x61 */
	PANE_RESP_REM_ACC,	/* fatal: NAK 0x62 */
	PANE_RESP_REM_OP,	/* fatal: NAK 0x63 */
	PANE_RESP_REM_ACC_TOLD,	/* as REM_ACC, but a receive completion has
				 * told our side already
				 */
};

/**
 * struct pane_ack - an ACK that is to be sent
 * @dqpn: number of the peer
 * @psn: the newest that it acknowledges
 * @msn: messages completed
 * @ip_id: IPv4 ID of its packet
 */
struct pane_ack {
	u32 dqpn;
	u32 psn;
	u32 msn;
	u16 ip_id;
};

/* resp.c */
void pane_resp_packet(struct pane_qp *qp, const struct pane_pkt *p);
void pane_resp_continue(struct pane_qp *qp);
void pane_resp_absent(struct pane_qp *qp);
void pane_resp_send_due_ack(struct pane_qp *qp);
bool pane_resp_take_ack(struct pane_qp *qp, struct pane_ack *ack);
void pane_resp_send_ack(struct pane_qp *qp, const struct pane_ack *ack);
void pane_resp_refuse(struct pane_qp *qp, enum pane_resp_result why, u32 psn);
void pane_resp_fatal(struct pane_qp *qp, enum pane_resp_result why, u32 psn);
void pane_resp_fill_aeth(const struct pane_qp *qp, void *hdr, u8 syndrome);
void pane_resp_answer(struct pane_qp *qp, const struct pane_res *res);
void pane_resp_flush(struct pane_qp *qp);
int pane_resp_init(struct pane_qp *qp);
int pane_resp_set_depth(struct pane_qp *qp, u32 depth);
void pane_resp_reset(struct pane_qp *qp);
void pane_resp_free(struct pane_qp *qp);

/* resp_exec.c */
enum pane_resp_result pane_resp_of(struct pane_qp *qp, enum pane_mem result);
enum pane_resp_result pane_resp_exec(struct pane_qp *qp,
				     const struct pane_pkt *p);
enum pane_resp_result pane_resp_need_rwqe(struct pane_qp *qp);
void pane_resp_rewind_rwqe(struct pane_qp *qp);
void pane_resp_complete(struct pane_qp *qp, enum ib_wc_status status,
			const struct pane_pkt *p);
const struct pane_res *pane_resp_res(const struct pane_resp *r, u32 age);
struct pane_res *pane_resp_new_res(struct pane_qp *qp, u8 kind, u32 num_pkts);
const struct pane_grant *pane_resp_hold(struct pane_qp *qp,
					struct pane_keyref *ref, u32 rkey,
					int access, u64 va, u64 len);
const struct pane_grant *pane_resp_hold_again(struct pane_qp *qp,
					      const struct pane_keyref *ref);

/* resp_atomic.c */
enum pane_resp_result pane_resp_atomic(struct pane_qp *qp,
				       const struct pane_pkt *p);
enum pane_resp_result pane_resp_atomic_write(struct pane_qp *qp,
					     const struct pane_pkt *p);
enum pane_resp_result pane_resp_flush_memory(struct pane_qp *qp,
					     const struct pane_pkt *p);

/* resp_read.c */
enum pane_resp_result pane_resp_read(struct pane_qp *qp,
				     const struct pane_pkt *p);
void pane_resp_read_again(struct pane_qp *qp, const struct pane_pkt *p);
void pane_resp_read_refused(struct pane_qp *qp, u32 psn);
void pane_resp_read_run(struct pane_qp *qp);

/* resp_ud.c */
void pane_resp_datagram(struct pane_qp *qp, const struct pane_pkt *p);

#endif /* PANE_RESP_H */
