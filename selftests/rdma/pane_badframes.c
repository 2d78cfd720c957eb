// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every opcode with every length, padding, flag and fault, to queue pairs of
 * every kind, and what is wrong outside of the RoCE packet. A model says of
 * each frame which counter it moves; all counters together have moved as it
 * says and no other way, nothing was written or completed, and all connections
 * still work.
 *
 * lib.sh says in PANE_FRAMES where the packet socket is, as for pane_frames.
 * PANE_ALL=1 leaves nothing out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_badframes.h"

static uint64_t sum(enum move from, enum move to)
{
	uint64_t all = 0;

	for (enum move m = from; m <= to; m++)
		all += totals->ended[m];
	return all;
}

/* What all tests before this one have sent is what the counters say of it */
static void sums(const void *arg)
{
	uint64_t bad_responses = totals->ended[R_BAD_RESP];
	uint64_t by = sum(R_CNP + 1, R_ACCESS) + bad_responses;
	uint64_t before = sum(0, R_CNP);
	uint64_t taken = totals->ended[R_TAKEN];
	uint64_t stack = totals->ended[R_STACK];
	char text[1024];
	size_t len = 0;

	for (enum move m = 0; m < R_TAKEN; m++)
		if (totals->ended[m])
			len += snprintf(text + len, sizeof(text) - len,
					" %s %" PRIu64, move_counter(m),
					totals->ended[m]);
	text[len] = '\0';
	ksft_print_msg("frames: %" PRIu64 " sent, %" PRIu64
		       " dropped before the queue pair, %" PRIu64
		       " refused by it, %" PRIu64 " taken, %" PRIu64
		       " left to the network stack, by reason:%s bad responses %"
		       PRIu64 "\n", totals->sent, before, by, taken, stack,
		       text, bad_responses);
	CHECK_EQ(before + by + taken + stack, totals->sent);
}

static void list(void)
{
	list_sweep();
	list_outer();
	list_next();
	pane_test(0, sums, NULL, "as many frames were counted as were sent");
}

int main(int argc, char **argv)
{
	/* the same each time, unless somebody wants another one */
	setenv("PANE_SEED", "1", 0);
	totals_open();
	return pane_run(argc, argv, list);
}
