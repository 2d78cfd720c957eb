// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table behind keys and QP numbers: who gets which slot, and when again */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "keytab.h"
#include "shim/shim.h"
#include "unit.h"

#define MAX_INDEX	(PANE_PERM_SIZE - 1)

static struct pane_keytab tab;

/* Slots handed out, as the test knows it */
static u32 live[PANE_KEYTAB_MAX];
static u32 num_live;

static void make_table(u32 min_index, u32 max_index, u32 limit)
{
	if (pane_keytab_init(&tab, min_index, max_index, limit))
		ksft_exit_fail_msg("no memory\n");
	num_live = 0;
}

static int take(void)
{
	u32 slotno;
	int err = pane_keytab_alloc(&tab, &slotno);

	if (!err)
		live[num_live++] = slotno;
	return err;
}

/* Give back the @n-th of the slots handed out. */
static u32 give_back(u32 n)
{
	u32 slotno = live[n];

	live[n] = live[--num_live];
	pane_keytab_free(&tab, slotno);
	return slotno;
}

static void end_table(void)
{
	while (num_live)
		give_back(num_live - 1);
	CHECK_EQ(tab.live, 0);
	pane_keytab_destroy(&tab);
}

static void test_find(void)
{
	u32 i, found = 0;

	make_table(0, MAX_INDEX, 5000);
	for (i = 0; i < 5000; i++)
		CHECK(!take());
	for (i = 0; i < num_live; i++) {
		struct pane_slot *slot = pane_keytab_at(&tab, live[i]);
		u32 index = pane_keytab_index(&tab, live[i]);

		CHECK(index <= MAX_INDEX);
		CHECK(pane_keytab_find(&tab, index, &found) == slot);
		CHECK_EQ(found, live[i]);
		/* the key's byte above does not matter */
		CHECK(pane_keytab_find(&tab, index | 0xab000000, &found) ==
		      slot);
		CHECK_EQ(slot->kind, PANE_SLOT_FREE);
		CHECK(!slot->owner && !slot->grant);
	}
	end_table();
}

/* Any number may come from a peer. */
static void test_find_anything(void)
{
	u32 index, slotno, found = 0;

	make_table(0, MAX_INDEX, 1);
	CHECK(!take());
	for (index = 0; index < PANE_PERM_SIZE; index++) {
		if (!pane_keytab_find(&tab, index, &slotno))
			continue;
		found++;
		CHECK(slotno < tab.capacity);
		CHECK_EQ(pane_keytab_index(&tab, slotno), index);
	}
	CHECK_EQ(found, tab.capacity);
	end_table();
}

static void test_unique(void)
{
	static u8 slots[PANE_KEYTAB_MAX], indices[PANE_PERM_SIZE];
	u32 i;

	make_table(0, MAX_INDEX, 100000);
	for (i = 0; i < 100000; i++) {
		CHECK(!take());
		CHECK_EQ(slots[live[i]]++, 0);
		CHECK_EQ(indices[pane_keytab_index(&tab, live[i])]++, 0);
	}
	CHECK_EQ(tab.live, 100000);
	end_table();
}

static void test_limit(void)
{
	u32 i;

	make_table(0, MAX_INDEX, 100);
	for (i = 0; i < 100; i++)
		CHECK(!take());
	CHECK_EQ(take(), -ENOMEM);
	CHECK_EQ(take(), -ENOMEM);
	give_back(50);
	CHECK(!take());
	CHECK_EQ(take(), -ENOMEM);
	end_table();
}

static void test_no_room_at_all(void)
{
	make_table(0, MAX_INDEX, 0);
	CHECK_EQ(take(), -ENOMEM);
	CHECK_EQ(tab.capacity, 0);
	end_table();
}

/* Slots that exist are what was needed, to the next chunk. */
static void test_growth(void)
{
	u32 i;

	make_table(0, MAX_INDEX, 10 * PANE_KEYTAB_CHUNK);
	CHECK_EQ(tab.capacity, 0);
	for (i = 1; i <= 10 * PANE_KEYTAB_CHUNK; i++) {
		CHECK(!take());
		CHECK_EQ(tab.capacity, ALIGN(i, PANE_KEYTAB_CHUNK));
	}
	end_table();
}

/* What a reader may have in hands does not move. */
static void test_slots_stay(void)
{
	struct pane_slot *first;
	u32 i, slotno;

	make_table(0, MAX_INDEX, 10 * PANE_KEYTAB_CHUNK);
	CHECK(!take());
	slotno = live[0];
	first = pane_keytab_at(&tab, slotno);
	for (i = 1; i < 10 * PANE_KEYTAB_CHUNK; i++)
		CHECK(!take());
	CHECK(pane_keytab_at(&tab, slotno) == first);
	end_table();
}

static void test_no_memory_for_table(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		shim_allocs_left = i;
		CHECK_EQ(pane_keytab_init(&tab, 0, MAX_INDEX, 10), -ENOMEM);
	}
	shim_allocs_left = SHIM_NO_LIMIT;
}

/* Wherever growth stops, the next attempt goes on from there. */
static void test_no_memory_to_grow(void)
{
	u32 allocs, taken;

	for (allocs = 0; allocs < 12; allocs++) {
		make_table(0, MAX_INDEX, 32 * PANE_KEYTAB_CHUNK);
		shim_allocs_left = allocs;
		while (!take())
			;
		taken = num_live;
		CHECK_EQ(take(), -ENOMEM);
		CHECK_EQ(tab.live, taken);
		CHECK(taken <= allocs * PANE_KEYTAB_CHUNK);
		shim_allocs_left = SHIM_NO_LIMIT;
		while (num_live < taken + 10 * PANE_KEYTAB_CHUNK) {
			if (!CHECK(!take()))
				break;
		}
		CHECK_EQ(tab.live, num_live);
		end_table();
	}
}

/* Half of all numbers are reserved here, so that every second one is hit. */
static void test_reserved(void)
{
	const u32 min = PANE_PERM_SIZE / 4, max = PANE_PERM_SIZE / 4 * 3 - 1;
	struct unit_rng rng = { unit_seed() };
	u32 i;

	make_table(min, max, 20000);
	for (i = 0; i < 200000; i++) {
		u32 index;

		if (num_live == 20000)
			give_back(unit_below(&rng, num_live));
		CHECK(!take());
		index = pane_keytab_index(&tab, live[num_live - 1]);
		CHECK(index >= min && index <= max);
	}
	/* those passed over are gone for good, and are not counted */
	CHECK_EQ(tab.live, 20000);
	CHECK(tab.used > 20000 * 3 / 2);
	end_table();
}

/* Both ends of what may be handed out are handed out. */
static void test_reserved_edges(void)
{
	u32 edge, slotno, i;

	make_table(0, MAX_INDEX, 10);
	CHECK(!take());
	edge = pane_keytab_index(&tab, 700);
	/* a table of the same key in which only one number is allowed */
	tab.min_index = edge;
	tab.max_index = edge;
	CHECK(!take());
	CHECK_EQ(live[1], 700);
	tab.max_index = MAX_INDEX;
	tab.min_index = edge + 1;
	for (i = 0; i < 8; i++)
		CHECK(!take());
	for (i = 2; i < num_live; i++)
		CHECK(pane_keytab_index(&tab, live[i]) > edge);
	CHECK_EQ(pane_keytab_alloc(&tab, &slotno), -ENOMEM);
	end_table();
}

/* When each slot came back, counted in allocations; 0 for never */
static u32 freed_at[PANE_KEYTAB_MAX];

/* The slot that was just handed out in allocation @now: has it rested? */
static bool reused(u32 now)
{
	u32 slotno = live[num_live - 1];

	if (!freed_at[slotno])
		return false;
	/* allocation @now itself is none of the others */
	CHECK(now - freed_at[slotno] >= PANE_KEYTAB_QUARANTINE);
	return true;
}

/* Hand out and take back at random. Returns how often a slot came again. */
static u32 churn(u32 rounds, u32 max_live)
{
	struct unit_rng rng = { unit_seed() };
	u32 i, again = 0;

	memset(freed_at, 0, sizeof(freed_at));
	for (i = 1; i <= rounds; i++) {
		while (num_live && (num_live == max_live ||
				    unit_below(&rng, 3) == 0))
			freed_at[give_back(unit_below(&rng, num_live))] = i;
		CHECK(!take());
		again += reused(i);
	}
	return again;
}

static void test_quarantine(void)
{
	make_table(1, MAX_INDEX, 1000);
	/* slots do come back, and the table does not grow for ever */
	CHECK(churn(500000, 1000) > 200000);
	CHECK(tab.capacity <= 4 * PANE_KEYTAB_QUARANTINE);
	end_table();
}

/* One object that comes and goes: as rebinding a window does */
static void test_quarantine_single(void)
{
	make_table(1, MAX_INDEX, 2);
	CHECK(churn(300000, 1) > 100000);
	CHECK(tab.capacity <= 4 * PANE_KEYTAB_QUARANTINE);
	end_table();
}

/* Many that go at once */
static void test_quarantine_burst(void)
{
	u32 round, i, now = 1;

	make_table(1, MAX_INDEX, 100000);
	memset(freed_at, 0, sizeof(freed_at));
	for (round = 0; round < 10; round++) {
		while (num_live < 90000 - round * 8000) {
			CHECK(!take());
			reused(now++);
		}
		for (i = num_live; i > 0; i--)
			freed_at[give_back(i - 1)] = now;
	}
	end_table();
}

static void fill_table(void)
{
	make_table(0, MAX_INDEX, U32_MAX);
	while (num_live < PANE_KEYTAB_MAX) {
		if (!CHECK(!take()))
			break;
	}
}

/* A table that cannot grow hands out what has not rested, rather than fail. */
static void test_full(void)
{
	static const u32 n[] = { 12345, 0, 99, 4000000 };
	u32 given[ARRAY_SIZE(n)];
	u32 i, j, known = 0;

	fill_table();
	CHECK_EQ(tab.capacity, PANE_KEYTAB_MAX);
	CHECK_EQ(take(), -ENOMEM);
	for (i = 0; i < ARRAY_SIZE(n); i++)
		given[i] = give_back(n[i]);
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		CHECK(!take());
		for (j = 0; j < ARRAY_SIZE(n); j++)
			known += live[num_live - 1] == given[j];
	}
	CHECK_EQ(known, ARRAY_SIZE(n));
	CHECK_EQ(take(), -ENOMEM);
	end_table();
}

/* As long as enough is free, a full table keeps to the rule, too. */
static void test_full_quarantine(void)
{
	const u32 num_free = PANE_KEYTAB_QUARANTINE + 5000;
	struct unit_rng rng = { unit_seed() };
	u32 i, now;

	fill_table();
	for (i = 0; i < num_free; i++)
		give_back(unit_below(&rng, num_live));
	/* those came back at once; from here on one after the other */
	memset(freed_at, 0, sizeof(freed_at));
	for (now = 1; now < 4 * num_free; now++) {
		CHECK(!take());
		reused(now);
		freed_at[give_back(unit_below(&rng, num_live))] = now + 1;
	}
	end_table();
}

static void test_owner(void)
{
	struct pane_slot *slot;
	int object;

	make_table(0, MAX_INDEX, 10);
	CHECK(!take());
	slot = pane_keytab_at(&tab, live[0]);
	pane_slot_set(&tab, live[0], PANE_SLOT_MW, &object);
	CHECK(slot->owner == &object);
	CHECK_EQ(slot->kind, PANE_SLOT_MW);
	pane_slot_clear(slot);
	CHECK(!slot->owner);
	CHECK_EQ(slot->kind, PANE_SLOT_FREE);
	end_table();
}

/* Two slots may share a lock, but a slot has one for all its life. */
static void test_slot_locks(void)
{
	u32 slotno;

	make_table(0, MAX_INDEX, 1);
	for (slotno = 0; slotno < PANE_KEYTAB_MAX; slotno += 63) {
		spinlock_t *lock = pane_slot_lock(&tab, slotno);

		CHECK(lock >= tab.locks &&
		      lock < tab.locks + PANE_KEYTAB_LOCKS);
		CHECK(lock == pane_slot_lock(&tab, slotno));
	}
	end_table();
}

static const struct unit_test tests[] = {
	{ "what was handed out is found", test_find },
	{ "what was not is not found", test_find_anything },
	{ "no slot and no number twice", test_unique },
	{ "limit", test_limit },
	{ "limit of nothing", test_no_room_at_all },
	{ "growth by chunks", test_growth },
	{ "slots stay where they are", test_slots_stay },
	{ "no memory for a table", test_no_memory_for_table },
	{ "no memory to grow", test_no_memory_to_grow },
	{ "reserved numbers are passed over", test_reserved },
	{ "edges of the reserved numbers", test_reserved_edges },
	{ "65536 others come before a number comes again", test_quarantine },
	{ "the same with one object", test_quarantine_single },
	{ "the same with many at once", test_quarantine_burst },
	{ "a full table", test_full },
	{ "a full table of which enough is free", test_full_quarantine },
	{ "owner", test_owner },
	{ "slot locks", test_slot_locks },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
