// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads that post to one queue in both interfaces, and a kernel that takes
 * requests out, goes to sleep when there are none, and is woken by the doorbell
 * only. A request that is lost, doubled or torn shows. A doorbell that is
 * missing leaves the kernel asleep, for good if the only poster waits for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "tests.h"

#define POSTERS	4
#ifdef __SANITIZE_THREAD__
#define EACH	50000U
#else
#define EACH	200000U
#endif
/* seconds to wait for what takes a moment */
#define PATIENCE 10

static struct ibv_qp *qp;
static uint32_t seen[POSTERS];
static uint32_t expected;
static bool one_at_a_time;
static bool stop;

static uint64_t wr_id_of(uint64_t poster, uint32_t n)
{
	return poster << 32 | n;
}

static int post_list(uint64_t poster, uint32_t n)
{
	struct ibv_sge sge = { .addr = n, .length = 1, .lkey = poster };
	struct ibv_send_wr wr = {
		.wr_id = wr_id_of(poster, n),
		.opcode = IBV_WR_SEND,
		.num_sge = 1,
		.sg_list = &sge,
	};

	return post(qp, &wr);
}

static int post_batch(uint64_t poster, uint32_t n)
{
	struct ibv_qp_ex *qp_ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(qp_ex);
	qp_ex->wr_id = wr_id_of(poster, n);
	qp_ex->wr_flags = 0;
	ibv_wr_send(qp_ex);
	ibv_wr_set_sge(qp_ex, poster, n, 1);
	return ibv_wr_complete(qp_ex);
}

/* Until the kernel has taken so many */
static void wait_for(uint32_t cons)
{
	while (__atomic_load_n(&kernel_qp.ctl->sq_cons, __ATOMIC_ACQUIRE) !=
	       cons && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
		sched_yield();
}

static void *poster(void *arg)
{
	uintptr_t number = (uintptr_t)arg;
	uint32_t n = 0;

	while (n < EACH && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int ret = n & 1 ? post_batch(number, n) : post_list(number, n);

		if (!ret)
			n++;
		else if (CHECK_EQ(ret, ENOMEM))
			sched_yield();
		else
			break;
		if (one_at_a_time)
			wait_for(n);
	}
	return NULL;
}

/* Whole, in order, once */
static void check_request(const struct pane_sq_wqe *w)
{
	uint32_t number = w->wr_id >> 32, n = w->wr_id;

	if (!CHECK(number < POSTERS))
		return;
	CHECK_EQ(w->sge[0].addr, n);
	CHECK_EQ(w->sge[0].lkey, number);
	CHECK_EQ(seen[number], n);
	seen[number] = n + 1;
}

static uint32_t consume(uint32_t cons)
{
	struct pane_qp_ctl *ctl = kernel_qp.ctl;
	uint32_t prod = __atomic_load_n(&ctl->sq_prod, __ATOMIC_ACQUIRE);

	CHECK(prod - cons <= KERNEL_SLOTS);
	while (cons != prod) {
		check_request(kernel_wqe(cons));
		cons++;
		__atomic_store_n(&ctl->sq_cons, cons, __ATOMIC_RELEASE);
	}
	return cons;
}

static bool is_empty(uint32_t cons)
{
	return __atomic_load_n(&kernel_qp.ctl->sq_prod, __ATOMIC_ACQUIRE) ==
	       cons;
}

/* A kernel that is busy for a while, longer or shorter */
static void linger(uint32_t cons)
{
	uint32_t turns = cons * 2654435761U % 1024;

	while (turns-- && is_empty(cons))
		;
}

/* Until the doorbell is rung; false when it never is */
static bool wait_for_doorbell(unsigned int rung)
{
	time_t end = time(NULL) + PATIENCE;

	while (__atomic_load_n(&doorbell.send, __ATOMIC_RELAXED) == rung) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

static bool go_to_sleep(uint32_t cons)
{
	struct pane_qp_ctl *ctl = kernel_qp.ctl;
	unsigned int rung = __atomic_load_n(&doorbell.send, __ATOMIC_RELAXED);
	bool ok = true;

	__atomic_store_n(&ctl->sq_flags, PANE_NEED_DOORBELL, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (is_empty(cons))
		ok = wait_for_doorbell(rung);
	__atomic_store_n(&ctl->sq_flags, 0, __ATOMIC_RELAXED);
	return ok;
}

static void *kernel(void *arg)
{
	uint32_t cons = 0;

	while (cons < expected) {
		cons = consume(cons);
		linger(cons);
		if (cons < expected && !CHECK(go_to_sleep(cons)))
			break;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t arg)
{
	if (pthread_create(thread, NULL, run, (void *)arg))
		ksft_exit_fail_msg("no thread\n");
}

static void run(unsigned int num_posters)
{
	pthread_t posters[POSTERS], consumer;
	unsigned int i;

	memset(seen, 0, sizeof(seen));
	stop = false;
	expected = num_posters * EACH;
	qp = new_qp(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	start(&consumer, kernel, 0);
	for (i = 0; i < num_posters; i++)
		start(&posters[i], poster, i);
	for (i = 0; i < num_posters; i++)
		pthread_join(posters[i], NULL);
	pthread_join(consumer, NULL);
	for (i = 0; i < num_posters; i++)
		CHECK_EQ(seen[i], EACH);
	ksft_print_msg("%u requests, %u doorbells\n", expected,
		       doorbell.send);
	end_qp(qp);
}

void test_wake_up(void)
{
	one_at_a_time = true;
	run(1);
}

void test_stress(void)
{
	one_at_a_time = false;
	run(POSTERS);
}
