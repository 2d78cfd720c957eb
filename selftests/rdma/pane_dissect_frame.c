// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The fields of a frame as they are expected, as text */
#include <inttypes.h>
#include <stdio.h>

#include "pane_dissect.h"
#include "pane_frames_build.h"

/* The operation whose frames are printed */
const char *current;

static size_t headers_len(unsigned int headers)
{
	static const unsigned char lens[] = { 16, 28, 4, 8, 4, 4, 8, 4 };
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
static bool is_dissected(const struct expected *x)
{
	return x->opcode < XRC && x->opcode != CNP && x->opcode != ATOMIC_WRITE;
}

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
	if (!is_dissected(x))
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
}
