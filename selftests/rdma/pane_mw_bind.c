// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is refused at bind, B1 to B11. The provider makes some of the checks,
 * too; to get past it the requests here name copies of the objects with other
 * keys in them. What is legal is in pane_mw_legal.
 */
#include <errno.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_util.h"

/* What is bound before the request that is refused, and what that asks for */
#define OLD_OFF		1000
#define OLD_LEN		3000
#define NEW_OFF		8000
#define NEW_LEN		5000

/**
 * struct bind_case - a bind request, at first a good one
 * @d: the owner and the peer
 * @o2: owner's end of a second connection between the same domains
 * @p2: peer's end of it
 * @pd2: another domain of the owner
 * @other: another region, if the row makes one
 * @mw2: another window, likewise
 * @o3: another QP, likewise
 * @mw: the window
 * @fake_mw: copy of it that the request names
 * @fake_mr: copy of the region's
 * @info: the rest of the request
 * @ep: QP it is posted to
 */
struct bind_case {
	struct duo d;
	struct endpoint o2, p2;
	struct ibv_pd *pd2;
	struct region other;
	struct ibv_mw *mw2;
	struct endpoint o3, p3;
	struct ibv_mw *mw;
	struct ibv_mw fake_mw;
	struct ibv_mr fake_mr;
	struct ibv_mw_bind_info info;
	struct endpoint *ep;
};

/**
 * struct bind_row - what is wrong with a request
 * @name: rule, and how it is broken
 * @types: V_T1, V_T2
 * @verr: the reason told in the completion
 * @spoil: makes it wrong, or
 * @mr_access: registration of another region to bind to, with
 * @access: these rights (also without another region); or
 * @len: another range, if not 0, that begins at
 * @addr: relative to the region or
 * @absolute: not
 * @qps: not on RC only
 */
struct bind_row {
	const char *name;
	unsigned int types;
	enum pane_vendor_err verr;
	void (*spoil)(struct bind_case *c);
	int mr_access;
	unsigned int access;
	uint64_t len;
	uint64_t addr;
	bool absolute;
	bool qps;
};

static void case_open(struct bind_case *c)
{
	memset(c, 0, sizeof(*c));
	duo_open(&c->d);
	duo_link(&c->d, &c->o2, &c->p2);
	c->pd2 = ibv_alloc_pd(c->d.own.ctx);
	CHECK(c->pd2, "%s", strerror(errno));
	c->mw = mw_open(c->d.own.pd, pane_cfg.mw_type);
}

static void case_close(struct bind_case *c)
{
	mw_close(c->mw);
	if (c->mw2)
		mw_close(c->mw2);
	if (c->other.mr)
		region_close(&c->other);
	if (c->o3.qp)
		duo_unlink(&c->o3, &c->p3);
	CHECK_OK(ibv_dealloc_pd(c->pd2));
	duo_unlink(&c->o2, &c->p2);
	duo_close(&c->d);
}

/* A good request to the first connection, of which copies can be spoilt */
static void case_request(struct bind_case *c)
{
	c->fake_mw = *c->mw;
	c->fake_mr = *c->d.mem.mr;
	c->info = bind_info(&c->d.mem, NEW_OFF, NEW_LEN, RIGHTS_RW);
	c->info.mr = &c->fake_mr;
	c->ep = &c->d.o;
}

static void case_spoil(struct bind_case *c, const struct bind_row *row)
{
	case_request(c);
	if (row->spoil)
		row->spoil(c);
	if (row->mr_access) {
		region_open(&c->other, c->d.own.pd, DUO_LEN, 0,
			    row->mr_access);
		c->info = bind_info(&c->other, NEW_OFF, NEW_LEN, 0);
	}
	if (row->access)
		c->info.mw_access_flags = row->access;
	if (row->len) {
		c->info.length = row->len;
		c->info.addr = row->addr;
		if (!row->absolute)
			c->info.addr += region_at(&c->d.mem, 0);
	}
}

static uint64_t old_va(const struct bind_case *c)
{
	return region_at(&c->d.mem, OLD_OFF);
}

/* ---- ways to be wrong ------------------------------------------------ */

static void mw_unknown_index(struct bind_case *c)
{
	c->fake_mw.rkey ^= 0x35791300;
}

static void mw_unknown_byte(struct bind_case *c)
{
	c->fake_mw.rkey ^= 1;
}

static void mw_older_key(struct bind_case *c)
{
	uint32_t older = c->mw->rkey;

	mw_bind(&c->o2, c->mw, &c->d.mem, OLD_OFF, OLD_LEN, RIGHTS_RW);
	c->fake_mw.rkey = older;
}

static void mw_gone(struct bind_case *c)
{
	struct ibv_mw *mw = mw_open(c->d.own.pd, pane_cfg.mw_type);

	c->fake_mw.rkey = mw->rkey;
	mw_close(mw);
}

static void mw_is_mr(struct bind_case *c)
{
	c->fake_mw.rkey = c->d.mem.mr->rkey;
}

static void mw_of_other_type(struct bind_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, mw_is_type2(c->mw) ? IBV_MW_TYPE_1 :
							   IBV_MW_TYPE_2);
	c->fake_mw.rkey = c->mw2->rkey;
}

static void mr_unknown_index(struct bind_case *c)
{
	c->fake_mr.lkey ^= 0x35791300;
}

static void mr_unknown_byte(struct bind_case *c)
{
	c->fake_mr.lkey ^= 1;
}

static void mr_gone(struct bind_case *c)
{
	struct region r;

	region_open(&r, c->d.own.pd, DUO_LEN, 0, MR_BINDABLE);
	c->fake_mr.lkey = r.mr->lkey;
	region_close(&r);
}

static void mr_is_window(struct bind_case *c)
{
	c->mw2 = mw_open(c->d.own.pd, IBV_MW_TYPE_1);
	mw_bind(&c->o2, c->mw2, &c->d.mem, 0, DUO_LEN, RIGHTS_RW);
	c->fake_mr.lkey = c->mw2->rkey;
}

static void mr_of_other_pd(struct bind_case *c)
{
	region_open(&c->other, c->pd2, DUO_LEN, 0, MR_BINDABLE);
	c->fake_mr.lkey = c->other.mr->lkey;
	c->info.addr = region_at(&c->other, NEW_OFF);
}

static void mr_of_other_device(struct bind_case *c)
{
	c->fake_mr.lkey = c->d.buf.mr->lkey;
}

static void mw_of_other_pd(struct bind_case *c)
{
	c->mw2 = mw_open(c->pd2, pane_cfg.mw_type);
	c->fake_mw.rkey = c->mw2->rkey;
}

static void qp_of_other_pd(struct bind_case *c)
{
	ep_open(&c->o3, &c->d.own, c->pd2);
	ep_open(&c->p3, &c->d.peer, c->d.peer.pd);
	ep_connect(&c->o3, &c->p3);
	c->ep = &c->o3;
	c->fake_mw.pd = c->pd2;
	c->fake_mr.pd = c->pd2;
}

/* Window and QP are of one domain, all but the MR of another */
static void mw_and_qp_of_other_pd(struct bind_case *c)
{
	qp_of_other_pd(c);
	c->mw2 = mw_open(c->pd2, pane_cfg.mw_type);
	c->fake_mw.rkey = c->mw2->rkey;
}

/* ---- the rows -------------------------------------------------------- */

#define READ	IBV_ACCESS_REMOTE_READ
#define WRITE	IBV_ACCESS_REMOTE_WRITE
#define ATOMIC	IBV_ACCESS_REMOTE_ATOMIC
#define MR_ALL	(MR_BINDABLE | RIGHTS_ALL)

#define MW(what, types_, fn) \
	{ "B1 window: " what, types_, PANE_VERR_BIND_MW, .spoil = fn, \
	  .qps = fn == mw_unknown_index }
#define MR(what, fn) \
	{ "B2 MR: " what, V_TYPES, PANE_VERR_BIND_MR, .spoil = fn, \
	  .qps = fn == mr_unknown_index }
#define PD(what, fn) \
	{ "B3 PD: " what, V_TYPES, PANE_VERR_BIND_PD, .spoil = fn, \
	  .qps = fn == qp_of_other_pd }
#define LACKS(rule, what, verr_, mr_, access_) \
	{ rule " MR: " what, V_TYPES, PANE_VERR_BIND_##verr_, \
	  .mr_access = mr_, .access = access_, \
	  .qps = (access_) == RIGHTS_RW || (access_) == WRITE }
#define FLAG(bit) \
	{ "B7 flags: bit " #bit, V_TYPES, PANE_VERR_BIND_FLAGS, \
	  .access = READ | 1U << (bit), .qps = (bit) == 10 }
#define RANGE(what, addr_, len_, absolute_) \
	{ "B8 range: " what, V_TYPES, PANE_VERR_BIND_RANGE, .addr = addr_, \
	  .len = len_, .absolute = absolute_, .qps = (addr_) == DUO_LEN - 9 }

static const struct bind_row rows[] = {
	MW("unknown index", V_TYPES, mw_unknown_index),
	MW("unknown byte", V_T1, mw_unknown_byte),
	MW("older key", V_T1, mw_older_key),
	MW("deallocated", V_TYPES, mw_gone),
	MW("key of an MR", V_TYPES, mw_is_mr),
	MW("of the other type", V_TYPES, mw_of_other_type),
	MR("unknown index", mr_unknown_index),
	MR("unknown byte", mr_unknown_byte),
	MR("deregistered", mr_gone),
	MR("key of a window", mr_is_window),
	MR("of another device", mr_of_other_device),
	PD("MR of another", mr_of_other_pd),
	PD("window of another", mw_of_other_pd),
	PD("QP of another", qp_of_other_pd),
	PD("MR of another than window and QP", mw_and_qp_of_other_pd),
	LACKS("B4", "without MW_BIND", MR_ACCESS,
	      IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL, RIGHTS_RW),
	LACKS("B4", "without MW_BIND, for no rights", MR_ACCESS,
	      IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_ZERO_BASED),
	LACKS("B5", "without LOCAL_WRITE, WRITE", LOCAL_WRITE,
	      IBV_ACCESS_MW_BIND | READ, WRITE),
	LACKS("B5", "without LOCAL_WRITE, ATOMIC", LOCAL_WRITE,
	      IBV_ACCESS_MW_BIND, ATOMIC),
	LACKS("B5", "without LOCAL_WRITE, READ and WRITE", LOCAL_WRITE,
	      IBV_ACCESS_MW_BIND, READ | WRITE),
	FLAG(6), FLAG(7), FLAG(8), FLAG(9), FLAG(10), FLAG(16), FLAG(20),
	FLAG(31),
	RANGE("begins one byte early", -1, 10, false),
	RANGE("ends one byte late", DUO_LEN - 9, 10, false),
	RANGE("begins at the end", DUO_LEN, 1, false),
	RANGE("one byte longer than the MR", 0, DUO_LEN + 1, false),
	RANGE("before the MR", -4096, 4096, false),
	RANGE("behind the MR", DUO_LEN + 1048576, 1, false),
	RANGE("longest, from the start", 0, -1, false),
	RANGE("wraps to the start of the MR", 1, -1, false),
	RANGE("wraps into the MR", 5000, -100, false),
	RANGE("half of the address space", 0, 1ULL << 63, false),
	RANGE("last byte there is", -1, 1, true),
	RANGE("wraps to address 0", -1, 2, true),
	RANGE("the whole address space", 0, -1, true),
	{ "B8 range: zero-based, address 0", V_TYPES, PANE_VERR_BIND_RANGE,
	  .access = READ | IBV_ACCESS_ZERO_BASED, .len = 10, .absolute = true },
};

/* Post it, see it refused by its rule, and the QP in error */
static void case_refused(struct bind_case *c, enum pane_vendor_err verr)
{
	uint64_t refused = counter_read(&c->d.own, "bind_refused");
	uint64_t bound = counter_read(&c->d.own, "mw_bound");
	struct ibv_wc wc;

	CHECK_OK(mw_post_bind(c->ep, &c->fake_mw, &c->info, IBV_SEND_SIGNALED,
			      11));
	CHECK_WC(c->ep->scq, 11, IBV_WC_MW_BIND_ERR, &wc);
	CHECK_EQ(wc.qp_num, c->ep->qp->qp_num);
	CHECK_EQ(wc.vendor_err, verr);
	CHECK_EQ(ep_state(c->ep), IBV_QPS_ERR);
	CHECK_EQ(counter_read(&c->d.own, "bind_refused"), refused + 1);
	CHECK_EQ(counter_read(&c->d.own, "mw_bound"), bound);
}

/* In the end the window is as good as ever */
static void case_bind_at_last(struct bind_case *c)
{
	ep_reconnect(&c->d.o, &c->d.p);
	mw_bind(&c->d.o, c->mw, &c->d.mem, NEW_OFF, NEW_LEN, RIGHTS_RW);
	duo_check_access(&c->d, &c->d.p, region_at(&c->d.mem, NEW_OFF),
			 c->mw->rkey, NEW_OFF, NEW_LEN);
}

/* The old binding and its key outlive a refused rebind */
static void test_type1_row(const void *arg)
{
	const struct bind_row *row = arg;
	struct bind_case c;

	case_open(&c);
	mw_bind(&c.d.o, c.mw, &c.d.mem, OLD_OFF, OLD_LEN, RIGHTS_RW);
	case_spoil(&c, row);
	case_refused(&c, row->verr);
	duo_check_access(&c.d, &c.p2, old_va(&c), c.mw->rkey, OLD_OFF,
			 OLD_LEN);
	/* the key that the call had returned never opens anything */
	CHECK_EQ(duo_probe(&c.d, c.info.addr, c.fake_mw.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(duo_probe(&c.d, old_va(&c), c.fake_mw.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	case_bind_at_last(&c);
	case_close(&c);
}

/* A free window stays free */
static void test_type2_row(const void *arg)
{
	const struct bind_row *row = arg;
	struct bind_case c;

	case_open(&c);
	case_spoil(&c, row);
	case_refused(&c, row->verr);
	CHECK_EQ(duo_probe(&c.d, c.info.addr, c.fake_mw.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	ep_reconnect(&c.d.o, &c.d.p);
	CHECK_EQ(ep_write(&c.d.p, &c.d.buf, 1, c.info.addr, c.fake_mw.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	case_bind_at_last(&c);
	case_close(&c);
}

/* A bound one stays bound on its QP, whatever is wrong beside that (B9) */
static void test_type2_row_bound(const void *arg)
{
	const struct bind_row *row = arg;
	struct bind_case c;
	struct ibv_wc wc;

	case_open(&c);
	mw_bind(&c.o2, c.mw, &c.d.mem, OLD_OFF, OLD_LEN, RIGHTS_RW);
	case_spoil(&c, row);
	CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info, IBV_SEND_SIGNALED,
			      11));
	CHECK_WC(c.ep->scq, 11, IBV_WC_MW_BIND_ERR, &wc);
	CHECK_EQ(ep_state(c.ep), IBV_QPS_ERR);
	duo_check_access(&c.d, &c.p2, old_va(&c), c.mw->rkey, OLD_OFF,
			 OLD_LEN);
	mw_unbind(&c.o2, c.mw);
	case_bind_at_last(&c);
	case_close(&c);
}

static void test_b9(const void *arg)
{
	struct bind_case c;

	case_open(&c);
	mw_bind(&c.o2, c.mw, &c.d.mem, OLD_OFF, OLD_LEN, RIGHTS_RW);
	case_request(&c);
	case_refused(&c, PANE_VERR_BIND_STATE);
	duo_check_access(&c.d, &c.p2, old_va(&c), c.mw->rkey, OLD_OFF,
			 OLD_LEN);
	mw_unbind(&c.o2, c.mw);
	case_bind_at_last(&c);
	case_close(&c);
}

/* ---- what ibv_bind_mw says itself ------------------------------------ */

static void test_eperm(const void *arg)
{
	const struct bind_row *row = arg;
	struct ibv_mw *mw;
	struct bind_case c;

	case_open(&c);
	case_request(&c);
	mw = c.mw;
	c.info.mr = c.d.mem.mr;
	if (row->spoil)
		row->spoil(&c);
	if (c.other.mr)
		c.info.mr = c.other.mr;
	if (c.mw2)
		mw = c.mw2;
	CHECK_EQ(mw_post_bind(c.ep, mw, &c.info, IBV_SEND_SIGNALED, 1), EPERM);
	CHECK_EQ(ep_state(c.ep), IBV_QPS_RTS);
	case_close(&c);
}

static const struct bind_row eperm_rows[] = {
	{ "MR of another", .spoil = mr_of_other_pd },
	{ "window of another", .spoil = mw_of_other_pd },
	{ "QP of another", .spoil = qp_of_other_pd },
};

/* ---- completions of failed binds ------------------------------------- */

static void test_unsignaled(const void *arg)
{
	struct bind_case c;

	case_open(&c);
	case_request(&c);
	/* a good one gives no completion */
	CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info, 0, 1));
	CHECK_EQ(ep_write(&c.d.p, &c.d.buf, 0, 0, 0), IBV_WC_SUCCESS);
	CHECK_EQ(ep_write(&c.d.o, &c.d.mem, 0, 0, 0), IBV_WC_SUCCESS);
	/* the rest is as for any other failure */
	c.info.length = DUO_LEN + 1;
	CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info, 0, 2));
	CHECK_WC(c.ep->scq, 2, IBV_WC_MW_BIND_ERR, NULL);
	CHECK_EQ(ep_state(c.ep), IBV_QPS_ERR);
	case_close(&c);
}

/* What was posted behind a failed bind is flushed and never sent */
static void test_flushes(const void *arg)
{
	struct bind_case c;
	struct req reqs[3];
	struct ibv_wc wc;

	case_open(&c);
	case_request(&c);
	CHECK_OK(ep_post_recv(&c.d.p, 1, c.d.buf.addr, 100,
			      c.d.buf.mr->lkey));
	reqs[0] = (struct req) {
		.opcode = IBV_WR_BIND_MW,
		.id = 1,
		.mw = c.mw,
		.rkey = c.mw->rkey,
		.bind = c.info,
	};
	reqs[0].bind.length = DUO_LEN;
	reqs[1] = req_remote(IBV_WR_SEND, &c.d.mem, 100, 0, 0);
	reqs[1].id = 2;
	reqs[2] = reqs[1];
	reqs[2].id = 3;
	reqs[2].flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(&c.d.o, reqs, 3));
	CHECK_WC(c.d.o.scq, 1, IBV_WC_MW_BIND_ERR, NULL);
	CHECK_WC(c.d.o.scq, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	CHECK_WC(c.d.o.scq, 3, IBV_WC_WR_FLUSH_ERR, NULL);
	/* the peer's receive request is there for another sender */
	ep_modify(&c.d.p, IBV_QPS_ERR);
	if (c.d.p.srq)
		CHECK_EQ(ibv_poll_cq(c.d.p.rcq, 1, &wc), 0);
	else
		CHECK_WC(c.d.p.rcq, 1, IBV_WC_WR_FLUSH_ERR, NULL);
	case_bind_at_last(&c);
	case_close(&c);
}

/* ---- B10, B11 -------------------------------------------------------- */

static void test_b10_err(const void *arg)
{
	unsigned int rounds = pane_rounds(2000);
	struct bind_case c;
	uint64_t refused;

	case_open(&c);
	mw_bind(&c.o2, c.mw, &c.d.mem, OLD_OFF, OLD_LEN, RIGHTS_RW);
	refused = counter_read(&c.d.own, "bind_refused");
	ep_modify(&c.d.o, IBV_QPS_ERR);
	for (unsigned int i = 0; i < rounds; i++) {
		case_request(&c);
		CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info, 0, i));
		CHECK_WC(c.ep->scq, i, IBV_WC_WR_FLUSH_ERR, NULL);
	}
	/* no rule was broken */
	CHECK_EQ(counter_read(&c.d.own, "bind_refused"), refused);
	duo_check_access(&c.d, &c.p2, old_va(&c), c.mw->rkey, OLD_OFF,
			 OLD_LEN);
	mw_unbind(&c.o2, c.mw);
	case_bind_at_last(&c);
	case_close(&c);
}

static void test_b10_early(const void *arg)
{
	const enum ibv_qp_state *state = arg;
	struct ibv_qp_attr attr = { .port_num = 1 };
	struct endpoint ep;
	struct bind_case c;

	case_open(&c);
	case_request(&c);
	ep_open(&ep, &c.d.own, c.d.own.pd);
	if (*state == IBV_QPS_INIT) {
		attr.qp_state = IBV_QPS_INIT;
		CHECK_OK(ibv_modify_qp(ep.qp, &attr, IBV_QP_STATE |
				       IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS));
	}
	CHECK_EQ(mw_post_bind(&ep, &c.fake_mw, &c.info, IBV_SEND_SIGNALED, 1),
		 EINVAL);
	CHECK_EQ(c.fake_mw.rkey, c.mw->rkey);
	ep_close(&ep);
	case_close(&c);
}

/* In SQD it waits, like all that is posted then */
static void test_b10_sqd(const void *arg)
{
	struct bind_case c;
	struct ibv_wc wc;

	case_open(&c);
	case_request(&c);
	ep_modify(&c.d.o, IBV_QPS_SQD);
	CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info, IBV_SEND_SIGNALED,
			      1));
	CHECK_EQ(ibv_poll_cq(c.d.o.scq, 1, &wc), 0);
	CHECK_EQ(duo_probe(&c.d, c.info.addr, c.fake_mw.rkey),
		 IBV_WC_REM_ACCESS_ERR);
	ep_modify(&c.d.o, IBV_QPS_RTS);
	CHECK_WC(c.d.o.scq, 1, IBV_WC_SUCCESS, NULL);
	duo_check_access(&c.d, &c.d.p, c.info.addr, c.fake_mw.rkey, NEW_OFF,
			 NEW_LEN);
	case_close(&c);
}

static const unsigned int bad_flags[] = {
	IBV_SEND_INLINE,
	IBV_SEND_SOLICITED,
	IBV_SEND_INLINE | IBV_SEND_SIGNALED | IBV_SEND_FENCE,
	1U << 30,
};

static void test_b11(const void *arg)
{
	struct bind_case c;

	case_open(&c);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_flags); i++) {
		case_request(&c);
		CHECK_EQ(mw_post_bind(c.ep, &c.fake_mw, &c.info, bad_flags[i],
				      1), EINVAL);
		CHECK_EQ(c.fake_mw.rkey, c.mw->rkey);
		CHECK_EQ(ep_state(c.ep), IBV_QPS_RTS);
	}
	CHECK_OK(mw_post_bind(c.ep, &c.fake_mw, &c.info,
			      IBV_SEND_SIGNALED | IBV_SEND_FENCE, 2));
	CHECK_WC(c.d.o.scq, 2, IBV_WC_SUCCESS, NULL);
	duo_check_access(&c.d, &c.d.p, c.info.addr, c.fake_mw.rkey, NEW_OFF,
			 NEW_LEN);
	case_close(&c);
}

static const enum ibv_qp_state early_states[] = {
	IBV_QPS_RESET, IBV_QPS_INIT,
};

static void list_rows(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct bind_row *row = &rows[i];

		if (row->types & V_T1)
			pane_test(V_T1, test_type1_row, row, "%s", row->name);
		if (row->types & V_T2) {
			pane_test(V_T2 | V_APIS, test_type2_row, row, "%s",
				  row->name);
			pane_test(V_T2, test_type2_row_bound, row,
				  "%s, bound elsewhere", row->name);
		}
		if (!row->qps)
			continue;
		pane_test(V_T1 | V_UC | V_XRC, test_type1_row, row, "%s",
			  row->name);
		pane_test(V_T2B | V_UC | V_XRC, test_type2_row, row, "%s",
			  row->name);
	}
}

static void list(void)
{
	list_rows();
	for (unsigned int i = 0; i < ARRAY_SIZE(eperm_rows); i++) {
		pane_test(V_T1 | V_QPS, test_eperm, &eperm_rows[i],
			  "B3 EPERM: %s", eperm_rows[i].name);
		pane_test(V_T2 | V_APIS, test_eperm, &eperm_rows[i],
			  "B3 EPERM: %s", eperm_rows[i].name);
	}
	pane_test(V_T2 | V_APIS | V_QPS, test_b9, NULL, "B9 window is bound");
	pane_test(V_T1 | V_QPS, test_b10_err, NULL, "B10 QP in ERR: flushed");
	pane_test(V_T2 | V_APIS | V_QPS, test_b10_err, NULL,
		  "B10 QP in ERR: flushed");
	for (unsigned int i = 0; i < ARRAY_SIZE(early_states); i++) {
		const char *name = early_states[i] == IBV_QPS_INIT ?
				   "B10 QP in INIT: EINVAL" :
				   "B10 QP in RESET: EINVAL";

		pane_test(V_T1 | V_QPS, test_b10_early, &early_states[i], "%s",
			  name);
		pane_test(V_T2 | V_APIS | V_QPS, test_b10_early,
			  &early_states[i], "%s", name);
	}
	pane_test(V_TYPES | V_QPS, test_b10_sqd, NULL, "B10 QP in SQD: waits");
	pane_test(V_T1 | V_QPS, test_b11, NULL, "B11 send flags");
	pane_test(V_T2 | V_APIS | V_QPS, test_b11, NULL, "B11 send flags");
	pane_test(V_T1 | V_QPS, test_unsignaled, NULL,
		  "failed bind completes though unsignaled");
	pane_test(V_T2 | V_APIS | V_QPS, test_unsignaled, NULL,
		  "failed bind completes though unsignaled");
	pane_test(V_T2 | V_APIS | V_QPS, test_flushes, NULL,
		  "failed bind: what follows is flushed");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
