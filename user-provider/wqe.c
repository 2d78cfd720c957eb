// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of send operations, and the checks that need nothing but it.
 */
#include <config.h>

#include <errno.h>

#include <ccan/array_size.h>

#include "wqe.h"

/* As in uapi/rdma/ib_user_verbs.h, for libraries older than that */
#define PANE_CAP_FLUSH_GLOBAL	(1ULL << 38)
#define PANE_CAP_ATOMIC_WRITE	(1ULL << 40)

#define QPT(type)	(1U << IBV_QPT_##type)
#define RELIABLE	(QPT(RC) | QPT(XRC_SEND))
#define CONNECTED	(RELIABLE | QPT(UC))
#define ANY		(CONNECTED | QPT(UD))

#define FENCE_SIGNALED	(IBV_SEND_FENCE | IBV_SEND_SIGNALED)
#define ALL_FLAGS	(FENCE_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

/*
 * Unreliable connected QPs have no SEND_WITH_INV: the wire protocol gives them
 * no such packet.
 */
static const struct pane_send_op pane_send_ops[] = {
	[IBV_WR_RDMA_WRITE] = {
		.qp_types = CONNECTED,
		.opcode = PANE_WR_WRITE,
		.form = PANE_FORM_RDMA,
		.flags = FENCE_SIGNALED | IBV_SEND_INLINE,
	},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		.qp_types = CONNECTED,
		.opcode = PANE_WR_WRITE_IMM,
		.form = PANE_FORM_RDMA,
		.flags = ALL_FLAGS,
		.has_ex = true,
	},
	[IBV_WR_SEND] = {
		.qp_types = ANY,
		.opcode = PANE_WR_SEND,
		.form = PANE_FORM_SEND,
		.flags = ALL_FLAGS,
	},
	[IBV_WR_SEND_WITH_IMM] = {
		.qp_types = ANY,
		.opcode = PANE_WR_SEND_IMM,
		.form = PANE_FORM_SEND,
		.flags = ALL_FLAGS,
		.has_ex = true,
	},
	[IBV_WR_RDMA_READ] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_READ,
		.form = PANE_FORM_RDMA,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE,
	},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_CMP_SWAP,
		.form = PANE_FORM_ATOMIC,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE,
	},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_FETCH_ADD,
		.form = PANE_FORM_ATOMIC,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE,
	},
	[IBV_WR_LOCAL_INV] = {
		.qp_types = CONNECTED,
		.opcode = PANE_WR_LOCAL_INV,
		.form = PANE_FORM_INV,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE,
		.has_ex = true,
	},
	[IBV_WR_BIND_MW] = {
		.qp_types = CONNECTED,
		.opcode = PANE_WR_BIND_MW,
		.form = PANE_FORM_BIND,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE | IBV_SEND_SOLICITED,
	},
	[IBV_WR_ATOMIC_WRITE] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_ATOMIC_WRITE,
		.form = PANE_FORM_RDMA,
		.flags = FENCE_SIGNALED | IBV_SEND_INLINE,
		.needs = PANE_CAP_ATOMIC_WRITE,
	},
#ifdef HAVE_IBV_WR_FLUSH
	[IBV_WR_FLUSH] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_FLUSH,
		.form = PANE_FORM_FLUSH,
		.flags = FENCE_SIGNALED,
		.refused = IBV_SEND_INLINE,
		.needs = PANE_CAP_FLUSH_GLOBAL,
	},
#endif
	[IBV_WR_SEND_WITH_INV] = {
		.qp_types = RELIABLE,
		.opcode = PANE_WR_SEND_INV,
		.form = PANE_FORM_SEND,
		.flags = ALL_FLAGS,
		.has_ex = true,
	},
};

static bool pane_has_op(struct ibv_context *ibctx, enum ibv_qp_type qp_type,
			const struct pane_send_op *op)
{
	return (op->qp_types & (1U << qp_type)) &&
	       !(op->needs & ~to_pane_context(ibctx)->caps);
}

/* NULL for what this device, or this type of QP, does not do */
const struct pane_send_op *pane_find_send_op(const struct ibv_qp *ibqp,
					     unsigned int opcode)
{
	const struct pane_send_op *op;

	if (opcode >= ARRAY_SIZE(pane_send_ops))
		return NULL;

	op = &pane_send_ops[opcode];
	return pane_has_op(ibqp->context, ibqp->qp_type, op) ? op : NULL;
}

/*
 * The bit of an operation in enum ibv_qp_create_send_ops_flags is its number;
 * that of the two newest ones is not.
 */
static_assert(IBV_QP_EX_WITH_RDMA_WRITE == 1 << IBV_WR_RDMA_WRITE &&
	      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ==
		      1 << IBV_WR_RDMA_WRITE_WITH_IMM &&
	      IBV_QP_EX_WITH_SEND == 1 << IBV_WR_SEND &&
	      IBV_QP_EX_WITH_SEND_WITH_IMM == 1 << IBV_WR_SEND_WITH_IMM &&
	      IBV_QP_EX_WITH_RDMA_READ == 1 << IBV_WR_RDMA_READ &&
	      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP ==
		      1 << IBV_WR_ATOMIC_CMP_AND_SWP &&
	      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ==
		      1 << IBV_WR_ATOMIC_FETCH_AND_ADD &&
	      IBV_QP_EX_WITH_LOCAL_INV == 1 << IBV_WR_LOCAL_INV &&
	      IBV_QP_EX_WITH_BIND_MW == 1 << IBV_WR_BIND_MW &&
	      IBV_QP_EX_WITH_SEND_WITH_INV == 1 << IBV_WR_SEND_WITH_INV,
	      "send_ops_flags are not the bits of the opcodes");

static uint64_t pane_op_flag(unsigned int opcode)
{
	switch (opcode) {
	case IBV_WR_ATOMIC_WRITE:
		return IBV_QP_EX_WITH_ATOMIC_WRITE;
#ifdef HAVE_IBV_WR_FLUSH
	case IBV_WR_FLUSH:
		return IBV_QP_EX_WITH_FLUSH;
#endif
	default:
		return 1ULL << opcode;
	}
}

/* enum ibv_qp_create_send_ops_flags that a type of QP supports */
uint64_t pane_send_ops_flags(struct ibv_context *ibctx,
			     enum ibv_qp_type qp_type)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pane_send_ops); i++)
		if (pane_has_op(ibctx, qp_type, &pane_send_ops[i]))
			flags |= pane_op_flag(i);
	return flags;
}

/* May requests be put into the send queue at all? */
int pane_check_sq(const struct pane_qp *qp)
{
	if (!qp->sq.q.count)
		return EINVAL;

	switch (qp->vqp.qp.state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return EINVAL;
	default:
		return 0;
	}
}

/* Flags without meaning to an operation are dropped, as hardware does */
int pane_check_send_flags(const struct pane_send_op *op, unsigned int flags)
{
	return flags & (~(unsigned int)ALL_FLAGS | op->refused) ? EINVAL : 0;
}

/* enum pane_wr_flags of a request; PANE_WR_INLINE is not decided here */
uint16_t pane_wqe_flags(const struct pane_sq *sq, const struct pane_send_op *op,
			unsigned int flags)
{
	uint16_t wqe_flags = 0;

	flags = (flags & sq->flag_mask & op->flags) | sq->flag_always;
	if (flags & IBV_SEND_SIGNALED)
		wqe_flags |= PANE_WR_SIGNALED;
	if (flags & IBV_SEND_SOLICITED)
		wqe_flags |= PANE_WR_SOLICITED;
	if (flags & IBV_SEND_FENCE)
		wqe_flags |= PANE_WR_FENCE;
	return wqe_flags;
}
