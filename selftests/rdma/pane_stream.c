// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_stream.h"

#define DEPTH	4	/* requests on their way */

/* ---- talk ------------------------------------------------------------ */

static void say(int fd)
{
	CHECK(write(fd, "", 1) == 1, "%s", strerror(errno));
}

/* False if the other process is gone */
static bool hear(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

static void end_fill(struct stream_end *end, const struct endpoint *ep)
{
	end->gid = ep->node->gid;
	end->qpn = ep->qp->qp_num;
	end->psn = ep->psn;
}

/* Connect to an endpoint of another process */
static void end_connect(struct endpoint *ep, const struct stream_end *end)
{
	struct node node = { .gid = end->gid };
	struct ibv_qp qp = { .qp_num = end->qpn };
	struct endpoint remote = {
		.node = &node,
		.qp = &qp,
		.psn = end->psn,
	};

	ep_modify(ep, IBV_QPS_RESET);
	ep_drain(ep);
	ep_connect_one(ep, &remote);
}

/* ---- the peer -------------------------------------------------------- */

/**
 * struct peer - the peer's own side
 * @sh: shared
 * @ep: endpoint
 * @buf: @sh->buf
 * @from: owner's word to stop
 * @posted: requests in this round
 */
struct peer {
	struct stream_shared *sh;
	struct endpoint ep;
	struct region buf;
	int from;
	unsigned int posted;
};

/* Some range of the window; often long, often short */
static void peer_choose(struct peer *p, struct req *req)
{
	struct stream_order *o = &p->sh->order;
	size_t off, len = 1 + rand_r(&o->seed) % o->len;

	if (rand_r(&o->seed) & 1)
		len = 1 + len % 2000;
	off = rand_r(&o->seed) % (o->len - len + 1);
	if (o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		len = 8;
		off &= ~7UL;
	}
	/* what is written differs from what was there */
	req->addr += rand_r(&o->seed) % (p->buf.len - len + 1);
	req->len = len;
	req->raddr += off;
}

static struct req peer_request(struct peer *p)
{
	const struct stream_order *o = &p->sh->order;
	struct req req = req_remote(o->opcode, &p->buf, o->len, o->va, o->rkey);

	req.flags = IBV_SEND_SIGNALED;
	if (o->inv_at && p->posted + 1 == o->inv_at)
		return (struct req) {
			.opcode = IBV_WR_SEND_WITH_INV,
			.flags = IBV_SEND_SIGNALED,
			.ex = o->rkey,
		};
	req.compare_add = 1;
	if (!o->whole)
		peer_choose(p, &req);
	return req;
}

static bool peer_may_post(const struct peer *p)
{
	const struct stream_shared *sh = p->sh;

	return sh->status == IBV_WC_SUCCESS &&
	       (!sh->order.limit || p->posted < sh->order.limit);
}

/* A completion, or the owner's word to stop */
static void peer_wait(struct peer *p, struct ibv_wc *wc)
{
	struct ibv_cq *cq = p->ep.scq, *event_cq;
	struct pollfd fds[2] = {
		{ .fd = cq->channel->fd, .events = POLLIN },
		{ .fd = p->from, .events = POLLIN },
	};
	void *context;

	while (!ibv_poll_cq(cq, 1, wc)) {
		CHECK_OK(ibv_req_notify_cq(cq, 0));
		if (ibv_poll_cq(cq, 1, wc))
			return;
		CHECK(poll(fds, 2, pane_deadline_ms()) > 0, "no completion");
		if (fds[1].revents) {
			CHECK(hear(p->from), "the owner is gone");
			ep_modify(&p->ep, IBV_QPS_ERR);
		}
		if (!fds[0].revents)
			continue;
		CHECK_OK(ibv_get_cq_event(cq->channel, &event_cq, &context));
		ibv_ack_cq_events(event_cq, 1);
	}
}

/* Until all that was posted has ended, and nothing more may be */
static void peer_stream(struct peer *p)
{
	struct stream_shared *sh = p->sh;
	struct ibv_wc wc;
	struct req req;

	p->posted = 0;
	while (peer_may_post(p) || sh->ended < p->posted) {
		while (peer_may_post(p) && p->posted - sh->ended < DEPTH) {
			req = peer_request(p);
			CHECK_OK(ep_post(&p->ep, &req, 1));
			p->posted++;
		}
		peer_wait(p, &wc);
		if (sh->status == IBV_WC_SUCCESS)
			sh->status = wc.status;
		__atomic_store_n(&sh->ended, sh->ended + 1, __ATOMIC_RELEASE);
	}
}

static __attribute__((noreturn)) void peer_run(struct stream_shared *sh,
					       int from, int to)
{
	struct peer p = { .sh = sh, .from = from };
	struct node node;

	node_open_peer(&node);
	ep_open(&p.ep, &node, node.pd);
	/* the longest copies there are */
	p.ep.mtu = node.mtu;
	region_open_at(&p.buf, node.pd, sh->buf, STREAM_BUF,
		       IBV_ACCESS_LOCAL_WRITE);
	end_fill(&sh->peer, &p.ep);
	say(to);
	while (hear(from)) {
		pane_more_time();
		end_connect(&p.ep, &sh->owner);
		say(to);
		CHECK(hear(from), "the owner is gone");
		peer_stream(&p);
		say(to);
	}
	region_close(&p.buf);
	ep_close(&p.ep);
	node_close(&node);
	_exit(0);
}

/* ---- the owner ------------------------------------------------------- */

void stream_open(struct stream *s)
{
	int to[2], from[2];

	s->sh = mmap(NULL, sizeof(*s->sh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s->sh != MAP_FAILED, "%s", strerror(errno));
	CHECK(!pipe(to) && !pipe(from), "%s", strerror(errno));
	fflush(stdout);
	s->pid = fork();
	CHECK(s->pid >= 0, "%s", strerror(errno));
	if (!s->pid) {
		close(to[1]);
		close(from[0]);
		peer_run(s->sh, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	s->to = to[1];
	s->from = from[0];
	CHECK(hear(s->from), "no peer");
}

/* The peer has closed all it had, too */
void stream_close(struct stream *s)
{
	int status;

	close(s->to);
	CHECK(waitpid(s->pid, &status, 0) == s->pid && !status, "status %#x",
	      status);
	close(s->from);
	munmap(s->sh, sizeof(*s->sh));
}

void stream_connect(struct stream *s, struct endpoint *o)
{
	o->psn += 0x1000;
	end_connect(o, &s->sh->peer);
	end_fill(&s->sh->owner, o);
	say(s->to);
	CHECK(hear(s->from), "the peer is gone");
}

void stream_start(struct stream *s, const struct stream_order *order)
{
	s->sh->order = *order;
	s->sh->ended = 0;
	s->sh->status = IBV_WC_SUCCESS;
	say(s->to);
}

/*
 * A turn of a loop that waits for what another process does at this moment. To
 * sleep would take far longer; on a single processor it gets this one.
 */
void stream_spin(unsigned int *spins)
{
	if (++*spins % 20000 == 0)
		sched_yield();
}

/* Until so many requests have ended */
void stream_flowing(struct stream *s, unsigned int ended)
{
	unsigned int spins = 0;

	while (__atomic_load_n(&s->sh->ended, __ATOMIC_ACQUIRE) < ended)
		stream_spin(&spins);
}

void stream_abort(struct stream *s)
{
	say(s->to);
}

/* The end of all that was posted; returns @status */
enum ibv_wc_status stream_join(struct stream *s)
{
	CHECK(hear(s->from), "the peer is gone");
	return s->sh->status;
}
