// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send requests out of a ring that a hostile user may write: what is accepted,
 * what the kernel's copy then holds, and why the rest is refused. The rules are
 * those of pane-abi.h.
 */
#include <pthread.h>

#include <linux/kernel.h>
#include <linux/string.h>

#include "mr.h"
#include "mw.h"
#include "pane.h"
#include "shim/shim.h"
#include "unit.h"
#include "wr.h"

#define SLOTS		8
#define MAX_SGE		4
#define MAX_INLINE	100
#define MTU_SHIFT	10
#define DATA_SIZE	ALIGN(MAX_INLINE, 8)
#define STRIDE		(sizeof(struct pane_sq_wqe) + DATA_SIZE)
#define SWQE_STRIDE	(sizeof(struct pane_swqe) + DATA_SIZE)

/* ---- what wr.c calls --------------------------------------------------- */

static struct {
	unsigned int bind1;
	unsigned int bind2;
	unsigned int invalidate;
	unsigned int reg;
	unsigned int unreserve;
	u32 key;
	int result;
} calls;

enum pane_vendor_err pane_mw_bind_type1(struct pane_qp *qp,
					const struct pane_bind *b)
{
	calls.bind1++;
	return calls.result;
}

enum pane_vendor_err pane_mw_bind_type2(struct pane_qp *qp,
					const struct pane_bind *b)
{
	calls.bind2++;
	return calls.result;
}

enum pane_vendor_err pane_key_invalidate(struct pane_qp *qp, u32 key)
{
	calls.invalidate++;
	calls.key = key;
	return calls.result;
}

int pane_mr_fast_reg(struct pane_qp *qp, struct pane_mr *mr, u32 key,
		     int access)
{
	calls.reg++;
	calls.key = key;
	return calls.result;
}

void pane_mw_unreserve_key(struct pane_dev *dev, const struct pane_bind *b)
{
	calls.unreserve++;
}

/* ---- a QP with no more than the send queue ----------------------------- */

static struct pane_stats stats;
static struct pane_dev dev = { .stats = &stats };
static struct pane_qp qp;

/* Everything has the size that may be touched and no more: ASan watches. */
static void *new_memory(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		ksft_exit_fail_msg("no memory\n");
	return p;
}

static void make_qp_of(enum ib_qp_type type, u32 index, u32 slots)
{
	memset(&stats, 0, sizeof(stats));
	qp = (struct pane_qp) {
		.dev = &dev,
		.type = type,
		.user = true,
		.mtu_shift = MTU_SHIFT,
		.ctl = new_memory(sizeof(*qp.ctl)),
		.sq = {
			.wqes = new_memory(slots * SWQE_STRIDE),
			.stride = SWQE_STRIDE,
			.mask = slots - 1,
			.max_sge = MAX_SGE,
			.max_inline = MAX_INLINE,
			.ring = new_memory(slots * STRIDE),
			.ring_stride = STRIDE,
			.prod = index,
			.cur = index,
			.cons = index,
		},
	};
	qp.ctl->sq_prod = index;
}

static void make_qp(enum ib_qp_type type, u32 index)
{
	make_qp_of(type, index, SLOTS);
}

static void end_qp(void)
{
	free(qp.ctl);
	free(qp.sq.wqes);
	free((void *)qp.sq.ring);
}

static struct pane_sq_wqe *slot(u32 index)
{
	return (void *)qp.sq.ring + (index & qp.sq.mask) * STRIDE;
}

/*
 * Fetch one request, and have it completed at once. In its place there is
 * something left of another.
 */
static struct pane_swqe *fetch_one(void)
{
	u32 index = qp.sq.prod;
	struct pane_swqe *w = pane_swqe(&qp.sq, index);

	memset(w, 0x99, SWQE_STRIDE);
	w->in_flight = true;
	qp.ctl->sq_prod++;
	CHECK(pane_wr_fetch(&qp));
	CHECK_EQ(qp.sq.prod, index + 1);
	qp.sq.cons = qp.sq.prod;
	return w;
}

/* ---- the rules, written down once more --------------------------------- */

/* XRC sends as RC does. */
#define RC	(BIT(IB_QPT_RC) | BIT(IB_QPT_XRC_INI))
#define UC	BIT(IB_QPT_UC)
#define UD	BIT(IB_QPT_UD)
#define ALL	(RC | UC | UD)

#define SIG	PANE_WR_SIGNALED
#define SOL	PANE_WR_SOLICITED
#define FEN	PANE_WR_FENCE
#define INL	PANE_WR_INLINE

/*
 * first, last, only: opcodes of packets; 0xff for operations that send none.
 * The kernel's own operations stand at the end.
 */
static const struct rule {
	u8 op;
	u32 types;
	u32 flags;
	u8 wc;
	u8 first, last, only;
} rules[] = {
	{ PANE_WR_SEND, ALL, SIG | SOL | FEN | INL, IB_WC_SEND,
	  0x00, 0x02, 0x04 },
	{ PANE_WR_SEND_IMM, ALL, SIG | SOL | FEN | INL, IB_WC_SEND,
	  0x00, 0x03, 0x05 },
	{ PANE_WR_SEND_INV, RC, SIG | SOL | FEN | INL, IB_WC_SEND,
	  0x00, 0x16, 0x17 },
	{ PANE_WR_WRITE, RC | UC, SIG | SOL | FEN | INL, IB_WC_RDMA_WRITE,
	  0x06, 0x08, 0x0a },
	{ PANE_WR_WRITE_IMM, RC | UC, SIG | SOL | FEN | INL, IB_WC_RDMA_WRITE,
	  0x06, 0x09, 0x0b },
	{ PANE_WR_READ, RC, SIG | SOL | FEN, IB_WC_RDMA_READ,
	  0x0c, 0x0c, 0x0c },
	{ PANE_WR_CMP_SWAP, RC, SIG | SOL | FEN, IB_WC_COMP_SWAP,
	  0x13, 0x13, 0x13 },
	{ PANE_WR_FETCH_ADD, RC, SIG | SOL | FEN, IB_WC_FETCH_ADD,
	  0x14, 0x14, 0x14 },
	{ PANE_WR_BIND_MW, RC | UC, SIG | FEN, IB_WC_BIND_MW,
	  0xff, 0xff, 0xff },
	{ PANE_WR_LOCAL_INV, RC | UC, SIG | FEN, IB_WC_LOCAL_INV,
	  0xff, 0xff, 0xff },
	{ PANE_WR_BIND_MW1, RC | UC, SIG | FEN, IB_WC_BIND_MW,
	  0xff, 0xff, 0xff },
	{ PANE_WR_REG_MR, RC | UC, SIG | FEN, IB_WC_REG_MR,
	  0xff, 0xff, 0xff },
};

static const struct rule *rule_of(u8 op)
{
	return op < PANE_WR_USER_MAX ? &rules[op] : NULL;
}

static bool is_local(const struct rule *r)
{
	return r->only == 0xff;
}

static bool is_atomic(const struct rule *r)
{
	return r->op == PANE_WR_CMP_SWAP || r->op == PANE_WR_FETCH_ADD;
}

static u64 sge_length(const struct pane_sge *sge, u32 num)
{
	u64 length = 0;

	while (num--)
		length += sge[num].length;
	return length;
}

static bool all_zero(const void *p, size_t size)
{
	return !memchr_inv(p, 0, size);
}

/* Bit n is set when the request may be refused with PANE_VERR_WQE_OPCODE + n */
#define WRONG(verr) BIT(PANE_VERR_WQE_##verr - PANE_VERR_WQE_OPCODE)

static u32 wrong_length(const struct rule *r, const struct pane_sq_wqe *u)
{
	u64 length = u->flags & INL ? u->rdma.inline_len :
				      sge_length(u->sge, u->num_sge);

	if (length > (u->flags & INL ? MAX_INLINE : 1U << 31))
		return WRONG(LENGTH);
	if (qp.type == IB_QPT_UD && length > 1 << MTU_SHIFT)
		return WRONG(LENGTH);
	if (is_atomic(r) && length < 8)
		return WRONG(LENGTH);
	return 0;
}

static u32 wrong_data(const struct rule *r, const struct pane_sq_wqe *u)
{
	u32 most = is_local(r) || u->flags & INL ? 0 : MAX_SGE;

	if (u->num_sge > most)
		return WRONG(SGE);
	return is_local(r) ? 0 : wrong_length(r, u);
}

static u32 wrong_reserved(const struct rule *r, const struct pane_sq_wqe *u)
{
	if (is_atomic(r) || r->op == PANE_WR_BIND_MW)
		return 0;
	if (r->op == PANE_WR_LOCAL_INV)
		return all_zero(&u->rdma, sizeof(u->rdma)) ? 0 :
							     WRONG(RESERVED);
	if (qp.type == IB_QPT_UD && u->ud.reserved0)
		return WRONG(RESERVED);
	if (!(u->flags & INL) && u->rdma.inline_len)
		return WRONG(RESERVED);
	return all_zero(u->rdma.reserved, sizeof(u->rdma.reserved)) ?
	       0 : WRONG(RESERVED);
}

/* All that is wrong with a request; 0 if it is good */
static u32 wrong(const struct pane_sq_wqe *u)
{
	const struct rule *r = rule_of(u->opcode);

	if (!r || !(r->types & BIT(qp.type)))
		return WRONG(OPCODE);
	return (u->flags & ~r->flags ? WRONG(FLAGS) : 0) |
	       wrong_reserved(r, u) | wrong_data(r, u);
}

/* ---- checks of the kernel's copy --------------------------------------- */

static void check_refused(const struct pane_swqe *w, u32 wrong)
{
	CHECK_EQ(w->state, PANE_SWQE_FAILED);
	CHECK(w->vendor_err >= PANE_VERR_WQE_OPCODE &&
	      w->vendor_err <= PANE_VERR_WQE_RESERVED);
	CHECK(wrong & BIT(w->vendor_err - PANE_VERR_WQE_OPCODE));
	CHECK_EQ(w->status, w->vendor_err == PANE_VERR_WQE_LENGTH ?
		 IB_WC_LOC_LEN_ERR : IB_WC_LOC_QP_OP_ERR);
	CHECK(w->op < PANE_WR_USER_MAX);
}

static void check_copied_data(const struct pane_swqe *w,
			      const struct pane_sq_wqe *u)
{
	if (u->flags & INL) {
		CHECK_EQ(w->length, u->rdma.inline_len);
		CHECK(!memcmp(w->sge, u->sge, w->length));
	} else {
		CHECK_EQ(w->length, sge_length(u->sge, u->num_sge));
		CHECK(!memcmp(w->sge, u->sge, u->num_sge * sizeof(*u->sge)));
	}
}

static void check_copied_op(const struct pane_swqe *w,
			    const struct pane_sq_wqe *u)
{
	const struct rule *r = rule_of(u->opcode);

	if (u->opcode == PANE_WR_BIND_MW) {
		CHECK_EQ(w->bind.addr, u->bind.addr);
		CHECK_EQ(w->bind.length, u->bind.length);
		CHECK_EQ(w->bind.mw_rkey, u->bind.mw_rkey);
		CHECK_EQ(w->bind.new_rkey, u->bind.rkey);
		CHECK_EQ(w->bind.lkey, u->bind.lkey);
		CHECK_EQ(w->bind.access, u->bind.access);
	} else if (is_atomic(r)) {
		CHECK_EQ(w->rdma.va, u->atomic.remote_addr);
		CHECK_EQ(w->rdma.rkey, u->atomic.rkey);
		CHECK_EQ(w->rdma.srqn, u->atomic.srqn & 0xffffff);
		CHECK_EQ(w->rdma.compare_add, u->atomic.compare_add);
		CHECK_EQ(w->rdma.swap, u->atomic.swap);
	} else if (qp.type == IB_QPT_UD) {
		CHECK_EQ(w->ud.ah, u->ud.ah);
		CHECK_EQ(w->ud.qpn, u->ud.remote_qpn & 0xffffff);
		CHECK_EQ(w->ud.qkey, u->ud.remote_qkey);
	} else if (!is_local(r)) {
		CHECK_EQ(w->rdma.va, u->rdma.remote_addr);
		CHECK_EQ(w->rdma.rkey, u->rdma.rkey);
		CHECK_EQ(w->rdma.srqn, u->rdma.srqn & 0xffffff);
	}
}

static void check_accepted(const struct pane_swqe *w,
			   const struct pane_sq_wqe *u)
{
	CHECK_EQ(w->state, PANE_SWQE_POSTED);
	/* nothing of a request that was in this place before */
	CHECK_EQ(w->vendor_err, PANE_VERR_NONE);
	CHECK_EQ(w->op, u->opcode);
	CHECK_EQ(w->flags, u->flags);
	CHECK_EQ(w->num_sge, u->num_sge);
	CHECK(!w->in_flight && !w->num_pkts);
	check_copied_op(w, u);
	if (!is_local(rule_of(u->opcode)))
		check_copied_data(w, u);
}

/* Fetch what is in the next slot, and compare what comes with the rules. */
static u32 check_next(void)
{
	const struct pane_sq_wqe *u = slot(qp.sq.prod);
	u64 refused = stats.c[PANE_CNT_wqe_err];
	const struct pane_swqe *w = fetch_one();
	u32 bad = wrong(u);

	CHECK_EQ(w->wr_id, u->wr_id);
	CHECK_EQ(w->ex, u->ex);
	CHECK_EQ(stats.c[PANE_CNT_wqe_err], refused + !!bad);
	if (bad)
		check_refused(w, bad);
	else
		check_accepted(w, u);
	return bad;
}

/* ---- tests ------------------------------------------------------------- */

static void test_table(void)
{
	u32 op;

	CHECK_EQ(ARRAY_SIZE(rules), PANE_WR_MAX);
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

static void clear_reserved(struct pane_sq_wqe *u)
{
	u->rdma.inline_len = 0;
	memset(u->rdma.reserved, 0, sizeof(u->rdma.reserved));
}

/* A request of nothing but random numbers where any value is allowed */
static void fill_good(struct pane_sq_wqe *u, struct unit_rng *rng, u8 op)
{
	u32 i;

	unit_fill(rng, u, STRIDE);
	u->opcode = op;
	u->flags &= rules[op].flags & ~INL;
	u->num_sge = is_local(&rules[op]) ? 0 : MAX_SGE;
	for (i = 0; i < MAX_SGE; i++)
		u->sge[i].length %= (1 << MTU_SHIFT) / MAX_SGE;
	if (is_atomic(&rules[op]))
		u->sge[0].length = 8;
	else if (op == PANE_WR_LOCAL_INV)
		memset(&u->rdma, 0, sizeof(u->rdma));
	else if (op != PANE_WR_BIND_MW)
		clear_reserved(u);
	if (qp.type == IB_QPT_UD)
		u->ud.reserved0 = 0;
}

static void make_inline(struct pane_sq_wqe *u, u32 length)
{
	u->flags |= INL;
	u->num_sge = 0;
	u->rdma.inline_len = length;
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
				make_inline(u, unit_below(&rng, MAX_INLINE + 1));
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
			if (num > (is_local(&rules[op]) ? 0 : MAX_SGE))
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

/* ---- indices ----------------------------------------------------------- */

/* A number that the ring cannot hold is none. */
static void test_nonsense_count(void)
{
	static const u32 ahead[] = {
		SLOTS + 1, SLOTS + 2, 1U << 31, U32_MAX, U32_MAX - 7,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		make_qp(IB_QPT_RC, 3);
		qp.ctl->sq_prod = 3 + ahead[i];
		CHECK(!pane_wr_fetch(&qp));
		CHECK_EQ(qp.sq.prod, 3);
		CHECK_EQ(stats.c[PANE_CNT_wqe_err], 0);
		qp.ctl->sq_prod = 4;
		CHECK(pane_wr_fetch(&qp));
		CHECK_EQ(qp.sq.prod, 4);
		end_qp();
	}
}

static void test_nothing(void)
{
	make_qp(IB_QPT_RC, 3);
	CHECK(!pane_wr_fetch(&qp));
	free((void *)qp.sq.ring);
	/* a kernel user has no ring */
	qp.sq.ring = NULL;
	qp.ctl->sq_prod = 5;
	CHECK(!pane_wr_fetch(&qp));
	CHECK_EQ(qp.sq.prod, 3);
	end_qp();
}

/* Requests that have not completed are not written over. */
static void test_room(void)
{
	struct unit_rng rng = { unit_seed() };
	u32 i;

	make_qp(IB_QPT_RC, U32_MAX - 2);
	for (i = 0; i < SLOTS; i++) {
		fill_good(slot(qp.sq.prod + i), &rng, PANE_WR_SEND);
		slot(qp.sq.prod + i)->wr_id = i;
	}
	qp.ctl->sq_prod += SLOTS;
	CHECK(pane_wr_fetch(&qp));
	CHECK_EQ(qp.sq.prod, qp.sq.cons + SLOTS);

	/* the user did not wait for them */
	qp.ctl->sq_prod += SLOTS;
	CHECK(!pane_wr_fetch(&qp));
	for (i = 0; i < SLOTS; i++)
		CHECK_EQ(pane_swqe(&qp.sq, qp.sq.cons + i)->wr_id, i);
	qp.sq.cons += 3;
	CHECK(pane_wr_fetch(&qp));
	CHECK_EQ(qp.sq.prod, qp.sq.cons + SLOTS);
	CHECK(!pane_wr_fetch(&qp));
	end_qp();
}

static void check_many(u32 num)
{
	struct unit_rng rng = { unit_seed() };
	const u32 start = -100;
	u32 i, before;

	make_qp_of(IB_QPT_RC, start, 1024);
	for (i = 0; i < num; i++) {
		fill_good(slot(start + i), &rng, PANE_WR_SEND);
		slot(start + i)->wr_id = i;
	}
	qp.ctl->sq_prod += num;
	do {
		before = qp.sq.prod;
	} while (pane_wr_fetch(&qp) && CHECK(qp.sq.prod != before));
	CHECK_EQ(qp.sq.prod, start + num);
	for (i = 0; i < num; i++)
		CHECK_EQ(pane_swqe(&qp.sq, start + i)->wr_id, i);
	end_qp();
}

/* They may come in portions; who calls until there are none has had all. */
static void test_many(void)
{
	u32 num;

	for (num = 1; num <= 200; num++)
		check_many(num);
	check_many(1024);
}

/* ---- a ring that changes meanwhile ------------------------------------- */

static struct unit_rng scribble_rng;

/* Between two steps of the copy the whole ring becomes something else. */
static void scribble_now(void)
{
	u32 i, j;

	for (i = 0; i < SLOTS; i++) {
		struct pane_sq_wqe *u = slot(i);

		u->opcode = PANE_WR_BIND_MW1;
		u->num_sge = 255;
		u->flags = unit_random(&scribble_rng);
		memset(&u->rdma, 0xff, sizeof(u->rdma));
		for (j = 0; j < MAX_SGE; j++)
			u->sge[j].length = unit_random(&scribble_rng) % 100;
	}
}

/* All but the data comes from the slot as it was when it was copied. */
static void check_changed(u8 op, bool is_inline, struct unit_rng *rng)
{
	struct pane_sq_wqe *u = slot(qp.sq.prod), was;
	struct pane_swqe *w;

	fill_good(u, rng, op);
	if (is_inline)
		make_inline(u, MAX_INLINE);
	memcpy(&was, u, sizeof(was));
	shim_at_barrier = scribble_now;
	w = fetch_one();
	shim_at_barrier = NULL;

	CHECK_EQ(w->state, PANE_SWQE_POSTED);
	CHECK_EQ(w->op, op);
	CHECK_EQ(w->flags, was.flags);
	CHECK_EQ(w->num_sge, was.num_sge);
	check_copied_op(w, &was);
	if (is_inline)
		CHECK_EQ(w->length, MAX_INLINE);
	else if (!is_local(&rules[op]))
		CHECK_EQ(w->length, sge_length(w->sge, w->num_sge));
}

static void check_changes(enum ib_qp_type type)
{
	struct unit_rng rng = { unit_seed() };
	u32 op, i;

	make_qp(type, 0);
	for (op = 0; op < PANE_WR_USER_MAX; op++) {
		if (!(rules[op].types & BIT(type)))
			continue;
		for (i = 0; i < 100; i++)
			check_changed(op, i % 2 && rules[op].flags & INL, &rng);
	}
	end_qp();
}

static void test_change(void)
{
	scribble_rng.state = unit_seed() + 2;
	check_changes(IB_QPT_RC);
	check_changes(IB_QPT_UD);
}

static bool stop;
static unsigned long scribbled;

/* Turns good requests into bad ones and back, under the reader's eyes */
static void *scribble(void *arg)
{
	static const u8 opcodes[] = {
		PANE_WR_SEND, PANE_WR_CMP_SWAP, PANE_WR_BIND_MW,
		PANE_WR_BIND_MW1, 255,
	};
	static const u32 inline_lens[] = { 0, 8, MAX_INLINE, U32_MAX };
	struct unit_rng rng = { unit_seed() + 1 };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct pane_sq_wqe *u = slot(unit_random(&rng));
		u64 dice = unit_random(&rng);

		WRITE_ONCE(u->opcode, opcodes[dice % ARRAY_SIZE(opcodes)]);
		WRITE_ONCE(u->flags, dice & 0x100 ? INL : 0);
		WRITE_ONCE(u->num_sge, dice & 0x200 ? dice >> 10 & 3 : 255);
		WRITE_ONCE(u->rdma.inline_len, inline_lens[dice >> 12 & 3]);
		WRITE_ONCE(u->ud.remote_qpn, dice >> 32);
		WRITE_ONCE(u->sge[dice >> 14 & 3].length,
			   dice & 0x10000 ? 8 : U32_MAX);
		__atomic_fetch_add(&scribbled, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* What was accepted is right in itself, whatever the slot held and when. */
static void check_consistent(const struct pane_swqe *w)
{
	const struct rule *r = rule_of(w->op);

	CHECK(r);
	if (w->state == PANE_SWQE_FAILED)
		return;
	CHECK_EQ(w->state, PANE_SWQE_POSTED);
	if (!r || !CHECK(r->types & BIT(qp.type)))
		return;
	CHECK(!(w->flags & ~r->flags));
	CHECK(w->num_sge <= (is_local(r) || w->flags & INL ? 0 : MAX_SGE));
	if (w->flags & INL)
		CHECK(w->length <= MAX_INLINE);
	else
		CHECK_EQ(w->length, sge_length(w->sge, w->num_sge));
	CHECK(w->length <= (qp.type == IB_QPT_UD ? 1U << MTU_SHIFT :
						    1U << 31));
	CHECK(!is_atomic(r) || w->length >= 8);
	CHECK(qp.type != IB_QPT_UD || w->ud.qpn <= 0xffffff);
}

static void run_against_scribbler(enum ib_qp_type type)
{
	pthread_t thread;
	u32 i, j;

	make_qp(type, 0);
	stop = false;
	if (pthread_create(&thread, NULL, scribble, NULL))
		ksft_exit_fail_msg("no thread\n");
	scribbled = 0;
	/* until both have done much, or one of them got no time to do it */
	for (i = 0; i < 2000000; i++) {
		if (i > 100000 && READ_ONCE(scribbled) > 500000)
			break;
		qp.ctl->sq_prod += SLOTS;
		CHECK(pane_wr_fetch(&qp));
		for (j = 0; j < SLOTS; j++)
			check_consistent(pane_swqe(&qp.sq, j));
		qp.sq.cons = qp.sq.prod;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	end_qp();
}

static void test_scribbler(void)
{
	run_against_scribbler(IB_QPT_RC);
	run_against_scribbler(IB_QPT_UD);
}

/* ---- local operations -------------------------------------------------- */

static enum ib_wc_status issue(struct pane_swqe *w, u8 op, int result)
{
	memset(&calls, 0, sizeof(calls));
	calls.result = result;
	w->op = op;
	return pane_wr_table[op].issue(&qp, w);
}

/* Each does its own work and no other, and a refusal says which rule it was. */
static void test_issue(void)
{
	struct pane_swqe w = { .ex = 0x1234 };

	CHECK_EQ(issue(&w, PANE_WR_BIND_MW, 0), IB_WC_SUCCESS);
	CHECK_EQ(calls.bind2, 1);
	CHECK_EQ(calls.bind1 + calls.invalidate + calls.reg, 0);
	CHECK_EQ(issue(&w, PANE_WR_BIND_MW1, 0), IB_WC_SUCCESS);
	CHECK_EQ(calls.bind1, 1);
	CHECK_EQ(calls.bind2 + calls.invalidate + calls.reg, 0);
	CHECK_EQ(issue(&w, PANE_WR_LOCAL_INV, 0), IB_WC_SUCCESS);
	CHECK_EQ(calls.invalidate, 1);
	CHECK_EQ(calls.key, 0x1234);
	CHECK_EQ(calls.bind1 + calls.bind2 + calls.reg, 0);

	CHECK_EQ(issue(&w, PANE_WR_BIND_MW, PANE_VERR_BIND_RANGE),
		 IB_WC_MW_BIND_ERR);
	CHECK_EQ(w.vendor_err, PANE_VERR_BIND_RANGE);
	CHECK_EQ(issue(&w, PANE_WR_BIND_MW1, PANE_VERR_BIND_PD),
		 IB_WC_MW_BIND_ERR);
	CHECK_EQ(w.vendor_err, PANE_VERR_BIND_PD);
	CHECK_EQ(issue(&w, PANE_WR_LOCAL_INV, PANE_VERR_INV_QP),
		 IB_WC_MW_BIND_ERR);
	CHECK_EQ(w.vendor_err, PANE_VERR_INV_QP);
}

static void test_issue_reg(void)
{
	struct pane_swqe w = { .reg.key = 0x77 };

	CHECK_EQ(issue(&w, PANE_WR_REG_MR, 0), IB_WC_SUCCESS);
	CHECK_EQ(calls.reg, 1);
	CHECK_EQ(calls.key, 0x77);
	CHECK_EQ(calls.bind1 + calls.bind2 + calls.invalidate, 0);
	CHECK_EQ(issue(&w, PANE_WR_REG_MR, -EINVAL), IB_WC_MW_BIND_ERR);
}

/* The key of a type 1 bind is given back unless the bind took place. */
static void test_discard(void)
{
	struct pane_swqe w = { .op = PANE_WR_BIND_MW1 };
	u32 op;

	memset(&calls, 0, sizeof(calls));
	w.state = PANE_SWQE_DONE;
	pane_wr_discard(&qp, &w);
	CHECK_EQ(calls.unreserve, 0);
	w.state = PANE_SWQE_POSTED;
	pane_wr_discard(&qp, &w);
	CHECK_EQ(calls.unreserve, 1);
	w.state = PANE_SWQE_FAILED;
	pane_wr_discard(&qp, &w);
	CHECK_EQ(calls.unreserve, 2);
	w.state = PANE_SWQE_POSTED;
	for (op = 0; op < PANE_WR_MAX; op++) {
		w.op = op;
		if (op != PANE_WR_BIND_MW1)
			pane_wr_discard(&qp, &w);
	}
	CHECK_EQ(calls.unreserve, 2);
}

static const struct unit_test tests[] = {
	{ "table of operations", test_table },
	{ "good requests, RC", test_good_rc },
	{ "good requests, UC", test_good_uc },
	{ "good requests, UD", test_good_ud },
	{ "good requests, XRC", test_good_xrc },
	{ "opcodes that are none", test_opcodes },
	{ "flags", test_flags },
	{ "number of elements", test_elements },
	{ "inline data", test_inline },
	{ "message length", test_lengths },
	{ "length of atomics", test_atomic_lengths },
	{ "length of datagrams", test_datagram_lengths },
	{ "reserved members", test_reserved },
	{ "random slots, RC", test_random_rc },
	{ "random slots, UD", test_random_ud },
	{ "nonsense counts", test_nonsense_count },
	{ "nothing to fetch", test_nothing },
	{ "room", test_room },
	{ "many requests at once", test_many },
	{ "slots that change between two steps", test_change },
	{ "slots that change at any time", test_scribbler },
	{ "local operations", test_issue },
	{ "fast registration", test_issue_reg },
	{ "keys of requests that are dropped", test_discard },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
