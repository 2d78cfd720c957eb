// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lifetimes: what cannot go while a window is bound, what becomes of windows
 * whose owner goes, and that refusals leave no references behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		5000
#define NUM_WINDOWS	8

static uint64_t win_va(const struct duo *d)
{
	return region_at(&d->mem, WIN_OFF);
}

static struct ibv_mw *win_open(struct duo *d)
{
	return mw_open(d->own.pd, pane_cfg.mw_type);
}

static void win_bind(struct duo *d, struct ibv_mw *mw)
{
	mw_bind(&d->o, mw, &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
}

static void win_check(struct duo *d, struct ibv_mw *mw)
{
	duo_check_access(d, &d->p, win_va(d), mw->rkey, WIN_OFF, WIN_LEN);
}

static void mem_reregister(struct duo *d)
{
	d->mem.mr = ibv_reg_mr(d->own.pd, d->mem.addr, d->mem.len,
			       MR_BINDABLE);
	CHECK(d->mem.mr, "%s", strerror(errno));
}

/* ---- memory regions -------------------------------------------------- */

/* As long as one of several windows is bound; MR and windows go on */
static void test_dereg(const void *arg)
{
	struct ibv_mw *mw[NUM_WINDOWS];
	struct duo d;

	duo_open(&d);
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		mw[i] = win_open(&d);
		win_bind(&d, mw[i]);
	}
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		CHECK_EQ(ibv_dereg_mr(d.mem.mr), EBUSY);
		for (unsigned int j = i; j < NUM_WINDOWS; j++)
			win_check(&d, mw[j]);
		mw_unbind(&d.o, mw[i]);
	}
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	mem_reregister(&d);
	win_bind(&d, mw[0]);
	win_check(&d, mw[0]);
	for (unsigned int i = 0; i < NUM_WINDOWS; i++)
		mw_close(mw[i]);
	duo_close(&d);
}

struct rereg_row {
	const char *name;
	int flags;
};

static const struct rereg_row rereg_rows[] = {
	{ "access", IBV_REREG_MR_CHANGE_ACCESS },
	{ "PD", IBV_REREG_MR_CHANGE_PD },
	{ "memory", IBV_REREG_MR_CHANGE_TRANSLATION },
	{ "all", IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD |
		 IBV_REREG_MR_CHANGE_TRANSLATION },
};

static int rereg(struct duo *d, int flags, struct ibv_pd *pd)
{
	bool memory = flags & IBV_REREG_MR_CHANGE_TRANSLATION;

	errno = 0;
	return ibv_rereg_mr(d->mem.mr, flags,
			    flags & IBV_REREG_MR_CHANGE_PD ? pd : NULL,
			    memory ? d->mem.addr : NULL,
			    memory ? DUO_LEN / 2 : 0,
			    flags & IBV_REREG_MR_CHANGE_ACCESS ?
			    MR_BINDABLE | RIGHTS_RW : 0);
}

static void test_rereg(const void *arg)
{
	const struct rereg_row *row = arg;
	struct ibv_pd *pd;
	struct ibv_mw *mw;
	uint32_t lkey;
	struct duo d;

	duo_open(&d);
	pd = ibv_alloc_pd(d.own.ctx);
	CHECK(pd, "%s", strerror(errno));
	mw = win_open(&d);
	win_bind(&d, mw);
	lkey = d.mem.mr->lkey;
	CHECK(rereg(&d, row->flags, pd), "succeeded");
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(d.mem.mr->lkey, lkey);
	win_check(&d, mw);
	CHECK_EQ(duo_probe(&d, region_at(&d.mem, 0), lkey),
		 IBV_WC_REM_ACCESS_ERR);

	mw_unbind(&d.o, mw);
	CHECK_OK(rereg(&d, row->flags, pd));
	mw_close(mw);
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	mem_reregister(&d);
	CHECK_OK(ibv_dealloc_pd(pd));
	duo_close(&d);
}

/* ---- windows and domains --------------------------------------------- */

static void test_dealloc_bound(const void *arg)
{
	struct ibv_mw *mw;
	uint32_t rkey;
	struct duo d;

	duo_open(&d);
	mw = win_open(&d);
	win_bind(&d, mw);
	rkey = mw->rkey;
	CHECK_OK(ibv_dealloc_mw(mw));
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	CHECK_EQ(ep_write(&d.p, &d.buf, 1, win_va(&d), rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK(has_pattern(d.mem.addr, d.mem.len, 0), "memory changed");
	mem_reregister(&d);
	duo_close(&d);
}

/* Also after its QP went into error */
static void test_dealloc_qp_err(const void *arg)
{
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = win_open(&d);
	win_bind(&d, mw);
	ep_modify(&d.o, IBV_QPS_ERR);
	CHECK_OK(ibv_dealloc_mw(mw));
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	mem_reregister(&d);
	duo_close(&d);
}

static void test_dealloc_pd(const void *arg)
{
	struct ibv_pd *pd;
	struct ibv_mw *mw;
	struct node n;

	node_open_owner(&n);
	pd = ibv_alloc_pd(n.ctx);
	CHECK(pd, "%s", strerror(errno));
	mw = mw_open(pd, pane_cfg.mw_type);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	mw_close(mw);
	CHECK_OK(ibv_dealloc_pd(pd));
	node_close(&n);
}

/* ---- refused requests ------------------------------------------------ */

#define REFUSED_BINDS	100000

/* A bind that breaks one of several rules by turns */
static void refused_bind(struct duo *d, const struct ibv_mw *mw, unsigned int i)
{
	struct ibv_mw_bind_info info = bind_info(&d->mem, 0, 10, RIGHTS_RW);
	struct ibv_mw fake_mw = *mw;
	struct ibv_mr fake_mr = *d->mem.mr;
	struct ibv_wc wc;

	info.mr = &fake_mr;
	switch (i % 5) {
	case 0:
		info.length = DUO_LEN + 1;
		break;
	case 1:
		fake_mr.lkey ^= 1;
		break;
	case 2:
		info.mw_access_flags |= 1 << 10;
		break;
	case 3:
		fake_mw.rkey ^= 0x35791300;
		break;
	case 4:
		info.addr = ~0ULL;
		break;
	}
	CHECK_OK(mw_post_bind(&d->o, &fake_mw, &info, 0, i));
	cq_wait(d->o.scq, &wc);
	CHECK_EQ(wc.status, IBV_WC_MW_BIND_ERR);
}

/* Of both types by turns */
static void test_refused_binds(const void *arg)
{
	unsigned int rounds = pane_rounds_cheap(REFUSED_BINDS);
	struct ibv_mw *mw[2];
	uint64_t refused;
	struct duo d;

	duo_open(&d);
	mw[0] = mw_open(d.own.pd, IBV_MW_TYPE_1);
	mw[1] = mw_open(d.own.pd, IBV_MW_TYPE_2);
	refused = counter_read(&d.own, "bind_refused");
	for (unsigned int i = 0; i < rounds; i++) {
		if (i % 10000 == 0)
			pane_more_time();
		refused_bind(&d, mw[i & 1], i);
		ep_modify(&d.o, IBV_QPS_RESET);
		ep_connect_one(&d.o, &d.p);
	}
	CHECK_EQ(counter_read(&d.own, "bind_refused"), refused + rounds);
	CHECK_OK(ibv_dereg_mr(d.mem.mr));
	mem_reregister(&d);
	ep_reconnect(&d.o, &d.p);
	for (unsigned int i = 0; i < 2; i++) {
		win_bind(&d, mw[i]);
		win_check(&d, mw[i]);
		mw_close(mw[i]);
	}
	duo_close(&d);
}

/* ---- the owner goes -------------------------------------------------- */

/* What the owner tells the peer, who is another process */
struct hello {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint64_t va;
	uint32_t rkeys[NUM_WINDOWS];
};

struct victim {
	pid_t pid;
	int to;
	int from;
};

static void hello_fill(struct hello *h, const struct endpoint *ep)
{
	h->gid = ep->node->gid;
	h->qpn = ep->qp->qp_num;
	h->psn = ep->psn;
}

/* An endpoint that is only what the other process said */
static void hello_endpoint(const struct hello *h, struct endpoint *ep,
			   struct node *n, struct ibv_qp *qp)
{
	*n = (struct node) { .gid = h->gid };
	*qp = (struct ibv_qp) { .qp_num = h->qpn };
	*ep = (struct endpoint) { .node = n, .qp = qp, .psn = h->psn };
}

static void send_all(int fd, const void *from, size_t len)
{
	CHECK(write(fd, from, len) == (ssize_t)len, "%s", strerror(errno));
}

static void recv_all(int fd, void *to, size_t len)
{
	CHECK(read(fd, to, len) == (ssize_t)len, "%s", strerror(errno));
}

/* The owner: bind windows of both types, then wait for the end */
static __attribute__((noreturn)) void victim_run(int from, int to)
{
	struct endpoint remote, o;
	struct hello mine, theirs;
	struct region mem;
	struct node own, n;
	struct ibv_qp qp;

	node_open_owner(&own);
	ep_open(&o, &own, own.pd);
	region_open(&mem, own.pd, DUO_LEN, 0, MR_BINDABLE);
	recv_all(from, &theirs, sizeof(theirs));
	hello_endpoint(&theirs, &remote, &n, &qp);
	ep_connect_one(&o, &remote);
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		struct ibv_mw *mw = mw_open(own.pd, i & 1 ? IBV_MW_TYPE_2 :
							    IBV_MW_TYPE_1);

		mw_bind(&o, mw, &mem, 0, DUO_LEN, RIGHTS_RW);
		mine.rkeys[i] = mw->rkey;
	}
	hello_fill(&mine, &o);
	mine.va = region_at(&mem, 0);
	send_all(to, &mine, sizeof(mine));
	for (;;)
		pause();
}

static void victim_start(struct victim *v)
{
	int to[2], from[2];

	CHECK(!pipe(to) && !pipe(from), "%s", strerror(errno));
	v->pid = fork();
	CHECK(v->pid >= 0, "%s", strerror(errno));
	if (!v->pid) {
		close(to[1]);
		close(from[0]);
		victim_run(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	v->to = to[1];
	v->from = from[0];
}

static void victim_end(struct victim *v)
{
	int status;

	CHECK(!kill(v->pid, SIGKILL), "%s", strerror(errno));
	CHECK(waitpid(v->pid, &status, 0) == v->pid, "%s", strerror(errno));
	CHECK(WIFSIGNALED(status), "status %#x", status);
	close(v->to);
	close(v->from);
}

/* What rdma(8) counts of a device, as it prints it */
static void resources_read(char *to, size_t len)
{
	char command[96];
	FILE *f;

	snprintf(command, sizeof(command), "rdma resource show %s",
		 ibv_get_device_name(pane_devices[0]));
	f = popen(command, "r");
	CHECK(f && fgets(to, len, f), "%s", command);
	pclose(f);
}

#define KILL_ROUNDS	12

/* Keep some WRITEs on their way; false when one has failed */
static bool stream_step(struct endpoint *p, const struct region *buf,
			const struct hello *h, unsigned int *posted)
{
	struct req req = req_remote(IBV_WR_RDMA_WRITE, buf, 20000, h->va,
				    h->rkeys[*posted % NUM_WINDOWS]);
	struct ibv_wc wc;

	req.flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(p, &req, 1));
	if (++*posted < 4)
		return true;
	cq_wait(p->scq, &wc);
	return wc.status == IBV_WC_SUCCESS;
}

static void kill_round(struct node *peer, const struct region *buf,
		       unsigned int writes)
{
	struct hello mine = {}, theirs;
	struct endpoint remote, p;
	unsigned int posted = 0;
	struct victim v;
	struct ibv_qp qp;
	struct node n;

	victim_start(&v);
	ep_open(&p, peer, peer->pd);
	p.timeout = 1;
	p.retry_cnt = 1;
	hello_fill(&mine, &p);
	send_all(v.to, &mine, sizeof(mine));
	recv_all(v.from, &theirs, sizeof(theirs));
	hello_endpoint(&theirs, &remote, &n, &qp);
	ep_connect_one(&p, &remote);
	for (unsigned int i = 0; i < writes + 4; i++)
		CHECK(stream_step(&p, buf, &theirs, &posted), "WRITE failed");
	victim_end(&v);
	while (stream_step(&p, buf, &theirs, &posted))
		;
	ep_close(&p);
}

static void test_killed(const void *arg)
{
	unsigned int rounds = pane_is_slow() ? 3 : KILL_ROUNDS;
	char before[256], after[256];
	struct region buf;
	struct node peer;

	resources_read(before, sizeof(before));
	node_open_peer(&peer);
	region_open(&buf, peer.pd, DUO_LEN, 0, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < rounds; i++)
		kill_round(&peer, &buf, i % 8);
	region_close(&buf);
	node_close(&peer);
	resources_read(after, sizeof(after));
	CHECK(!strcmp(before, after), "%s", after);
}

/* ---- the device goes ------------------------------------------------- */

/**
 * struct removal - a way to take a device away
 * @name: of it
 * @script: does it; $1 is what the names of the pair begin with
 * @both: the peer's device goes too, with the other end of the wire
 */
struct removal {
	const char *name;
	const char *script;
	bool both;
};

static const struct removal removals[] = {
	{ "link deleted", "rdma link delete $1l", false },
	{ "interface deleted", "ip -n $1l link delete $1l", true },
	{ "namespace deleted", "ip netns delete $1l", true },
};

/* With windows bound and a stream of WRITEs through them */
static void test_removed(const void *arg)
{
	const struct removal *removal = arg;
	struct ibv_mw *mw[NUM_WINDOWS];
	struct hello h;
	unsigned int posted = 0;
	struct duo d;

	pane_fabric_second(pane_devices);
	duo_open(&d);
	d.p.timeout = 1;
	d.p.retry_cnt = 1;
	ep_reconnect(&d.o, &d.p);
	h.va = region_at(&d.mem, 0);
	for (unsigned int i = 0; i < NUM_WINDOWS; i++) {
		mw[i] = mw_open(d.own.pd, i & 1 ? IBV_MW_TYPE_2 :
						  IBV_MW_TYPE_1);
		mw_bind(&d.o, mw[i], &d.mem, 0, DUO_LEN, RIGHTS_RW);
		h.rkeys[i] = mw[i]->rkey;
	}
	for (unsigned int i = 0; i < 20; i++)
		CHECK(stream_step(&d.p, &d.buf, &h, &posted), "WRITE failed");
	CHECK_EQ(pane_shell(removal->script, pane_second_tag), 0);
	event_wait(&d.own, IBV_EVENT_DEVICE_FATAL, NULL);
	if (removal->both)
		event_wait(&d.peer, IBV_EVENT_DEVICE_FATAL, NULL);
	else
		while (stream_step(&d.p, &d.buf, &h, &posted))
			;
	/* all that is left is shells */
	for (unsigned int i = 0; i < NUM_WINDOWS; i++)
		ibv_dealloc_mw(mw[i]);
	ibv_destroy_qp(d.o.qp);
	ibv_dereg_mr(d.mem.mr);
	ibv_close_device(d.own.ctx);
	ibv_destroy_qp(d.p.qp);
	ibv_dereg_mr(d.buf.mr);
	ibv_close_device(d.peer.ctx);
}

static void list(void)
{
	pane_test(V_TYPES | V_QPS, test_dereg, NULL,
		  "dereg_mr with a bound window: EBUSY");
	for (unsigned int i = 0; i < ARRAY_SIZE(rereg_rows); i++)
		pane_test(V_TYPES, test_rereg, &rereg_rows[i],
			  "rereg_mr of %s with a bound window: EBUSY",
			  rereg_rows[i].name);
	pane_test(V_TYPES | V_QPS, test_dealloc_bound, NULL,
		  "dealloc_mw, bound");
	pane_test(V_TYPES | V_QPS, test_dealloc_qp_err, NULL,
		  "dealloc_mw, bound on a QP in ERR");
	pane_test(V_TYPES, test_dealloc_pd, NULL,
		  "dealloc_pd with a window: EBUSY");
	pane_test(0, test_refused_binds, NULL,
		  "100,000 refused binds leave no reference");
	pane_test(V_PATHS, test_killed, NULL,
		  "process killed with bound windows");
	for (unsigned int i = 0; i < ARRAY_SIZE(removals); i++)
		pane_test(V_RC | V_XRC, test_removed, &removals[i],
			  "device gone with bound windows: %s",
			  removals[i].name);
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
