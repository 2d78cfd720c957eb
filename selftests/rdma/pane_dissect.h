/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What frames of pane_dissect look like, and the check of a capture */
#ifndef PANE_DISSECT_H
#define PANE_DISSECT_H

#include <stddef.h>
#include <stdint.h>

#define QKEY		0x11223344

enum headers {
	H_RETH = 1, H_ATOMIC = 2, H_AETH = 4, H_ORIG = 8, H_IMM = 16,
	H_IETH = 32, H_DETH = 64, H_SE = 128,
};

/**
 * struct expected - fields of a frame
 * @headers: that it has
 * @opcode: of the BTH, and so on
 * @psn: likewise
 * @len: bytes of payload
 * @va: RETH and AtomicETH
 * @rkey: likewise
 * @dmalen: RETH
 * @swap: swapped in, or added
 * @compare: compared with
 * @syndrome: AETH
 * @msn: likewise
 * @orig: AtomicAckETH
 * @word: immediate data, or the key to invalidate
 * @sqpn: DETH
 */
struct expected {
	unsigned int headers;
	unsigned int opcode;
	uint32_t psn;
	size_t len;
	uint64_t va;
	uint32_t rkey;
	uint32_t dmalen;
	uint64_t swap;
	uint64_t compare;
	unsigned int syndrome;
	uint32_t msn;
	uint64_t orig;
	uint32_t word;
	uint32_t sqpn;
};

extern const char *current;

void print_frame(uint32_t dqpn, const struct expected *x);
int check_icrc(const char *name);

#endif
