/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connections that pane_dissect uses, what its frames look like, and the
 * check of a capture
 */
#ifndef PANE_DISSECT_H
#define PANE_DISSECT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pane_frames_build.h"
#include "pane_raw.h"
#include "pane_verbs.h"

#define MTU		1024
#define MEM_LEN		8192
#define QKEY		0x11223344
/* the third packet of a message has number 0 */
#define PSN_A		0xfffffeU
#define PSN_B		0x000123U
#define RNR_TIMER	12

/* As in uapi/rdma/ib_user_verbs.h, for libraries older than that */
#define WR_FLUSH		((enum ibv_wr_opcode)14)
#define ACCESS_FLUSH_GLOBAL	(1 << 8)

/* Added to opcodes of RC */
enum transport { RC = 0, UC = 0x20, UD = 0x60, XRC = 0xa0 };

enum headers {
	H_RETH = 1, H_ATOMIC = 2, H_AETH = 4, H_ORIG = 8, H_IMM = 16,
	H_IETH = 32, H_DETH = 64, H_XRCETH = 128, H_SE = 256, H_FETH = 512,
};

/**
 * struct op - an operation that succeeds, or is refused
 * @name: of it
 * @tr: transport
 * @wr: opcode
 * @len: bytes; of a FLUSH, where 0 stands for the whole region
 * @se: with a solicited event
 * @ce: as if a queue on the way were congested
 */
struct op {
	const char *name;
	enum transport tr;
	enum ibv_wr_opcode wr;
	uint32_t len;
	bool se;
	bool ce;
};

/**
 * struct stage - two QPs, the second of which is the responder
 * @p: their devices
 * @op: what they are for
 * @qp: they; XRC has one that sends and one that receives
 * @raw: FLUSH: the first one, whose ring the test writes itself; libraries may
 *       be older than this request
 * @raw_name: FLUSH: what @qp has in place of it, for its number
 * @binder: QP at the responder that windows are bound on
 * @xrcd: XRC: the responder's domain
 * @srq: XRC: what the second receives for
 * @srqn: XRC: its number
 * @scq: completions of their requests
 * @rcq: and of what they receive
 * @mem: memory on each side
 */
struct stage {
	struct pair p;
	const struct op *op;
	struct ibv_qp *qp[2];
	struct raw_qp raw;
	struct ibv_qp raw_name;
	struct ibv_qp *binder;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint32_t srqn;
	struct ibv_cq *scq[2];
	struct ibv_cq *rcq[2];
	struct region mem[2];
};

/* @expected_psn: what the responder waits for */
void stage_open(struct stage *t, const struct op *op, uint32_t expected_psn,
		uint8_t timeout);
void stage_close(struct stage *t);
struct ibv_ah_attr stage_ah(const struct stage *t, unsigned int from);
void receive(struct stage *t, uint32_t len);
void request(struct stage *t, unsigned int i, struct ibv_send_wr wr,
	     enum ibv_wc_status status);
/* The first 8 bytes of the requester's memory, behind the responder's eighth */
void request_atomic_write(struct stage *t);
/* Of the responder's memory from its eighth byte on */
void request_flush(struct stage *t, uint32_t rkey, enum ibv_wc_status status);
struct ibv_mw *bound_window(struct stage *t);

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
 * @srqn: XRCETH
 * @type_sel: FETH
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
	uint32_t srqn;
	uint32_t type_sel;
};

extern const char *current;

void print_frame(uint32_t dqpn, const struct expected *x);
void print_headers(const struct seen *seen);
int check_icrc(const char *name);
int read_headers(const char *name);

#endif
