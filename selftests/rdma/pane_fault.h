/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls in which the kernel's allocations fail, one after the other: the first,
 * the second, and so on, until the call has no more of them.
 */
#ifndef PANE_FAULT_H
#define PANE_FAULT_H

#include <stdbool.h>

/* Of a kernel with FAULT_INJECTION, FAILSLAB and FAIL_PAGE_ALLOC, for this task */
bool fault_possible(void);
/* All allocations are meant, and the log does not tell of each. Undone at exit */
void fault_setup(void);

/* From here on, the @nth allocation of this task fails */
void fault_arm(unsigned int nth);
/* No more; did one fail? */
bool fault_disarm(void);

/**
 * struct fault_call - a call to be tried
 * @name: of the test
 * @prepare: what must be there before it, as @call, whose counterpart it often
 *           is; NULL if nothing
 * @call: it; returns 0 or an errno value
 * @undo: what was there before is there again. @done tells if the call
 *        succeeded, in spite of the fault perhaps
 * @removes: the call removes what others make: @undo is theirs, and it is when
 *           the call fails that there is something to undo
 * @first: try no more than so many allocations, if not 0
 * @last: only so many, the last ones
 * @step: try one allocation of so many, if not 0
 * @skip: leave out so many before the first one
 * @any_error: the library makes something else of the kernel's error
 * @same: nothing else has changed, checked after @undo
 * @ctx: passed to all of them
 */
struct fault_call {
	const char *name;
	int (*prepare)(void *ctx);
	int (*call)(void *ctx);
	void (*undo)(void *ctx, bool done);
	bool removes;
	unsigned int first;
	unsigned int last;
	unsigned int step;
	unsigned int skip;
	bool any_error;
	void (*same)(void *ctx);
	void *ctx;
};

void fault_each(const struct fault_call *c);

#endif
