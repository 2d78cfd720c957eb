// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/kernel.h>

#include "opcode.h"
#include "wire.h"

#define H(hdr)	BIT(PANE_HDR_##hdr)

#define IF_H(hdrs, hdr, type) \
	(((hdrs) & H(hdr)) ? sizeof(struct pane_##type) : 0)

/* Bytes of the headers in @hdrs, as a constant */
#define HDRS_SIZE(hdrs)							\
	(IF_H(hdrs, XRCETH, xrceth) + IF_H(hdrs, DETH, deth) +		\
	 IF_H(hdrs, FETH, feth) + IF_H(hdrs, RETH, reth) +		\
	 IF_H(hdrs, ATOMIC, atomic_eth) +	\
	 IF_H(hdrs, AETH, aeth) + IF_H(hdrs, ATOMIC_ACK, atomic_ack_eth) + \
	 IF_H(hdrs, IMM, immdt) + IF_H(hdrs, IETH, ieth))

#define HDR_LEN(hdrs)	(sizeof(struct pane_bth) + HDRS_SIZE(hdrs))

#define REQ(tr, op, kind_, flags_, len_, hdrs_)				\
	[PANE_TR_##tr | PANE_OP_##op] = {				\
		.name = #tr "_" #op,					\
		.kind = PANE_KIND_##kind_,				\
		.flags = PANE_OPF_REQUEST | (flags_),			\
		.len_rule = PANE_LEN_##len_,				\
		.hdrs = (hdrs_),					\
		.hdr_len = HDR_LEN(hdrs_),				\
	}

#define RESP(tr, op, kind_, flags_, len_, hdrs_)			\
	[PANE_TR_##tr | PANE_OP_##op] = {				\
		.name = #tr "_" #op,					\
		.kind = PANE_KIND_##kind_,				\
		.flags = PANE_OPF_RESPONSE | (flags_),			\
		.len_rule = PANE_LEN_##len_,				\
		.hdrs = (hdrs_),					\
		.hdr_len = HDR_LEN(hdrs_),				\
	}

#define FIRST	PANE_OPF_FIRST
#define LAST	PANE_OPF_LAST
#define ONLY	PANE_OPF_ONLY

/* SEND and WRITE of a connected transport; @x is the header all of them have */
#define CONNECTED_OPS(tr, x)						\
	REQ(tr, SEND_FIRST, SEND, FIRST, MTU, x),			\
	REQ(tr, SEND_MIDDLE, SEND, 0, MTU, x),				\
	REQ(tr, SEND_LAST, SEND, LAST, LAST, x),			\
	REQ(tr, SEND_LAST_IMM, SEND, LAST, LAST, (x) | H(IMM)),		\
	REQ(tr, SEND_ONLY, SEND, ONLY, ONLY, x),			\
	REQ(tr, SEND_ONLY_IMM, SEND, ONLY, ONLY, (x) | H(IMM)),		\
	REQ(tr, WRITE_FIRST, WRITE, FIRST, MTU, (x) | H(RETH)),		\
	REQ(tr, WRITE_MIDDLE, WRITE, 0, MTU, x),			\
	REQ(tr, WRITE_LAST, WRITE, LAST, LAST, x),			\
	REQ(tr, WRITE_LAST_IMM, WRITE, LAST, LAST, (x) | H(IMM)),	\
	REQ(tr, WRITE_ONLY, WRITE, ONLY, ONLY, (x) | H(RETH)),		\
	REQ(tr, WRITE_ONLY_IMM, WRITE, ONLY, ONLY,			\
	    (x) | H(RETH) | H(IMM))

/* What only the reliable transports have */
#define RELIABLE_OPS(tr, x)						\
	REQ(tr, READ_REQUEST, READ, ONLY, ZERO, (x) | H(RETH)),		\
	REQ(tr, CMP_SWAP, ATOMIC, ONLY, ZERO, (x) | H(ATOMIC)),		\
	REQ(tr, FETCH_ADD, ATOMIC, ONLY, ZERO, (x) | H(ATOMIC)),	\
	REQ(tr, FLUSH, FLUSH, ONLY, ZERO, (x) | H(FETH) | H(RETH)),	\
	REQ(tr, ATOMIC_WRITE, ATOMIC_WRITE, ONLY, WORD, (x) | H(RETH)),	\
	REQ(tr, SEND_LAST_INV, SEND, LAST, LAST, (x) | H(IETH)),	\
	REQ(tr, SEND_ONLY_INV, SEND, ONLY, ONLY, (x) | H(IETH)),	\
	RESP(tr, READ_RESP_FIRST, READ_RESP, FIRST, MTU, H(AETH)),	\
	RESP(tr, READ_RESP_MIDDLE, READ_RESP, 0, MTU, 0),		\
	RESP(tr, READ_RESP_LAST, READ_RESP, LAST, LAST, H(AETH)),	\
	RESP(tr, READ_RESP_ONLY, READ_RESP, ONLY, ONLY, H(AETH)),	\
	RESP(tr, ACK, ACK, ONLY, ZERO, H(AETH)),			\
	RESP(tr, ATOMIC_ACK, ATOMIC_ACK, ONLY, ZERO,			\
	     H(AETH) | H(ATOMIC_ACK))

const struct pane_op_info pane_op_table[256] = {
	CONNECTED_OPS(RC, 0),
	RELIABLE_OPS(RC, 0),

	CONNECTED_OPS(UC, 0),

	CONNECTED_OPS(XRC, H(XRCETH)),
	RELIABLE_OPS(XRC, H(XRCETH)),

	REQ(UD, SEND_ONLY, SEND, ONLY, ONLY, H(DETH)),
	REQ(UD, SEND_ONLY_IMM, SEND, ONLY, ONLY, H(DETH) | H(IMM)),

	/* 16 reserved bytes, which are payload to this table */
	[PANE_OPCODE_CNP] = {
		.name = "CNP",
		.kind = PANE_KIND_CNP,
		.len_rule = PANE_LEN_ONLY,
		.hdr_len = HDR_LEN(0),
	},
};

/**
 * pane_op_offset - where a header stands in packets of an opcode
 * @op: the opcode
 * @hdr: the header; need not be part of the packet
 *
 * Return: bytes from the start of the BTH
 */
unsigned int pane_op_offset(const struct pane_op_info *op, enum pane_hdr hdr)
{
	return HDR_LEN(op->hdrs & (BIT(hdr) - 1));
}

/**
 * pane_op_length_ok - may a packet of this opcode carry so much?
 * @op: the opcode
 * @payload: bytes between headers and padding
 * @mtu: path MTU in bytes
 *
 * Return: true if it may
 */
bool pane_op_length_ok(const struct pane_op_info *op, u32 payload, u32 mtu)
{
	switch (op->len_rule) {
	case PANE_LEN_ZERO:
		return !payload;
	case PANE_LEN_MTU:
		return payload == mtu;
	case PANE_LEN_LAST:
		return payload && payload <= mtu;
	case PANE_LEN_ONLY:
		return payload <= mtu;
	case PANE_LEN_WORD:
		return payload == sizeof(u64);
	}
	return false;
}
