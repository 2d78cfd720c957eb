// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The key table from several threads: those who take slots and give them back
 * while it grows, and those who look numbers up without a lock.
 */
#include <pthread.h>
#include <sched.h>

#include <linux/kernel.h>
#include <linux/slab.h>

#include "keytab.h"
#include "shim/shim.h"
#include "unit.h"

#define WRITERS		3
#define READERS		2
#define ROUNDS		150000
/* what each writer keeps, so that the table grows now and then */
#define KEPT		3000
#define NUM_RECENT	1024

/* What owns a slot. It tells its number, and lives as long as the test. */
struct object {
	u32 index;
};

static struct pane_keytab tab;
static struct object objects[PANE_KEYTAB_MAX];
/* 1 while a slot is handed out */
static u8 taken[PANE_KEYTAB_MAX];
/* slots that were handed out lately */
static u32 recent[NUM_RECENT];
static bool stop;
static unsigned long found_owner;

static u32 take(struct unit_rng *rng)
{
	u32 slotno = 0, index;

	CHECK(!pane_keytab_alloc(&tab, &slotno));
	CHECK(!__atomic_exchange_n(&taken[slotno], 1, __ATOMIC_RELAXED));
	index = pane_keytab_index(&tab, slotno);
	WRITE_ONCE(objects[slotno].index, index);
	pane_slot_set(&tab, slotno, PANE_SLOT_NUM, &objects[slotno]);
	WRITE_ONCE(recent[unit_below(rng, NUM_RECENT)], slotno);
	return slotno;
}

static void give_back(u32 slotno)
{
	spinlock_t *lock = pane_slot_lock(&tab, slotno);
	struct pane_slot *slot = pane_keytab_at(&tab, slotno);

	spin_lock_bh(lock);
	CHECK(slot->owner == &objects[slotno]);
	CHECK_EQ(slot->kind, PANE_SLOT_NUM);
	pane_slot_clear(slot);
	spin_unlock_bh(lock);
	CHECK(__atomic_exchange_n(&taken[slotno], 0, __ATOMIC_RELAXED));
	pane_keytab_free(&tab, slotno);
}

static void *writer(void *number)
{
	struct unit_rng rng = { unit_seed() + (uintptr_t)number };
	u32 *kept = calloc(KEPT, sizeof(*kept));
	u32 i, n = 0;

	if (!kept)
		ksft_exit_fail_msg("no memory\n");
	for (i = 0; i < ROUNDS; i++) {
		u32 place = n < KEPT ? n++ : unit_below(&rng, KEPT);

		if (i >= KEPT)
			give_back(kept[place]);
		kept[place] = take(&rng);
	}
	for (i = 0; i < n; i++)
		give_back(kept[i]);
	free(kept);
	return NULL;
}

/* As whoever binds or invalidates sees a slot */
static void look_up_locked(u32 index)
{
	struct pane_slot *slot;
	spinlock_t *lock;
	u32 slotno;

	slot = pane_keytab_find(&tab, index, &slotno);
	if (!slot)
		return;
	lock = pane_slot_lock(&tab, slotno);
	spin_lock_bh(lock);
	CHECK_EQ(slot->kind == PANE_SLOT_NUM, !!slot->owner);
	spin_unlock_bh(lock);
}

/* As the receive path finds a QP */
static void look_up(u32 index)
{
	struct pane_slot *slot;
	struct object *owner;
	u32 slotno;

	slot = pane_keytab_find(&tab, index, &slotno);
	/* pairs with pane_slot_set() */
	owner = slot ? smp_load_acquire(&slot->owner) : NULL;
	if (!owner)
		return;
	CHECK_EQ(READ_ONCE(owner->index), index);
	CHECK_EQ(owner - objects, slotno);
	__atomic_fetch_add(&found_owner, 1, __ATOMIC_RELAXED);
}

static void *reader(void *number)
{
	struct unit_rng rng = { unit_seed() + 100 + (uintptr_t)number };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		u32 slotno = READ_ONCE(recent[unit_below(&rng, NUM_RECENT)]);

		/* numbers that somebody has, or will have, and any at all */
		look_up(pane_keytab_index(&tab, slotno));
		look_up(unit_below(&rng, PANE_PERM_SIZE));
		slotno += unit_below(&rng, 64);
		look_up_locked(pane_keytab_index(&tab, slotno));
		if (unit_below(&rng, 256) == 0)
			sched_yield();
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t number)
{
	if (pthread_create(thread, NULL, run, (void *)number))
		ksft_exit_fail_msg("no thread\n");
}

static void test_stress(void)
{
	pthread_t writers[WRITERS], readers[READERS];
	unsigned int i;

	shim_random_seed(unit_seed());
	if (pane_keytab_init(&tab, 1, PANE_PERM_SIZE - 1, WRITERS * KEPT))
		ksft_exit_fail_msg("no memory\n");
	for (i = 0; i < READERS; i++)
		start(&readers[i], reader, i);
	for (i = 0; i < WRITERS; i++)
		start(&writers[i], writer, i);
	for (i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	CHECK_EQ(tab.live, 0);
	CHECK_EQ(tab.allocs, WRITERS * ROUNDS);
	CHECK(found_owner);
	ksft_print_msg("%u slots, %lu look-ups that found an object\n",
		       tab.capacity, found_owner);
	pane_keytab_destroy(&tab);
}

static const struct unit_test tests[] = {
	{ "slots come and go under readers' eyes", test_stress },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
