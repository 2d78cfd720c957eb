/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SKB_WALK_H
#define PANE_SKB_WALK_H

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/types.h>

/**
 * pane_skb_walk - look at bytes of a packet, wherever they are
 * @skb: the packet, which is at least so long
 * @off: of the first byte
 * @len: how many
 * @fn: is shown them in order, piece by piece
 * @ctx: for @fn
 */
static __always_inline void
pane_skb_walk(const struct sk_buff *skb, u32 off, u32 len,
	      void (*fn)(void *ctx, const u8 *data, u32 len), void *ctx)
{
	struct skb_seq_state state;
	unsigned int n, done = 0;
	const u8 *data;

	if (skb_headlen(skb) >= off + len) {
		fn(ctx, skb->data + off, len);
		return;
	}
	skb_prepare_seq_read((struct sk_buff *)skb, off, off + len, &state);
	while (done < len && (n = skb_seq_read(done, &data, &state))) {
		n = min(n, len - done);
		fn(ctx, data, n);
		done += n;
	}
	skb_abort_seq_read(&state);
}

#endif /* PANE_SKB_WALK_H */
