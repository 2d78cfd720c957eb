// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The checks at remote access, A1 to A7, and what a refusal looks like on both
 * sides. In each case the memory is compared: not a byte may have changed.
 */
#include <errno.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_util.h"

/* The window of most tests: inside the region, several packets long */
#define WIN_OFF		4000
#define WIN_LEN		9000
/* Bytes in a packet of the connections that ep_open() makes */
#define PACKET		1024

#define READ	IBV_ACCESS_REMOTE_READ
#define WRITE	IBV_ACCESS_REMOTE_WRITE
#define ATOMIC	IBV_ACCESS_REMOTE_ATOMIC

/**
 * struct win - a window in use
 * @mw: the window
 * @off: where it is in the owner's memory
 * @len: bytes
 * @access: its rights, and IBV_ACCESS_ZERO_BASED
 */
struct win {
	struct ibv_mw *mw;
	size_t off;
	size_t len;
	unsigned int access;
};

static void win_bind(struct duo *d, struct win *w)
{
	mw_bind(&d->o, w->mw, &d->mem, w->off, w->len, w->access);
}

static void win_open(struct duo *d, struct win *w, size_t off, size_t len,
		     unsigned int access)
{
	*w = (struct win) {
		.mw = mw_open(d->own.pd, pane_cfg.mw_type),
		.off = off,
		.len = len,
		.access = access,
	};
	win_bind(d, w);
}

/* Address of its first byte, as the peer names it */
static uint64_t win_va(const struct duo *d, const struct win *w)
{
	if (w->access & IBV_ACCESS_ZERO_BASED)
		return 0;
	return region_at(&d->mem, w->off);
}

/* After a refused access; RESET unbinds a type 2 window */
static void win_reconnect(struct duo *d, struct win *w)
{
	ep_reconnect(&d->o, &d->p);
	if (mw_is_type2(w->mw))
		win_bind(d, w);
}

/* ---- operations ------------------------------------------------------ */

/**
 * struct op - a remote operation
 * @name: for messages
 * @opcode: IBV_WR_
 * @right: it needs
 * @len: bytes, if it is always the same
 */
struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	unsigned int right;
	size_t len;
};

static const struct op ops[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE, WRITE, 0 },
	{ "WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, WRITE, 0 },
	{ "READ", IBV_WR_RDMA_READ, READ, 0 },
	{ "CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, ATOMIC, 8 },
	{ "FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, ATOMIC, 8 },
};

#define NUM_RW_OPS	3	/* those of any length stand first */

/* UC has nothing that is answered */
static bool op_exists(const struct op *op)
{
	return pane_cfg.qp_type != IBV_QPT_UC || op->right == WRITE;
}

static bool op_takes_recv(const struct op *op)
{
	return op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status op_do(struct duo *d, const struct op *op, size_t len,
				uint64_t va, uint32_t rkey)
{
	struct req req = req_remote(op->opcode, &d->buf, op->len ?: len, va,
				    rkey);

	req.ex = 0x1234;
	req.compare_add = 1;
	req.swap = 2;
	if (op_takes_recv(op))
		CHECK_OK(ep_post_recv(&d->o, 99, NULL, 0, 0));
	return ep_do(&d->p, req);
}

static void op_allowed(struct duo *d, const struct op *op, size_t len,
		       uint64_t va, uint32_t rkey)
{
	struct ibv_wc wc;

	CHECK(op_do(d, op, len, va, rkey) == IBV_WC_SUCCESS, "%s", op->name);
	if (!op_takes_recv(op))
		return;
	CHECK_WC(d->o.rcq, 99, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(be32toh(wc.imm_data), 0x1234);
	CHECK_EQ(wc.byte_len, len);
	CHECK_EQ(wc.wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV),
		 IBV_WC_WITH_IMM);
}

/* On UC nobody learns of it but by the counters */
static void nobody_sees_refusal(struct duo *d, const struct op *op)
{
	struct ibv_wc wc;

	CHECK_EQ(ep_state(&d->o), IBV_QPS_RTS);
	CHECK_EQ(ep_state(&d->p), IBV_QPS_RTS);
	CHECK(!event_pending(&d->own), "%s", op->name);
	CHECK_EQ(ibv_poll_cq(d->o.rcq, 1, &wc), 0);
}

/*
 * What the owner sees of an access that was refused: an event or, when it was
 * of the packet with the immediate, the end of a receive request
 */
static void owner_sees_refusal(struct duo *d, const struct op *op, size_t len)
{
	CHECK_EQ(ep_recv_state(&d->o), IBV_QPS_ERR);
	if (op_takes_recv(op) && len <= PACKET) {
		CHECK_WC(d->o.rcq, 99, IBV_WC_LOC_ACCESS_ERR, NULL);
		CHECK(!event_pending(&d->own), "%s", op->name);
		return;
	}
	event_wait(&d->own, IBV_EVENT_QP_ACCESS_ERR, ep_recv_qp(&d->o));
	if (op_takes_recv(op) && !d->o.srq)
		CHECK_WC(d->o.rcq, 99, IBV_WC_WR_FLUSH_ERR, NULL);
}

/* NAK 0x62, or silence on UC; and the reason is counted */
static void op_refused(struct duo *d, const struct op *op, size_t len,
		       uint64_t va, uint32_t rkey, const char *counter)
{
	uint64_t naks = counter_read(&d->own, "sent_rem_access");
	uint64_t count = counter_read(&d->own, counter);

	fill_pattern(d->mem.addr, d->mem.len, 1);
	fill_pattern(d->buf.addr, d->buf.len, 2);
	CHECK(op_do(d, op, len, va, rkey) == IBV_WC_REM_ACCESS_ERR, "%s",
	      op->name);
	if (d->o.type == IBV_QPT_UC) {
		nobody_sees_refusal(d, op);
		naks--;
	} else {
		CHECK_EQ(ep_state(&d->p), IBV_QPS_ERR);
		owner_sees_refusal(d, op, len);
	}
	CHECK_EQ(counter_read(&d->own, counter), count + 1);
	CHECK_EQ(counter_read(&d->own, "sent_rem_access"), naks + 1);
	CHECK(has_pattern(d->mem.addr, d->mem.len, 1), "%s wrote", op->name);
	CHECK(has_pattern(d->buf.addr, d->buf.len, 2), "%s read", op->name);
}

/* NAK 0x61; on UC as above */
static void owner_sees_invalid(struct duo *d, const struct op *op)
{
	CHECK_EQ(ep_recv_state(&d->o), IBV_QPS_ERR);
	event_wait(&d->own, IBV_EVENT_QP_REQ_ERR, ep_recv_qp(&d->o));
	if (op_takes_recv(op) && !d->o.srq)
		CHECK_WC(d->o.rcq, 99, IBV_WC_WR_FLUSH_ERR, NULL);
}

static void op_invalid(struct duo *d, const struct op *op, size_t len,
		       uint64_t va, uint32_t rkey)
{
	uint64_t naks = counter_read(&d->own, "sent_inv_req");

	fill_pattern(d->mem.addr, d->mem.len, 1);
	fill_pattern(d->buf.addr, d->buf.len, 2);
	if (d->o.type == IBV_QPT_UC) {
		CHECK(op_do(d, op, len, va, rkey) == IBV_WC_REM_ACCESS_ERR,
		      "%s", op->name);
		nobody_sees_refusal(d, op);
		naks--;
	} else {
		CHECK(op_do(d, op, len, va, rkey) == IBV_WC_REM_INV_REQ_ERR,
		      "%s", op->name);
		owner_sees_invalid(d, op);
	}
	CHECK_EQ(counter_read(&d->own, "sent_inv_req"), naks + 1);
	CHECK(has_pattern(d->mem.addr, d->mem.len, 1), "%s wrote", op->name);
	CHECK(has_pattern(d->buf.addr, d->buf.len, 2), "%s read", op->name);
}

/* ---- A1 -------------------------------------------------------------- */

static void test_a1(const void *arg)
{
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, WIN_OFF, WIN_LEN, 0);
	for (unsigned int i = 0; i < NUM_RW_OPS; i++) {
		if (!op_exists(&ops[i]))
			continue;
		op_allowed(&d, &ops[i], 0, 0, 0);
		op_allowed(&d, &ops[i], 0, -1, 0xffffffff);
		op_allowed(&d, &ops[i], 0, 0, w.mw->rkey);
		op_allowed(&d, &ops[i], 0, win_va(&d, &w), w.mw->rkey + 1);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- A2 -------------------------------------------------------------- */

static uint32_t key_other_index(struct duo *d, struct win *w)
{
	return w->mw->rkey ^ 0x35791300;
}

static uint32_t key_other_byte(struct duo *d, struct win *w)
{
	return w->mw->rkey ^ 0x80;
}

static uint32_t key_old(struct duo *d, struct win *w)
{
	uint32_t rkey = w->mw->rkey;

	mw_unbind(&d->o, w->mw);
	win_bind(d, w);
	return rkey;
}

static uint32_t key_unbound(struct duo *d, struct win *w)
{
	uint32_t rkey;

	mw_unbind(&d->o, w->mw);
	rkey = w->mw->rkey;
	return rkey;
}

static uint32_t key_deallocated(struct duo *d, struct win *w)
{
	uint32_t rkey = w->mw->rkey;

	mw_close(w->mw);
	w->mw = mw_open(d->own.pd, pane_cfg.mw_type);
	return rkey;
}

static uint32_t key_zero(struct duo *d, struct win *w)
{
	return 0;
}

struct key_row {
	const char *name;
	uint32_t (*key)(struct duo *d, struct win *w);
};

static const struct key_row key_rows[] = {
	{ "unknown index", key_other_index },
	{ "unknown byte", key_other_byte },
	{ "of an earlier binding", key_old },
	{ "unbound", key_unbound },
	{ "deallocated", key_deallocated },
	{ "0", key_zero },
};

static void test_a2(const void *arg)
{
	const struct key_row *row = arg;

	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		struct win w;
		struct duo d;
		uint32_t key;

		if (!op_exists(&ops[i]))
			continue;
		duo_open(&d);
		win_open(&d, &w, WIN_OFF, WIN_LEN, RIGHTS_ALL);
		key = row->key(&d, &w);
		op_refused(&d, &ops[i], WIN_LEN, win_va(&d, &w), key,
			   "access_key");
		mw_close(w.mw);
		duo_close(&d);
	}
}

/* The registration's own key opens what it says, and no window */
static void test_a2_mr_key(const void *arg)
{
	struct duo d;

	duo_open(&d);
	op_refused(&d, &ops[0], 8, region_at(&d.mem, 0), d.mem.mr->rkey,
		   "access_rights");
	duo_close(&d);
}

/* A window is for the peer; to its owner its key opens nothing */
static void test_no_local_key(const void *arg)
{
	struct req req;
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, 0, DUO_LEN, RIGHTS_ALL);
	CHECK_OK(ep_post_recv(&d.p, 1, d.buf.addr, 8, d.buf.mr->lkey));
	req = req_remote(IBV_WR_SEND, &d.mem, 8, 0, 0);
	req.lkey = w.mw->rkey;
	CHECK_EQ(ep_do(&d.o, req), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ep_state(&d.o), IBV_QPS_ERR);
	CHECK(has_pattern(d.buf.addr, d.buf.len, 0), "data was sent");
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- A4 -------------------------------------------------------------- */

struct rights_row {
	const char *name;
	unsigned int access;
};

static const struct rights_row rights_rows[] = {
	{ "none", 0 },
	{ "READ", READ },
	{ "WRITE", WRITE },
	{ "ATOMIC", ATOMIC },
	{ "READ, WRITE", READ | WRITE },
	{ "READ, ATOMIC", READ | ATOMIC },
	{ "WRITE, ATOMIC", WRITE | ATOMIC },
	{ "all", RIGHTS_ALL },
};

/*
 * Each operation with each set of rights. Those of the region, which has them
 * all, do not help.
 */
static void test_a4(const void *arg)
{
	const struct rights_row *row = arg;
	struct win w;
	struct duo d;

	duo_open(&d);
	region_close(&d.mem);
	region_open(&d.mem, d.own.pd, DUO_LEN, 0, MR_BINDABLE | RIGHTS_ALL);
	win_open(&d, &w, WIN_OFF, WIN_LEN, row->access);
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		uint64_t va = win_va(&d, &w);

		if (!op_exists(&ops[i]))
			continue;
		if (row->access & ops[i].right) {
			op_allowed(&d, &ops[i], WIN_LEN, va, w.mw->rkey);
			continue;
		}
		op_refused(&d, &ops[i], WIN_LEN, va, w.mw->rkey,
			   "access_rights");
		win_reconnect(&d, &w);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* The QP's own flags come first, before the key is looked at */
static void test_a4b(const void *arg)
{
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, WIN_OFF, WIN_LEN, RIGHTS_ALL);
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		const struct op *op = &ops[i];

		if (!op_exists(op))
			continue;
		d.o.access = RIGHTS_ALL & ~op->right;
		win_reconnect(&d, &w);
		op_invalid(&d, op, 100, win_va(&d, &w), w.mw->rkey);
		win_reconnect(&d, &w);
		op_invalid(&d, op, 100, 0, 0x12345678);

		d.o.access = op->right;
		win_reconnect(&d, &w);
		op_allowed(&d, op, 100, win_va(&d, &w), w.mw->rkey);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- A5, A6 ---------------------------------------------------------- */

/**
 * struct range_row - a range that is not inside the window
 * @name: what is wrong
 * @va: first byte; relative to the window's, or
 * @absolute: not
 * @len: bytes
 * @qps: not on RC only
 */
struct range_row {
	const char *name;
	uint64_t va;
	bool absolute;
	size_t len;
	bool qps;
};

static const struct range_row range_rows[] = {
	{ "the byte before", -1, false, 1, false },
	{ "begins one byte early", -1, false, 10, false },
	{ "begins one byte early, several packets", -1, false, WIN_LEN, true },
	{ "the byte behind", WIN_LEN, false, 1, false },
	{ "ends one byte late", WIN_LEN - 9, false, 10, true },
	{ "ends one byte late, several packets", 0, false, WIN_LEN + 1, false },
	{ "runs over the end in a later packet", 2000, false, WIN_LEN, true },
	{ "runs far over the end", WIN_LEN - 1, false, 20000, false },
	{ "start of the MR", -WIN_OFF, false, 100, false },
	{ "the whole MR", -WIN_OFF, false, DUO_LEN, false },
	{ "end of the MR", DUO_LEN - WIN_OFF - 100, false, 100, false },
	{ "behind the MR", DUO_LEN, false, 100, false },
	{ "far away", 1ULL << 40, false, 1, false },
	{ "last byte there is", -1, true, 1, false },
	{ "wraps to address 0", -8, true, 8 + 1, false },
	{ "wraps into a zero-based window", -8, true, 100, false },
	{ "wraps, several packets", -5000, true, 10000, false },
};

struct range_case {
	const struct range_row *row;
	unsigned int access;
};

static void test_a5(const void *arg)
{
	const struct range_case *rc = arg;
	const struct range_row *row = rc->row;
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, WIN_OFF, WIN_LEN, rc->access);
	for (unsigned int i = 0; i < NUM_RW_OPS; i++) {
		uint64_t va = row->va;

		if (!op_exists(&ops[i]))
			continue;
		if (!row->absolute)
			va += win_va(&d, &w);
		op_refused(&d, &ops[i], row->len, va, w.mw->rkey,
			   "access_range");
		win_reconnect(&d, &w);
		op_allowed(&d, &ops[i], WIN_LEN, win_va(&d, &w), w.mw->rkey);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* An atomic that has only a part of its word inside */
static void test_a5_atomic(const void *arg)
{
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, 4096, 12, RIGHTS_ALL);
	for (unsigned int i = NUM_RW_OPS; i < ARRAY_SIZE(ops); i++) {
		op_allowed(&d, &ops[i], 8, win_va(&d, &w), w.mw->rkey);
		op_refused(&d, &ops[i], 8, win_va(&d, &w) + 8, w.mw->rkey,
			   "access_range");
		win_reconnect(&d, &w);
		op_refused(&d, &ops[i], 8, win_va(&d, &w) - 8, w.mw->rkey,
			   "access_range");
		win_reconnect(&d, &w);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- A7 -------------------------------------------------------------- */

static void test_a7(const void *arg)
{
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, 4096, 4096, RIGHTS_ALL);
	for (unsigned int i = NUM_RW_OPS; i < ARRAY_SIZE(ops); i++)
		for (unsigned int off = 1; off < 8; off++) {
			op_invalid(&d, &ops[i], 8, win_va(&d, &w) + 64 + off,
				   w.mw->rkey);
			win_reconnect(&d, &w);
		}
	/* before the key is looked at */
	op_invalid(&d, &ops[NUM_RW_OPS], 8, 1, 0x12345678);
	mw_close(w.mw);
	duo_close(&d);
}

/* In such a window no word is where its address says */
static void test_a7_zero_based(const void *arg)
{
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, 4100, 4096, RIGHTS_ALL | IBV_ACCESS_ZERO_BASED);
	for (unsigned int i = NUM_RW_OPS; i < ARRAY_SIZE(ops); i++) {
		op_invalid(&d, &ops[i], 8, 64, w.mw->rkey);
		win_reconnect(&d, &w);
		op_invalid(&d, &ops[i], 8, 4, w.mw->rkey);
		win_reconnect(&d, &w);
	}
	mw_close(w.mw);
	duo_close(&d);
}

static uint64_t word_at(void *addr)
{
	uint64_t v;

	memcpy(&v, addr, sizeof(v));
	return v;
}

static void set_word(void *addr, uint64_t v)
{
	memcpy(addr, &v, sizeof(v));
}

/* Result and effect of atomics through a window, at its ends */
static void test_atomics(const void *arg)
{
	const size_t offs[] = { 0, 8, WIN_LEN / 8 * 8 - 8 };
	struct req req;
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, WIN_OFF, WIN_LEN / 8 * 8, ATOMIC);
	for (unsigned int i = 0; i < ARRAY_SIZE(offs); i++) {
		uint8_t *word = d.mem.addr + WIN_OFF + offs[i];

		set_word(word, 0xfffffffffffffff0);
		req = req_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, &d.buf, 8,
				 win_va(&d, &w) + offs[i], w.mw->rkey);
		req.compare_add = 0x25;
		CHECK_EQ(ep_do(&d.p, req), IBV_WC_SUCCESS);
		CHECK_EQ(word_at(d.buf.addr), 0xfffffffffffffff0);
		CHECK_EQ(word_at(word), 0x15);

		req.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		req.compare_add = 0x14;
		req.swap = 0x99;
		CHECK_EQ(ep_do(&d.p, req), IBV_WC_SUCCESS);
		CHECK_EQ(word_at(d.buf.addr), 0x15);
		CHECK_EQ(word_at(word), 0x15);
		req.compare_add = 0x15;
		CHECK_EQ(ep_do(&d.p, req), IBV_WC_SUCCESS);
		CHECK_EQ(word_at(d.buf.addr), 0x15);
		CHECK_EQ(word_at(word), 0x99);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- what is inside -------------------------------------------------- */

/* WRITEs and READs of random ranges; all memory around them is compared */
static void test_ranges(const void *arg)
{
	unsigned int rounds = pane_rounds(400);
	static uint8_t shadow[DUO_LEN];
	struct win w;
	struct duo d;

	duo_open(&d);
	win_open(&d, &w, WIN_OFF, 40001, RIGHTS_RW);
	memcpy(shadow, d.mem.addr, DUO_LEN);
	srandom(1);
	for (unsigned int i = 0; i < rounds; i++) {
		size_t len = 1 + random() % (i & 1 ? 40001 : 2100);
		size_t off = random() % (40001 - len + 1);
		uint64_t va = win_va(&d, &w) + off;

		/* often enough up to the very end */
		if (i % 5 == 0)
			va = win_va(&d, &w) + (off = 40001 - len);
		fill_pattern(d.buf.addr, len, i);
		fill_pattern(shadow + WIN_OFF + off, len, i);
		CHECK_EQ(ep_write(&d.p, &d.buf, len, va, w.mw->rkey),
			 IBV_WC_SUCCESS);
		CHECK(!memcmp(shadow, d.mem.addr, DUO_LEN),
		      "WRITE of %zu at %zu", len, off);
		if (d.p.type == IBV_QPT_UC)
			continue;
		fill_pattern(d.buf.addr, DUO_LEN, i + 7);
		CHECK_EQ(ep_read(&d.p, &d.buf, len, va, w.mw->rkey),
			 IBV_WC_SUCCESS);
		CHECK(has_pattern(d.buf.addr, len, i), "READ of %zu at %zu",
		      len, off);
	}
	mw_close(w.mw);
	duo_close(&d);
}

/* ---- the list -------------------------------------------------------- */

static struct range_case range_cases[2 * ARRAY_SIZE(range_rows)];

static void list_ranges(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(range_cases); i++) {
		struct range_case *rc = &range_cases[i];

		rc->row = &range_rows[i / 2];
		rc->access = RIGHTS_ALL | (i & 1 ? IBV_ACCESS_ZERO_BASED : 0);
		pane_test(V_TYPES, test_a5, rc, "A5 range: %s%s",
			  rc->row->name, i & 1 ? ", zero-based" : "");
		if (rc->row->qps)
			pane_test(V_TYPES | V_UC | V_XRC, test_a5, rc,
				  "A5 range: %s%s", rc->row->name,
				  i & 1 ? ", zero-based" : "");
	}
}

static void list(void)
{
	pane_test(V_APIS | V_PATHS | V_QPS, test_a1, NULL,
		  "A1 length 0 needs neither key nor address");
	for (unsigned int i = 0; i < ARRAY_SIZE(key_rows); i++)
		pane_test(V_TYPES | V_QPS, test_a2, &key_rows[i],
			  "A2 key: %s", key_rows[i].name);
	pane_test(V_QPS, test_a2_mr_key, NULL, "A2 key: of the MR");
	pane_test(V_TYPES, test_no_local_key, NULL,
		  "A2 key: no local key to its owner");
	for (unsigned int i = 0; i < ARRAY_SIZE(rights_rows); i++)
		pane_test(V_TYPES | V_QPS, test_a4, &rights_rows[i],
			  "A4 rights: %s", rights_rows[i].name);
	pane_test(V_TYPES | V_PATHS | V_QPS, test_a4b, NULL,
		  "A4b operation not enabled in the QP");
	list_ranges();
	pane_test(V_TYPES | V_RC | V_XRC, test_a5_atomic, NULL,
		  "A5 range: atomic over the end");
	pane_test(V_TYPES | V_APIS | V_PATHS, test_ranges, NULL,
		  "A5 A6 range: what is inside, and nothing around it");
	pane_test(V_T1 | V_T2B | V_UC | V_XRC, test_ranges, NULL,
		  "A5 A6 range: what is inside, and nothing around it");
	pane_test(V_TYPES | V_RC | V_XRC, test_a7, NULL,
		  "A7 atomic not aligned");
	pane_test(V_TYPES | V_RC | V_XRC, test_a7_zero_based, NULL,
		  "A7 atomic not aligned: zero-based window");
	pane_test(V_TYPES | V_APIS | V_RC | V_XRC, test_atomics, NULL,
		  "atomics through a window");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
