// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every opcode, length and padding. What else there is takes turns: the numbers
 * of possibilities have no common divisor, so each meets each other one.
 */
#include "../kselftest.h"
#include "pane_badframes.h"

/* An eighth of all opcodes is a test, with the same upper three bits */
#define OPCODES		32

/* Of the link that lib.sh makes */
#define IF_MTU		4200

/* Most of them none or one, since the first one found is what counts */
static const uint8_t fault_sets[23] = {
	0, F_TVER, 0, F_SOURCE, 0, F_PKEY, 0, F_QKEY, 0, F_ICRC, 0, F_DEST,
	F_SOURCE | F_ICRC, F_PKEY | F_ICRC, F_QKEY | F_ICRC, F_SOURCE | F_PKEY,
	F_SOURCE | F_QKEY, F_PKEY | F_QKEY, F_TVER | F_SOURCE, F_TVER | F_PKEY,
	F_PKEY | F_QKEY | F_ICRC, F_ALL & ~F_TVER, F_ALL,
};

/* Where an opcode belongs, which is where it gets furthest */
static enum target home_of(uint8_t opcode, unsigned int turn)
{
	switch (op_transport(opcode)) {
	case OP_UC:
		return T_UC;
	case OP_UD:
		return turn % 2 ? T_UD_EMPTY : T_UD_SHORT;
	case OP_XRC:
		return op_flags(opcode) & OP_RESPONSE ? T_XRC_INI : T_XRC_TGT;
	default:
		return T_RC;
	}
}

#define TARGET_TURNS	17
#define BIT_TURNS	67

static struct frame frame_of(uint8_t opcode, unsigned int size,
			     unsigned int pad, unsigned int turn)
{
	unsigned int target = turn % TARGET_TURNS;

	return (struct frame) {
		.opcode = opcode,
		.size = size,
		.pad = pad,
		.target = target < TARGETS ? target : home_of(opcode, turn),
		.faults = fault_sets[turn % ARRAY_SIZE(fault_sets)],
		.bits = turn % BIT_TURNS & ((1 << B_COUNT) - 1),
		.psn_kind = turn % PSN_KINDS,
		.turn = turn,
	};
}

/* Beyond the longest headers it is the path MTU where something changes */
static bool is_quick(unsigned int size)
{
	return size <= 68 || size % 50 == 0 ||
	       (size >= BAD_MTU + 12 && size <= BAD_MTU + 24) ||
	       (size >= BAD_MTU + 30 && size <= BAD_MTU + 40);
}

/* A kernel that checks itself has a quarter of them in each round */
static bool is_wanted(unsigned int size, unsigned int turn)
{
	if (all_wanted())
		return true;
	return is_quick(size) && (!pane_kernel_checks() || turn % 4 == 0);
}

static unsigned int sweep_opcode(struct bad *b, uint8_t opcode,
				 unsigned int round, unsigned int turn)
{
	for (unsigned int size = 0; size <= SIZE_MAX_SWEPT; size++) {
		if (!is_wanted(size, size + opcode + round))
			continue;
		for (unsigned int pad = 0; pad < 4; pad++)
			bad_frame(b, frame_of(opcode, size, pad, turn++));
	}
	return turn;
}

/*
 * Rounds differ in what meets what. Of an opcode that there is there are more
 * things to see.
 */
static unsigned int rounds_of(const struct bad *b, uint8_t opcode)
{
	return (model_knows(&b->m, opcode) ? 4 : 1) * (all_wanted() ? 4 : 1);
}

static void sweep(const void *arg)
{
	uint8_t first = (uintptr_t)arg;
	struct bad b;

	bad_open(&b);
	for (unsigned int op = first; op < first + OPCODES; op++) {
		unsigned int turn = op * 37;

		pane_more_time();
		for (unsigned int i = 0; i < rounds_of(&b, op); i++)
			turn = sweep_opcode(&b, op, i, turn) + 1;
	}
	bad_close(&b);
}

/* From the BTH to the ICRC, in a packet that fills the interface's MTU */
static unsigned int size_max(void)
{
	if (net_is("v1"))
		return IF_MTU - 40;
	return net_is("ip6") ? IF_MTU - 48 : IF_MTU - 28;
}

/* More than a packet of the connection may have, up to what the link carries */
static void oversized(const void *arg)
{
	unsigned int step = all_wanted() ? 29 : 499;
	unsigned int max = size_max();
	struct bad b;

	bad_open(&b);
	for (unsigned int op = 0; op < 256; op++) {
		unsigned int size, turn = op * 41;

		pane_more_time();
		for (size = SIZE_MAX_SWEPT + 1; size <= max; size++, turn++)
			if (size % step == 0 || size > max - 4)
				bad_frame(&b, frame_of(op, size, size % 4,
						       turn));
	}
	bad_close(&b);
}

void list_sweep(void)
{
	for (uintptr_t op = 0; op < 256; op += OPCODES)
		pane_test(0, sweep, (void *)op,
			  "opcodes %#lx to %#lx: every length, padding, flag and fault",
			  (unsigned long)op, (unsigned long)op + OPCODES - 1);
	pane_test(0, oversized, NULL,
		  "every opcode: beyond the path MTU, up to that of the link");
}
