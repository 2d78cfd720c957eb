// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings full of anything, rewritten while the kernel reads them, with indices
 * that make no sense. What is executed keeps the rules, the neighbour notices
 * nothing, and the device goes on.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_honest.h"
#include "pane_hostile.h"

/* ---- nonsense in the head of the rings ------------------------------- */

static void index_set(struct hostile *h, uint32_t value)
{
	h->qp.ctl->sq_prod = value;
	CHECK_OK(raw_ring(&h->qp, PANE_DB_SEND, h->qp.qpn));
}

/* More requests than there are slots for are none */
static void test_index(const void *arg)
{
	struct hostile h;
	struct ibv_wc wc;

	hostile_open(&h);
	hostile_bind(&h);
	index_set(&h, 1 << 31);
	index_set(&h, -1);
	index_set(&h, h.qp.ring.sq_count + 1);
	CHECK_EQ(ibv_poll_cq(h.qp.scq, 1, &wc), 0);
	CHECK_EQ(raw_state(&h.qp), IBV_QPS_RTS);
	/* the kernel knows where it is */
	h.qp.ctl->sq_cons = 12345;
	h.qp.ctl->rq_cons = -1;
	h.qp.ctl->sq_flags = 0xffff;
	h.qp.ctl->rq_flags = 0xffff;
	CHECK_OK(raw_push(&h.qp, 1));
	CHECK_WC(h.qp.scq, 1, IBV_WC_SUCCESS, NULL);
	CHECK_EQ(h.qp.ctl->sq_cons, 1);
	CHECK_EQ(ibv_poll_cq(h.qp.scq, 1, &wc), 0);
	hostile_close(&h);
}

static void test_recv_index(const void *arg)
{
	struct hostile h;
	struct req req;

	hostile_open(&h);
	h.qp.ctl->rq_prod = 1 << 31;
	req = req_remote(IBV_WR_SEND, &h.d.buf, 8, 0, 0);
	h.d.p.timeout = 1;
	CHECK_OK(raw_ring(&h.qp, PANE_DB_RECV, h.qp.qpn));
	/* there is no receive request, so the sender is asked to wait */
	req.flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(&h.d.p, &req, 1));
	raw_recv_slot(&h.qp)->num_sge = 0;
	raw_recv_slot(&h.qp)->reserved = 0;
	h.qp.ctl->rq_prod = 0;
	raw_push_recv(&h.qp);
	CHECK_WC(h.d.p.scq, 0, IBV_WC_REM_INV_REQ_ERR, NULL);
	hostile_close(&h);
}

/* Receive requests that are malformed or point elsewhere */
static void recv_refused(struct hostile *h, uint32_t num_sge,
			 uint32_t reserved, uint32_t lkey, uint64_t addr,
			 enum ibv_wc_status status)
{
	struct pane_rq_wqe *w = raw_recv_slot(&h->qp);
	struct req req = req_remote(IBV_WR_SEND, &h->d.buf, 8, 0, 0);

	*w = (struct pane_rq_wqe) {
		.wr_id = 2,
		.num_sge = num_sge,
		.reserved = reserved,
	};
	w->sge[0] = (struct pane_sge) {
		.addr = addr,
		.length = 8,
		.lkey = lkey,
	};
	raw_push_recv(&h->qp);
	CHECK_EQ(ep_do(&h->d.p, req), IBV_WC_REM_OP_ERR);
	CHECK_WC(h->qp.rcq, 2, status, NULL);
	raw_reconnect(&h->qp, &h->d.p);
}

static void test_recv(const void *arg)
{
	struct hostile h;
	uint64_t own, theirs;
	uint32_t lkey;

	hostile_open(&h);
	own = region_at(&h.d.mem, 0);
	theirs = region_at(&h.victim.d.mem, 0);
	lkey = h.d.mem.mr->lkey;
	recv_refused(&h, -1, 0, lkey, own, IBV_WC_LOC_QP_OP_ERR);
	recv_refused(&h, 100, 0, lkey, own, IBV_WC_LOC_QP_OP_ERR);
	recv_refused(&h, 1, 1, lkey, own, IBV_WC_LOC_QP_OP_ERR);
	recv_refused(&h, 1, 0, h.victim.d.mem.mr->lkey, theirs,
		     IBV_WC_LOC_PROT_ERR);
	recv_refused(&h, 1, 0, h.victim.mw1->rkey, theirs,
		     IBV_WC_LOC_PROT_ERR);
	recv_refused(&h, 1, 0, 0, own, IBV_WC_LOC_PROT_ERR);
	recv_refused(&h, 1, 0, lkey, -4, IBV_WC_LOC_PROT_ERR);
	hostile_close(&h);
}

/* ---- a request that changes while it is read ------------------------- */

#define REWRITE_ROUNDS	1000
#define REWRITE_SGES	200

/**
 * struct rewriter - another process that has the rings, too
 * @w: slot that it rewrites
 * @base: of the region
 */
struct rewriter {
	struct pane_sq_wqe *w;
	uint64_t base;
};

/*
 * Two ranges by turns, each of them inside the region. A length of the one with
 * the address of the other runs out of it.
 */
static __attribute__((noreturn)) void rewriter_run(struct rewriter *r)
{
	volatile struct pane_sq_wqe *w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		w = __atomic_load_n(&r->w, __ATOMIC_RELAXED);
		w->bind.addr = r->base;
		w->bind.length = DUO_LEN;
		w->opcode = PANE_WR_LOCAL_INV;
		w->num_sge = REWRITE_SGES;
		w->bind.length = 4096;
		w->bind.addr = r->base + DUO_LEN - 4096;
		w->opcode = PANE_WR_BIND_MW;
		w->num_sge = 0;
	}
}

/* Give it the slot that is pushed next, and see it at work there */
static void rewriter_turn_to(struct rewriter *r, struct pane_sq_wqe *w)
{
	volatile const uint8_t *num_sge = &w->num_sge;
	struct spin spin = {};

	__atomic_store_n(&r->w, w, __ATOMIC_RELAXED);
	while (*num_sge != REWRITE_SGES)
		spin_turn(&spin);
}

/* What was bound ends with the region at the latest */
static void rewrite_check(struct hostile *h)
{
	CHECK_EQ(ep_read(&h->d.p, &h->d.buf, 2,
			 region_at(&h->d.mem, DUO_LEN - 1), h->mw2->rkey),
		 IBV_WC_REM_ACCESS_ERR);
}

static void test_rewrite(const void *arg)
{
	unsigned int rounds = pane_rounds(REWRITE_ROUNDS), bound = 0;
	struct rewriter *r;
	struct hostile h;
	struct ibv_wc wc;
	pid_t pid;

	hostile_open(&h);
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(r != MAP_FAILED, "%s", strerror(errno));
	r->base = region_at(&h.d.mem, 0);
	r->w = raw_slot(&h.qp, 0);
	pid = fork();
	CHECK(pid >= 0, "%s", strerror(errno));
	if (!pid)
		rewriter_run(r);
	for (unsigned int i = 0; i < rounds; i++) {
		rewriter_turn_to(r, hostile_bind(&h));
		CHECK_OK(raw_push(&h.qp, 1));
		cq_wait(h.qp.scq, &wc);
		CHECK(wc.status == IBV_WC_SUCCESS ||
		      wc.status == IBV_WC_MW_BIND_ERR ||
		      wc.status == IBV_WC_LOC_QP_OP_ERR, "%s",
		      ibv_wc_status_str(wc.status));
		if (wc.status == IBV_WC_SUCCESS && bound++ % 8 == 0)
			rewrite_check(&h);
		raw_reconnect(&h.qp, &h.d.p);
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid, "%s", strerror(errno));
	munmap(r, sizeof(*r));
	ksft_print_msg("%u of %u binds were good\n", bound, rounds);
	hostile_close(&h);
}

/* ---- anything -------------------------------------------------------- */

#define RANDOM_ROUNDS	1500

/* A value that means something, or not */
static uint32_t random_key(const struct hostile *h)
{
	const uint32_t keys[] = {
		h->d.mem.mr->lkey, h->other.mr->lkey, h->mw1->rkey,
		h->mw2->rkey, h->foreign->rkey, h->victim.d.mem.mr->lkey,
		h->victim.mw1->rkey, h->victim.mw2->rkey, 0, -1,
		h->mw2->rkey ^ 1, random(),
	};

	return keys[random() % ARRAY_SIZE(keys)];
}

static uint64_t random_addr(const struct hostile *h)
{
	const uint64_t addrs[] = {
		region_at(&h->d.mem, WIN_OFF), region_at(&h->other, 0),
		region_at(&h->victim.d.mem, WIN_OFF),
		region_at(&h->victim.d.mem, random() % DUO_LEN), 0, -1,
		region_at(&h->d.mem, random() % DUO_LEN),
	};

	return addrs[random() % ARRAY_SIZE(addrs)];
}

static uint32_t random_len(void)
{
	const uint32_t lens[] = {
		0, 1, 8, WIN_LEN, DUO_LEN, random() % DUO_LEN, 1U << 31, -1,
	};

	return lens[random() % ARRAY_SIZE(lens)];
}

static void random_sges(const struct hostile *h, struct pane_sge *sge,
			const void *end)
{
	for (; (void *)(sge + 1) <= end; sge++)
		*sge = (struct pane_sge) {
			.addr = random_addr(h),
			.length = random_len(),
			.lkey = random_key(h),
		};
}

static void random_wqe(struct hostile *h, struct pane_sq_wqe *w)
{
	memset(w, 0, sizeof(*w));
	w->wr_id = random();
	w->opcode = random() % (PANE_WR_USER_MAX + 3);
	w->flags = random() % 4 ? random() & 7 : random();
	w->num_sge = random() % 3 ? random() % 3 : random();
	w->ex = random_key(h);
	if (w->opcode == PANE_WR_BIND_MW) {
		w->num_sge = 0;
		w->flags &= ~PANE_WR_SOLICITED;
		w->bind.addr = random_addr(h);
		w->bind.length = random_len();
		w->bind.mw_rkey = random_key(h);
		w->bind.rkey = random();
		w->bind.lkey = random_key(h);
		w->bind.access = random() % 2 ? RIGHTS_ALL : random();
	} else if (w->opcode != PANE_WR_LOCAL_INV || random() % 2) {
		w->rdma.remote_addr = random_addr(h);
		w->rdma.rkey = random_key(h);
		w->rdma.inline_len = random_len();
		w->atomic.swap = random() % 2 ? 0 : random();
	}
	random_sges(h, w->sge, (char *)w + h->qp.ring.sq_stride);
}

/* As many as fit, then the QP is taken through its states */
static void random_round(struct hostile *h)
{
	uint32_t num = 1 + random() % h->qp.ring.sq_count;
	struct pane_rq_wqe *rw = raw_recv_slot(&h->qp);

	rw->num_sge = random() % 2 ? random() % 3 : random();
	rw->reserved = random() % 4 == 0;
	random_sges(h, rw->sge, (char *)rw + h->qp.ring.rq_stride);
	raw_push_recv(&h->qp);
	for (uint32_t i = 0; i < num; i++)
		random_wqe(h, raw_slot(&h->qp, i));
	if (random() % 8 == 0)
		h->qp.ctl->sq_prod = random();
	CHECK_OK(raw_push(&h->qp, num));
	if (random() % 4 == 0)
		raw_modify(&h->qp, IBV_QPS_ERR);
	raw_reconnect(&h->qp, &h->d.p);
}

static void test_random(const void *arg)
{
	unsigned int rounds = pane_rounds(RANDOM_ROUNDS);
	struct hostile h;

	hostile_open(&h);
	srandom(20);
	for (unsigned int i = 0; i < rounds; i++)
		random_round(&h);
	hostile_close(&h);
}

/* ---- beside honest processes ----------------------------------------- */

#define BESIDE_ROUNDS	400

static __attribute__((noreturn)) void hostile_run(unsigned int *turns)
{
	struct hostile h;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hostile_open(&h);
	srandom(21);
	for (;;) {
		pane_more_time();
		random_round(&h);
		__atomic_add_fetch(turns, 1, __ATOMIC_RELEASE);
	}
}

/*
 * All the time a process uses the device as it should, while another does not,
 * until that is killed; and one that comes later finds the device as ever
 */
static void test_beside(const void *arg)
{
	unsigned int *turns, num = 0, rounds = pane_rounds(BESIDE_ROUNDS);
	struct honest h;
	int status;
	pid_t pid;

	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(turns != MAP_FAILED, "%s", strerror(errno));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%s", strerror(errno));
	if (!pid)
		hostile_run(turns);
	honest_open(&h);
	__atomic_store_n(turns, 0, __ATOMIC_RELEASE);
	while (num < rounds ||
	       __atomic_load_n(turns, __ATOMIC_ACQUIRE) < rounds) {
		CHECK(!waitpid(pid, &status, WNOHANG), "status %#x", status);
		honest_round(&h);
		num++;
	}
	ksft_print_msg("%u honest rounds beside %u others\n", num, *turns);
	CHECK(!kill(pid, SIGKILL), "%s", strerror(errno));
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
	      "status %#x", status);
	honest_round(&h);
	honest_close(&h);
	honest_open(&h);
	honest_round(&h);
	honest_close(&h);
}

/* ---- mappings -------------------------------------------------------- */

/* Rings of others, and completions, which only the kernel writes */
static void test_mmap(const void *arg)
{
	struct hostile h;
	void *map;

	hostile_open(&h);
	map = mmap(NULL, h.qp.ring.ring_size, PROT_READ | PROT_WRITE,
		   MAP_SHARED, h.victim.d.own.ctx->cmd_fd,
		   h.qp.ring.ring_offset + (1ULL << 40));
	CHECK(map == MAP_FAILED && errno == EINVAL, "%s", strerror(errno));
	map = mmap(NULL, h.qp.ring.ring_size + 4096, PROT_READ | PROT_WRITE,
		   MAP_SHARED, h.d.own.ctx->cmd_fd, h.qp.ring.ring_offset);
	CHECK(map == MAP_FAILED && errno == EINVAL, "%s", strerror(errno));
	map = mmap(NULL, h.qp.ring.ring_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE, h.d.own.ctx->cmd_fd, h.qp.ring.ring_offset);
	CHECK(map == MAP_FAILED && errno == EINVAL, "%s", strerror(errno));
	hostile_close(&h);
}

static void list(void)
{
	pane_test(0, test_index, NULL, "own ring: nonsense in its head");
	pane_test(0, test_recv_index, NULL,
		  "own receive ring: nonsense in its head");
	pane_test(0, test_recv, NULL, "own receive ring: requests refused");
	pane_test(0, test_rewrite, NULL,
		  "own ring: requests rewritten while they are read");
	pane_test(0, test_random, NULL, "own ring: anything");
	pane_test(0, test_beside, NULL,
		  "own ring: anything, beside a process that behaves");
	pane_test(0, test_mmap, NULL, "own ring: mappings");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
