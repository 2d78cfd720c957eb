/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_MINMAX_H
#define PANE_SHIM_MINMAX_H

#define PANE_SHIM_PICK(type_a, a, type_b, b, op) ({	\
	type_a pick_a = (a);				\
	type_b pick_b = (b);				\
	pick_a op pick_b ? pick_a : pick_b;		\
})

#define min(a, b) PANE_SHIM_PICK(__typeof__(a), a, __typeof__(b), b, <)
#define max(a, b) PANE_SHIM_PICK(__typeof__(a), a, __typeof__(b), b, >)
#define min3(a, b, c) min(min(a, b), c)
#define min_t(type, a, b) PANE_SHIM_PICK(type, a, type, b, <)
#define max_t(type, a, b) PANE_SHIM_PICK(type, a, type, b, >)

#define swap(a, b) do {					\
	__typeof__(a) swap_a = (a);			\
							\
	(a) = (b);					\
	(b) = swap_a;					\
} while (0)

#endif
