// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What "rdma resource show ... -dd" tells of objects beside what the core does */
#include <linux/list.h>
#include <net/netlink.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "cq.h"
#include "mr.h"
#include "psn.h"
#include "qp.h"
#include "restrack.h"

/* One line of an answer: a number, or a word */
struct res_item {
	const char *name;
	u32 value;
	const char *word;
};

static int res_put(struct sk_buff *msg, const struct res_item *item, u32 num)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err = 0;
	u32 i;

	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < num && !err; i++)
		err = item[i].word ?
		      rdma_nl_put_driver_string(msg, item[i].name,
						item[i].word) :
		      rdma_nl_put_driver_u32(msg, item[i].name, item[i].value);
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

static u32 res_num_windows(struct pane_qp *qp)
{
	struct list_head *pos;
	u32 num = 0;

	spin_lock_bh(&qp->mw_lock);
	list_for_each(pos, &qp->mws)
		num++;
	spin_unlock_bh(&qp->mw_lock);
	return num;
}

static const char *res_sq_waits(u8 wait)
{
	static const char * const words[] = {
		[PANE_SQ_RUN] = "nothing",
		[PANE_SQ_WAIT_RNR] = "receiver",
		[PANE_SQ_WAIT_TX] = "room",
		[PANE_SQ_WAIT_PAGES] = "pages",
	};

	return words[wait];
}

/* With qp->lock, so that it is all of one moment */
static int res_put_qp(struct sk_buff *msg, const struct pane_qp *qp,
		      u32 windows)
{
	const struct pane_sq *sq = &qp->sq;
	const struct pane_resp *r = &qp->resp;
	const struct res_item items[] = {
		{ "sq_requests", sq->prod - sq->cons },
		{ "sq_waits_for", 0, res_sq_waits(sq->wait) },
		{ "sq_reads", sq->rd_out },
		{ "sq_retries", sq->retries },
		{ "sq_next_psn", sq->psn },
		{ "sq_oldest_psn", sq->una & PANE_PSN_MASK },
		{ "rq_expected_psn", r->epsn },
		{ "rq_messages", r->msn },
		{ "rq_waiting", skb_queue_len(&r->pend) },
		{ "windows", windows },
	};

	return res_put(msg, items, ARRAY_SIZE(items));
}

/*
 * Requests in the send queue, what it waits for, READs and atomics on their
 * way, retries left, PSNs of both directions, messages received, packets that
 * wait, windows bound
 */
int pane_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct pane_qp *qp = to_pane_qp(ibqp);
	u32 windows = res_num_windows(qp);
	int err;

	spin_lock_bh(&qp->lock);
	err = res_put_qp(msg, qp, windows);
	spin_unlock_bh(&qp->lock);
	return err;
}

/* What the region is made of, and windows that are bound to it */
int pane_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	static const char * const kinds[] = {
		[PANE_MR_USER] = "user",
		[PANE_MR_ODP] = "on demand",
		[PANE_MR_DMABUF] = "dma-buf",
		[PANE_MR_DMA] = "all of the kernel's",
		[PANE_MR_FAST_REG] = "fast registration",
	};
	const struct pane_mr *mr = to_pane_mr(ibmr);
	const struct res_item items[] = {
		{ "memory", 0, kinds[mr->kind] },
		{ "windows", max(atomic_read(&mr->binds), 0) },
	};

	return res_put(msg, items, ARRAY_SIZE(items));
}

/* With cq->lock */
static int res_put_cq(struct sk_buff *msg, struct pane_cq *cq)
{
	const struct res_item items[] = {
		{ "entries", pane_cq_unread(cq) },
		{ "armed", pane_cq_armed(cq) },
		{ "event_count", cq->hold_count },
		{ "event_period", cq->hold_time },
	};

	return res_put(msg, items, ARRAY_SIZE(items));
}

/* Completions that were not taken, and how its user is told of others */
int pane_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	int err;

	spin_lock_bh(&cq->lock);
	err = res_put_cq(msg, cq);
	spin_unlock_bh(&cq->lock);
	return err;
}
