// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send requests out of a ring that a hostile user may write: what is accepted,
 * what the kernel's copy then holds, and why the rest is refused. The rules are
 * those of pane-abi.h.
 */
#include <linux/kernel.h>

#include "wr_stage.h"

static void test_table(void)
{
	u32 op;

	for (op = 0; op < PANE_WR_MAX; op++) {
		const struct pane_wr_info *info = &pane_wr_table[op];

		CHECK(info->name);
		CHECK_EQ(rules[op].op, op);
		CHECK_EQ(info->wc_opcode, rules[op].wc);
		CHECK_EQ(info->qp_types & ALL, rules[op].types);
		CHECK_EQ(info->flags, rules[op].flags);
		CHECK_EQ(info->class == PANE_WRC_LOCAL, is_local(&rules[op]));
		CHECK_EQ(!info->issue, !is_local(&rules[op]));
		if (is_local(&rules[op]))
			continue;
		CHECK_EQ(info->first, rules[op].first);
		CHECK_EQ(info->last, rules[op].last);
		CHECK_EQ(info->only, rules[op].only);
	}
}

static void check_good(enum ib_qp_type type)
{
	struct unit_rng rng = { unit_seed() };
	u32 round, op;

	make_qp(type, 0);
	for (round = 0; round < 1000; round++) {
		for (op = 0; op < PANE_WR_USER_MAX; op++) {
			struct pane_sq_wqe *u = slot(qp.sq.prod);
			bool allowed = rules[op].types & BIT(type);

			fill_good(u, &rng, op);
			if (rules[op].flags & INL && round % 2)
				make_inline(u, good_inline(op, &rng));
			CHECK_EQ(check_next(), allowed ? 0 : WRONG(OPCODE));
		}
	}
	end_qp();
}

static void test_good_rc(void)
{
	check_good(IB_QPT_RC);
}

static void test_good_uc(void)
{
	check_good(IB_QPT_UC);
}

static void test_good_xrc(void)
{
	check_good(IB_QPT_XRC_INI);
}

static void test_good_ud(void)
{
	check_good(IB_QPT_UD);
}

/* The kernel's operations and all other numbers are none for a user. */
static void test_opcodes(void)
{
	static const enum ib_qp_type types[] = {
		IB_QPT_RC, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI,
	};
	struct unit_rng rng = { unit_seed() };
	u32 i, op;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make_qp(types[i], 0);
		for (op = PANE_WR_USER_MAX; op < 256; op++) {
			fill_good(slot(qp.sq.prod), &rng, PANE_WR_SEND);
			slot(qp.sq.prod)->opcode = op;
			CHECK_EQ(check_next(), WRONG(OPCODE));
		}
		end_qp();
	}
}

static void test_flags(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 op, bit;

	make_qp(IB_QPT_RC, 0);
	for (op = 0; op < PANE_WR_USER_MAX; op++) {
		for (bit = 0; bit < 16; bit++) {
			struct pane_sq_wqe *u = slot(qp.sq.prod);

			fill_good(u, &rng, op);
			u->flags = BIT(bit);
			if (BIT(bit) == INL)
				u->num_sge = 0;
			CHECK_EQ(check_next() & WRONG(FLAGS),
				 rules[op].flags & BIT(bit) ? 0 : WRONG(FLAGS));
		}
	}
	end_qp();
}

static void test_elements(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 op, num;

	make_qp(IB_QPT_RC, 0);
	for (op = 0; op < PANE_WR_USER_MAX; op++) {
		for (num = 0; num < 256; num++) {
			struct pane_sq_wqe *u = slot(qp.sq.prod);

			fill_good(u, &rng, op);
			u->num_sge = num;
			if (num > (has_data(&rules[op]) ? MAX_SGE : 0))
				CHECK(check_next() & WRONG(SGE));
			else
				check_next();
		}
	}
	end_qp();
}

static void test_inline(void)
{
	static const u32 lengths[] = {
		0, 1, MAX_INLINE, MAX_INLINE + 1, DATA_SIZE, 1024, 65536,
		1U << 31, U32_MAX - 3, U32_MAX,
	};
	struct unit_rng rng = { unit_seed() };
	u32 i;

	make_qp(IB_QPT_RC, 0);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);

		fill_good(u, &rng, PANE_WR_WRITE);
		make_inline(u, lengths[i]);
		CHECK_EQ(check_next(),
			 lengths[i] > MAX_INLINE ? WRONG(LENGTH) : 0);
		/* elements beside it */
		u = slot(qp.sq.prod);
		fill_good(u, &rng, PANE_WR_WRITE);
		make_inline(u, lengths[i]);
		u->num_sge = 1;
		CHECK(check_next() & WRONG(SGE));
	}
	end_qp();
}

/* Lengths of the elements, 2^31 and more in sum, without wrapping */
static void test_lengths(void)
{
	static const struct {
		u32 length[MAX_SGE];
		bool ok;
	} cases[] = {
		{ { 0, 0, 0, 0 }, true },
		{ { 1U << 31, 0, 0, 0 }, true },
		{ { 1U << 31, 1, 0, 0 }, false },
		{ { 1U << 30, 1U << 30, 0, 0 }, true },
		{ { 1U << 30, 1U << 30, 0, 1 }, false },
		{ { U32_MAX, 0, 0, 0 }, false },
		{ { U32_MAX, 1, 0, 0 }, false },
		{ { U32_MAX, U32_MAX, U32_MAX, U32_MAX }, false },
		{ { 1U << 31, 1U << 31, 0, 0 }, false },
		{ { 1U << 31, 1U << 31, 8, 0 }, false },
	};
	struct unit_rng rng = { unit_seed() };
	u32 i, j;

	make_qp(IB_QPT_RC, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);
		bool ok = cases[i].ok;

		fill_good(u, &rng, PANE_WR_READ);
		for (j = 0; j < MAX_SGE; j++)
			u->sge[j].length = cases[i].length[j];
		CHECK_EQ(check_next(), ok ? 0 : WRONG(LENGTH));
	}
	end_qp();
}

static void test_atomic_lengths(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 length;

	make_qp(IB_QPT_RC, 0);
	for (length = 0; length < 12; length++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);

		fill_good(u, &rng, PANE_WR_FETCH_ADD);
		u->num_sge = 1;
		u->sge[0].length = length;
		CHECK_EQ(check_next(), length < 8 ? WRONG(LENGTH) : 0);
	}
	end_qp();
}

/* A word, in memory or in the slot, and nothing else */
static void test_word_lengths(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 length;

	make_qp(IB_QPT_RC, 0);
	for (length = 0; length <= MAX_INLINE; length++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);

		fill_good(u, &rng, PANE_WR_ATOMIC_WRITE);
		u->num_sge = 1;
		u->sge[0].length = length;
		CHECK_EQ(check_next(), length == 8 ? 0 : WRONG(LENGTH));
		u = slot(qp.sq.prod);
		fill_good(u, &rng, PANE_WR_ATOMIC_WRITE);
		make_inline(u, length);
		CHECK_EQ(check_next(), length == 8 ? 0 : WRONG(LENGTH));
	}
	end_qp();
}

static void check_flush(u32 length, u32 type, u32 level, u32 expected)
{
	struct unit_rng rng = { unit_seed() };
	struct pane_sq_wqe *u = slot(qp.sq.prod);

	fill_good(u, &rng, PANE_WR_FLUSH);
	u->flush.length = length;
	u->flush.type = type;
	u->flush.level = level;
	if (!CHECK_EQ(check_next(), expected))
		unit_note("length %#x, type %#x, level %#x\n", length, type,
			  level);
}

/*
 * Its length is that of no data. There are two types, which can be combined, and
 * two levels.
 */
static void test_flush(void)
{
	static const u32 types[] = { 0, 4, 5, 6, 0x80, 0x101, U32_MAX };
	static const u32 levels[] = { 2, 3, 0x10, 0x100, 1U << 31, U32_MAX };
	u32 i;

	make_qp(IB_QPT_RC, 0);
	for (i = 0; i < 2; i++) {
		check_flush(0, PANE_FLUSH_GLOBAL, i, 0);
		check_flush(1, PANE_FLUSH_GLOBAL, i, 0);
		check_flush(1U << 31, PANE_FLUSH_GLOBAL, i, 0);
	}
	check_flush((1U << 31) + 1, PANE_FLUSH_GLOBAL, PANE_FLUSH_RANGE,
		    WRONG(LENGTH));
	check_flush(U32_MAX, PANE_FLUSH_GLOBAL, PANE_FLUSH_RANGE,
		    WRONG(LENGTH));
	/* of all of a region: the length means nothing */
	check_flush(U32_MAX, PANE_FLUSH_GLOBAL, PANE_FLUSH_MR, 0);
	check_flush(64, PANE_FLUSH_PERSISTENT, PANE_FLUSH_RANGE, 0);
	check_flush(64, PANE_FLUSH_GLOBAL | PANE_FLUSH_PERSISTENT,
		    PANE_FLUSH_MR, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		check_flush(64, types[i], PANE_FLUSH_RANGE, WRONG(RESERVED));
	for (i = 0; i < ARRAY_SIZE(levels); i++)
		check_flush(64, PANE_FLUSH_GLOBAL, levels[i], WRONG(RESERVED));
	end_qp();
}

/* Operations that not every kernel has for a device */
static void test_capabilities(void)
{
	static const u64 sets[] = {
		0, IB_DEVICE_FLUSH_GLOBAL, IB_DEVICE_ATOMIC_WRITE,
		~(IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE), ~0ULL,
	};
	struct unit_rng rng = { unit_seed() };
	u32 i, op;

	make_qp(IB_QPT_RC, 0);
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		set_capabilities(sets[i]);
		for (op = 0; op < PANE_WR_USER_MAX; op++) {
			fill_good(slot(qp.sq.prod), &rng, op);
			CHECK_EQ(check_next(),
				 needed_capability(&rules[op]) & ~sets[i] ?
				 WRONG(OPCODE) : 0);
		}
	}
	end_qp();
}

static void test_datagram_lengths(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 length;

	make_qp(IB_QPT_UD, 0);
	for (length = 1020; length < 1030; length++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);

		fill_good(u, &rng, PANE_WR_SEND);
		u->num_sge = 1;
		u->sge[0].length = length;
		CHECK_EQ(check_next(), length > 1024 ? WRONG(LENGTH) : 0);
	}
	end_qp();
}

/* Members that are to be 0, by their place behind @ex */
static const struct {
	enum ib_qp_type type;
	u8 op;
	u8 from;
	u8 to;
} reserved[] = {
	{ IB_QPT_RC, PANE_WR_SEND, 16, 32 },
	{ IB_QPT_RC, PANE_WR_WRITE, 16, 32 },
	{ IB_QPT_RC, PANE_WR_READ, 16, 32 },
	{ IB_QPT_RC, PANE_WR_LOCAL_INV, 0, 32 },
	{ IB_QPT_RC, PANE_WR_FLUSH, 20, 32 },
	{ IB_QPT_RC, PANE_WR_ATOMIC_WRITE, 16, 32 },
	{ IB_QPT_UD, PANE_WR_SEND, 12, 32 },
	{ IB_QPT_UD, PANE_WR_SEND_IMM, 12, 32 },
};

static void test_reserved(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 i, byte;

	for (i = 0; i < ARRAY_SIZE(reserved); i++) {
		make_qp(reserved[i].type, 0);
		for (byte = reserved[i].from; byte < reserved[i].to; byte++) {
			struct pane_sq_wqe *u = slot(qp.sq.prod);

			fill_good(u, &rng, reserved[i].op);
			((u8 *)&u->rdma)[byte] = 0x80;
			if (!CHECK_EQ(fetch_one()->state, PANE_SWQE_FAILED))
				unit_note("opcode %u, byte %u\n",
					  reserved[i].op, byte);
		}
		end_qp();
	}
}

static void check_random(enum ib_qp_type type)
{
	struct unit_rng rng = { unit_seed() };
	u32 i, good = 0;

	make_qp(type, U32_MAX - 1000);
	for (i = 0; i < 200000; i++) {
		struct pane_sq_wqe *u = slot(qp.sq.prod);
		u64 tame = unit_random(&rng);

		unit_fill(&rng, u, STRIDE);
		/* most of it in a range where something can be right */
		if (tame % 8)
			fill_good(u, &rng, tame / 8 % PANE_WR_USER_MAX);
		if (tame & 0x100)
			u->flags = unit_random(&rng) & 0x1f;
		if (tame & 0x200)
			u->num_sge = unit_below(&rng, MAX_SGE + 2);
		if ((tame & 0xc00) == 0xc00)
			u->sge[unit_below(&rng, MAX_SGE)].length =
				unit_random(&rng) >> unit_below(&rng, 32);
		if (u->flags & INL)
			u->rdma.inline_len = unit_below(&rng, MAX_INLINE + 9);
		else if (!(tame >> 12 & 15))
			u->rdma.inline_len = 1;
		good += !check_next();
	}
	/* or the test shows one side only */
	CHECK(good > i / 20 && good < i - i / 20);
	end_qp();
}

static void test_random_rc(void)
{
	check_random(IB_QPT_RC);
}

static void test_random_ud(void)
{
	check_random(IB_QPT_UD);
}

static const struct unit_test tests[] = {
	{ "table of operations", test_table },
	{ "good requests, RC", test_good_rc },
	{ "good requests, UC", test_good_uc },
	{ "good requests, UD", test_good_ud },
	{ "good requests, XRC", test_good_xrc },
	{ "opcodes that are none", test_opcodes },
	{ "operations that the device lacks", test_capabilities },
	{ "flags", test_flags },
	{ "number of elements", test_elements },
	{ "inline data", test_inline },
	{ "message length", test_lengths },
	{ "length of atomics", test_atomic_lengths },
	{ "length of atomic writes", test_word_lengths },
	{ "flushes", test_flush },
	{ "length of datagrams", test_datagram_lengths },
	{ "reserved members", test_reserved },
	{ "random slots, RC", test_random_rc },
	{ "random slots, UD", test_random_ud },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
