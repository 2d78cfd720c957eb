/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A secret permutation of 24-bit numbers.
 *
 * Slots of a table are handed out in order, which keeps the table dense; what
 * peers see is the slot's number under this permutation, from which nothing
 * about other numbers follows. It is a balanced Feistel network over two
 * 12-bit halves whose round functions are tables of random numbers, filled
 * anew for each table: going either way costs one load a round.
 */
#ifndef PANE_KEYPERM_H
#define PANE_KEYPERM_H

#include <linux/types.h>

#define PANE_PERM_BITS		24
#define PANE_PERM_SIZE		(1U << PANE_PERM_BITS)
#define PANE_PERM_HALF_BITS	(PANE_PERM_BITS / 2)
#define PANE_PERM_HALF		(1U << PANE_PERM_HALF_BITS)
#define PANE_PERM_HALF_MASK	(PANE_PERM_HALF - 1)
/* Four rounds already hide a random function well; two more cost little */
#define PANE_PERM_ROUNDS	6

/**
 * struct pane_keyperm - the key
 * @round: filled with random bytes by the owner; the bits above the half are
 *         ignored
 */
struct pane_keyperm {
	u16 round[PANE_PERM_ROUNDS][PANE_PERM_HALF];
};

/* The number that peers see of @slot */
static inline u32 pane_keyperm_index(const struct pane_keyperm *p, u32 slot)
{
	u32 l = slot >> PANE_PERM_HALF_BITS, r = slot & PANE_PERM_HALF_MASK;
	unsigned int i;

	for (i = 0; i < PANE_PERM_ROUNDS; i++) {
		u32 t = l ^ (p->round[i][r] & PANE_PERM_HALF_MASK);

		l = r;
		r = t;
	}
	return l << PANE_PERM_HALF_BITS | r;
}

/* The slot behind @index, below 2^24: the same rounds backwards */
static inline u32 pane_keyperm_slot(const struct pane_keyperm *p, u32 index)
{
	u32 l = index >> PANE_PERM_HALF_BITS, r = index & PANE_PERM_HALF_MASK;
	unsigned int i;

	for (i = PANE_PERM_ROUNDS; i-- > 0;) {
		u32 t = r ^ (p->round[i][l] & PANE_PERM_HALF_MASK);

		r = l;
		l = t;
	}
	return l << PANE_PERM_HALF_BITS | r;
}

#endif /* PANE_KEYPERM_H */
