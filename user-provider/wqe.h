/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What ibv_post_send() and the ibv_wr_ functions share: the table of operations
 * and the checks that need nothing but it.
 */
#ifndef PANE_WQE_H
#define PANE_WQE_H

#include <string.h>

#include "pane.h"

/* Which member of the union in struct pane_sq_wqe an operation fills */
enum pane_form {
	PANE_FORM_SEND,		/* ud, or rdma without an address */
	PANE_FORM_RDMA,
	PANE_FORM_ATOMIC,
	PANE_FORM_BIND,
	PANE_FORM_FLUSH,
	PANE_FORM_INV,		/* none */
};

/**
 * struct pane_send_op - an operation of enum ibv_wr_opcode
 * @qp_types: bits 1 << enum ibv_qp_type; 0 for what this device does not do
 * @opcode: enum pane_wr_opcode
 * @form: enum pane_form
 * @flags: enum ibv_send_flags that mean something to the operation
 * @refused: enum ibv_send_flags that are an error
 * @has_ex: it carries an immediate or a key
 * @needs: bit of device_cap_flags_ex of devices that have it; 0: all do
 */
struct pane_send_op {
	uint16_t qp_types;
	uint8_t opcode;
	uint8_t form;
	uint8_t flags;
	uint8_t refused;
	bool has_ex;
	uint64_t needs;
};

const struct pane_send_op *pane_find_send_op(const struct ibv_qp *ibqp,
					     unsigned int opcode);
uint64_t pane_send_ops_flags(struct ibv_context *ibctx,
			     enum ibv_qp_type qp_type);
int pane_check_sq(const struct pane_qp *qp);
int pane_check_send_flags(const struct pane_send_op *op, unsigned int flags);
uint16_t pane_wqe_flags(const struct pane_sq *sq, const struct pane_send_op *op,
			unsigned int flags);

static inline bool pane_qp_is(const struct pane_qp *qp, enum ibv_qp_type type)
{
	return qp->vqp.qp.qp_type == type;
}

/* Does a request of this kind need an address handle? */
static inline bool pane_is_ud_send(const struct pane_qp *qp,
				   const struct pane_send_op *op)
{
	return op->form == PANE_FORM_SEND && pane_qp_is(qp, IBV_QPT_UD);
}

static inline void pane_copy_sges(struct pane_sge *to,
				  const struct ibv_sge *from, size_t num_sge)
{
	for (size_t i = 0; i < num_sge; i++)
		to[i] = (struct pane_sge) {
			.addr = from[i].addr,
			.length = from[i].length,
			.lkey = from[i].lkey,
		};
}

/* Returns the end of the copy. A buffer of length 0 need not have an address */
static inline uint8_t *pane_copy_inline(uint8_t *to, const void *from,
					size_t length)
{
	if (length)
		memcpy(to, from, length);
	return to + length;
}

#endif /* PANE_WQE_H */
