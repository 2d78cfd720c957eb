/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that come in: what is checked before a QP sees them */
#ifndef PANE_RX_H
#define PANE_RX_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "opcode.h"
#include "stats.h"
#include "wire.h"

struct in6_addr;
struct net;
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
 * @kept: it was kept for a while: the interface it came in by may be gone
 * @buf: room for its headers, where they are in several pieces in @skb
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
	bool kept;
	u8 buf[PANE_MAX_TRANSPORT_HDR];
};

/* A header behind the BTH */
static inline const void *pane_pkt_hdr(const struct pane_pkt *p,
				       enum pane_hdr hdr)
{
	return p->hdr + pane_op_offset(p->op, hdr);
}

/* enum rdma_network_type of a packet, which has its network header */
static inline u8 pane_rx_net(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IBOE))
		return RDMA_NETWORK_ROCE_V1;
	return ip_hdr(skb)->version == 4 ? RDMA_NETWORK_IPV4 :
					   RDMA_NETWORK_IPV6;
}

/* rx.c */
void pane_rx_gids(const struct sk_buff *skb, struct in6_addr *saddr,
		  struct in6_addr *daddr);
void pane_pkt_save(const struct pane_pkt *p, struct sk_buff *skb);
bool pane_pkt_restore(struct pane_pkt *p, struct sk_buff *skb);
u16 pane_pkt_vlan(const struct pane_pkt *p);
unsigned int pane_rx_hook(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state);

void pane_rx_packets(struct net *net, struct sk_buff *skb, u32 start);
void pane_rx_count(struct net *net, const struct sk_buff *skb,
		   enum pane_counter why);

/* rx_eth.c */
void pane_rx_eth_init(void);
void pane_rx_eth_exit(void);

#endif /* PANE_RX_H */
