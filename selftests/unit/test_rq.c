// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Taking receive requests out of a ring that a hostile user may write */
#include <pthread.h>

#include <linux/kernel.h>

#include "rq.h"
#include "shim/shim.h"
#include "unit.h"

#define SLOTS	8
#define MAX_SGE	3
#define STRIDE	(sizeof(struct pane_rq_wqe) + MAX_SGE * sizeof(struct pane_sge))

/*
 * All of exactly the size that is allowed to be touched, so that the sanitizer
 * sees what is beyond.
 */
static struct pane_rq rq;
static struct pane_rwqe *to;
static u32 *prod, *cons;

static void *new_memory(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		ksft_exit_fail_msg("no memory\n");
	return p;
}

static void make_rq(u32 index)
{
	prod = new_memory(sizeof(*prod));
	cons = new_memory(sizeof(*cons));
	to = new_memory(sizeof(*to) + MAX_SGE * sizeof(to->sge[0]));
	rq = (struct pane_rq) {
		.ring = new_memory(SLOTS * STRIDE),
		.stride = STRIDE,
		.mask = SLOTS - 1,
		.max_sge = MAX_SGE,
		.prod = prod,
		.taken = index,
		.cons = cons,
	};
	*prod = index;
	*cons = index;
}

static void end_rq(void)
{
	free(rq.ring);
	free(prod);
	free(cons);
	free(to);
}

static struct pane_rq_wqe *slot(u32 index)
{
	return rq.ring + index % SLOTS * STRIDE;
}

static void post(u64 wr_id, u32 num_sge, u32 length)
{
	struct pane_rq_wqe *w = slot(*prod);
	u32 i;

	w->wr_id = wr_id;
	w->num_sge = num_sge;
	w->reserved = 0;
	for (i = 0; i < min(num_sge, MAX_SGE); i++)
		w->sge[i] = (struct pane_sge) {
			.addr = wr_id + i,
			.length = length,
			.lkey = i,
		};
	++*prod;
}

static void check_taken(u64 wr_id, u32 num_sge, u64 length)
{
	u32 i;

	CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_TAKEN);
	CHECK_EQ(to->wr_id, wr_id);
	CHECK_EQ(to->num_sge, num_sge);
	CHECK_EQ(to->length, length);
	for (i = 0; i < to->num_sge; i++) {
		CHECK_EQ(to->sge[i].addr, wr_id + i);
		CHECK_EQ(to->sge[i].lkey, i);
	}
	CHECK_EQ(*cons, rq.taken);
}

static void test_order(void)
{
	u32 i;

	make_rq(0);
	CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_EMPTY);
	for (i = 0; i < SLOTS; i++)
		post(100 + i, i % (MAX_SGE + 1), 7);
	for (i = 0; i < SLOTS; i++)
		check_taken(100 + i, i % (MAX_SGE + 1),
			    7 * (i % (MAX_SGE + 1)));
	CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_EMPTY);
	CHECK_EQ(*cons, SLOTS);
	end_rq();
}

static void test_index_wraps(void)
{
	u32 i;

	make_rq(U32_MAX - 3);
	for (i = 0; i < 5 * SLOTS; i++) {
		post(i, 1, i);
		check_taken(i, 1, i);
	}
	for (i = 0; i < SLOTS; i++)
		post(i, 2, 1);
	for (i = 0; i < SLOTS; i++)
		check_taken(i, 2, 2);
	end_rq();
}

static void test_long(void)
{
	make_rq(0);
	post(1, MAX_SGE, U32_MAX);
	check_taken(1, MAX_SGE, (u64)U32_MAX * MAX_SGE);
	end_rq();
}

/* A count that the ring cannot hold is none, and nothing is touched. */
static void test_nonsense_count(void)
{
	static const u32 ahead[] = {
		SLOTS + 1, SLOTS + 2, 1U << 31, U32_MAX, U32_MAX - 5,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		make_rq(5);
		*prod = 5 + ahead[i];
		CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_EMPTY);
		CHECK_EQ(rq.taken, 5);
		CHECK_EQ(*cons, 5);
		/* its writer may think better of it */
		*prod = 5;
		post(9, 1, 1);
		check_taken(9, 1, 1);
		end_rq();
	}
}

static void test_too_many_elements(void)
{
	static const u32 num_sge[] = { MAX_SGE + 1, 255, 1U << 28, U32_MAX };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(num_sge); i++) {
		make_rq(0);
		post(i, num_sge[i], 1);
		post(77, 1, 1);
		CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_MALFORMED);
		CHECK_EQ(to->wr_id, i);
		CHECK_EQ(to->num_sge, 0);
		CHECK_EQ(to->length, 0);
		/* it is used up, and those behind it are not harmed */
		CHECK_EQ(*cons, 1);
		check_taken(77, 1, 1);
		end_rq();
	}
}

static void test_reserved(void)
{
	make_rq(0);
	post(3, 1, 1);
	slot(0)->reserved = 1U << 31;
	CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_MALFORMED);
	CHECK_EQ(to->wr_id, 3);
	CHECK_EQ(*cons, 1);
	end_rq();
}

static u64 sum_of_lengths(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < to->num_sge; i++)
		sum += to->sge[i].length;
	return sum;
}

/* Whatever the ring holds, the copy fits, and is whole. */
static void check_copy(void)
{
	CHECK(to->num_sge <= MAX_SGE);
	CHECK_EQ(to->length, sum_of_lengths());
}

static void test_random(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 i;

	make_rq(0);
	for (i = 0; i < 300000; i++) {
		struct pane_rq_wqe *w = slot(*prod);
		bool ok;

		unit_fill(&rng, w, STRIDE);
		w->num_sge >>= unit_below(&rng, 33) % 32;
		w->reserved *= unit_below(&rng, 2);
		ok = w->num_sge <= MAX_SGE && !w->reserved;
		++*prod;
		CHECK_EQ(pane_rq_take(&rq, to),
			 ok ? PANE_RQ_TAKEN : PANE_RQ_MALFORMED);
		if (w->num_sge <= MAX_SGE) {
			CHECK_EQ(to->num_sge, w->num_sge);
			CHECK(!memcmp(to->sge, w->sge,
				      w->num_sge * sizeof(*w->sge)));
		}
		CHECK_EQ(to->wr_id, w->wr_id);
		check_copy();
	}
	end_rq();
}

/* ---- slots that change meanwhile --------------------------------------- */

static struct unit_rng scribble_rng;

/* Between two steps of the copy the whole ring becomes something else. */
static void scribble_now(void)
{
	u32 i, j;

	for (i = 0; i < SLOTS; i++) {
		slot(i)->num_sge = U32_MAX;
		slot(i)->reserved = 1;
		slot(i)->wr_id = 0;
		for (j = 0; j < MAX_SGE; j++)
			slot(i)->sge[j].length = unit_random(&scribble_rng);
	}
}

static void test_change(void)
{
	u32 i, num_sge;

	scribble_rng.state = unit_seed();
	make_rq(0);
	for (i = 1; i < 1000; i++) {
		num_sge = i % (MAX_SGE + 1);
		post(i, num_sge, 5);
		shim_at_barrier = scribble_now;
		CHECK_EQ(pane_rq_take(&rq, to), PANE_RQ_TAKEN);
		shim_at_barrier = NULL;
		CHECK_EQ(to->wr_id, i);
		CHECK_EQ(to->num_sge, num_sge);
		check_copy();
	}
	end_rq();
}

static bool stop;
static unsigned long scribbled;

/* Writes into the slots while they are being taken. */
static void *scribble(void *arg)
{
	struct unit_rng rng = { unit_seed() + 1 };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct pane_rq_wqe *w = slot(unit_random(&rng));
		struct pane_sge *sge = &w->sge[unit_below(&rng, MAX_SGE)];

		WRITE_ONCE(w->num_sge, unit_below(&rng, 4) ?
			   unit_below(&rng, 4) : U32_MAX);
		WRITE_ONCE(sge->length, unit_random(&rng));
		__atomic_fetch_add(&scribbled, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_scribbler(void)
{
	pthread_t thread;
	u32 i;

	make_rq(0);
	stop = false;
	if (pthread_create(&thread, NULL, scribble, NULL))
		ksft_exit_fail_msg("no thread\n");
	/* until both have done much, or one of them got no time to do it */
	for (i = 0; i < 20000000; i++) {
		if (i > 1000000 && READ_ONCE(scribbled) > 1000000)
			break;
		WRITE_ONCE(*prod, i + 1);
		CHECK(pane_rq_take(&rq, to) != PANE_RQ_EMPTY);
		check_copy();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	end_rq();
}

/* A kernel user's requests go the same way */
static void test_kernel_user(void)
{
	struct ib_sge sge[MAX_SGE + 1];
	struct ib_recv_wr wr = { .sg_list = sge };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i].lkey = i;
	make_rq(U32_MAX - 3);
	for (i = 0; i < SLOTS; i++) {
		wr.wr_id = 100 + i;
		wr.num_sge = i % (MAX_SGE + 1);
		for (n = 0; n < MAX_SGE; n++) {
			sge[n].addr = wr.wr_id + n;
			sge[n].length = i;
		}
		CHECK_EQ(pane_rq_avail(&rq), i);
		CHECK_EQ(pane_rq_post(&rq, prod, &wr), 0);
	}
	CHECK_EQ(pane_rq_post(&rq, prod, &wr), -ENOMEM);
	CHECK_EQ(pane_rq_avail(&rq), SLOTS);
	for (i = 0; i < SLOTS; i++)
		check_taken(100 + i, i % (MAX_SGE + 1),
			    i * (i % (MAX_SGE + 1)));
	wr.num_sge = MAX_SGE + 1;
	CHECK_EQ(pane_rq_post(&rq, prod, &wr), -EINVAL);
	CHECK_EQ(pane_rq_avail(&rq), 0);
	end_rq();
}

static const struct unit_test tests[] = {
	{ "in order, whole", test_order },
	{ "the index wraps", test_index_wraps },
	{ "lengths beyond 32 bits", test_long },
	{ "nonsense counts", test_nonsense_count },
	{ "too many elements", test_too_many_elements },
	{ "reserved member", test_reserved },
	{ "random slots", test_random },
	{ "a kernel user's requests", test_kernel_user },
	{ "slots that change between two steps", test_change },
	{ "slots that change at any time", test_scribbler },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
