/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that come in: what is checked before a QP sees them */
#ifndef PANE_RX_H
#define PANE_RX_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "opcode.h"
#include "wire.h"

struct in6_addr;
struct nf_hook_state;

/**
 * struct pane_pkt - a packet that has passed the checks up to the ICRC
 * @skb: where it is; maybe a train, of which this is one packet
 * @start: of the BTH in @skb
 * @size: bytes from the BTH to the ICRC
 * @index: number of the packet in its train
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
	u32 start;
	u32 size;
	u32 index;
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
void pane_pkt_save(const struct pane_pkt *p, struct sk_buff *skb);
bool pane_pkt_restore(struct pane_pkt *p, struct sk_buff *skb);
unsigned int pane_rx_hook(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state);

#endif /* PANE_RX_H */
