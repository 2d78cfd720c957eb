// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is used is changed while it is used: windows are bound and taken back,
 * regions registered anew elsewhere, QPs destroyed, CQs resized, with requests on
 * their way. Every byte is compared; one that is wrong is told as "wrong bytes",
 * since a program whose device is taken away may fail in any other way.
 *
 * PANE_OPERATIONS in the environment says how many turns each thread takes,
 * PANE_SEED repeats a run as far as threads can, and PANE_PAUSE is what a thread
 * waits after each turn, in microseconds.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_verbs.h"

#define ROUNDS		400
#define NUM_LANES	3
#define LEN		(32 * 1024)
#define DEPTH		8	/* requests on their way */
/* Entries that the CQ of an endpoint has to have, whatever its size */
#define CQE		(2 * EP_SEND_WR)

enum turn {
	TURN_WINDOW,
	TURN_STREAM,
	TURN_REREG,
	TURN_DESTROY,
	NUM_TURNS,
};

/**
 * struct lane - a thread with a connection and memory of its own
 * @o: owner's end
 * @p: peer's end
 * @mem: owner's memory, bindable
 * @buf: peer's memory
 * @mw: a window of each type
 * @moving: region in one half of @halves, open to the peer
 * @halves: twice LEN bytes
 * @half: where @moving is now
 * @seed: of its random numbers
 * @rounds: turns to take
 * @pause: after each
 * @done: turns taken
 * @turns: of each kind
 * @thread: it
 */
struct lane {
	struct endpoint o, p;
	struct region mem;
	struct region buf;
	struct ibv_mw *mw[2];
	struct ibv_mr *moving;
	uint8_t *halves;
	unsigned int half;
	unsigned int seed;
	unsigned int rounds;
	unsigned int pause;
	unsigned int done;
	unsigned int turns[NUM_TURNS];
	pthread_t thread;
};

#define CHECK_BYTES(cond) CHECK(cond, "wrong bytes")

static unsigned int lane_random(struct lane *l, unsigned int below)
{
	return rand_r(&l->seed) % below;
}

/* ---- a window's life ------------------------------------------------- */

/* Through an open window, there and back */
static void lane_transfer(struct lane *l, size_t off, size_t len, uint32_t rkey)
{
	unsigned int seed = lane_random(l, 1 << 20);
	uint64_t va = region_at(&l->mem, off);

	fill_pattern(l->buf.addr, len, seed);
	CHECK_EQ(ep_write(&l->p, &l->buf, len, va, rkey), IBV_WC_SUCCESS);
	CHECK_BYTES(has_pattern(l->mem.addr + off, len, seed));
	fill_pattern(l->mem.addr + off, len, ++seed);
	CHECK_EQ(ep_read(&l->p, &l->buf, len, va, rkey), IBV_WC_SUCCESS);
	CHECK_BYTES(has_pattern(l->buf.addr, len, seed));
}

/* By the peer, in one of the ways that a window of type 2 has */
static void lane_send_with_inv(struct lane *l, uint32_t rkey)
{
	struct req req = { .opcode = IBV_WR_SEND_WITH_INV, .ex = rkey };
	struct ibv_wc wc;

	CHECK_OK(ep_post_recv(&l->o, 7, NULL, 0, 0));
	CHECK_EQ(ep_do(&l->p, req), IBV_WC_SUCCESS);
	CHECK_WC(l->o.rcq, 7, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.invalidated_rkey, rkey);
}

/* What was taken back is closed, and what is refused does not arrive */
static void lane_refused(struct lane *l, uint64_t va, uint32_t rkey,
			 const uint8_t *place, size_t len)
{
	static __thread uint8_t shadow[LEN];
	enum ibv_wc_status status;

	memcpy(shadow, place, len);
	fill_pattern(l->buf.addr, len, lane_random(l, 1 << 20));
	status = ep_write(&l->p, &l->buf, len, va, rkey);
	CHECK_BYTES(status != IBV_WC_SUCCESS);
	CHECK_BYTES(!memcmp(shadow, place, len));
	CHECK_EQ(status, IBV_WC_REM_ACCESS_ERR);
	ep_reconnect(&l->o, &l->p);
}

static void turn_window(struct lane *l)
{
	struct ibv_mw *mw = l->mw[lane_random(l, 2)];
	size_t len = 1 + lane_random(l, LEN);
	size_t off = lane_random(l, LEN - len + 1);
	uint32_t rkey;

	mw_bind(&l->o, mw, &l->mem, off, len, RIGHTS_RW);
	rkey = mw->rkey;
	lane_transfer(l, off, len, rkey);
	if (mw_is_type2(mw) && lane_random(l, 2))
		lane_send_with_inv(l, rkey);
	else
		mw_unbind(&l->o, mw);
	if (!lane_random(l, 4))
		lane_refused(l, region_at(&l->mem, off), rkey,
			     l->mem.addr + off, len);
}

/* ---- several requests on their way ----------------------------------- */

/* All of the peer's memory, in parts, to where the region is */
static void lane_post_writes(struct lane *l)
{
	struct req reqs[DEPTH];

	for (unsigned int i = 0; i < DEPTH; i++) {
		reqs[i] = req_remote(IBV_WR_RDMA_WRITE, &l->buf, LEN / DEPTH,
				     (uintptr_t)l->moving->addr +
				     i * LEN / DEPTH, l->moving->rkey);
		reqs[i].addr = l->buf.addr + i * LEN / DEPTH;
		reqs[i].flags = IBV_SEND_SIGNALED;
		reqs[i].id = i;
	}
	CHECK_OK(ep_post(&l->p, reqs, DEPTH));
}

/* Whatever becomes of them, each ends once, in order */
static bool lane_writes_ended(struct lane *l)
{
	struct ibv_wc wc;
	bool good = true;

	for (unsigned int i = 0; i < DEPTH; i++) {
		cq_wait(l->p.scq, &wc);
		CHECK_EQ(wc.wr_id, i);
		good = good && wc.status == IBV_WC_SUCCESS;
	}
	return good;
}

static uint8_t *lane_half(const struct lane *l)
{
	return l->halves + l->half * LEN;
}

static void turn_stream(struct lane *l)
{
	unsigned int seed = lane_random(l, 1 << 20);

	fill_pattern(l->buf.addr, LEN, seed);
	lane_post_writes(l);
	CHECK(lane_writes_ended(l), "a WRITE failed");
	CHECK_BYTES(has_pattern(lane_half(l), LEN, seed));
}

/*
 * The region moves to the other half. From then on nobody writes to where it was,
 * whether the requests came before or after it.
 */
static void turn_rereg(struct lane *l)
{
	static __thread uint8_t shadow[LEN];
	uint8_t *old = lane_half(l);
	uint64_t old_va = (uintptr_t)old;

	fill_pattern(l->buf.addr, LEN, lane_random(l, 1 << 20));
	lane_post_writes(l);
	l->half ^= 1;
	CHECK(!ibv_rereg_mr(l->moving, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			    lane_half(l), LEN, 0), "%s", strerror(errno));
	memcpy(shadow, old, LEN);
	lane_writes_ended(l);
	CHECK_BYTES(!memcmp(shadow, old, LEN));
	ep_reconnect(&l->o, &l->p);
	lane_refused(l, old_va, l->moving->rkey, old, LEN);
	turn_stream(l);
}

/* Either end goes, and what was on its way with it */
static void turn_destroy(struct lane *l)
{
	bool own = lane_random(l, 2);
	struct endpoint *gone = own ? &l->o : &l->p;
	struct endpoint *left = own ? &l->p : &l->o;

	lane_post_writes(l);
	CHECK_OK(ibv_destroy_qp(gone->qp));
	ep_drain(gone);
	ep_make_qp(gone);
	ep_modify(left, IBV_QPS_RESET);
	ep_drain(left);
	ep_connect(&l->o, &l->p);
	turn_stream(l);
}

/* ---- lanes ----------------------------------------------------------- */

static void lane_turn(struct lane *l, enum turn turn)
{
	static void (*const turns[])(struct lane *l) = {
		[TURN_WINDOW] = turn_window,
		[TURN_STREAM] = turn_stream,
		[TURN_REREG] = turn_rereg,
		[TURN_DESTROY] = turn_destroy,
	};

	turns[turn](l);
	l->turns[turn]++;
}

/* Each kind once, then by chance, and windows more often than the others */
static void *lane_run(void *arg)
{
	struct lane *l = arg;

	for (unsigned int i = 0; i < l->rounds; i++) {
		unsigned int turn = i < NUM_TURNS ? i :
				    lane_random(l, 2 * NUM_TURNS);

		lane_turn(l, turn < NUM_TURNS ? turn : TURN_WINDOW);
		usleep(l->pause);
		__atomic_add_fetch(&l->done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void lane_open(struct lane *l, struct duo *d)
{
	l->seed = random_u32();
	duo_link(d, &l->o, &l->p);
	region_open(&l->mem, d->own.pd, LEN, 0, MR_BINDABLE);
	region_open(&l->buf, d->peer.pd, LEN, 0, IBV_ACCESS_LOCAL_WRITE);
	l->mw[0] = mw_open(d->own.pd, IBV_MW_TYPE_1);
	l->mw[1] = mw_open(d->own.pd, IBV_MW_TYPE_2);
	l->halves = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(l->halves != MAP_FAILED, "%s", strerror(errno));
	l->moving = ibv_reg_mr(d->own.pd, l->halves, LEN,
			       IBV_ACCESS_LOCAL_WRITE |
			       IBV_ACCESS_REMOTE_WRITE);
	CHECK(l->moving, "%s", strerror(errno));
}

static void lane_close(struct lane *l)
{
	mw_close(l->mw[0]);
	mw_close(l->mw[1]);
	CHECK_OK(ibv_dereg_mr(l->moving));
	munmap(l->halves, 2 * LEN);
	region_close(&l->mem);
	region_close(&l->buf);
	duo_unlink(&l->o, &l->p);
}

/* ---- meanwhile ------------------------------------------------------- */

static void resize_one(struct lane *l)
{
	struct ibv_cq *const cqs[] = { l->o.scq, l->o.rcq, l->p.scq, l->p.rcq };

	CHECK_OK(ibv_resize_cq(cqs[random_below(ARRAY_SIZE(cqs))],
			       CQE + random_below(1000)));
}

/* One for each turn of the lanes; where one of them stops the alarm ends it */
static void resize_along(struct lane *lanes, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		struct lane *l = &lanes[random_below(NUM_LANES)];

		if (i % 100 == 0)
			pane_more_time();
		resize_one(l);
		while (__atomic_load_n(&l->done, __ATOMIC_ACQUIRE) <= i)
			usleep(1000);
	}
}

static void report(const struct lane *lanes, unsigned int rounds)
{
	unsigned int turns[NUM_TURNS] = {};

	for (unsigned int i = 0; i < NUM_LANES; i++)
		for (enum turn t = 0; t < NUM_TURNS; t++)
			turns[t] += lanes[i].turns[t];
	ksft_print_msg("windows %u, streams %u, rereg %u, destroy %u, resize %u\n",
		       turns[TURN_WINDOW], turns[TURN_STREAM],
		       turns[TURN_REREG], turns[TURN_DESTROY], rounds);
}

static void test_all(const void *arg)
{
	static struct lane lanes[NUM_LANES];
	unsigned int rounds = pane_operations(ROUNDS);
	const char *pause = getenv("PANE_PAUSE");
	struct duo d = {};

	/* who ends the program means this */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	random_seed();
	node_open_owner(&d.own);
	node_open_peer(&d.peer);
	for (unsigned int i = 0; i < NUM_LANES; i++)
		lane_open(&lanes[i], &d);
	for (unsigned int i = 0; i < NUM_LANES; i++) {
		lanes[i].rounds = rounds;
		lanes[i].pause = pause ? strtoul(pause, NULL, 0) : 0;
		CHECK_OK(pthread_create(&lanes[i].thread, NULL, lane_run,
					&lanes[i]));
	}
	resize_along(lanes, rounds);
	for (unsigned int i = 0; i < NUM_LANES; i++) {
		CHECK_OK(pthread_join(lanes[i].thread, NULL));
		lane_close(&lanes[i]);
	}
	report(lanes, rounds);
	node_close(&d.own);
	node_close(&d.peer);
}

static void list(void)
{
	pane_test(V_PATHS, test_all, NULL,
		  "windows, regions, QPs and CQs change while they are used");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
