/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of send requests share: a QP that is a send queue and nothing
 * else, the rules of pane-abi.h written down once more, and the comparison of
 * the kernel's copy of a request with them.
 */
#ifndef PANE_WR_STAGE_H
#define PANE_WR_STAGE_H

#include "pane.h"
#include "unit.h"
#include "wr.h"

#define SLOTS		8
#define MAX_SGE		4
#define MAX_INLINE	100
#define MTU_SHIFT	10
#define DATA_SIZE	ALIGN(MAX_INLINE, 8)
#define STRIDE		(sizeof(struct pane_sq_wqe) + DATA_SIZE)
#define SWQE_STRIDE	(sizeof(struct pane_swqe) + DATA_SIZE)

/* XRC sends as RC does. */
#define RC	(BIT(IB_QPT_RC) | BIT(IB_QPT_XRC_INI))
#define UC	BIT(IB_QPT_UC)
#define UD	BIT(IB_QPT_UD)
#define ALL	(RC | UC | UD)

#define SIG	PANE_WR_SIGNALED
#define SOL	PANE_WR_SOLICITED
#define FEN	PANE_WR_FENCE
#define INL	PANE_WR_INLINE

/**
 * struct wr_calls - what wr.c called, and what it was told
 * @bind1: pane_mw_bind_type1()
 * @bind2: pane_mw_bind_type2()
 * @invalidate: pane_key_invalidate()
 * @reg: pane_mr_fast_reg()
 * @unreserve: pane_mw_unreserve_key()
 * @key: the last one named
 * @result: the answer to all
 */
struct wr_calls {
	unsigned int bind1;
	unsigned int bind2;
	unsigned int invalidate;
	unsigned int reg;
	unsigned int unreserve;
	u32 key;
	int result;
};

/**
 * struct rule - an operation
 * @op: of it
 * @types: of QPs that have it
 * @flags: that it may carry
 * @wc: IB_WC_ of its completion
 * @first: opcode of the first packet; 0xff for operations that send none
 * @last: of the last
 * @only: of the only one
 */
struct rule {
	u8 op;
	u32 types;
	u32 flags;
	u8 wc;
	u8 first, last, only;
};

extern struct wr_calls calls;
extern struct pane_stats stats;
extern struct pane_qp qp;

/* The kernel's own operations stand at the end. */
extern const struct rule rules[PANE_WR_MAX];

/* Bit n is set when the request may be refused with PANE_VERR_WQE_OPCODE + n */
#define WRONG(verr) BIT(PANE_VERR_WQE_##verr - PANE_VERR_WQE_OPCODE)

void make_qp_of(enum ib_qp_type type, u32 index, u32 slots);
void make_qp(enum ib_qp_type type, u32 index);
void end_qp(void);
void set_capabilities(u64 caps);
struct pane_sq_wqe *slot(u32 index);
struct pane_swqe *fetch_one(void);

const struct rule *rule_of(u8 op);
bool is_local(const struct rule *r);
bool is_atomic(const struct rule *r);
bool has_data(const struct rule *r);
u64 needed_capability(const struct rule *r);
u64 sge_length(const struct pane_sge *sge, u32 num);

void fill_good(struct pane_sq_wqe *u, struct unit_rng *rng, u8 op);
void make_inline(struct pane_sq_wqe *u, u32 length);
u32 good_inline(u8 op, struct unit_rng *rng);

void check_copied_op(const struct pane_swqe *w, const struct pane_sq_wqe *u);
u32 check_next(void);

/* That of all of a region means nothing */
static inline u32 flush_length(const struct pane_sq_wqe *u)
{
	return u->flush.level == PANE_FLUSH_MR ? 0 : u->flush.length;
}

#endif
