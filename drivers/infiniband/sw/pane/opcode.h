/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The opcodes of packets: one table says of each which headers it has, how
 * long its payload may be and what it is. Nothing else in the module knows an
 * opcode's bits.
 */
#ifndef PANE_OPCODE_H
#define PANE_OPCODE_H

#include <linux/types.h>
#include <linux/bits.h>

/* The upper three bits of an opcode: the transport */
enum pane_transport {
	PANE_TR_RC	= 0x00,
	PANE_TR_UC	= 0x20,
	PANE_TR_UD	= 0x60,
	PANE_TR_CNP	= 0x80,
	PANE_TR_XRC	= 0xa0,
};

#define PANE_TR_MASK	0xe0
#define PANE_OP_MASK	0x1f

/* The lower five bits: the operation */
enum pane_wire_op {
	PANE_OP_SEND_FIRST		= 0x00,
	PANE_OP_SEND_MIDDLE		= 0x01,
	PANE_OP_SEND_LAST		= 0x02,
	PANE_OP_SEND_LAST_IMM		= 0x03,
	PANE_OP_SEND_ONLY		= 0x04,
	PANE_OP_SEND_ONLY_IMM		= 0x05,
	PANE_OP_WRITE_FIRST		= 0x06,
	PANE_OP_WRITE_MIDDLE		= 0x07,
	PANE_OP_WRITE_LAST		= 0x08,
	PANE_OP_WRITE_LAST_IMM		= 0x09,
	PANE_OP_WRITE_ONLY		= 0x0a,
	PANE_OP_WRITE_ONLY_IMM		= 0x0b,
	PANE_OP_READ_REQUEST		= 0x0c,
	PANE_OP_READ_RESP_FIRST		= 0x0d,
	PANE_OP_READ_RESP_MIDDLE	= 0x0e,
	PANE_OP_READ_RESP_LAST		= 0x0f,
	PANE_OP_READ_RESP_ONLY		= 0x10,
	PANE_OP_ACK			= 0x11,
	PANE_OP_ATOMIC_ACK		= 0x12,
	PANE_OP_CMP_SWAP		= 0x13,
	PANE_OP_FETCH_ADD		= 0x14,
	PANE_OP_SEND_LAST_INV		= 0x16,
	PANE_OP_SEND_ONLY_INV		= 0x17,
	PANE_OP_FLUSH			= 0x1c,
	PANE_OP_ATOMIC_WRITE		= 0x1d,
};

#define PANE_OPCODE_CNP		0x81

/* Headers behind the BTH, in the order in which they stand in a packet */
enum pane_hdr {
	PANE_HDR_XRCETH,
	PANE_HDR_DETH,
	PANE_HDR_FETH,
	PANE_HDR_RETH,
	PANE_HDR_ATOMIC,
	PANE_HDR_AETH,
	PANE_HDR_ATOMIC_ACK,
	PANE_HDR_IMM,
	PANE_HDR_IETH,
	PANE_HDR_COUNT,
};

enum pane_op_flags {
	PANE_OPF_FIRST		= BIT(0),	/* starts a message */
	PANE_OPF_LAST		= BIT(1),	/* ends one */
	PANE_OPF_REQUEST	= BIT(2),	/* for the responder */
	PANE_OPF_RESPONSE	= BIT(3),	/* for the requester */
	PANE_OPF_ONLY		= PANE_OPF_FIRST | PANE_OPF_LAST,
};

enum pane_op_kind {
	PANE_KIND_NONE,		/* no such opcode */
	PANE_KIND_SEND,
	PANE_KIND_WRITE,
	PANE_KIND_READ,
	PANE_KIND_ATOMIC,
	PANE_KIND_FLUSH,
	PANE_KIND_ATOMIC_WRITE,
	PANE_KIND_READ_RESP,
	PANE_KIND_ACK,
	PANE_KIND_ATOMIC_ACK,
	PANE_KIND_CNP,
};

enum pane_len_rule {
	PANE_LEN_ZERO,		/* no payload */
	PANE_LEN_MTU,		/* exactly the path MTU */
	PANE_LEN_LAST,		/* 1 byte to the path MTU */
	PANE_LEN_ONLY,		/* 0 bytes to the path MTU */
	PANE_LEN_WORD,		/* 8 bytes */
};

/**
 * struct pane_op_info - what is known of an opcode
 * @name: as the specification has it; NULL where there is no such opcode
 * @kind: what the packet does
 * @flags: enum pane_op_flags
 * @len_rule: which payload lengths are legal
 * @hdr_len: bytes from the start of the BTH to the payload
 * @hdrs: bit per enum pane_hdr
 */
struct pane_op_info {
	const char *name;
	u8 kind;
	u8 flags;
	u8 len_rule;
	u8 hdr_len;
	u16 hdrs;
};

extern const struct pane_op_info pane_op_table[256];

static inline const struct pane_op_info *pane_op_info(u8 opcode)
{
	return &pane_op_table[opcode];
}

/* Is @hdr part of the packet? */
static inline bool pane_op_has(const struct pane_op_info *op, enum pane_hdr hdr)
{
	return op->hdrs & BIT(hdr);
}

unsigned int pane_op_offset(const struct pane_op_info *op, enum pane_hdr hdr);
bool pane_op_length_ok(const struct pane_op_info *op, u32 payload, u32 mtu);

#endif /* PANE_OPCODE_H */
