// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Grants and the pointers that keep them: once a grant was replaced, nothing is
 * read or written under it any more. Built for the address sanitizer, which
 * sees a grant that is used after it was freed, and for the thread sanitizer,
 * which sees every access that is not ordered after the replacement or before.
 */
#include <pthread.h>
#include <sched.h>

#include <linux/kernel.h>
#include <linux/slab.h>

#include "grant.h"
#include "shim/shim.h"
#include "unit.h"

#define SLOTS	2
#define READERS	3
/* One writer a slot, and the CPU that runs the other tests */
#define CPUS	(1 + SLOTS + READERS)

/*
 * Grants of each slot, and how often all readers together must have held one;
 * whichever takes longer. The last number ends it where one side gets no time.
 */
#ifdef __SANITIZE_THREAD__
#define ROUNDS	100000
#define HOLDS	500000
#else
#define ROUNDS	1000000
#define HOLDS	3000000
#endif
#define MAX_ROUNDS	(20 * ROUNDS)

static struct pane_slot slots[SLOTS];

static struct pane_grant *new_grant(u64 id)
{
	struct pane_grant *g = pane_grant_alloc(GFP_KERNEL);

	if (!g)
		ksft_exit_fail_msg("no memory\n");
	g->key = id;
	g->addr = id;
	g->length = ~id;
	g->offset = id * 3;
	return g;
}

static bool is_whole(const struct pane_grant *g, u64 id)
{
	return g->key == (u32)id && g->addr == id && g->length == ~id &&
	       g->offset == id * 3;
}

static void begin(void)
{
	memset(slots, 0, sizeof(slots));
	CHECK(!pane_grant_cache_init());
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		pane_grant_replace(&slots[i], NULL);
	for (i = 0; i < SHIM_CPUS; i++)
		CHECK(!pane_grant_held[i]);
	pane_grant_cache_exit();
}

static void test_empty(void)
{
	begin();
	CHECK(!pane_grant_hold(&slots[0]));
	CHECK_EQ(shim_preempt_count, 0);
	CHECK(!pane_grant_held[shim_cpu]);
	end();
}

static void test_hold(void)
{
	struct pane_grant *g;
	unsigned int cpu;

	begin();
	g = new_grant(5);
	pane_grant_replace(&slots[0], g);
	for (cpu = 0; cpu < SHIM_CPUS; cpu++) {
		shim_cpu = cpu;
		CHECK(pane_grant_hold(&slots[0]) == g);
		CHECK(pane_grant_held[cpu] == g);
		CHECK_EQ(shim_preempt_count, 1);
		CHECK(is_whole(g, 5));
		pane_grant_drop();
		CHECK(!pane_grant_held[cpu]);
		CHECK_EQ(shim_preempt_count, 0);
	}
	shim_cpu = 0;
	CHECK(!pane_grant_hold(&slots[1]));
	end();
}

/* (slot, generation) names one grant, also when one and the same key returns. */
static void test_generation(void)
{
	struct pane_grant *g;
	u32 gen;

	begin();
	pane_grant_replace(&slots[0], new_grant(1));
	gen = slots[0].grant->gen;
	CHECK_EQ(gen, slots[0].gen);
	g = new_grant(1);
	pane_grant_replace(&slots[0], g);
	CHECK(slots[0].grant == g);
	CHECK(g->gen != gen);
	CHECK_EQ(g->gen, slots[0].gen);
	gen = g->gen;
	pane_grant_replace(&slots[0], NULL);
	CHECK(!slots[0].grant);
	CHECK(slots[0].gen != gen);
	pane_grant_replace(&slots[0], new_grant(1));
	CHECK(slots[0].grant->gen != gen);
	end();
}

/* The memory of a window's grant is the window's, and is used again. */
static void test_given_back(void)
{
	struct pane_grant mine = { .key = 1 };
	u32 gen;

	begin();
	CHECK(!pane_grant_publish(&slots[0], &mine));
	CHECK(slots[0].grant == &mine);
	gen = mine.gen;
	CHECK(pane_grant_publish(&slots[0], NULL) == &mine);
	CHECK(!slots[0].grant);
	CHECK(!pane_grant_publish(&slots[0], &mine));
	CHECK(mine.gen != gen);
	CHECK_EQ(mine.gen, slots[0].gen);
	CHECK(pane_grant_publish(&slots[0], NULL) == &mine);
	end();
}

/* One that was never published, and none at all; nobody is waited for. */
static void test_free(void)
{
	begin();
	pane_grant_free(new_grant(1));
	pane_grant_free(NULL);
	pane_grant_replace(&slots[0], NULL);
	end();
}

static void test_no_memory(void)
{
	shim_allocs_left = 0;
	CHECK_EQ(pane_grant_cache_init(), -ENOMEM);
	shim_allocs_left = SHIM_NO_LIMIT;
	begin();
	shim_allocs_left = 0;
	CHECK(!pane_grant_alloc(GFP_ATOMIC));
	shim_allocs_left = SHIM_NO_LIMIT;
	end();
}

/* A holder of another grant is not waited for, nor is one without a grant. */
static void test_others_do_not_matter(void)
{
	begin();
	pane_grant_replace(&slots[0], new_grant(1));
	pane_grant_replace(&slots[1], new_grant(2));
	shim_cpu = 3;
	CHECK(pane_grant_hold(&slots[1]));
	shim_cpu = 0;
	pane_grant_replace(&slots[0], NULL);
	shim_cpu = 3;
	pane_grant_drop();
	shim_cpu = 0;
	end();
}

/* What somebody publishes between a look at the slot and the one after it */
static struct pane_grant *published;

static void publish(void)
{
	WRITE_ONCE(slots[0].grant, published);
	shim_at_barrier = NULL;
}

static void test_taken_away_meanwhile(void)
{
	struct pane_grant *g;

	begin();
	g = new_grant(1);
	pane_grant_replace(&slots[0], g);
	published = NULL;
	shim_at_barrier = publish;
	CHECK(!pane_grant_hold(&slots[0]));
	CHECK(!pane_grant_held[shim_cpu]);
	CHECK_EQ(shim_preempt_count, 0);
	slots[0].grant = g;
	end();
}

static void test_replaced_meanwhile(void)
{
	struct pane_grant *g;

	begin();
	g = new_grant(1);
	pane_grant_replace(&slots[0], g);
	published = new_grant(2);
	shim_at_barrier = publish;
	CHECK(pane_grant_hold(&slots[0]) == published);
	CHECK(pane_grant_held[shim_cpu] == published);
	CHECK_EQ(shim_preempt_count, 1);
	pane_grant_drop();
	pane_grant_free(g);
	end();
}

/* ---- holders and those who take away, at the same time ----------------- */

/*
 * What a grant opens: its holders read it, and who has replaced the grant
 * writes it at once. Plain accesses, so that the sanitizer looks at them.
 */
static u64 page[SLOTS][2];
/* Grants up to this one have been replaced. */
static u64 dead[SLOTS];
static bool stop;
static unsigned long held;
static unsigned long replaced;

static void look_at(const struct pane_grant *g, unsigned int slot)
{
	u64 id = g->addr;
	unsigned int i;

	CHECK(is_whole(g, id));
	for (i = 0; i < 64; i++) {
		CHECK_EQ(page[slot][id % 2], id);
		CHECK(__atomic_load_n(&dead[slot], __ATOMIC_RELAXED) < id);
	}
	CHECK(is_whole(g, id));
}

static void hold_one(unsigned int slot)
{
	const struct pane_grant *g = pane_grant_hold(&slots[slot]);

	if (!g) {
		CHECK(!READ_ONCE(pane_grant_held[shim_cpu]));
		return;
	}
	look_at(g, slot);
	pane_grant_drop();
}

/* Readers and writers yield: on few processors the others would get none. */
static void *reader(void *cpu)
{
	unsigned int n;

	shim_cpu = (uintptr_t)cpu;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (n = 0; n < 256; n++)
			hold_one(n % SLOTS);
		__atomic_fetch_add(&held, n, __ATOMIC_RELAXED);
		sched_yield();
	}
	CHECK_EQ(shim_preempt_count, 0);
	return NULL;
}

/* The old one is gone: whoever reads here now has kept it too long. */
static void spoil(unsigned int slot, u64 id)
{
	page[slot][id % 2] = ~0ULL;
	__atomic_store_n(&dead[slot], id, __ATOMIC_RELAXED);
}

static void *writer(void *cpu)
{
	unsigned int slot = (uintptr_t)cpu - 1;
	u64 id;

	shim_cpu = (uintptr_t)cpu;
	for (id = 1; id <= MAX_ROUNDS; id++) {
		if (id % 256 == 0)
			sched_yield();
		if (id > ROUNDS &&
		    __atomic_load_n(&held, __ATOMIC_RELAXED) > HOLDS)
			break;
		page[slot][id % 2] = id;
		pane_grant_replace(&slots[slot], new_grant(id));
		spoil(slot, id - 1);
		/* bind over the old one, or invalidate first */
		if (id % 3 == 0) {
			pane_grant_replace(&slots[slot], NULL);
			spoil(slot, id);
		}
	}
	pane_grant_replace(&slots[slot], NULL);
	__atomic_fetch_add(&replaced, id, __ATOMIC_RELAXED);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t cpu)
{
	if (pthread_create(thread, NULL, run, (void *)cpu))
		ksft_exit_fail_msg("no thread\n");
}

static void test_stress(void)
{
	pthread_t writers[SLOTS], readers[READERS];
	unsigned int i;

	begin();
	for (i = 0; i < READERS; i++)
		start(&readers[i], reader, 1 + SLOTS + i);
	for (i = 0; i < SLOTS; i++)
		start(&writers[i], writer, 1 + i);
	for (i = 0; i < SLOTS; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	ksft_print_msg("%lu grants, held %lu times\n", replaced, held);
	end();
}

static_assert(CPUS <= SHIM_CPUS);

static const struct unit_test tests[] = {
	{ "nothing to hold", test_empty },
	{ "hold and drop", test_hold },
	{ "generations", test_generation },
	{ "given back", test_given_back },
	{ "never published", test_free },
	{ "no memory", test_no_memory },
	{ "holders of other grants", test_others_do_not_matter },
	{ "taken away while it is looked at", test_taken_away_meanwhile },
	{ "replaced while it is looked at", test_replaced_meanwhile },
	{ "nothing is used after it was replaced", test_stress },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
