// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations of the annex about the placement of memory: FLUSH and ATOMIC WRITE.
 * rdma_rxe has them since Linux 6.2. The library of Debian 12, rdma-core 44, has
 * ATOMIC WRITE only; check-rdma-core.sh compiles this for younger ones too.
 * PANE_MENDED says that FLUSHes of rdma_rxe arrive, see pane_mend.c.
 *
 * Not here: FLUSH that makes persistent and succeeds. rdma_rxe gives that right
 * to regions of persistent memory only, and this device to none.
 */
#include <stdlib.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_peer.h"

/* Of ibv_device_attr_ex.device_cap_flags_ex; the headers do not name them */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_ATOMIC_WRITE	(1ULL << 40)

#define REGION		8192

/* As in uapi/rdma/ib_user_ioctl_verbs.h, for libraries older than that */
#define ACCESS_FLUSH_GLOBAL	(1 << 8)

/**
 * struct place - memory of the second end, and a connection to it
 * @b: the connection
 * @r: the memory, filled by fill_pattern() with seed 0
 */
struct place {
	struct boxes b;
	struct region r;
};

/* ---- devices --------------------------------------------------------- */

static uint64_t node_caps(const struct node *n)
{
	struct ibv_device_attr_ex attr;

	CHECK_OK(ibv_query_device_ex(n->ctx, NULL, &attr));
	return attr.device_cap_flags_ex;
}

/* Skips the test unless both devices have it */
static void need_cap(uint64_t cap, const char *name)
{
	struct pair p;

	pair_nodes_open(&p);
	for (unsigned int i = 0; i < 2; i++)
		if (!(node_caps(&p.node[i]) & cap))
			pane_skip("%s: no %s", ibv_get_device_name(
				  p.node[i].ctx->device), name);
	pair_nodes_close(&p);
}

/* @ops: IBV_QP_EX_WITH_; rights of the QPs, and of the region */
static void place_open(struct place *p, uint64_t ops, int qp_access,
		       int mr_access)
{
	struct qp_opts qo;

	random_seed();
	qo = qp_opts_default();
	qo.more_ops = ops;
	qo.access = qp_access;
	boxes_open(&p->b, &qo, PEER_LEN);
	region_open(&p->r, p->b.p.node[1].pd, REGION, 0, mr_access);
}

static void place_close(struct place *p)
{
	region_close(&p->r);
	boxes_close(&p->b);
}

static uint64_t word_at(const struct place *p, size_t offset)
{
	uint64_t word;

	memcpy(&word, p->r.addr + offset, sizeof(word));
	return word;
}

/* Nothing is written, and both ends know that the connection is over. */
static void check_refused(struct place *p)
{
	CHECK(has_pattern(p->r.addr, REGION, 0), "written");
	end_is_over(&p->b.p.end[0]);
	end_is_over(&p->b.p.end[1]);
}

/* ---- requests -------------------------------------------------------- */

/* What is put between these two is posted at once */
static struct ibv_qp_ex *post_start(struct place *p)
{
	struct ibv_qp_ex *qpx = p->b.p.end[0].qpx;

	ibv_wr_start(qpx);
	qpx->wr_id = 0;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	return qpx;
}

static void post_done(struct place *p, enum ibv_wc_status status,
		      enum ibv_wc_opcode opcode)
{
	struct end *e = &p->b.p.end[0];
	struct ibv_wc wc;

	CHECK_WC(e->scq, e->qpx->wr_id, status, &wc);
	if (status == IBV_WC_SUCCESS)
		CHECK_EQ(wc.opcode, opcode);
}

/**
 * struct refusal - a request that is refused
 * @name: what is wrong
 * @at: offset in the region
 * @len: bytes of a FLUSH
 * @key: difference from the key
 * @qp_access: of the QP
 * @mr_access: of the region
 * @type: of a FLUSH
 * @status: how it ends
 */
struct refusal {
	const char *name;
	size_t at;
	uint32_t len;
	uint32_t key;
	int qp_access;
	int mr_access;
	uint8_t type;
	enum ibv_wc_status status;
};

/* ---- ATOMIC WRITE ---------------------------------------------------- */

static void write_word(struct place *p, size_t at, uint32_t key, uint64_t value,
		       enum ibv_wc_status status)
{
	struct ibv_qp_ex *qpx = post_start(p);

	ibv_wr_atomic_write(qpx, p->r.mr->rkey ^ key, region_at(&p->r, at),
			    &value);
	CHECK_OK(ibv_wr_complete(qpx));
	post_done(p, status, IBV_WC_ATOMIC_WRITE);
}

/* Eight bytes, and none before or behind them */
static void atomic_write(const void *arg)
{
	uint64_t before, behind;
	struct place p;

	need_cap(CAP_ATOMIC_WRITE, "ATOMIC WRITE");
	place_open(&p, IBV_QP_EX_WITH_ATOMIC_WRITE, RIGHTS_ALL, PEER_ACCESS);
	for (size_t at = 8; at <= REGION - 16; at += 4080) {
		before = word_at(&p, at - 8);
		behind = word_at(&p, at + 8);
		for (uint64_t v = 0x0123456789abcdef; v; v <<= 8) {
			write_word(&p, at, 0, v, IBV_WC_SUCCESS);
			CHECK_EQ(word_at(&p, at), v);
		}
		CHECK_EQ(word_at(&p, at - 8), before);
		CHECK_EQ(word_at(&p, at + 8), behind);
	}
	place_close(&p);
}

#define NO_WRITE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_ATOMIC)

static const struct refusal write_refusals[] = {
	{ "at an odd address", .at = 4, .qp_access = RIGHTS_ALL,
	  .mr_access = PEER_ACCESS, .status = IBV_WC_REM_INV_REQ_ERR },
	{ "with another key", .key = 1, .qp_access = RIGHTS_ALL,
	  .mr_access = PEER_ACCESS, .status = IBV_WC_REM_ACCESS_ERR },
	{ "behind the region", .at = REGION, .qp_access = RIGHTS_ALL,
	  .mr_access = PEER_ACCESS, .status = IBV_WC_REM_ACCESS_ERR },
	{ "without the right of the region", .qp_access = RIGHTS_ALL,
	  .mr_access = NO_WRITE, .status = IBV_WC_REM_ACCESS_ERR },
	{ "without the right of the QP",
	  .qp_access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	  .mr_access = PEER_ACCESS, .status = IBV_WC_REM_INV_REQ_ERR },
};

static void atomic_write_refused(const void *arg)
{
	const struct refusal *r = arg;
	struct place p;

	need_cap(CAP_ATOMIC_WRITE, "ATOMIC WRITE");
	place_open(&p, IBV_QP_EX_WITH_ATOMIC_WRITE, r->qp_access,
		   r->mr_access);
	write_word(&p, r->at, r->key, ~0ULL, r->status);
	check_refused(&p);
	place_close(&p);
}

static void list_atomic_write(void)
{
	pane_test(0, atomic_write, NULL, "placement: ATOMIC WRITE");
	for (unsigned int i = 0; i < ARRAY_SIZE(write_refusals); i++)
		pane_test(0, atomic_write_refused, &write_refusals[i],
			  "placement: ATOMIC WRITE %s",
			  write_refusals[i].name);
}

/* ---- FLUSH ----------------------------------------------------------- */

#define FLUSH_RIGHTS	(RIGHTS_ALL | ACCESS_FLUSH_GLOBAL)
#define FLUSH_ACCESS	(PEER_ACCESS | ACCESS_FLUSH_GLOBAL)

#ifdef HAVE_FLUSH

static void need_flush(void)
{
	if (!getenv("PANE_MENDED"))
		pane_skip("a FLUSH of rdma_rxe needs pane_mend");
	need_cap(CAP_FLUSH_GLOBAL, "FLUSH");
}

static void flush_range(struct place *p, size_t at, size_t len, uint8_t level)
{
	struct ibv_qp_ex *qpx = post_start(p);

	ibv_wr_flush(qpx, p->r.mr->rkey, region_at(&p->r, at), len,
		     IBV_FLUSH_GLOBAL, level);
	CHECK_OK(ibv_wr_complete(qpx));
	post_done(p, IBV_WC_SUCCESS, IBV_WC_FLUSH);
}

static void write_all(struct place *p)
{
	uint8_t *from = p->b.from.r.addr + GUARD;

	random_fill(from, REGION);
	CHECK_EQ(peer_do(&p->b, peer_wr(IBV_WR_RDMA_WRITE, region_at(&p->r, 0),
					p->r.mr->rkey), REGION),
		 IBV_WC_SUCCESS);
}

/* A WRITE and what makes it visible, of a part or all of the region */
static void flush(const void *arg)
{
	static const struct { size_t at, len; } ranges[] = {
		{ 0, REGION }, { 100, 5000 }, { REGION - 1, 1 }, { 0, 0 },
	};
	struct place p;

	need_flush();
	place_open(&p, IBV_QP_EX_WITH_FLUSH, FLUSH_RIGHTS, FLUSH_ACCESS);
	for (unsigned int i = 0; i < ARRAY_SIZE(ranges); i++) {
		write_all(&p);
		flush_range(&p, ranges[i].at, ranges[i].len, IBV_FLUSH_RANGE);
		CHECK(!memcmp(p.r.addr, p.b.from.r.addr + GUARD, REGION),
		      "other data");
	}
	write_all(&p);
	/* the range has no meaning for all of a region (oA19-13) */
	flush_range(&p, 10 * REGION, REGION, IBV_FLUSH_MR);
	CHECK(!memcmp(p.r.addr, p.b.from.r.addr + GUARD, REGION), "other data");
	place_close(&p);
}

static const struct refusal flush_refusals[] = {
	{ "with another key", .len = 5000, .key = 1,
	  .qp_access = FLUSH_RIGHTS, .mr_access = FLUSH_ACCESS,
	  .type = IBV_FLUSH_GLOBAL, .status = IBV_WC_REM_ACCESS_ERR },
	{ "behind the region", .at = REGION - 99, .len = 100,
	  .qp_access = FLUSH_RIGHTS, .mr_access = FLUSH_ACCESS,
	  .type = IBV_FLUSH_GLOBAL, .status = IBV_WC_REM_ACCESS_ERR },
	{ "without the right of the region", .len = 5000,
	  .qp_access = FLUSH_RIGHTS, .mr_access = PEER_ACCESS,
	  .type = IBV_FLUSH_GLOBAL, .status = IBV_WC_REM_ACCESS_ERR },
	{ "without the right of the QP", .len = 5000,
	  .qp_access = RIGHTS_ALL, .mr_access = FLUSH_ACCESS,
	  .type = IBV_FLUSH_GLOBAL, .status = IBV_WC_REM_INV_REQ_ERR },
	{ "that makes persistent, without the right of the QP", .len = 5000,
	  .qp_access = FLUSH_RIGHTS, .mr_access = FLUSH_ACCESS,
	  .type = IBV_FLUSH_PERSISTENT, .status = IBV_WC_REM_INV_REQ_ERR },
	{ "of both types, with the right to one", .len = 5000,
	  .qp_access = FLUSH_RIGHTS, .mr_access = FLUSH_ACCESS,
	  .type = IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT,
	  .status = IBV_WC_REM_INV_REQ_ERR },
	{ "that makes persistent, without the right of the region", .len = 5000,
	  .qp_access = FLUSH_RIGHTS | IBV_ACCESS_FLUSH_PERSISTENT,
	  .mr_access = FLUSH_ACCESS, .type = IBV_FLUSH_PERSISTENT,
	  .status = IBV_WC_REM_ACCESS_ERR },
};

static void flush_refused(const void *arg)
{
	const struct refusal *r = arg;
	struct ibv_qp_ex *qpx;
	struct place p;

	need_flush();
	place_open(&p, IBV_QP_EX_WITH_FLUSH, r->qp_access, r->mr_access);
	qpx = post_start(&p);
	ibv_wr_flush(qpx, p.r.mr->rkey ^ r->key, region_at(&p.r, r->at),
		     r->len, r->type, IBV_FLUSH_RANGE);
	CHECK_OK(ibv_wr_complete(qpx));
	post_done(&p, r->status, IBV_WC_FLUSH);
	check_refused(&p);
	place_close(&p);
}

/* ---- both ------------------------------------------------------------ */

#define RECORD		3000
#define RECORDS		20
#define TAIL		(REGION - 8)	/* place of the word behind the records */

static void post_record(struct place *p, uint64_t i)
{
	struct ibv_qp_ex *qpx = post_start(p);
	const uint32_t rkey = p->r.mr->rkey;
	const uint64_t at = region_at(&p->r, i % 2 * RECORD);

	qpx->wr_flags = 0;
	ibv_wr_rdma_write(qpx, rkey, at);
	ibv_wr_set_sge(qpx, p->b.from.r.mr->lkey,
		       (uintptr_t)p->b.from.r.addr + i * RECORD, RECORD);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(qpx, rkey, at, RECORD, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	CHECK_OK(ibv_wr_complete(qpx));
	post_done(p, IBV_WC_SUCCESS, IBV_WC_FLUSH);
}

/*
 * What the operations are for: records of a log, each of them followed by the
 * word that says how many there are. What is mended comes late, so nothing is
 * posted behind a FLUSH before that is done.
 */
static void log_of_records(const void *arg)
{
	struct place p;

	need_flush();
	need_cap(CAP_ATOMIC_WRITE, "ATOMIC WRITE");
	place_open(&p, IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE,
		   FLUSH_RIGHTS, FLUSH_ACCESS);
	for (uint64_t i = 0; i < RECORDS; i++) {
		post_record(&p, i);
		CHECK(!memcmp(p.r.addr + i % 2 * RECORD,
			      p.b.from.r.addr + i * RECORD, RECORD),
		      "other data");
		write_word(&p, TAIL, 0, i, IBV_WC_SUCCESS);
		CHECK_EQ(word_at(&p, TAIL), i);
	}
	place_close(&p);
}

static void list_flush(void)
{
	pane_test(0, flush, NULL, "placement: FLUSH");
	for (unsigned int i = 0; i < ARRAY_SIZE(flush_refusals); i++)
		pane_test(0, flush_refused, &flush_refusals[i],
			  "placement: FLUSH %s", flush_refusals[i].name);
	pane_test(0, log_of_records, NULL,
		  "placement: FLUSH of each record of a log");
}

#else

static void no_flush(const void *arg)
{
	pane_skip("libibverbs was older than FLUSH");
}

static void list_flush(void)
{
	pane_test(0, no_flush, NULL, "placement: FLUSH");
}

#endif

void list_placement(void)
{
	list_atomic_write();
	list_flush();
}
