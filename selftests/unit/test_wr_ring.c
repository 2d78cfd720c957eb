// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ring that send requests come out of: its indices, what happens when it
 * changes while the kernel reads it; and what becomes of the requests that send
 * nothing.
 */
#include <pthread.h>

#include <linux/kernel.h>
#include <linux/string.h>

#include "shim/shim.h"
#include "wr_stage.h"

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
		make_inline(u, good_inline(op, rng));
	memcpy(&was, u, sizeof(was));
	shim_at_barrier = scribble_now;
	w = fetch_one();
	shim_at_barrier = NULL;

	CHECK_EQ(w->op, op);
	CHECK_EQ(w->flags, was.flags);
	CHECK_EQ(w->num_sge, was.num_sge);
	check_copied_op(w, &was);
	if (is_inline)
		CHECK_EQ(w->length, was.rdma.inline_len);
	else if (op == PANE_WR_FLUSH)
		CHECK_EQ(w->length, flush_length(&was));
	else if (has_data(&rules[op]))
		CHECK_EQ(w->length, sge_length(w->sge, w->num_sge));
	/* the list that came later may be one that the operation cannot have */
	CHECK_EQ(w->state, op == PANE_WR_ATOMIC_WRITE && w->length != 8 ?
		 PANE_SWQE_FAILED : PANE_SWQE_POSTED);
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
		PANE_WR_FLUSH, PANE_WR_ATOMIC_WRITE, PANE_WR_BIND_MW1, 255,
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
		WRITE_ONCE(u->flush.type, dice >> 17 & 1);
		WRITE_ONCE(u->flush.level, dice >> 18 & 1);
		WRITE_ONCE(u->flush.reserved, dice >> 19 & 1);
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
	CHECK(w->num_sge <= (!has_data(r) || w->flags & INL ? 0 : MAX_SGE));
	if (w->op == PANE_WR_FLUSH)
		CHECK_EQ(w->rdma.feth & ~0x10, 1);
	else if (w->flags & INL)
		CHECK(w->length <= MAX_INLINE);
	else
		CHECK_EQ(w->length, sge_length(w->sge, w->num_sge));
	CHECK(w->length <= (qp.type == IB_QPT_UD ? 1U << MTU_SHIFT :
						    1U << 31));
	CHECK(!is_atomic(r) || w->length >= 8);
	CHECK(w->op != PANE_WR_ATOMIC_WRITE || w->length == 8);
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
