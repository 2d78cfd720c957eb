// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/random.h>
#include <net/dst.h>
#include <net/sock.h>

#include "av.h"
#include "copy.h"
#include "encap.h"
#include "icrc.h"
#include "pages.h"
#include "pane.h"
#include "qp.h"
#include "tx.h"

/* Room for the link layer's headers, tunnels included */
#define TX_HEADROOM	MAX_HEADER
/* What UDP sockets may send at once, and bytes that fit an IP packet for sure */
#define TX_TRAIN_SEGS	64
#define TX_TRAIN_BYTES	65000
/* Bytes of payload from which on its CRC is taken while it is copied */
#define TX_COPY_CRC_MIN	256

/* In each packet made here; see pane_tx_made() */
u32 pane_tx_mark __ro_after_init;

void __init pane_tx_init(void)
{
	/* no packet has it by accident: what comes from elsewhere has zero */
	pane_tx_mark = get_random_u32() | 1;
}

static u32 tx_pad(u32 len)
{
	return -len & 3;
}

static void tx_bth(struct pane_frame *f, u8 opcode,
		   const struct pane_bth_fields *b)
{
	f->bth->opcode = opcode;
	f->bth->flags = PANE_BTH_MIGREQ | (b->solicited ? PANE_BTH_SE : 0) |
			tx_pad(f->len) << PANE_BTH_PAD_SHIFT;
	f->bth->pkey = cpu_to_be16(PANE_PKEY_DEFAULT);
	f->bth->dqpn = cpu_to_be32(b->dqpn | (b->becn ? PANE_BTH_BECN : 0));
	f->bth->apsn = cpu_to_be32(b->psn | (b->ack_req ? PANE_BTH_ACKREQ : 0));
}

/* ---- a place for the packet ------------------------------------------ */

/*
 * Does the device below cut trains, or pass them on whole? Where it does not,
 * the stack would do it at once, and plain packets cost less.
 */
static bool tx_trains_ok(const struct pane_qp *qp)
{
	const struct dst_entry *dst = rcu_dereference(pane_qp_av(qp)->dst);

	return dst && (dst->dev->features & NETIF_F_GSO_UDP_L4);
}

/* A packet of @len bytes */
static struct sk_buff *tx_alloc(u32 len)
{
	u32 size = SKB_DATA_ALIGN(TX_HEADROOM + len) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *data = pane_pages_get(size);
	struct sk_buff *skb;

	if (likely(data)) {
		skb = napi_build_skb(data, size);
		if (unlikely(!skb))
			skb_free_frag(data);
	} else {
		/* where pages are short they are single ones, too small */
		skb = alloc_skb(TX_HEADROOM + len, GFP_ATOMIC);
	}
	if (likely(skb))
		skb_reserve(skb, TX_HEADROOM);
	return skb;
}

/* A packet of its own, complete but for what is from the BTH on */
static bool tx_place_new(struct pane_qp *qp, struct pane_frame *f, u32 psn)
{
	const struct pane_av *av = f->av;
	u32 encap_len = pane_encap_len(av);
	u32 len = encap_len + f->seg_len;
	struct sk_buff *skb = tx_alloc(len);

	if (unlikely(!skb)) {
		pane_qp_count(qp, send_no_mem);
		return false;
	}
	f->bth = skb_put(skb, len) + encap_len;
	pane_encap_fill(skb, av, f->txq->ip_id, len);
	skb_shinfo(skb)->tskey = pane_tx_mark;

	*pane_tx_cb(skb) = (struct pane_tx_cb) {
		.psn = psn,
		.segs = 1,
		.seg_len = f->seg_len,
		.full = av != pane_qp_av(qp) || !tx_trains_ok(qp),
		.oif = av->oif,
	};
	ether_addr_copy(pane_tx_cb(skb)->dmac, av->dmac);
	f->skb = skb;
	f->append = false;
	return true;
}

/* A place at the end of the train that was queued last, if it goes with it */
static bool tx_place_append(struct pane_qp *qp, struct pane_frame *f)
{
	struct sk_buff *skb = skb_peek_tail(&f->txq->skbs);
	struct page_frag *frag = &f->txq->frag;
	const struct pane_tx_cb *cb;

	if (!skb || f->av != pane_qp_av(qp))
		return false;
	cb = pane_tx_cb(skb);
	if (cb->full || f->seg_len > cb->seg_len ||
	    cb->segs >= TX_TRAIN_SEGS ||
	    skb->len + f->seg_len > TX_TRAIN_BYTES ||
	    skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS)
		return false;
	if (!pane_pages_refill(frag, f->seg_len))
		return false;
	f->bth = page_address(frag->page) + frag->offset;
	f->skb = skb;
	f->append = true;
	return true;
}

/**
 * pane_tx_begin_in - start a packet in a queue of the caller's
 * @qp: sender
 * @txq: the queue, which is the caller's own, or @qp's and its lock is held
 * @av: destination
 * @opcode: of the packet
 * @len: bytes of payload it will have
 * @bth: the rest of its BTH
 * @f: the frame, set up
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: false without memory
 */
bool pane_tx_begin_in(struct pane_qp *qp, struct pane_txq *txq,
		      const struct pane_av *av, u8 opcode, u32 len,
		      const struct pane_bth_fields *bth, struct pane_frame *f)
{
	f->op = pane_op_info(opcode);
	f->av = av;
	f->txq = txq;
	f->len = len;
	f->seg_len = f->op->hdr_len + len + tx_pad(len) + PANE_ICRC_SIZE;
	if (!tx_place_append(qp, f) && !tx_place_new(qp, f, bth->psn))
		return false;
	f->payload = (u8 *)f->bth + f->op->hdr_len;
	tx_bth(f, opcode, bth);
	return true;
}

/* As pane_tx_begin_in(), in the one of @qp's queues that it belongs to */
bool pane_tx_begin(struct pane_qp *qp, const struct pane_av *av, u8 opcode,
		   u32 len, const struct pane_bth_fields *bth,
		   struct pane_frame *f)
{
	struct pane_txq *txq = pane_op_info(opcode)->flags & PANE_OPF_REQUEST ?
			       &qp->tx_req : &qp->tx_resp;

	return pane_tx_begin_in(qp, txq, av, opcode, len, bth, f);
}

/* All headers are filled in: begin the ICRC */
void pane_tx_headers_done(struct pane_frame *f)
{
	f->crc = pane_encap_icrc(f->av, f->txq->ip_id, f->seg_len, f->bth);
	f->crc_from = (u8 *)(f->bth + 1);
}

/**
 * pane_tx_copy_crc - does who copies the payload take its CRC on the way?
 * @f: the frame, its headers done
 *
 * Where it is long that saves a walk through memory. A short one is in the
 * cache anyway, and its CRC is taken together with those of its neighbours.
 *
 * Return: the CRC to carry on, or NULL
 */
u32 *pane_tx_copy_crc(struct pane_frame *f)
{
	if (f->len < TX_COPY_CRC_MIN)
		return NULL;
	f->crc = pane_crc(f->crc, f->crc_from, f->payload - f->crc_from);
	f->crc_from = f->payload + f->len;
	return &f->crc;
}

static void tx_finish_icrc(struct pane_frame *f)
{
	u8 *end = f->payload + f->len;
	u32 pad = tx_pad(f->len);
	__le32 icrc;

	memset(end, 0, pad);
	end += pad;
	if (end != f->crc_from)
		f->crc = pane_crc(f->crc, f->crc_from, end - f->crc_from);
	icrc = pane_icrc_final(f->crc);
	memcpy(end, &icrc, sizeof(icrc));
}

/* Make the bytes behind the fragment's offset the end of the train */
static void tx_couple(struct pane_frame *f)
{
	struct pane_tx_cb *cb = pane_tx_cb(f->skb);
	struct page_frag *frag = &f->txq->frag;
	struct sk_buff *skb = f->skb;
	int n = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, n, frag->page, frag->offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[n - 1], f->seg_len);
	} else {
		get_page(frag->page);
		skb_fill_page_desc(skb, n, frag->page, frag->offset,
				   f->seg_len);
	}
	frag->offset += f->seg_len;
	skb->len += f->seg_len;
	skb->data_len += f->seg_len;
	skb->truesize += f->seg_len;

	cb->segs++;
	if (f->seg_len < cb->seg_len)
		cb->full = true;
	skb_shinfo(skb)->gso_size = cb->seg_len;
	skb_shinfo(skb)->gso_segs = cb->segs;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
}

/* The payload is in: finish the packet and queue it */
void pane_tx_end(struct pane_qp *qp, struct pane_frame *f)
{
	tx_finish_icrc(f);
	f->txq->ip_id++;
	if (f->append)
		tx_couple(f);
	else
		__skb_queue_tail(&f->txq->skbs, f->skb);
	pane_qp_count(qp, sent_pkts);
	pane_qp_count_add(qp, sent_bytes, f->seg_len);
}

/* The packet is not to be sent after all */
void pane_tx_abort(struct pane_frame *f)
{
	if (!f->append)
		kfree_skb(f->skb);
}

/* ---- sending --------------------------------------------------------- */

/**
 * pane_tx_flush - send a list of packets
 * @qp: sender; its lock is not held
 * @list: the packets; empty on return
 * @psn: set to that of the first one refused
 * @sent: set to how many were not
 *
 * When a queue of the network stack has no room for a packet, those behind it
 * are thrown away: the receiver could not use them.
 *
 * Context: RCU read side; bottom halves disabled.
 * Return: true if a packet was refused
 */
bool pane_tx_flush(struct pane_qp *qp, struct sk_buff_head *list, u32 *psn,
		   u32 *sent)
{
	struct net *net = rcu_dereference(qp->dev->net);
	struct sk_buff *skb;

	*sent = 0;
	while (net && (skb = __skb_dequeue(list))) {
		u32 first = pane_tx_cb(skb)->psn;
		int ret = pane_encap_xmit(qp, net, skb);

		if (likely(!ret)) {
			++*sent;
			continue;
		}
		pane_qp_count(qp, send_err);
		if (ret == NET_XMIT_DROP && pane_qp_is_reliable(qp)) {
			*psn = first;
			__skb_queue_purge(list);
			return true;
		}
	}
	__skb_queue_purge(list);
	return false;
}
