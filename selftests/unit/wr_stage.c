// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/kernel.h>
#include <linux/string.h>

#include "mr.h"
#include "mw.h"
#include "wr_stage.h"

/* ---- what wr.c calls --------------------------------------------------- */

struct wr_calls calls;

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

struct pane_stats stats;
static struct pane_dev dev = { .stats = &stats };
struct pane_qp qp;

/* Everything has the size that may be touched and no more: ASan watches. */
static void *new_memory(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		ksft_exit_fail_msg("no memory\n");
	return p;
}

void set_capabilities(u64 caps)
{
	dev.ibdev.attrs.device_cap_flags = caps;
}

void make_qp_of(enum ib_qp_type type, u32 index, u32 slots)
{
	memset(&stats, 0, sizeof(stats));
	set_capabilities(~0ULL);
	qp = (struct pane_qp) {
		.dev = &dev,
		.stats = &stats,
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

void make_qp(enum ib_qp_type type, u32 index)
{
	make_qp_of(type, index, SLOTS);
}

void end_qp(void)
{
	free(qp.ctl);
	free(qp.sq.wqes);
	free((void *)qp.sq.ring);
}

struct pane_sq_wqe *slot(u32 index)
{
	return (void *)qp.sq.ring + (index & qp.sq.mask) * STRIDE;
}

/*
 * Fetch one request, and have it completed at once. In its place there is
 * something left of another.
 */
struct pane_swqe *fetch_one(void)
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

const struct rule rules[PANE_WR_MAX] = {
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
	{ PANE_WR_FLUSH, RC, SIG | FEN, IB_WC_FLUSH,
	  0x1c, 0x1c, 0x1c },
	{ PANE_WR_ATOMIC_WRITE, RC, SIG | SOL | FEN | INL, IB_WC_ATOMIC_WRITE,
	  0x1d, 0x1d, 0x1d },
	{ PANE_WR_BIND_MW1, RC | UC, SIG | FEN, IB_WC_BIND_MW,
	  0xff, 0xff, 0xff },
	{ PANE_WR_REG_MR, RC | UC, SIG | FEN, IB_WC_REG_MR,
	  0xff, 0xff, 0xff },
};

const struct rule *rule_of(u8 op)
{
	return op < PANE_WR_USER_MAX ? &rules[op] : NULL;
}

bool is_local(const struct rule *r)
{
	return r->only == 0xff;
}

bool is_atomic(const struct rule *r)
{
	return r->op == PANE_WR_CMP_SWAP || r->op == PANE_WR_FETCH_ADD;
}

/* A FLUSH has a length, but nothing of that length */
bool has_data(const struct rule *r)
{
	return !is_local(r) && r->op != PANE_WR_FLUSH;
}

/* What the device has to be capable of */
u64 needed_capability(const struct rule *r)
{
	switch (r->op) {
	case PANE_WR_FLUSH:
		return IB_DEVICE_FLUSH_GLOBAL;
	case PANE_WR_ATOMIC_WRITE:
		return IB_DEVICE_ATOMIC_WRITE;
	default:
		return 0;
	}
}

u64 sge_length(const struct pane_sge *sge, u32 num)
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

static u32 wrong_length(const struct rule *r, const struct pane_sq_wqe *u)
{
	u64 length = u->flags & INL ? u->rdma.inline_len :
				      sge_length(u->sge, u->num_sge);

	if (r->op == PANE_WR_FLUSH)
		return u->flush.level == PANE_FLUSH_RANGE &&
		       u->flush.length > 1U << 31 ? WRONG(LENGTH) : 0;
	if (length > (u->flags & INL ? MAX_INLINE : 1U << 31))
		return WRONG(LENGTH);
	if (qp.type == IB_QPT_UD && length > 1 << MTU_SHIFT)
		return WRONG(LENGTH);
	if (is_atomic(r) && length < 8)
		return WRONG(LENGTH);
	if (r->op == PANE_WR_ATOMIC_WRITE && length != 8)
		return WRONG(LENGTH);
	return 0;
}

static u32 wrong_data(const struct rule *r, const struct pane_sq_wqe *u)
{
	u32 most = !has_data(r) || u->flags & INL ? 0 : MAX_SGE;

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
	if (r->op == PANE_WR_FLUSH)
		return u->flush.type >= 1 && u->flush.type <= 3 &&
		       u->flush.level < 2 && !u->flush.reserved ?
		       0 : WRONG(RESERVED);
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

	if (!r || !(r->types & BIT(qp.type)) ||
	    needed_capability(r) & ~dev.ibdev.attrs.device_cap_flags)
		return WRONG(OPCODE);
	return (u->flags & ~r->flags ? WRONG(FLAGS) : 0) |
	       wrong_reserved(r, u) | wrong_data(r, u);
}

/* ---- requests that are good -------------------------------------------- */

static void clear_reserved(struct pane_sq_wqe *u)
{
	u->rdma.inline_len = 0;
	memset(u->rdma.reserved, 0, sizeof(u->rdma.reserved));
}

/* Eight bytes, in more than one element */
static void set_word(struct pane_sq_wqe *u)
{
	static const u32 lengths[MAX_SGE] = { 3, 0, 5, 0 };
	u32 i;

	for (i = 0; i < MAX_SGE; i++)
		u->sge[i].length = lengths[i];
	clear_reserved(u);
}

static void set_flush(struct pane_sq_wqe *u)
{
	u->flush.length %= (1U << 31) + 1;
	u->flush.type = PANE_FLUSH_GLOBAL;
	u->flush.level %= 2;
	u->flush.reserved = 0;
}

/* A request of nothing but random numbers where any value is allowed */
void fill_good(struct pane_sq_wqe *u, struct unit_rng *rng, u8 op)
{
	u32 i;

	unit_fill(rng, u, STRIDE);
	u->opcode = op;
	u->flags &= rules[op].flags & ~INL;
	u->num_sge = has_data(&rules[op]) ? MAX_SGE : 0;
	for (i = 0; i < MAX_SGE; i++)
		u->sge[i].length %= (1 << MTU_SHIFT) / MAX_SGE;
	if (is_atomic(&rules[op]))
		u->sge[0].length = 8;
	else if (op == PANE_WR_FLUSH)
		set_flush(u);
	else if (op == PANE_WR_ATOMIC_WRITE)
		set_word(u);
	else if (op == PANE_WR_LOCAL_INV)
		memset(&u->rdma, 0, sizeof(u->rdma));
	else if (op != PANE_WR_BIND_MW)
		clear_reserved(u);
	if (qp.type == IB_QPT_UD)
		u->ud.reserved0 = 0;
}

void make_inline(struct pane_sq_wqe *u, u32 length)
{
	u->flags |= INL;
	u->num_sge = 0;
	u->rdma.inline_len = length;
}

/* A length of inline data that the operation may have */
u32 good_inline(u8 op, struct unit_rng *rng)
{
	return op == PANE_WR_ATOMIC_WRITE ? 8 : unit_below(rng, MAX_INLINE + 1);
}

/* ---- checks of the kernel's copy --------------------------------------- */

static void check_refused(const struct pane_swqe *w, u32 wrong)
{
	CHECK_EQ(w->state, PANE_SWQE_FAILED);
	if (CHECK(w->vendor_err >= PANE_VERR_WQE_OPCODE &&
		  w->vendor_err <= PANE_VERR_WQE_RESERVED))
		CHECK(wrong & BIT(w->vendor_err - PANE_VERR_WQE_OPCODE));
	CHECK_EQ(w->status, w->vendor_err == PANE_VERR_WQE_LENGTH ?
		 IB_WC_LOC_LEN_ERR : IB_WC_LOC_QP_OP_ERR);
	CHECK(w->op < PANE_WR_USER_MAX);
}

static void check_copied_data(const struct pane_swqe *w,
			      const struct pane_sq_wqe *u)
{
	if (u->opcode == PANE_WR_FLUSH) {
		CHECK_EQ(w->length, flush_length(u));
	} else if (u->flags & INL) {
		CHECK_EQ(w->length, u->rdma.inline_len);
		CHECK(!memcmp(w->sge, u->sge, w->length));
	} else {
		CHECK_EQ(w->length, sge_length(u->sge, u->num_sge));
		CHECK(!memcmp(w->sge, u->sge, u->num_sge * sizeof(*u->sge)));
	}
}

void check_copied_op(const struct pane_swqe *w, const struct pane_sq_wqe *u)
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
	} else if (u->opcode == PANE_WR_FLUSH) {
		CHECK_EQ(w->rdma.va, u->flush.remote_addr);
		CHECK_EQ(w->rdma.rkey, u->flush.rkey);
		CHECK_EQ(w->rdma.srqn, u->flush.srqn & 0xffffff);
		/* as it goes into the packet */
		CHECK_EQ(w->rdma.feth, u->flush.type | u->flush.level << 4);
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
u32 check_next(void)
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
