/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Building and sending of packets.
 *
 * A packet is built in order, because its ICRC is accumulated in order:
 * pane_tx_begin() makes the IP and UDP headers, the caller fills the transport
 * headers and calls pane_tx_headers_done(), copies the payload carrying the
 * ICRC on, and calls pane_tx_end().
 */
#ifndef PANE_TX_H
#define PANE_TX_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "opcode.h"
#include "wire.h"

struct pane_av;
struct pane_qp;

/* What a packet is to its sender, should the network stack refuse it */
enum pane_tx_kind {
	PANE_TX_REQUEST,	/* of a connected QP: sent again */
	PANE_TX_OTHER,
};

/**
 * struct pane_tx_cb - in skb->cb until the packet is sent
 * @psn: its PSN
 * @kind: enum pane_tx_kind
 */
struct pane_tx_cb {
	u32 psn;
	u8 kind;
};

static inline struct pane_tx_cb *pane_tx_cb(struct sk_buff *skb)
{
	return (struct pane_tx_cb *)skb->cb;
}

/**
 * struct pane_frame - a packet being built
 * @skb: it
 * @av: where it goes
 * @op: its opcode
 * @bth: its base transport header
 * @payload: its payload, @len bytes, then padding and ICRC
 * @len: bytes of payload
 * @crc: ICRC so far
 */
struct pane_frame {
	struct sk_buff *skb;
	const struct pane_av *av;
	const struct pane_op_info *op;
	struct pane_bth *bth;
	u8 *payload;
	u32 len;
	u32 crc;
};

/**
 * struct pane_bth_fields - what goes into a BTH beside opcode and padding
 * @dqpn: destination QP
 * @psn: sequence number
 * @ack_req: ask for an ACK
 * @solicited: raise an event at the receiver
 */
struct pane_bth_fields {
	u32 dqpn;
	u32 psn;
	bool ack_req;
	bool solicited;
};

bool pane_tx_begin(struct pane_qp *qp, const struct pane_av *av, u8 opcode,
		   u32 len, const struct pane_bth_fields *bth,
		   struct pane_frame *f);
void pane_tx_headers_done(struct pane_frame *f);
void pane_tx_end(struct pane_qp *qp, struct pane_frame *f);
void pane_tx_abort(struct pane_frame *f);
bool pane_tx_flush(struct pane_qp *qp, struct sk_buff_head *list, u32 *psn);

/* A header behind the BTH */
static inline void *pane_tx_hdr(const struct pane_frame *f, enum pane_hdr hdr)
{
	return (u8 *)f->bth + pane_op_offset(f->op, hdr);
}

#endif /* PANE_TX_H */
