// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting by either interface, completions and events, windows */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "../kselftest.h"
#include "pane_util.h"

/* Turns of a waiting loop before it looks at the time */
#define SPIN_TURNS	5000

/* Polls before a waiter goes to sleep */
#define CQ_SPINS	100

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* ---- posting --------------------------------------------------------- */

static void fill_send_wr(struct ibv_send_wr *wr, struct ibv_sge *sge,
			 const struct req *r)
{
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)r->addr,
		.length = r->len,
		.lkey = r->lkey,
	};
	*wr = (struct ibv_send_wr) {
		.wr_id = r->id,
		.opcode = r->opcode,
		.send_flags = r->flags,
		.sg_list = r->addr ? sge : NULL,
		.num_sge = r->addr ? 1 : 0,
	};
	switch (r->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = r->raddr;
		wr->wr.atomic.rkey = r->rkey;
		wr->wr.atomic.compare_add = r->compare_add;
		wr->wr.atomic.swap = r->swap;
		break;
	case IBV_WR_BIND_MW:
		wr->bind_mw.mw = r->mw;
		wr->bind_mw.rkey = r->rkey;
		wr->bind_mw.bind_info = r->bind;
		break;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		wr->invalidate_rkey = r->ex;
		break;
	default:
		wr->wr.rdma.remote_addr = r->raddr;
		wr->wr.rdma.rkey = r->rkey;
		wr->imm_data = htobe32(r->ex);
	}
}

static int post_list(struct endpoint *ep, const struct req *reqs,
		     unsigned int num)
{
	struct ibv_send_wr wrs[EP_SEND_WR], *bad;
	struct ibv_sge sges[EP_SEND_WR];

	for (unsigned int i = 0; i < num; i++) {
		fill_send_wr(&wrs[i], &sges[i], &reqs[i]);
		wrs[i].next = i + 1 < num ? &wrs[i + 1] : NULL;
		wrs[i].qp_type.xrc.remote_srqn = ep->remote_srqn;
	}
	return ibv_post_send(ep->qp, wrs, &bad);
}

static void build_wr(struct endpoint *ep, const struct req *r)
{
	struct ibv_qp_ex *qpx = ep->qpx;

	qpx->wr_id = r->id;
	qpx->wr_flags = r->flags;
	/* said by the setter of the data, where there is one */
	if (r->addr)
		qpx->wr_flags &= ~IBV_SEND_INLINE;
	switch (r->opcode) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, r->rkey, r->raddr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, r->rkey, r->raddr, htobe32(r->ex));
		break;
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, htobe32(r->ex));
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, r->ex);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, r->rkey, r->raddr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, r->rkey, r->raddr, r->compare_add,
				      r->swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qpx, r->rkey, r->raddr,
					r->compare_add);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qpx, r->ex);
		return;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qpx, r->mw, r->rkey, &r->bind);
		return;
	default:
		CHECK(false, "opcode %d", r->opcode);
	}
	if (ep->tgt)
		ibv_wr_set_xrc_srqn(qpx, ep->remote_srqn);
	if (r->flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qpx, r->addr, r->len);
	else if (r->addr)
		ibv_wr_set_sge(qpx, r->lkey, (uintptr_t)r->addr, r->len);
}

static int post_batch(struct endpoint *ep, const struct req *reqs,
		      unsigned int num)
{
	ibv_wr_start(ep->qpx);
	for (unsigned int i = 0; i < num; i++)
		build_wr(ep, &reqs[i]);
	return ibv_wr_complete(ep->qpx);
}

int ep_post(struct endpoint *ep, const struct req *reqs, unsigned int num)
{
	if (pane_cfg.wr_api)
		return post_batch(ep, reqs, num);
	return post_list(ep, reqs, num);
}

int ep_post_recv(struct endpoint *ep, uint64_t id, void *addr, uint32_t len,
		 uint32_t lkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)addr,
		.length = len,
		.lkey = lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = addr ? 1 : 0,
	};

	if (ep->srq)
		return ibv_post_srq_recv(ep->srq, &wr, &bad);
	return ibv_post_recv(ep->qp, &wr, &bad);
}

struct req req_remote(enum ibv_wr_opcode opcode, const struct region *local,
		      size_t len, uint64_t raddr, uint32_t rkey)
{
	return (struct req) {
		.opcode = opcode,
		.addr = local->addr,
		.len = len,
		.lkey = local->mr->lkey,
		.raddr = raddr,
		.rkey = rkey,
	};
}

/* ---- completions and events ------------------------------------------ */

static bool cq_take(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int num = ibv_poll_cq(cq, 1, wc);

	CHECK(num >= 0, "poll: %d", num);
	return num;
}

/* The next completion; sleeps for it */
void cq_wait(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_cq *event_cq;
	void *context;

	for (unsigned int i = 0; i < CQ_SPINS; i++)
		if (cq_take(cq, wc))
			return;
	for (;;) {
		CHECK_OK(ibv_req_notify_cq(cq, 0));
		if (cq_take(cq, wc))
			return;
		fd_wait(cq->channel->fd, "completion");
		CHECK_OK(ibv_get_cq_event(cq->channel, &event_cq, &context));
		ibv_ack_cq_events(event_cq, 1);
		if (cq_take(cq, wc))
			return;
	}
}

/*
 * A turn of a loop that waits for what another processor does at this moment:
 * to sleep would take far longer. On a single one the other process gets it.
 */
void spin_turn(struct spin *spin)
{
	if (++spin->turns % SPIN_TURNS)
		return;
	sched_yield();
	if (!spin->end_ms)
		spin->end_ms = now_ms() + pane_deadline_ms();
	CHECK(now_ms() < spin->end_ms, "nothing happens");
}

/* The next completion, seen as early as can be */
void cq_spin(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct spin spin = {};

	while (!cq_take(cq, wc))
		spin_turn(&spin);
}

/* The next completion is this one; @wc may be NULL */
void cq_expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status,
	       struct ibv_wc *wc)
{
	struct ibv_wc own;

	if (!wc)
		wc = &own;
	cq_wait(cq, wc);
	CHECK(wc->wr_id == id && wc->status == status,
	      "id %#llx status %s (vendor %u), not %#llx %s",
	      (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
	      wc->vendor_err, (unsigned long long)id,
	      ibv_wc_status_str(status));
}

static bool req_is_local(const struct req *req)
{
	return req->opcode == IBV_WR_LOCAL_INV || req->opcode == IBV_WR_BIND_MW;
}

enum ibv_wc_status ep_do(struct endpoint *ep, struct req req)
{
	bool silent = ep->type == IBV_QPT_UC && !req_is_local(&req);
	uint64_t dropped = 0;
	struct ibv_wc wc;

	if (silent)
		dropped = counter_read(ep->remote->node, "rx_uc_dropped");
	req.flags |= IBV_SEND_SIGNALED;
	req.id = 0xd0d0;
	CHECK_OK(ep_post(ep, &req, 1));
	cq_wait(ep->scq, &wc);
	CHECK_EQ(wc.wr_id, req.id);
	CHECK_EQ(wc.qp_num, ep->qp->qp_num);
	if (!silent || wc.status != IBV_WC_SUCCESS)
		return wc.status;
	ep_arrived(ep);
	return counter_read(ep->remote->node, "rx_uc_dropped") == dropped ?
	       IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

/* Until the event has come; those before it are of no interest */
void event_wait(struct node *n, enum ibv_event_type type, struct ibv_qp *qp)
{
	struct ibv_async_event event;
	bool found;

	do {
		fd_wait(n->ctx->async_fd, ibv_event_type_str(type));
		CHECK(!ibv_get_async_event(n->ctx, &event), "no event");
		found = event.event_type == type &&
			(!qp || event.element.qp == qp);
		ibv_ack_async_event(&event);
	} while (!found);
}

bool event_pending(struct node *n)
{
	struct pollfd pfd = { .fd = n->ctx->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* ---- windows --------------------------------------------------------- */

struct ibv_mw *mw_open(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	CHECK(mw, "%s", strerror(errno));
	return mw;
}

void mw_close(struct ibv_mw *mw)
{
	CHECK_OK(ibv_dealloc_mw(mw));
}

bool mw_is_type2(const struct ibv_mw *mw)
{
	return mw->type == IBV_MW_TYPE_2;
}

struct ibv_mw_bind_info bind_info(const struct region *r, size_t offset,
				  size_t len, unsigned int access)
{
	return (struct ibv_mw_bind_info) {
		.mr = r->mr,
		.addr = region_at(r, offset),
		.length = len,
		.mw_access_flags = access,
	};
}

int mw_post_bind(struct endpoint *ep, struct ibv_mw *mw,
		 const struct ibv_mw_bind_info *info, unsigned int flags,
		 uint64_t id)
{
	struct ibv_mw_bind bind = {
		.wr_id = id,
		.send_flags = flags,
		.bind_info = *info,
	};
	struct req req = {
		.opcode = IBV_WR_BIND_MW,
		.id = id,
		.flags = flags,
		.mw = mw,
		.rkey = ibv_inc_rkey(mw->rkey),
		.bind = *info,
	};

	if (mw_is_type2(mw))
		return ep_post(ep, &req, 1);
	return ibv_bind_mw(ep->qp, mw, &bind);
}

enum ibv_wc_status mw_try_bind(struct endpoint *ep, struct ibv_mw *mw,
			       const struct ibv_mw_bind_info *info)
{
	struct ibv_wc wc;

	CHECK_OK(mw_post_bind(ep, mw, info, IBV_SEND_SIGNALED, 0xb1d));
	cq_wait(ep->scq, &wc);
	CHECK_EQ(wc.wr_id, 0xb1d);
	if (wc.status == IBV_WC_SUCCESS)
		CHECK_EQ(wc.opcode, IBV_WC_BIND_MW);
	return wc.status;
}

void mw_bind(struct endpoint *ep, struct ibv_mw *mw, const struct region *r,
	     size_t offset, size_t len, unsigned int access)
{
	struct ibv_mw_bind_info info = bind_info(r, offset, len, access);

	CHECK_EQ(mw_try_bind(ep, mw, &info), IBV_WC_SUCCESS);
}

void mw_unbind(struct endpoint *ep, struct ibv_mw *mw)
{
	struct ibv_mw_bind_info none = {};

	if (mw_is_type2(mw))
		CHECK_EQ(ep_local_inv(ep, mw->rkey), IBV_WC_SUCCESS);
	else
		CHECK_EQ(mw_try_bind(ep, mw, &none), IBV_WC_SUCCESS);
}
