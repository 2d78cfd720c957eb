// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_post_send(): what it puts into the ring, and what it refuses */
#include <errno.h>

#include "tests.h"

struct ibv_sge four_sges[KERNEL_MAX_SGE] = {
	{ .addr = 0x1000, .length = 8, .lkey = 1 },
	{ .addr = 0, .length = 0, .lkey = 2 },
	{ .addr = 0x2000, .length = 16, .lkey = 3 },
	{ .addr = 0x3000, .length = 4, .lkey = 4 },
};

static uint8_t data[1024];
static struct pane_ah ah = { .number = 0x55 };
static struct ibv_mr mr = { .lkey = 0x1000, .pd = &pd.ibv_pd };
static struct ibv_mw mw = {
	.type = IBV_MW_TYPE_2,
	.rkey = 0xabcdef12,
	.pd = &pd.ibv_pd,
};

int post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return pane_post_send(qp, wr, &bad);
}

void test_layout(void)
{
	static const struct {
		struct pane_layout layout;
		bool valid;
	} cases[] = {
		{ { 4096, 256, 64, 32, 64 }, true },
		{ { 4096, 256, 64, 0, 64 }, true },
		{ { 4096, 256, 64, 64, 64 }, false },
		{ { 4096, 256, 64, 33, 64 }, false },
		{ { 4096, 256, 64, 32, 65 }, false },
		{ { 4096, 2048, 64, 32, 64 }, true },
		{ { 4096, 2049, 64, 32, 64 }, false },
		{ { 4096, 4097, 64, 32, 64 }, false },
		/* products that wrap in 32 bits */
		{ { 4096, 0, 0x80000000, 0x80000000, 4 }, false },
		{ { 4096, 0, 0x10000, 0x10000, 4 }, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ(pane_layout_valid(&cases[i].layout),
			      cases[i].valid))
			unit_note("case %u\n", i);
	}
}

void test_send_fields(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = {
		.wr_id = 7,
		.sg_list = four_sges,
		.num_sge = 4,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			      IBV_SEND_FENCE,
		.imm_data = 0x01020304,
		.wr.rdma = { .remote_addr = 0x123456789abc, .rkey = 99 },
		.qp_type.xrc.remote_srqn = 77,
	};
	struct pane_sq_wqe *w = kernel_wqe(0);

	kernel_fill_rings(0xee);
	CHECK(!post(qp, &wr));
	CHECK_EQ(kernel_qp.ctl->sq_prod, 1);
	CHECK_EQ(w->wr_id, 7);
	CHECK_EQ(w->opcode, PANE_WR_WRITE_IMM);
	CHECK_EQ(w->num_sge, 4);
	CHECK_EQ(w->flags, PANE_WR_SIGNALED | PANE_WR_SOLICITED | PANE_WR_FENCE);
	CHECK_EQ(w->ex, 0x01020304);
	CHECK_EQ(w->rdma.remote_addr, 0x123456789abc);
	CHECK_EQ(w->rdma.rkey, 99);
	/* members without meaning here are zero */
	CHECK_EQ(w->rdma.srqn, 0);
	CHECK(!w->rdma.inline_len && !w->rdma.reserved[0] &&
	      !w->rdma.reserved[1] && !w->rdma.reserved[2]);
	CHECK(!memcmp(w->sge, four_sges, sizeof(four_sges)));
	end_qp(qp);
}

static void fill_data(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7;
}

void test_send_inline(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_sge sges[3] = {
		{ .addr = (uintptr_t)data, .length = 100 },
		{ .addr = 0, .length = 0 },
		{ .addr = (uintptr_t)data + 100, .length = 156 },
	};
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_INLINE,
		.invalidate_rkey = 0xbeef,
	};
	struct pane_sq_wqe *w = kernel_wqe(0);

	fill_data();
	kernel_fill_rings(0xee);
	CHECK(!post(qp, &wr));
	CHECK_EQ(w->flags, PANE_WR_INLINE);
	CHECK_EQ(w->num_sge, 0);
	CHECK_EQ(w->rdma.inline_len, KERNEL_MAX_INLINE);
	CHECK_EQ(w->ex, 0xbeef);
	CHECK(!w->rdma.remote_addr && !w->rdma.rkey);
	CHECK(!memcmp(w->sge, data, KERNEL_MAX_INLINE));
	/* the slot behind it */
	CHECK_EQ(kernel_wqe(1)->opcode, 0xee);

	sges[2].length++;
	CHECK_EQ(post(qp, &wr), EINVAL);
	/* a sum that wraps */
	sges[0].length = 2;
	sges[2].length = 0xffffffff;
	CHECK_EQ(post(qp, &wr), EINVAL);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 1);
	end_qp(qp);
}

void test_send_atomics(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = four_sges,
		.num_sge = 1,
		.wr.atomic = {
			.remote_addr = 64,
			.compare_add = 5,
			.swap = 6,
			.rkey = 8,
		},
	};
	struct pane_sq_wqe *w = kernel_wqe(0);

	kernel_fill_rings(0xee);
	CHECK(!post(qp, &wr));
	CHECK_EQ(w->opcode, PANE_WR_FETCH_ADD);
	CHECK_EQ(w->atomic.remote_addr, 64);
	CHECK_EQ(w->atomic.compare_add, 5);
	CHECK_EQ(w->atomic.swap, 0);
	CHECK_EQ(w->atomic.rkey, 8);
	CHECK_EQ(w->num_sge, 1);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	CHECK(!post(qp, &wr));
	w = kernel_wqe(1);
	CHECK_EQ(w->opcode, PANE_WR_CMP_SWAP);
	CHECK_EQ(w->atomic.compare_add, 5);
	CHECK_EQ(w->atomic.swap, 6);
	end_qp(qp);
}

/* An ATOMIC WRITE looks like a WRITE; how long it is the kernel checks. */
void test_send_atomic_write(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)data, .length = 8 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = 64, .rkey = 8 },
	};
	struct pane_sq_wqe *w = kernel_wqe(0);

	fill_data();
	kernel_fill_rings(0xee);
	CHECK(!post(qp, &wr));
	CHECK_EQ(w->opcode, PANE_WR_ATOMIC_WRITE);
	CHECK_EQ(w->rdma.remote_addr, 64);
	CHECK_EQ(w->rdma.rkey, 8);
	CHECK_EQ(w->num_sge, 1);
	CHECK_EQ(w->sge[0].length, 8);
	CHECK(!w->flags && !w->ex && !w->rdma.inline_len &&
	      !w->rdma.reserved[0] && !w->rdma.reserved[1] &&
	      !w->rdma.reserved[2]);

	wr.send_flags = IBV_SEND_INLINE;
	CHECK(!post(qp, &wr));
	w = kernel_wqe(1);
	CHECK_EQ(w->flags, PANE_WR_INLINE);
	CHECK_EQ(w->num_sge, 0);
	CHECK_EQ(w->rdma.inline_len, 8);
	CHECK(!memcmp(w->sge, data, 8));
	end_qp(qp);
}

void test_send_datagrams(void)
{
	struct ibv_qp *qp = new_qp_in(&pd.ibv_pd, IBV_QPT_UD, 0, 1);
	struct ibv_sge sge = { .addr = (uintptr_t)data, .length = 5 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = 0x99,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = 3, .remote_qkey = 4 },
	};
	struct pane_sq_wqe *w = kernel_wqe(0);

	kernel_fill_rings(0xee);
	CHECK_EQ(post(qp, &wr), EINVAL);
	wr.wr.ud.ah = &ah.ibv_ah;
	CHECK(!post(qp, &wr));
	CHECK_EQ(w->ud.ah, 0x55);
	CHECK_EQ(w->ud.remote_qpn, 3);
	CHECK_EQ(w->ud.remote_qkey, 4);
	CHECK(!w->ud.reserved0 && !w->ud.inline_len && !w->ud.reserved[0] &&
	      !w->ud.reserved[1] && !w->ud.reserved[2]);
	CHECK_EQ(w->ex, 0x99);
	CHECK_EQ(w->num_sge, 1);
	/* the QP was made with sq_sig_all */
	CHECK_EQ(w->flags, PANE_WR_SIGNALED);

	wr.send_flags = IBV_SEND_INLINE;
	CHECK(!post(qp, &wr));
	CHECK_EQ(kernel_wqe(1)->ud.inline_len, 5);
	CHECK_EQ(kernel_wqe(1)->num_sge, 0);
	end_qp(qp);
}

/* Bits of enum ibv_wr_opcode that a type of QP has */
#define OP(name) (1U << IBV_WR_##name)
#define SENDS (OP(SEND) | OP(SEND_WITH_IMM))
#define UNRELIABLE_OPS							\
	(SENDS | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) |		\
	 OP(LOCAL_INV) | OP(BIND_MW))
#define RELIABLE_OPS							\
	(UNRELIABLE_OPS | OP(RDMA_READ) | OP(SEND_WITH_INV) |		\
	 OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) |		\
	 OP(ATOMIC_WRITE))

/* struct ibv_send_wr cannot say what a FLUSH needs; ibv_wr_flush() can. */
#ifdef HAVE_IBV_WR_FLUSH
#define FLUSH_FLAG IBV_QP_EX_WITH_FLUSH
#else
#define FLUSH_FLAG 0
#endif

static const struct {
	enum ibv_qp_type type;
	unsigned int ops;
} qp_types[] = {
	{ IBV_QPT_RC, RELIABLE_OPS },
	{ IBV_QPT_XRC_SEND, RELIABLE_OPS },
	{ IBV_QPT_UC, UNRELIABLE_OPS },
	{ IBV_QPT_UD, SENDS },
};

#define OPS_WITH_EX							\
	(OP(SEND_WITH_IMM) | OP(RDMA_WRITE_WITH_IMM) |			\
	 OP(SEND_WITH_INV) | OP(LOCAL_INV))

/* By enum ibv_wr_opcode */
static const uint8_t opcodes[] = {
	[IBV_WR_RDMA_WRITE] = PANE_WR_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = PANE_WR_WRITE_IMM,
	[IBV_WR_SEND] = PANE_WR_SEND,
	[IBV_WR_SEND_WITH_IMM] = PANE_WR_SEND_IMM,
	[IBV_WR_RDMA_READ] = PANE_WR_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = PANE_WR_CMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = PANE_WR_FETCH_ADD,
	[IBV_WR_LOCAL_INV] = PANE_WR_LOCAL_INV,
	[IBV_WR_BIND_MW] = PANE_WR_BIND_MW,
	[IBV_WR_SEND_WITH_INV] = PANE_WR_SEND_INV,
	[IBV_WR_ATOMIC_WRITE] = PANE_WR_ATOMIC_WRITE,
};

/* Bits of enum ibv_qp_create_send_ops_flags, most of which are the opcode's */
static uint64_t send_ops_flags(unsigned int ops)
{
	if (!(ops & OP(ATOMIC_WRITE)))
		return ops;
	return (ops & ~OP(ATOMIC_WRITE)) | IBV_QP_EX_WITH_ATOMIC_WRITE |
	       FLUSH_FLAG;
}

static struct ibv_send_wr good_wr(enum ibv_qp_type type,
				  enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.invalidate_rkey = 0x1234,
	};

	if (type == IBV_QPT_UD) {
		wr.wr.ud.ah = &ah.ibv_ah;
	} else if (opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &mw;
		wr.bind_mw.bind_info.mr = &mr;
		wr.bind_mw.bind_info.length = 1;
	}
	if (type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = 0x77;
	return wr;
}

static void check_operation(enum ibv_qp_type type, unsigned int ops,
			    unsigned int opcode)
{
	struct ibv_send_wr wr = good_wr(type, opcode);
	struct ibv_qp *qp = new_qp(type, 0);
	bool local = OP(BIND_MW) & 1U << opcode || OP(LOCAL_INV) & 1U << opcode;
	int expected = ops >> opcode & 1 ? 0 : EINVAL;

	CHECK_EQ(post(qp, &wr), expected);
	if (!expected) {
		CHECK_EQ(kernel_wqe(0)->opcode, opcodes[opcode]);
		CHECK_EQ(kernel_wqe(0)->ex,
			 OPS_WITH_EX >> opcode & 1 ? 0x1234 : 0);
		if (type == IBV_QPT_XRC_SEND && !local)
			CHECK_EQ(kernel_wqe(0)->rdma.srqn, 0x77);
	}
	end_qp(qp);
}

void test_send_types(void)
{
	unsigned int i, opcode;

	for (i = 0; i < ARRAY_SIZE(qp_types); i++) {
		CHECK_EQ(pane_send_ops_flags(&context.vctx.context,
					     qp_types[i].type),
			 send_ops_flags(qp_types[i].ops));
		for (opcode = 0; opcode < 16; opcode++) {
			unsigned int failures = unit_failures;

			check_operation(qp_types[i].type,
					qp_types[i].ops, opcode);
			if (unit_failures > failures)
				unit_note("QP type %u, opcode %u\n",
					  qp_types[i].type, opcode);
		}
	}
}

/* What the device lacks is refused by itself, and so is a QP for it. */
void test_send_capabilities(void)
{
	struct ibv_send_wr wr = good_wr(IBV_QPT_RC, IBV_WR_ATOMIC_WRITE);
	struct ibv_context *ctx = &context.vctx.context;
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);

	CHECK(!post(qp, &wr));
	context.caps = ~CAP_ATOMIC_WRITE;
	CHECK_EQ(post(qp, &wr), EINVAL);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 1);
	CHECK_EQ(pane_send_ops_flags(ctx, IBV_QPT_RC),
		 (RELIABLE_OPS & ~OP(ATOMIC_WRITE)) | FLUSH_FLAG);
	CHECK(!new_qp_in(&pd.ibv_pd, IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE,
			 0));
	context.caps = ~CAP_FLUSH_GLOBAL;
	CHECK_EQ(pane_send_ops_flags(ctx, IBV_QPT_RC),
		 (RELIABLE_OPS & ~OP(ATOMIC_WRITE)) |
		 IBV_QP_EX_WITH_ATOMIC_WRITE);
	context.caps = KERNEL_CAPS;
	end_qp(qp);

	qp = new_qp(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE);
	end_qp(qp);
}

/* Flags without meaning are dropped, those that cannot be kept are errors. */
void test_send_flags(void)
{
	const unsigned int sol = IBV_SEND_SOLICITED, fen = IBV_SEND_FENCE;
	const unsigned int inl = IBV_SEND_INLINE;
	const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode opcode;
		unsigned int flags;
		int expected;		/* PANE_WR_ flags, or -1 */
	} cases[] = {
		{ IBV_QPT_RC, IBV_WR_SEND, sol | fen,
		  PANE_WR_SOLICITED | PANE_WR_FENCE },
		{ IBV_QPT_RC, IBV_WR_RDMA_WRITE, sol | fen, PANE_WR_FENCE },
		{ IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, sol,
		  PANE_WR_SOLICITED },
		{ IBV_QPT_RC, IBV_WR_RDMA_READ, sol, 0 },
		{ IBV_QPT_RC, IBV_WR_LOCAL_INV, sol | fen, PANE_WR_FENCE },
		{ IBV_QPT_RC, IBV_WR_RDMA_READ, inl, -1 },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, inl, -1 },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, inl, -1 },
		{ IBV_QPT_RC, IBV_WR_LOCAL_INV, inl, -1 },
		{ IBV_QPT_RC, IBV_WR_BIND_MW, inl, -1 },
		{ IBV_QPT_RC, IBV_WR_BIND_MW, sol, -1 },
		{ IBV_QPT_RC, IBV_WR_BIND_MW, fen, PANE_WR_FENCE },
		{ IBV_QPT_RC, IBV_WR_ATOMIC_WRITE, sol | fen, PANE_WR_FENCE },
		{ IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_IP_CSUM, -1 },
		{ IBV_QPT_RC, IBV_WR_SEND, 1 << 20, -1 },
		/* these have nothing that a fence would wait for */
		{ IBV_QPT_UC, IBV_WR_SEND, fen | sol, PANE_WR_SOLICITED },
		{ IBV_QPT_UD, IBV_WR_SEND, fen | sol, PANE_WR_SOLICITED },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibv_send_wr wr = good_wr(cases[i].type, cases[i].opcode);
		struct ibv_qp *qp = new_qp(cases[i].type, 0);
		unsigned int failures = unit_failures;
		bool good = cases[i].expected >= 0;

		wr.send_flags = cases[i].flags;
		CHECK_EQ(post(qp, &wr), good ? 0 : EINVAL);
		CHECK_EQ(kernel_qp.ctl->sq_prod, good);
		if (good)
			CHECK_EQ(kernel_wqe(0)->flags, cases[i].expected);
		if (unit_failures > failures)
			unit_note("case %u\n", i);
		end_qp(qp);
	}
}

void test_send_refused(void)
{
	static const int unknown[] = {
		-1, IBV_WR_TSO, IBV_WR_DRIVER1, 12, 13, 14, 16, 1 << 30,
	};
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = { .sg_list = four_sges }, *bad = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		wr.opcode = unknown[i];
		CHECK_EQ(pane_post_send(qp, &wr, &bad), EINVAL);
		CHECK(bad == &wr);
	}
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = KERNEL_MAX_SGE + 1;
	CHECK_EQ(post(qp, &wr), EINVAL);
	wr.num_sge = -1;
	CHECK_EQ(post(qp, &wr), EINVAL);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 0);

	/* nothing looks at the list of a request that has none */
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x123;
	wr.num_sge = 77;
	CHECK(!post(qp, &wr));
	CHECK_EQ(kernel_wqe(0)->ex, 0x123);
	CHECK_EQ(kernel_wqe(0)->num_sge, 0);
	end_qp(qp);
}

void test_send_states(void)
{
	static const struct {
		enum ibv_qp_state state;
		int expected;
	} states[] = {
		{ IBV_QPS_RESET, EINVAL },
		{ IBV_QPS_INIT, EINVAL },
		{ IBV_QPS_RTR, EINVAL },
		{ IBV_QPS_RTS, 0 },
		{ IBV_QPS_SQD, 0 },
		{ IBV_QPS_SQE, 0 },
		{ IBV_QPS_ERR, 0 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);

		kernel_qp.ctl->sq_flags = PANE_NEED_DOORBELL;
		qp->state = states[i].state;
		CHECK_EQ(post(qp, &wr), states[i].expected);
		CHECK_EQ(kernel_qp.ctl->sq_prod, !states[i].expected);
		CHECK_EQ(doorbell.send, !states[i].expected);
		end_qp(qp);
	}
}

/* The requests before a bad one stay posted; the doorbell is rung once. */
void test_send_lists(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr third = { .opcode = IBV_WR_TSO };
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND, .next = &third };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second };
	struct ibv_send_wr *bad = NULL;

	kernel_qp.ctl->sq_flags = PANE_NEED_DOORBELL;
	CHECK_EQ(pane_post_send(qp, &first, &bad), EINVAL);
	CHECK(bad == &third);
	CHECK_EQ(kernel_qp.ctl->sq_prod, 2);
	CHECK_EQ(doorbell.send, 1);

	bad = NULL;
	CHECK_EQ(pane_post_send(qp, &third, &bad), EINVAL);
	CHECK(bad == &third);
	CHECK_EQ(doorbell.send, 1);

	CHECK(!pane_post_send(qp, NULL, &bad));
	CHECK_EQ(doorbell.send, 1);
	end_qp(qp);
}

/* Rung when the kernel asks for it; when it fails nothing was posted. */
void test_send_doorbell(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second };
	struct ibv_send_wr *bad = NULL;

	CHECK(!pane_post_send(qp, &first, &bad));
	CHECK_EQ(doorbell.send, 0);
	kernel_qp.ctl->sq_flags = PANE_NEED_DOORBELL;
	CHECK(!pane_post_send(qp, &first, &bad));
	CHECK_EQ(doorbell.send, 1);

	doorbell.err = ENODEV;
	CHECK_EQ(pane_post_send(qp, &first, &bad), ENODEV);
	CHECK(bad == &first);
	end_qp(qp);
}

void test_send_full(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second };
	struct ibv_send_wr *bad = NULL;
	unsigned int i;

	for (i = 0; i < KERNEL_SLOTS; i++)
		CHECK(!post(qp, &second));
	CHECK_EQ(pane_post_send(qp, &first, &bad), ENOMEM);
	CHECK(bad == &first);
	CHECK_EQ(kernel_qp.ctl->sq_prod, KERNEL_SLOTS);
	/* one slot is free again */
	kernel_qp.ctl->sq_cons = 1;
	CHECK_EQ(pane_post_send(qp, &first, &bad), ENOMEM);
	CHECK(bad == &second);
	CHECK_EQ(kernel_qp.ctl->sq_prod, KERNEL_SLOTS + 1);
	end_qp(qp);
}

void test_send_index_wraps(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pane_queue *q = &to_pane_qp(qp)->sq.q;
	uint32_t start = -4;
	unsigned int i;

	q->prod = start;
	q->cons = start;
	kernel_qp.ctl->sq_prod = start;
	kernel_qp.ctl->sq_cons = start;
	for (i = 0; i < KERNEL_SLOTS; i++) {
		wr.wr_id = i;
		CHECK(!post(qp, &wr));
		CHECK_EQ(kernel_wqe(start + i)->wr_id, i);
	}
	CHECK_EQ(post(qp, &wr), ENOMEM);
	CHECK_EQ(kernel_qp.ctl->sq_prod, KERNEL_SLOTS - 4);
	kernel_qp.ctl->sq_cons = -1;
	for (i = 0; i < 3; i++)
		CHECK(!post(qp, &wr));
	CHECK_EQ(post(qp, &wr), ENOMEM);
	end_qp(qp);
}

static void check_qp_refused(enum ibv_qp_type type, uint64_t send_ops)
{
	errno = 0;
	CHECK(!new_qp_in(&pd.ibv_pd, type, send_ops, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
}

void test_qp_refused(void)
{
	check_qp_refused(IBV_QPT_RAW_PACKET, 0);
	check_qp_refused(IBV_QPT_DRIVER, 0);
	check_qp_refused(IBV_QPT_RC, IBV_QP_EX_WITH_TSO);
	check_qp_refused(IBV_QPT_RC, 1ULL << 40);
	check_qp_refused(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ);
	check_qp_refused(IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_WRITE);
	check_qp_refused(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ);
}
