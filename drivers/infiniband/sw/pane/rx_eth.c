// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE v1: frames of an Ethernet type of their own. There is no IP stack in
 * between, so what it would have looked at is looked at here.
 */
#include <linux/if_ether.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>

#include "netdev.h"
#include "pane.h"
#include "rx.h"

/* Find the global route header; false without a whole one */
static bool eth_has_grh(struct sk_buff *skb)
{
	if (!pskb_may_pull(skb, sizeof(struct ipv6hdr)))
		return false;
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(struct ipv6hdr));
	return true;
}

/* Go to the BTH, if there is one; what is behind the packet's end goes */
static bool eth_pull(struct sk_buff *skb)
{
	const struct ipv6hdr *grh = ipv6_hdr(skb);
	u32 len = ntohs(grh->payload_len);

	if (grh->version != 6 || grh->nexthdr != PANE_GRH_NEXT_BTH ||
	    len > skb->len - sizeof(*grh))
		return false;
	skb_pull(skb, sizeof(*grh));
	return !pskb_trim(skb, len);
}

static void eth_frame(struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);
	struct pane_dev *dev;

	if (eth_has_grh(skb)) {
		if (eth_pull(skb))
			pane_rx_packets(net, skb, 0);
		else
			pane_rx_count(net, skb, PANE_CNT_rx_grh);
		return;
	}
	dev = pane_netdev_on(net, skb->dev);
	if (dev)
		pane_count(dev, rx_grh);
}

/* Context: RCU read side; bottom halves disabled */
static int eth_receive(struct sk_buff *skb, struct net_device *ndev,
		       struct packet_type *type, struct net_device *orig)
{
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb->pkt_type != PACKET_OTHERHOST)
		eth_frame(skb);
	napi_consume_skb(skb, 1);
	return NET_RX_SUCCESS;
}

static struct packet_type pane_eth_type __read_mostly = {
	.type = cpu_to_be16(ETH_P_IBOE),
	.func = eth_receive,
};

void pane_rx_eth_init(void)
{
	dev_add_pack(&pane_eth_type);
}

/* No frame is on its way to us after that */
void pane_rx_eth_exit(void)
{
	dev_remove_pack(&pane_eth_type);
}
