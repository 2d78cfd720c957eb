// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH and ATOMIC WRITE, of regions and of windows. Requests are written into
 * the ring by hand: the library of the machine may be older than they are. On
 * kernels that do not have them a device does not, either.
 */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_hostile.h"

/* As in rdma/ib_user_verbs.h, which may be older */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_FLUSH_PERSISTENT	(1ULL << 39)
#define CAP_ATOMIC_WRITE	(1ULL << 40)
#define ACCESS_FLUSH_GLOBAL	(1 << 8)
#define WC_FLUSH		8
#define WC_ATOMIC_WRITE		9

/**
 * struct persist - the raw QP of a hostile, here a decent one, and its target
 * @h: the QP, and the peer's end of the connection
 * @mem: peer's memory, open to all requests
 * @closed: peer's memory, open to READ only
 */
struct persist {
	struct hostile h;
	struct region mem;
	struct region closed;
};

static uint64_t device_caps(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	CHECK_OK(ibv_query_device_ex(ctx, NULL, &attr));
	return attr.device_cap_flags_ex;
}

static void persist_open_any(struct persist *p, int access)
{
	memset(p, 0, sizeof(*p));
	hostile_open(&p->h);
	region_open(&p->mem, p->h.d.peer.pd, DUO_LEN, 0,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | RIGHTS_ALL |
		    access);
	region_open(&p->closed, p->h.d.peer.pd, 4096, 0,
		    IBV_ACCESS_REMOTE_READ);
	p->h.d.p.access |= access;
	raw_reconnect(&p->h.qp, &p->h.d.p);
}

static void persist_open(struct persist *p)
{
	struct node n;
	uint64_t caps;

	node_open_owner(&n);
	caps = device_caps(n.ctx);
	node_close(&n);
	if (!(caps & CAP_FLUSH_GLOBAL))
		pane_skip("this kernel has no FLUSH");
	CHECK(caps & CAP_ATOMIC_WRITE, "FLUSH without ATOMIC WRITE");
	CHECK(!(caps & CAP_FLUSH_PERSISTENT), "persistence is promised");
	persist_open_any(p, ACCESS_FLUSH_GLOBAL);
}

static void persist_close(struct persist *p)
{
	p->h.d.p.access &= ~ACCESS_FLUSH_GLOBAL;
	region_close(&p->mem);
	region_close(&p->closed);
	hostile_close(&p->h);
}

static struct pane_sq_wqe *slot(struct persist *p, uint8_t opcode)
{
	struct pane_sq_wqe *w = raw_slot(&p->h.qp, 0);

	memset(w, 0, p->h.qp.ring.sq_stride);
	w->wr_id = 7;
	w->opcode = opcode;
	w->flags = PANE_WR_SIGNALED;
	return w;
}

static struct pane_sq_wqe *flush_slot(struct persist *p, uint64_t va,
				      uint32_t length, uint32_t rkey)
{
	struct pane_sq_wqe *w = slot(p, PANE_WR_FLUSH);

	w->flush.remote_addr = va;
	w->flush.length = length;
	w->flush.rkey = rkey;
	w->flush.type = PANE_FLUSH_GLOBAL;
	w->flush.level = PANE_FLUSH_RANGE;
	return w;
}

static struct pane_sq_wqe *word_slot(struct persist *p, uint64_t va,
				     uint64_t value, uint32_t rkey)
{
	struct pane_sq_wqe *w = slot(p, PANE_WR_ATOMIC_WRITE);

	w->flags |= PANE_WR_INLINE;
	w->rdma.remote_addr = va;
	w->rdma.rkey = rkey;
	w->rdma.inline_len = sizeof(value);
	memcpy(w->sge, &value, sizeof(value));
	return w;
}

/* What is in the slot succeeds */
static void succeeds(struct persist *p, uint8_t opcode)
{
	struct ibv_wc wc;

	CHECK_OK(raw_push(&p->h.qp, 1));
	CHECK_WC(p->h.qp.scq, 7, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, opcode);
}

/* It does not, and the connection is at its end */
static void fails(struct persist *p, enum ibv_wc_status status)
{
	CHECK_OK(raw_push(&p->h.qp, 1));
	CHECK_WC(p->h.qp.scq, 7, status, NULL);
	raw_reconnect(&p->h.qp, &p->h.d.p);
}

/* ---- FLUSH ----------------------------------------------------------- */

static void flush(const void *arg)
{
	struct pane_sq_wqe *w;
	struct persist p;
	uint64_t va;
	uint32_t rkey;

	persist_open(&p);
	va = region_at(&p.mem, 0);
	rkey = p.mem.mr->rkey;
	flush_slot(&p, va, 4096, rkey);
	succeeds(&p, WC_FLUSH);
	flush_slot(&p, va, DUO_LEN, rkey);
	succeeds(&p, WC_FLUSH);
	flush_slot(&p, va, 0, rkey);
	succeeds(&p, WC_FLUSH);
	/* of all of a region: the range means nothing (oA19-13) */
	w = flush_slot(&p, 12345, UINT32_MAX / 2, rkey);
	w->flush.level = PANE_FLUSH_MR;
	succeeds(&p, WC_FLUSH);
	w = flush_slot(&p, 12345, UINT32_MAX, rkey);
	w->flush.level = PANE_FLUSH_MR;
	succeeds(&p, WC_FLUSH);
	persist_close(&p);
}

static void flush_denied(const void *arg)
{
	struct persist p;
	uint64_t va;
	uint32_t rkey;

	persist_open(&p);
	va = region_at(&p.mem, 0);
	rkey = p.mem.mr->rkey;
	flush_slot(&p, va + 1, DUO_LEN, rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	flush_slot(&p, va, 8, rkey ^ 1);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	flush_slot(&p, region_at(&p.closed, 0), 8, p.closed.mr->rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	/* the right of the QP */
	p.h.d.p.access &= ~ACCESS_FLUSH_GLOBAL;
	raw_reconnect(&p.h.qp, &p.h.d.p);
	flush_slot(&p, va, 8, rkey);
	fails(&p, IBV_WC_REM_INV_REQ_ERR);
	persist_close(&p);
}

/* Not sent at all */
static void flush_malformed(const void *arg)
{
	struct persist p;
	uint32_t rkey;
	uint64_t va;

	persist_open(&p);
	va = region_at(&p.mem, 0);
	rkey = p.mem.mr->rkey;
	flush_slot(&p, va, 8, rkey)->flush.type = 4;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->flush.type = 0;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->flush.level = 2;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->flush.reserved = 1;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->num_sge = 1;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->flags |= PANE_WR_INLINE;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, 8, rkey)->flags |= PANE_WR_SOLICITED;
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	flush_slot(&p, va, (1U << 31) + 1, rkey);
	fails(&p, IBV_WC_LOC_LEN_ERR);
	persist_close(&p);
}

/* ---- ATOMIC WRITE ---------------------------------------------------- */

static uint64_t word_at(const struct persist *p, size_t offset)
{
	uint64_t word;

	memcpy(&word, p->mem.addr + offset, sizeof(word));
	return word;
}

static void word(const void *arg)
{
	const uint64_t value = 0x1122334455667788;
	struct pane_sq_wqe *w;
	struct persist p;

	persist_open(&p);
	memset(p.mem.addr, 0x5a, 64);
	word_slot(&p, region_at(&p.mem, 16), value, p.mem.mr->rkey);
	succeeds(&p, WC_ATOMIC_WRITE);
	CHECK_EQ(word_at(&p, 16), value);
	CHECK_EQ(word_at(&p, 8), 0x5a5a5a5a5a5a5a5a);
	CHECK_EQ(word_at(&p, 24), 0x5a5a5a5a5a5a5a5a);
	/* out of memory, in two pieces */
	w = slot(&p, PANE_WR_ATOMIC_WRITE);
	w->rdma.remote_addr = region_at(&p.mem, 24);
	w->rdma.rkey = p.mem.mr->rkey;
	w->num_sge = 2;
	for (unsigned int i = 0; i < 2; i++)
		w->sge[i] = (struct pane_sge) {
			.addr = region_at(&p.h.d.mem, i * 100),
			.length = i ? 5 : 3,
			.lkey = p.h.d.mem.mr->lkey,
		};
	succeeds(&p, WC_ATOMIC_WRITE);
	CHECK(!memcmp(p.mem.addr + 24, p.h.d.mem.addr, 3) &&
	      !memcmp(p.mem.addr + 27, p.h.d.mem.addr + 100, 5), "other data");
	persist_close(&p);
}

static void word_denied(const void *arg)
{
	struct persist p;
	uint32_t rkey;
	uint64_t va;

	persist_open(&p);
	va = region_at(&p.mem, 0);
	rkey = p.mem.mr->rkey;
	memset(p.mem.addr, 0, DUO_LEN);
	word_slot(&p, va + 4, 1, rkey);
	fails(&p, IBV_WC_REM_INV_REQ_ERR);
	word_slot(&p, va + DUO_LEN, 1, rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	word_slot(&p, va, 1, rkey ^ 1);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	word_slot(&p, region_at(&p.closed, 0), 1, p.closed.mr->rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	word_slot(&p, va, 1, rkey)->rdma.inline_len = 7;
	fails(&p, IBV_WC_LOC_LEN_ERR);
	word_slot(&p, va, 1, rkey)->rdma.inline_len = 9;
	fails(&p, IBV_WC_LOC_LEN_ERR);
	p.h.d.p.access &= ~IBV_ACCESS_REMOTE_WRITE;
	raw_reconnect(&p.h.qp, &p.h.d.p);
	word_slot(&p, va, 1, rkey);
	fails(&p, IBV_WC_REM_INV_REQ_ERR);
	p.h.d.p.access |= IBV_ACCESS_REMOTE_WRITE;
	for (size_t i = 0; i < DUO_LEN; i++)
		CHECK_EQ(p.mem.addr[i], 0);
	persist_close(&p);
}

/* ---- through windows ------------------------------------------------- */

/*
 * The peer lends a window of its memory. A right to FLUSH is none that a window
 * can have.
 */
static void windows(const void *arg)
{
	struct persist p;
	struct ibv_mw *mw;
	uint64_t va;

	persist_open(&p);
	va = region_at(&p.mem, WIN_OFF);
	mw = mw_open(p.h.d.peer.pd, IBV_MW_TYPE_1);
	mw_bind(&p.h.d.p, mw, &p.mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
	word_slot(&p, va, 99, mw->rkey);
	succeeds(&p, WC_ATOMIC_WRITE);
	CHECK_EQ(word_at(&p, WIN_OFF), 99);
	word_slot(&p, va - 8, 99, mw->rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	flush_slot(&p, va, 8, mw->rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	mw_unbind(&p.h.d.p, mw);
	word_slot(&p, va, 99, mw->rkey);
	fails(&p, IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	persist_close(&p);
}

/* ---- where there are none -------------------------------------------- */

static void old_kernel(const void *arg)
{
	struct persist p;
	struct node n;
	uint64_t caps;

	node_open_owner(&n);
	caps = device_caps(n.ctx);
	node_close(&n);
	if (caps & CAP_FLUSH_GLOBAL)
		pane_skip("this kernel has FLUSH");
	CHECK(!(caps & CAP_ATOMIC_WRITE), "ATOMIC WRITE without FLUSH");
	persist_open_any(&p, 0);
	flush_slot(&p, region_at(&p.mem, 0), 8, p.mem.mr->rkey);
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	word_slot(&p, region_at(&p.mem, 0), 8, p.mem.mr->rkey);
	fails(&p, IBV_WC_LOC_QP_OP_ERR);
	persist_close(&p);
}

static void list(void)
{
	pane_test(0, flush, NULL, "FLUSH");
	pane_test(0, flush_denied, NULL, "FLUSH that is refused");
	pane_test(0, flush_malformed, NULL, "FLUSH that is malformed");
	pane_test(0, word, NULL, "ATOMIC WRITE");
	pane_test(0, word_denied, NULL, "ATOMIC WRITE that is refused");
	pane_test(0, windows, NULL, "windows");
	pane_test(0, old_kernel, NULL, "a kernel without them");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
