/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that come in: what is checked before a QP sees them */
#ifndef PANE_RX_H
#define PANE_RX_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "opcode.h"
#include "wire.h"

struct in6_addr;
struct sock;

/**
 * struct pane_pkt - a packet that has passed the checks up to the ICRC
 * @skb: where it is
 * @op: its opcode
 * @opcode: its opcode, the number
 * @hdr: its headers, from the BTH on
 * @psn: sequence number
 * @ack_req: an ACK is asked for
 * @solicited: an event is asked for
 * @off: of the payload in @skb
 * @len: bytes of payload
 */
struct pane_pkt {
	struct sk_buff *skb;
	const struct pane_op_info *op;
	u8 opcode;
	const u8 *hdr;
	u32 psn;
	bool ack_req;
	bool solicited;
	u32 off;
	u32 len;
	u8 buf[PANE_MAX_TRANSPORT_HDR];
};

/* A header behind the BTH */
static inline const void *pane_pkt_hdr(const struct pane_pkt *p,
				       enum pane_hdr hdr)
{
	return p->hdr + pane_op_offset(p->op, hdr);
}

void pane_rx_gids(const struct sk_buff *skb, struct in6_addr *saddr,
		  struct in6_addr *daddr);
bool pane_pkt_parse(struct pane_pkt *p, struct sk_buff *skb);
int pane_rx_encap(struct sock *sk, struct sk_buff *skb);

#endif /* PANE_RX_H */
