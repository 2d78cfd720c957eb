// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_stream.h"

#define DEPTH	4	/* requests on their way */

/* ---- talk ------------------------------------------------------------ */

/* Until @word, written by the other process, is @value */
static void word_wait(const unsigned int *word, unsigned int value)
{
	struct spin spin = {};

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		spin_turn(&spin);
}

static void word_set(unsigned int *word, unsigned int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void end_fill(struct stream_end *end, const struct endpoint *ep)
{
	end->gid = ep->node->gid;
	end->qpn = ep->qp->qp_num;
	end->psn = ep->psn;
	end->mtu = ep->mtu;
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
	ep->mtu = end->mtu;
	ep_connect_one(ep, &remote);
}

/* ---- the peer -------------------------------------------------------- */

/**
 * struct peer - the peer's own side
 * @sh: shared
 * @ep: endpoint
 * @buf: @sh->buf
 * @posted: requests in this round
 */
struct peer {
	struct stream_shared *sh;
	struct endpoint ep;
	struct region buf;
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

/* A completion, perhaps because the owner wants no more */
static void peer_wait(struct peer *p, struct ibv_wc *wc)
{
	bool *abort = &p->sh->abort;
	struct spin spin = {};

	for (;;) {
		if (__atomic_exchange_n(abort, false, __ATOMIC_ACQUIRE))
			ep_modify(&p->ep, IBV_QPS_ERR);
		if (ibv_poll_cq(p->ep.scq, 1, wc))
			return;
		spin_turn(&spin);
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
		word_set(&sh->ended, sh->ended + 1);
	}
}

static void peer_obey(struct peer *p)
{
	struct stream_shared *sh = p->sh;

	pane_more_time();
	if (sh->command == STREAM_CONNECT)
		end_connect(&p->ep, &sh->owner);
	else
		peer_stream(p);
}

static __attribute__((noreturn)) void peer_run(struct stream_shared *sh)
{
	struct peer p = { .sh = sh };
	struct node node;

	/* with the owner, whatever it dies of */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node_open_peer(&node);
	ep_open(&p.ep, &node, node.pd);
	region_open_at(&p.buf, node.pd, sh->buf, STREAM_BUF,
		       IBV_ACCESS_LOCAL_WRITE);
	end_fill(&sh->peer, &p.ep);
	for (unsigned int turn = 1;; turn++) {
		word_set(&sh->answered, turn);
		word_wait(&sh->asked, turn + 1);
		if (sh->command == STREAM_QUIT)
			break;
		peer_obey(&p);
	}
	region_close(&p.buf);
	ep_close(&p.ep);
	node_close(&node);
	_exit(0);
}

/* ---- the owner ------------------------------------------------------- */

static void stream_ask(struct stream *s, enum stream_command command)
{
	s->sh->command = command;
	word_set(&s->sh->asked, s->sh->asked + 1);
}

static void stream_answered(struct stream *s)
{
	word_wait(&s->sh->answered, s->sh->asked);
}

void stream_open(struct stream *s)
{
	s->sh = mmap(NULL, sizeof(*s->sh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s->sh != MAP_FAILED, "%s", strerror(errno));
	s->sh->asked = 1;
	fflush(stdout);
	s->pid = fork();
	CHECK(s->pid >= 0, "%s", strerror(errno));
	if (!s->pid)
		peer_run(s->sh);
	stream_answered(s);
}

/* The peer has closed all it had, too */
void stream_close(struct stream *s)
{
	int status;

	stream_ask(s, STREAM_QUIT);
	CHECK(waitpid(s->pid, &status, 0) == s->pid && !status, "status %#x",
	      status);
	munmap(s->sh, sizeof(*s->sh));
}

void stream_connect(struct stream *s, struct endpoint *o)
{
	o->psn += 0x1000;
	s->sh->peer.mtu = o->mtu;
	end_connect(o, &s->sh->peer);
	end_fill(&s->sh->owner, o);
	stream_ask(s, STREAM_CONNECT);
	stream_answered(s);
}

void stream_start(struct stream *s, const struct stream_order *order)
{
	s->sh->order = *order;
	s->sh->ended = 0;
	s->sh->status = IBV_WC_SUCCESS;
	s->sh->abort = false;
	stream_ask(s, STREAM_START);
}

/* Until so many requests have ended */
void stream_flowing(struct stream *s, unsigned int ended)
{
	struct spin spin = {};

	while (__atomic_load_n(&s->sh->ended, __ATOMIC_ACQUIRE) < ended)
		spin_turn(&spin);
}

/* When nobody answers any more: let the peer flush what it has posted */
void stream_abort(struct stream *s)
{
	__atomic_store_n(&s->sh->abort, true, __ATOMIC_RELEASE);
}

/* The end of all that was posted; returns @status */
enum ibv_wc_status stream_join(struct stream *s)
{
	stream_answered(s);
	return s->sh->status;
}
