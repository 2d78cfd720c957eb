// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "keytab.h"
#include "num.h"
#include "wire.h"

static struct pane_keytab pane_nums;

int pane_num_init(void)
{
	/* the lowest are QPs 0 and 1, the highest is multicast */
	return pane_keytab_init(&pane_nums, PANE_QPN_GSI + 1,
				PANE_QPN_MULTICAST - 1, PANE_KEYTAB_MAX / 2);
}

void pane_num_exit(void)
{
	pane_keytab_destroy(&pane_nums);
}

/**
 * pane_num_alloc - take a number
 * @num: set up
 * @kind: what it is for
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM
 */
int pane_num_alloc(struct pane_num *num, enum pane_num_kind kind)
{
	int err = pane_keytab_alloc(&pane_nums, &num->slotno);

	if (err)
		return err;
	num->value = pane_keytab_index(&pane_nums, num->slotno);
	num->kind = kind;
	return 0;
}

/* Give back a number that was never published */
void pane_num_free(struct pane_num *num)
{
	pane_keytab_free(&pane_nums, num->slotno);
}

/* From here on @num, what it is part of being complete, is found */
void pane_num_publish(struct pane_num *num)
{
	pane_slot_set(&pane_nums, num->slotno, PANE_SLOT_NUM, num);
}

/*
 * The number means nothing any more, and is given back. Who found its owner
 * just before may use it until an RCU grace period has passed.
 */
void pane_num_unpublish(struct pane_num *num)
{
	struct pane_slot *slot = pane_keytab_at(&pane_nums, num->slotno);

	spin_lock_bh(pane_slot_lock(&pane_nums, num->slotno));
	pane_slot_clear(slot);
	spin_unlock_bh(pane_slot_lock(&pane_nums, num->slotno));
	pane_keytab_free(&pane_nums, num->slotno);
}

/**
 * pane_num_find - what a number names
 * @value: any 24-bit number
 * @kind: of the thing wanted
 *
 * Context: RCU read side, which the thing lives at least as long as.
 * Return: it, or NULL
 */
struct pane_num *pane_num_find(u32 value, enum pane_num_kind kind)
{
	struct pane_slot *slot;
	struct pane_num *num;
	u32 slotno;

	slot = pane_keytab_find(&pane_nums, value, &slotno);
	if (!slot)
		return NULL;
	/* pairs with pane_slot_set() */
	num = smp_load_acquire(&slot->owner);
	/* the slot may have gone to somebody else meanwhile */
	return num && num->value == value && num->kind == kind ? num : NULL;
}
