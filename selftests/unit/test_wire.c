// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Where the fields of packets stand, and in which order their bytes */
#include <linux/kernel.h>

#include "unit.h"
#include "wire.h"

struct field {
	const char *name;
	size_t offset;
	size_t size;
	size_t expected_offset;
	size_t expected_size;
};

#define FIELD(type, field, offset, size) \
	{ #type "." #field, offsetof(struct type, field), \
	  sizeof(((struct type *)0)->field), offset, size }

static const struct field fields[] = {
	FIELD(pane_bth, opcode, 0, 1),
	FIELD(pane_bth, flags, 1, 1),
	FIELD(pane_bth, pkey, 2, 2),
	FIELD(pane_bth, dqpn, 4, 4),
	FIELD(pane_bth, apsn, 8, 4),
	FIELD(pane_reth, va, 0, 8),
	FIELD(pane_reth, rkey, 8, 4),
	FIELD(pane_reth, length, 12, 4),
	FIELD(pane_atomic_eth, va, 0, 8),
	FIELD(pane_atomic_eth, rkey, 8, 4),
	FIELD(pane_atomic_eth, swap_add, 12, 8),
	FIELD(pane_atomic_eth, compare, 20, 8),
	FIELD(pane_aeth, smsn, 0, 4),
	FIELD(pane_atomic_ack_eth, orig, 0, 8),
	FIELD(pane_immdt, imm, 0, 4),
	FIELD(pane_ieth, rkey, 0, 4),
	FIELD(pane_feth, type_sel, 0, 4),
	FIELD(pane_xrceth, srqn, 0, 4),
	FIELD(pane_deth, qkey, 0, 4),
	FIELD(pane_deth, sqpn, 4, 4),
};

static void test_fields(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!CHECK_EQ(fields[i].offset, fields[i].expected_offset) ||
		    !CHECK_EQ(fields[i].size, fields[i].expected_size))
			unit_note("%s\n", fields[i].name);
	}
}

static void test_sizes(void)
{
	CHECK_EQ(sizeof(struct pane_bth), 12);
	CHECK_EQ(sizeof(struct pane_reth), 16);
	CHECK_EQ(sizeof(struct pane_atomic_eth), 28);
	CHECK_EQ(sizeof(struct pane_aeth), 4);
	CHECK_EQ(sizeof(struct pane_atomic_ack_eth), 8);
	CHECK_EQ(sizeof(struct pane_immdt), 4);
	CHECK_EQ(sizeof(struct pane_ieth), 4);
	CHECK_EQ(sizeof(struct pane_feth), 4);
	CHECK_EQ(sizeof(struct pane_xrceth), 4);
	CHECK_EQ(sizeof(struct pane_deth), 8);
	CHECK_EQ(PANE_ICRC_SIZE, 4);
	CHECK_EQ(PANE_MAX_TRANSPORT_HDR, 12 + 4 + 28);
}

/* Structures are laid over any byte of a packet. */
static void test_alignment(void)
{
	CHECK_EQ(_Alignof(struct pane_reth), 1);
	CHECK_EQ(_Alignof(struct pane_atomic_eth), 1);
	CHECK_EQ(_Alignof(struct pane_atomic_ack_eth), 1);
	CHECK_EQ(_Alignof(struct pane_bth), 4);
}

/* SEND only with immediate, solicited, padded by 3, P_Key 0xffff, QP 0x123456 */
static void test_bth_bytes(void)
{
	static const u8 bytes[] = {
		0x05, 0xf0, 0xff, 0xff,
		0xc0, 0x12, 0x34, 0x56,
		0x80, 0xab, 0xcd, 0xef,
	};
	struct pane_bth bth = {
		.opcode = 5,
		.flags = PANE_BTH_SE | PANE_BTH_MIGREQ |
			 3 << PANE_BTH_PAD_SHIFT,
		.pkey = cpu_to_be16(PANE_PKEY_DEFAULT),
		.dqpn = cpu_to_be32(PANE_BTH_FECN | PANE_BTH_BECN | 0x123456),
		.apsn = cpu_to_be32(PANE_BTH_ACKREQ | 0xabcdef),
	};

	CHECK(!memcmp(&bth, bytes, sizeof(bytes)));
}

static void test_bth_masks(void)
{
	CHECK_EQ(PANE_BTH_SE, 0x80);
	CHECK_EQ(PANE_BTH_MIGREQ, 0x40);
	CHECK_EQ(PANE_BTH_PAD, 0x30);
	CHECK_EQ(3 << PANE_BTH_PAD_SHIFT, 0x30);
	CHECK_EQ(PANE_BTH_TVER, 0x0f);
	CHECK_EQ(PANE_BTH_FECN, 0x80000000);
	CHECK_EQ(PANE_BTH_BECN, 0x40000000);
	CHECK_EQ(PANE_BTH_QPN, 0x00ffffff);
	CHECK_EQ(PANE_BTH_ACKREQ, 0x80000000);
	CHECK_EQ(PANE_BTH_PSN, 0x00ffffff);
}

static void test_reth_bytes(void)
{
	static const u8 bytes[] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14, 0x80, 0x00, 0x00, 0x00,
	};
	struct pane_reth reth;

	memcpy(&reth, bytes, sizeof(reth));
	CHECK_EQ(be64_to_cpu(reth.va), 0x0102030405060708);
	CHECK_EQ(be32_to_cpu(reth.rkey), 0x11121314);
	CHECK_EQ(be32_to_cpu(reth.length), 1U << 31);
}

static void test_atomic_bytes(void)
{
	static const u8 bytes[] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14,
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
		0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
	};
	struct pane_atomic_eth eth;

	memcpy(&eth, bytes, sizeof(eth));
	CHECK_EQ(be64_to_cpu(eth.va), 0x0102030405060708);
	CHECK_EQ(be32_to_cpu(eth.rkey), 0x11121314);
	CHECK_EQ(be64_to_cpu(eth.swap_add), 0x2122232425262728);
	CHECK_EQ(be64_to_cpu(eth.compare), 0x3132333435363738);
}

/* The values are the wire's, whatever the macros are made of. */
static void test_syndromes(void)
{
	CHECK_EQ(PANE_AETH_SYNDROME_SHIFT, 24);
	CHECK_EQ(PANE_AETH_MSN, 0xffffff);
	CHECK_EQ(PANE_AETH_TYPE | PANE_AETH_VALUE, 0xff);
	CHECK_EQ(PANE_AETH_ACK, 0x00);
	CHECK_EQ(PANE_AETH_ACK_UNLIMITED, 0x1f);
	CHECK_EQ(PANE_AETH_RNR_NAK, 0x20);
	CHECK_EQ(PANE_NAK_PSN_SEQ, 0x60);
	CHECK_EQ(PANE_NAK_INV_REQ, 0x61);
	CHECK_EQ(PANE_NAK_REM_ACC, 0x62);
	CHECK_EQ(PANE_NAK_REM_OP, 0x63);
}

/* Placement type in the low four bits, selectivity in the two above */
static void test_feth_masks(void)
{
	CHECK_EQ(PANE_FETH_GLOBAL, 0x01);
	CHECK_EQ(PANE_FETH_PERSISTENT, 0x02);
	CHECK_EQ(PANE_FETH_SEL, 0x30);
	CHECK_EQ(PANE_FETH_SEL_RANGE, 0x00);
	CHECK_EQ(PANE_FETH_SEL_MR, 0x10);
}

static void test_numbers(void)
{
	CHECK_EQ(PANE_UDP_PORT, 4791);
	CHECK_EQ(PANE_UDP_SPORT_MIN, 0xc000);
	CHECK_EQ(PANE_QPN_GSI, 1);
	CHECK_EQ(PANE_QPN_MULTICAST, 0xffffff);
	CHECK_EQ(PANE_PKEY_DEFAULT, 0xffff);
	CHECK_EQ(PANE_QKEY_CONTROLLED, 0x80000000);
}

static const struct unit_test tests[] = {
	{ "offsets and sizes of fields", test_fields },
	{ "sizes of headers", test_sizes },
	{ "alignment", test_alignment },
	{ "bytes of a BTH", test_bth_bytes },
	{ "masks of the BTH", test_bth_masks },
	{ "bytes of a RETH", test_reth_bytes },
	{ "bytes of an AtomicETH", test_atomic_bytes },
	{ "AETH syndromes", test_syndromes },
	{ "masks of the FETH", test_feth_masks },
	{ "numbers with a meaning", test_numbers },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
