// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The fields of a frame as they are expected, as text */
#include <inttypes.h>
#include <stdio.h>

#include "pane_dissect.h"

/* The operation whose frames are printed */
const char *current;

static size_t headers_len(unsigned int headers)
{
	static const unsigned char lens[] = { 16, 28, 4, 8, 4, 4, 8, 4, 0, 4 };
	size_t len = 0;

	for (unsigned int i = 0; i < sizeof(lens); i++)
		if (headers & 1 << i)
			len += lens[i];
	return len;
}

/*
 * Are more than the fields of the BTH shown? The dissectors of our days do not
 * know what else is in packets of XRC, and neither the newer operations.
 */
static bool is_dissected(unsigned int opcode)
{
	return opcode < XRC && opcode != CNP && opcode != ATOMIC_WRITE &&
	       opcode != FLUSH;
}

/* ---- headers that are not shown ----------------------------------------- */

/* What the specification gives to a packet, by the opcode without transport */
static const unsigned short headers_of[32] = {
	[SEND_LAST_IMM] = H_IMM,
	[SEND_ONLY_IMM] = H_IMM,
	[WRITE_FIRST] = H_RETH,
	[WRITE_LAST_IMM] = H_IMM,
	[WRITE_ONLY] = H_RETH,
	[WRITE_ONLY_IMM] = H_RETH | H_IMM,
	[READ_REQUEST] = H_RETH,
	[READ_RESP_FIRST] = H_AETH,
	[READ_RESP_LAST] = H_AETH,
	[READ_RESP_ONLY] = H_AETH,
	[ACKNOWLEDGE] = H_AETH,
	[ATOMIC_ACK] = H_AETH | H_ORIG,
	[CMP_SWAP] = H_ATOMIC,
	[FETCH_ADD] = H_ATOMIC,
	[SEND_LAST_INV] = H_IETH,
	[SEND_ONLY_INV] = H_IETH,
	[FLUSH] = H_FETH | H_RETH,
	[ATOMIC_WRITE] = H_RETH,
};

/* Answers of XRC go to the QP that sent, and name no SRQ. */
static bool is_answer(unsigned int opcode)
{
	return (opcode & 0x1f) >= READ_RESP_FIRST &&
	       (opcode & 0x1f) <= ATOMIC_ACK;
}

static size_t unread_len(unsigned int opcode)
{
	unsigned int headers = headers_of[opcode & 0x1f];

	if (opcode == CNP || is_dissected(opcode))
		return 0;
	if (opcode >= XRC && !is_answer(opcode))
		headers |= H_XRCETH;
	return headers_len(headers);
}

static void print_bytes(uint32_t dqpn, unsigned int opcode, uint32_t psn,
			const uint8_t *bytes, size_t len)
{
	printf("0x%06x|%u|%u|", dqpn, opcode, psn);
	for (size_t i = 0; i < len; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

/* Of a frame of which a dissector shows the BTH only: what else it has */
void print_headers(const struct seen *seen)
{
	size_t len = unread_len(seen->opcode);

	if (len)
		print_bytes(seen->dqpn, seen->opcode, seen->psn, seen->hdr,
			    len < seen->hdr_len ? len : seen->hdr_len);
}

/* The same as it is expected, in the order of the specification */
static void print_unread(uint32_t dqpn, const struct expected *x)
{
	struct spec s = {};

	if (x->headers & H_XRCETH)
		spec_word(&s, x->srqn);
	if (x->headers & H_FETH)
		spec_word(&s, x->type_sel);
	if (x->headers & H_RETH)
		spec_reth(&s, x->va, x->rkey, x->dmalen);
	if (x->headers & H_ATOMIC)
		spec_atomic(&s, x->va, x->rkey, x->swap, x->compare);
	if (x->headers & H_AETH)
		spec_aeth(&s, x->syndrome, x->msn);
	if (x->headers & H_ORIG)
		spec_atomic_ack(&s, x->orig);
	if (x->headers & (H_IMM | H_IETH))
		spec_word(&s, x->word);
	if (!s.hdr_len)
		return;
	printf("%s:headers|", current);
	print_bytes(dqpn, x->opcode, x->psn & 0xffffff, s.hdr, s.hdr_len);
}

/* ---- fields that are shown ---------------------------------------------- */

/* From the UDP header on; what a global route header tells is without it */
static size_t length_of(const struct expected *x)
{
	size_t pad = -x->len & 3;

	return (net_is("v1") ? 0 : 8) + 12 + headers_len(x->headers) + x->len +
	       pad + 4;
}

/* In the order and the format of the fields that pane_dissect.sh asks for */
void print_frame(uint32_t dqpn, const struct expected *x)
{
	size_t pad = -x->len & 3;
	unsigned int h = x->headers;

	printf("%s|0x%06x|%u|%u|%zu|%d|%zu|", current, dqpn, x->opcode,
	       x->psn & 0xffffff, pad, !!(h & H_SE), length_of(x));
	if (!is_dissected(x->opcode))
		h = 0;
	if (h & (H_RETH | H_ATOMIC))
		printf("0x%016" PRIx64 "|0x%08x", x->va, x->rkey);
	else
		printf("|");
	if (h & H_RETH)
		printf("|%u", x->dmalen);
	else
		printf("|");
	if (h & H_ATOMIC)
		printf("|%" PRIu64 "|%" PRIu64, x->swap, x->compare);
	else
		printf("||");
	if (h & H_AETH)
		printf("|%u|%u", x->syndrome, x->msn);
	else
		printf("||");
	printf(h & H_ORIG ? "|%" PRIu64 : "|", x->orig);
	printf(h & H_IMM ? "|%08x" : "|", x->word);
	printf(h & H_IETH ? "|%08x" : "|", x->word);
	if (h & H_DETH)
		printf("|0x%016x|0x%08x\n", QKEY, x->sqpn);
	else
		printf("||\n");
	if (!is_dissected(x->opcode))
		print_unread(dqpn, x);
}
