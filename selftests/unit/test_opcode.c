// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table, against one written down here from the specification in
 * plain numbers.
 */
#include <linux/kernel.h>

#include "opcode.h"
#include "unit.h"
#include "wire.h"

#define BTH_SIZE 12

enum direction { REQUEST, RESPONSE };
enum place { MIDDLE, FIRST, LAST, ONLY };
enum payload { NO_PAYLOAD, MTU, UP_TO_MTU, EMPTY_TO_MTU, EIGHT_BYTES };

/* The order is that of headers in a packet. */
static const struct {
	enum pane_hdr hdr;
	char letter;
	unsigned int size;
} headers[] = {
	{ PANE_HDR_XRCETH,	'X', 4 },
	{ PANE_HDR_DETH,	'D', 8 },
	{ PANE_HDR_FETH,	'F', 4 },
	{ PANE_HDR_RETH,	'R', 16 },
	{ PANE_HDR_ATOMIC,	'A', 28 },
	{ PANE_HDR_AETH,	'a', 4 },
	{ PANE_HDR_ATOMIC_ACK,	'o', 8 },
	{ PANE_HDR_IMM,		'I', 4 },
	{ PANE_HDR_IETH,	'K', 4 },
};

struct operation {
	u8 op;			/* low five bits */
	enum direction direction;
	const char *hdrs;	/* letters of @headers */
	enum pane_op_kind kind;
	enum place place;
	enum payload payload;
};

/* What RC has; the other transports have a part of it. */
static const struct operation operations[] = {
	{ 0x00, REQUEST,  "",   PANE_KIND_SEND, FIRST, MTU },
	{ 0x01, REQUEST,  "",   PANE_KIND_SEND, MIDDLE, MTU },
	{ 0x02, REQUEST,  "",   PANE_KIND_SEND, LAST, UP_TO_MTU },
	{ 0x03, REQUEST,  "I",  PANE_KIND_SEND, LAST, UP_TO_MTU },
	{ 0x04, REQUEST,  "",   PANE_KIND_SEND, ONLY, EMPTY_TO_MTU },
	{ 0x05, REQUEST,  "I",  PANE_KIND_SEND, ONLY, EMPTY_TO_MTU },
	{ 0x06, REQUEST,  "R",  PANE_KIND_WRITE, FIRST, MTU },
	{ 0x07, REQUEST,  "",   PANE_KIND_WRITE, MIDDLE, MTU },
	{ 0x08, REQUEST,  "",   PANE_KIND_WRITE, LAST, UP_TO_MTU },
	{ 0x09, REQUEST,  "I",  PANE_KIND_WRITE, LAST, UP_TO_MTU },
	{ 0x0a, REQUEST,  "R",  PANE_KIND_WRITE, ONLY, EMPTY_TO_MTU },
	{ 0x0b, REQUEST,  "RI", PANE_KIND_WRITE, ONLY, EMPTY_TO_MTU },
	{ 0x0c, REQUEST,  "R",  PANE_KIND_READ, ONLY, NO_PAYLOAD },
	{ 0x0d, RESPONSE, "a",  PANE_KIND_READ_RESP, FIRST, MTU },
	{ 0x0e, RESPONSE, "",   PANE_KIND_READ_RESP, MIDDLE, MTU },
	{ 0x0f, RESPONSE, "a",  PANE_KIND_READ_RESP, LAST, UP_TO_MTU },
	{ 0x10, RESPONSE, "a",  PANE_KIND_READ_RESP, ONLY, EMPTY_TO_MTU },
	{ 0x11, RESPONSE, "a",  PANE_KIND_ACK, ONLY, NO_PAYLOAD },
	{ 0x12, RESPONSE, "ao", PANE_KIND_ATOMIC_ACK, ONLY, NO_PAYLOAD },
	{ 0x13, REQUEST,  "A",  PANE_KIND_ATOMIC, ONLY, NO_PAYLOAD },
	{ 0x14, REQUEST,  "A",  PANE_KIND_ATOMIC, ONLY, NO_PAYLOAD },
	{ 0x16, REQUEST,  "K",  PANE_KIND_SEND, LAST, UP_TO_MTU },
	{ 0x17, REQUEST,  "K",  PANE_KIND_SEND, ONLY, EMPTY_TO_MTU },
	{ 0x1c, REQUEST,  "FR", PANE_KIND_FLUSH, ONLY, NO_PAYLOAD },
	{ 0x1d, REQUEST,  "R",  PANE_KIND_ATOMIC_WRITE, ONLY, EIGHT_BYTES },
};

/*
 * Which of them a transport has, one bit each, and the header that all its
 * requests begin with. The driver may lack what is not required, but not have
 * it otherwise.
 */
static const struct {
	u8 bits;
	u32 operations;
	const char *request_hdr;
	bool required;
} transports[] = {
	{ 0x00, 0x30dfffff, "",  true },	/* RC */
	{ 0x20, 0x00000fff, "",  true },	/* UC */
	{ 0x60, 0x00000030, "D", true },	/* UD */
	{ 0xa0, 0x30dfffff, "X", true },	/* XRC */
};

/* The opcode's row, or NULL if there is no such opcode */
static const struct operation *find_operation(u8 opcode, unsigned int *tr)
{
	unsigned int i, op = opcode & 0x1f;

	for (*tr = 0; *tr < ARRAY_SIZE(transports); (*tr)++) {
		if (transports[*tr].bits == (opcode & 0xe0))
			break;
	}
	if (*tr == ARRAY_SIZE(transports) ||
	    !(transports[*tr].operations & BIT(op)))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		if (operations[i].op == op)
			return &operations[i];
	}
	return NULL;
}

static bool has_header(const struct operation *op, unsigned int tr, char letter)
{
	return strchr(op->hdrs, letter) ||
	       (op->direction == REQUEST &&
		strchr(transports[tr].request_hdr, letter));
}

/**
 * struct known - an opcode that exists and that the driver knows
 * @info: what the driver says of it
 * @op: what is said here
 * @tr: its transport
 * @next: opcode to look at next
 * @failures: when this one was taken
 */
struct known {
	const struct pane_op_info *info;
	const struct operation *op;
	unsigned int tr;
	unsigned int next;
	unsigned int failures;
};

/* Begins with a zeroed struct, and goes through all of them. */
static bool next_known(struct known *k)
{
	if (k->op && unit_failures > k->failures)
		unit_note("opcode %#x\n", k->next - 1);
	while (k->next < 256) {
		k->op = find_operation(k->next, &k->tr);
		k->info = pane_op_info(k->next++);
		k->failures = unit_failures;
		if (k->op && k->info->name)
			return true;
	}
	return false;
}

static void test_which_exist(void)
{
	unsigned int opcode, tr;

	for (opcode = 0; opcode < 256; opcode++) {
		const struct operation *op = find_operation(opcode, &tr);
		const struct pane_op_info *info = pane_op_info(opcode);

		if (opcode == 0x81)
			continue;
		if (op && transports[tr].required)
			CHECK(info->name);
		if (!op)
			CHECK(!info->name);
	}
}

/* Whoever looks at an unknown opcode's row by mistake finds no packet. */
static void test_unknown_are_empty(void)
{
	unsigned int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		const struct pane_op_info *info = pane_op_info(opcode);

		if (info->name)
			continue;
		CHECK_EQ(info->kind, PANE_KIND_NONE);
		CHECK(!info->flags && !info->hdrs && !info->hdr_len);
		CHECK(!pane_op_length_ok(info, 1, 4096));
	}
}

static void test_names_are_unique(void)
{
	unsigned int a, b;

	for (a = 0; a < 256; a++) {
		const char *name = pane_op_info(a)->name;

		for (b = a + 1; name && b < 256; b++)
			CHECK(!pane_op_info(b)->name ||
			      strcmp(name, pane_op_info(b)->name));
	}
}

static void check_kind(const struct known *k)
{
	const struct pane_op_info *info = k->info;
	const struct operation *op = k->op;
	bool first = op->place == FIRST || op->place == ONLY;
	bool last = op->place == LAST || op->place == ONLY;

	CHECK_EQ(info->kind, op->kind);
	CHECK_EQ(!!(info->flags & PANE_OPF_FIRST), first);
	CHECK_EQ(!!(info->flags & PANE_OPF_LAST), last);
	CHECK_EQ(!!(info->flags & PANE_OPF_REQUEST),
		 op->direction == REQUEST);
	CHECK_EQ(!!(info->flags & PANE_OPF_RESPONSE),
		 op->direction == RESPONSE);
}

static void test_kinds(void)
{
	struct known k = { 0 };

	while (next_known(&k))
		check_kind(&k);
}

static void check_headers(const struct known *k)
{
	const struct pane_op_info *info = k->info;
	const struct operation *op = k->op;
	unsigned int i, offset = BTH_SIZE;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		bool has = has_header(op, k->tr, headers[i].letter);

		CHECK_EQ(pane_op_has(info, headers[i].hdr), has);
		/* of a header that is absent: where it would be */
		CHECK_EQ(pane_op_offset(info, headers[i].hdr), offset);
		offset += has ? headers[i].size : 0;
	}
	CHECK_EQ(info->hdr_len, offset);
	CHECK(offset <= PANE_MAX_TRANSPORT_HDR);
}

static void test_headers(void)
{
	struct known k = { 0 };

	CHECK_EQ(ARRAY_SIZE(headers), PANE_HDR_COUNT);
	while (next_known(&k))
		check_headers(&k);
}

static bool length_ok(enum payload payload, u32 length, u32 mtu)
{
	switch (payload) {
	case NO_PAYLOAD:
		return length == 0;
	case MTU:
		return length == mtu;
	case UP_TO_MTU:
		return length >= 1 && length <= mtu;
	case EMPTY_TO_MTU:
		return length <= mtu;
	case EIGHT_BYTES:
		return length == 8;
	}
	return false;
}

static void check_lengths(const struct known *k)
{
	const struct pane_op_info *info = k->info;
	const struct operation *op = k->op;
	u32 mtu, length;

	for (mtu = 256; mtu <= 4096; mtu *= 2) {
		for (length = 0; length <= 2 * mtu; length++)
			CHECK_EQ(pane_op_length_ok(info, length, mtu),
				 length_ok(op->payload, length, mtu));
		CHECK(!pane_op_length_ok(info, U32_MAX, mtu));
		CHECK(!pane_op_length_ok(info, 1U << 31, mtu));
	}
}

static void test_lengths(void)
{
	struct known k = { 0 };

	while (next_known(&k))
		check_lengths(&k);
}

/* It belongs to no QP: neither a request nor a response, 16 bytes of nothing */
static void test_cnp(void)
{
	const struct pane_op_info *info = pane_op_info(0x81);

	CHECK_EQ(PANE_OPCODE_CNP, 0x81);
	if (!CHECK(info->name))
		return;
	CHECK_EQ(info->kind, PANE_KIND_CNP);
	CHECK(!info->flags && !info->hdrs);
	CHECK_EQ(info->hdr_len, BTH_SIZE);
	CHECK(pane_op_length_ok(info, 16, 256));
}

/* What else the driver says with these numbers */
static void test_enums(void)
{
	CHECK_EQ(PANE_TR_MASK, 0xe0);
	CHECK_EQ(PANE_OP_MASK, 0x1f);
	CHECK_EQ(PANE_TR_RC, 0x00);
	CHECK_EQ(PANE_TR_UC, 0x20);
	CHECK_EQ(PANE_TR_UD, 0x60);
	CHECK_EQ(PANE_TR_CNP, 0x80);
	CHECK_EQ(PANE_TR_XRC, 0xa0);
	CHECK_EQ(PANE_OP_SEND_LAST_INV, 0x16);
	CHECK_EQ(PANE_OP_SEND_ONLY_INV, 0x17);
	CHECK_EQ(PANE_OP_FLUSH, 0x1c);
	CHECK_EQ(PANE_OP_ATOMIC_WRITE, 0x1d);
	/* requesters count on it: a middle packet follows the first */
	CHECK_EQ(PANE_OP_SEND_MIDDLE, PANE_OP_SEND_FIRST + 1);
	CHECK_EQ(PANE_OP_WRITE_MIDDLE, PANE_OP_WRITE_FIRST + 1);
}

static const struct unit_test tests[] = {
	{ "which opcodes exist", test_which_exist },
	{ "unknown opcodes are empty", test_unknown_are_empty },
	{ "names are unique", test_names_are_unique },
	{ "kind, place, direction", test_kinds },
	{ "headers, their order and lengths", test_headers },
	{ "payload lengths", test_lengths },
	{ "congestion notification", test_cnp },
	{ "numbers", test_enums },
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
