/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Building and sending of packets.
 *
 * A packet is built in order, because its ICRC is accumulated in order:
 * pane_tx_begin() finds a place for it, the caller fills the transport headers
 * and calls pane_tx_headers_done(), copies the payload, carrying the ICRC on
 * if pane_tx_copy_crc() says so, and calls pane_tx_end(), which queues the
 * packet.
 *
 * Packets of one length that go the same way are queued as one train: a UDP
 * GSO packet, which crosses the stack once and is cut where it must be, on
 * this host or by the device. Every segment has its own BTH and ICRC; cutting
 * gives segment i the IPv4 ID of the train plus i, which the ICRCs count on.
 */
#ifndef PANE_TX_H
#define PANE_TX_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <linux/types.h>

#include "opcode.h"
#include "wire.h"

struct pane_av;
struct pane_qp;
struct pane_txq;

/**
 * struct pane_tx_cb - in skb->cb until the packet is sent
 * @psn: its PSN, or that of a train's first packet
 * @segs: packets in it
 * @seg_len: bytes of each from the BTH on; the last may be shorter
 * @full: nothing can be added
 * @dmac: RoCE v1: where it goes
 * @oif: RoCE v1: the interface it goes out through
 */
struct pane_tx_cb {
	u32 psn;
	u16 segs;
	u16 seg_len;
	bool full;
	u8 dmac[ETH_ALEN];
	int oif;
};

static inline struct pane_tx_cb *pane_tx_cb(struct sk_buff *skb)
{
	return (struct pane_tx_cb *)skb->cb;
}

/**
 * struct pane_frame - a packet being built
 * @txq: queue it goes into
 * @skb: it, or the train it will be added to
 * @av: where it goes
 * @op: its opcode
 * @bth: its base transport header
 * @payload: its payload, @len bytes, then padding and ICRC
 * @len: bytes of payload
 * @seg_len: bytes from the BTH to the ICRC
 * @crc: ICRC so far
 * @crc_from: first byte that @crc does not cover
 * @append: it is added to @skb, which is queued already
 */
struct pane_frame {
	struct pane_txq *txq;
	struct sk_buff *skb;
	const struct pane_av *av;
	const struct pane_op_info *op;
	struct pane_bth *bth;
	u8 *payload;
	u32 len;
	u32 seg_len;
	u32 crc;
	u8 *crc_from;
	bool append;
};

/**
 * struct pane_bth_fields - what goes into a BTH beside opcode and padding
 * @dqpn: destination QP
 * @psn: sequence number
 * @ack_req: ask for an ACK
 * @solicited: raise an event at the receiver
 * @becn: there is congestion on the way to here
 */
struct pane_bth_fields {
	u32 dqpn;
	u32 psn;
	bool ack_req;
	bool solicited;
	bool becn;
};

void pane_tx_init(void);
bool pane_tx_begin_in(struct pane_qp *qp, struct pane_txq *txq,
		      const struct pane_av *av, u8 opcode, u32 len,
		      const struct pane_bth_fields *bth, struct pane_frame *f);
bool pane_tx_begin(struct pane_qp *qp, const struct pane_av *av, u8 opcode,
		   u32 len, const struct pane_bth_fields *bth,
		   struct pane_frame *f);
void pane_tx_headers_done(struct pane_frame *f);
u32 *pane_tx_copy_crc(struct pane_frame *f);
void pane_tx_end(struct pane_qp *qp, struct pane_frame *f);
void pane_tx_abort(struct pane_frame *f);
bool pane_tx_flush(struct pane_qp *qp, struct sk_buff_head *list, u32 *psn,
		   u32 *sent);

extern u32 pane_tx_mark;

/**
 * pane_tx_made - was a packet made by this module, on this host?
 * @skb: a packet that came in
 *
 * The mark is where the key of a transmit time stamp would be, of which these
 * packets have none: it belongs to the data, so it goes with a packet through
 * namespaces and queues, and not into a copy. Nothing but the ICRC depends on
 * it, which has no secret either.
 *
 * Return: true if it was
 */
static inline bool pane_tx_made(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->tskey == pane_tx_mark;
}

/* A header behind the BTH */
static inline void *pane_tx_hdr(const struct pane_frame *f, enum pane_hdr hdr)
{
	return (u8 *)f->bth + pane_op_offset(f->op, hdr);
}

#endif /* PANE_TX_H */
