/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bad frames in great numbers: what a frame is made of, a model of what the
 * device makes of it, and the queue pairs they are sent to.
 *
 * The model is written after the list of checks in Documentation/design.rst and
 * the specification, and shares nothing with the driver.
 */
#ifndef PANE_BADFRAMES_H
#define PANE_BADFRAMES_H

#include "pane_frames.h"

#define BAD_MTU		256
#define SIZE_MAX_SWEPT	300	/* from the BTH to the ICRC */

/* Where a frame ends, and who counts that: each has one of these */
#define REASONS(X)							\
	/* before the queue pair looks at it */				\
	X(GRH,		"rx_grh")					\
	X(SHORT,	"rx_short")					\
	X(TVER,		"rx_tver")					\
	X(OPCODE,	"rx_opcode")					\
	X(LENGTH,	"rx_length")					\
	X(NO_QP,	"rx_no_qp")					\
	X(TRANSPORT,	"rx_transport")					\
	X(SOURCE,	"rx_source")					\
	X(PKEY,		"rx_pkey")					\
	X(QKEY,		"rx_qkey")					\
	X(ICRC,		"rx_icrc")					\
	/* by the queue pair */						\
	X(CNP,		"rx_cnp")					\
	X(QP_STATE,	"rx_qp_state")					\
	X(UD_NO_RECV,	"rx_ud_no_recv")				\
	X(UD_LENGTH,	"rx_ud_length")					\
	X(UC_DROPPED,	"rx_uc_dropped")				\
	X(DUPLICATE,	"duplicate_request")				\
	X(AHEAD,	"out_of_seq_request")				\
	X(UNEXPECTED,	"unexpected_response")				\
	X(INVALID,	"sent_inv_req")					\
	X(ACCESS,	"sent_rem_access")

/* What moves beside a frame's reason */
#define EFFECTS(X)							\
	X(UC_GAP,	"out_of_seq_request")				\
	X(SEQ_ERR,	"sent_seq_err")					\
	X(INV_REFUSED,	"inv_refused")					\
	X(RECVS,	"rdma_recvs")					\
	X(SENT,		"sent_pkts")					\
	X(RCVD,		"rcvd_pkts")					\
	X(RCVD_BYTES,	"rcvd_bytes")

enum move {
#define X(name, counter) R_##name,
	REASONS(X)
#undef X
	R_TAKEN,	/* nobody objects to it */
	R_STACK,	/* the network stack keeps or drops it */
	R_BAD_RESP,	/* a request's completion tells of it */
	R_COUNT,
#define X(name, counter) M_##name,
	EFFECTS(X)
#undef X
	M_COUNT,
};

/* Of those that an enum move names, or NULL */
const char *move_counter(enum move m);
/* Does the queue pair not see it? */
static inline bool is_before_qp(enum move m)
{
	return m < R_CNP;
}

/* ---- opcodes --------------------------------------------------------- */

enum op_flags {
	OP_RC		= 1 << 0,	/* transports that have it */
	OP_UC		= 1 << 1,
	OP_UD		= 1 << 2,
	OP_XRC		= 1 << 3,
	OP_RESPONSE	= 1 << 4,
	OP_FIRST	= 1 << 5,	/* starts a message */
	OP_LAST		= 1 << 6,	/* ends it */
	OP_SEND		= 1 << 7,
	OP_WRITE	= 1 << 8,
	OP_READ		= 1 << 9,
	OP_ATOMIC	= 1 << 10,
	OP_IMM		= 1 << 11,
	OP_IETH		= 1 << 12,
	OP_RETH		= 1 << 13,
	OP_AETH		= 1 << 14,
	OP_ORIG		= 1 << 15,	/* AtomicAckETH */
	OP_FETH		= 1 << 16,
	OP_OPTIONAL	= 1 << 17,	/* not every device has it */
	OP_CNP		= 1 << 18,
	OP_DETH		= 1 << 19,	/* these two by the transport */
	OP_XRCETH	= 1 << 20,
	OP_RELIABLE	= OP_RC | OP_XRC,
	OP_CONNECTED	= OP_RELIABLE | OP_UC,
	OP_ONLY		= OP_FIRST | OP_LAST,
};

/* What the transports add to the numbers of RC */
#define UC_BASE		0x20
#define UD_BASE		0x60
#define XRC_BASE	0xa0

/* The part of an opcode's flags that is its transport: one, or 0 */
unsigned int op_transport(uint8_t opcode);
/* Its flags; 0 if there is no such opcode anywhere */
unsigned int op_flags(uint8_t opcode);
/* Bytes of headers that these flags tell of, with the BTH */
unsigned int op_hdr_len(unsigned int flags);
/* May a packet have so many bytes of payload? */
bool op_length_ok(uint8_t opcode, unsigned int len);

/* ---- frames ---------------------------------------------------------- */

/* Queue pairs that a frame can name */
enum target {
	T_RC,		/* connected to the stranger, something outstanding */
	T_UC,		/* likewise */
	T_XRC_TGT,	/* likewise */
	T_XRC_INI,	/* likewise, something outstanding */
	T_UD_EMPTY,	/* without a receive request */
	T_UD_SHORT,	/* with one that nothing fits into */
	T_GSI,		/* QP 1 */
	T_HONEST,	/* connected to somebody else */
	T_ERR,		/* connected, in error */
	T_INIT,		/* not connected yet */
	T_FOREIGN,	/* in another namespace */
	T_NONE,		/* there is none */
	TARGETS,
};

enum faults {
	F_TVER		= 1 << 0,
	F_SOURCE	= 1 << 1,	/* not the address of the peer */
	F_DEST		= 1 << 2,	/* another address of the device */
	F_PKEY		= 1 << 3,
	F_QKEY		= 1 << 4,
	F_ICRC		= 1 << 5,
	F_ALL		= (1 << 6) - 1,
};

/* What must not matter: bits of the BTH, and reserved ones */
enum idle_bits {
	B_SE		= 1 << 0,
	B_NO_MIGREQ	= 1 << 1,
	B_ACKREQ	= 1 << 2,
	B_LIMITED	= 1 << 3,	/* P_Key of a limited member */
	B_ECN		= 1 << 4,	/* FECN, BECN, what is beside them */
	B_RESERVED	= 1 << 5,	/* beside AckReq */
	B_COUNT		= 6,
};

/**
 * struct frame - a frame, as the model sees it
 * @opcode: of the BTH
 * @size: bytes from the BTH to the ICRC, which may be too few
 * @pad: pad count that is claimed
 * @target: whose number it bears
 * @faults: enum faults
 * @bits: enum idle_bits
 * @psn_kind: which PSN, below PSN_KINDS
 * @turn: chooses among faults of a kind
 */
struct frame {
	uint8_t opcode;
	unsigned int size;
	unsigned int pad;
	enum target target;
	unsigned int faults;
	unsigned int bits;
	unsigned int psn_kind;
	unsigned int turn;
};

#define PSN_KINDS	5

/**
 * struct model - what the prediction depends on
 * @optional: bit for each optional opcode of RC that the device knows
 * @latched: no sequence NAK is sent until a packet in order comes
 * @uc_psn: that the UC QP expects
 */
struct model {
	uint32_t optional;
	bool latched[TARGETS];
	uint32_t uc_psn;
};

bool model_knows(const struct model *m, uint8_t opcode);
unsigned int model_hdr_len(const struct model *m, uint8_t opcode);
/* Bytes of payload; the headers fit */
unsigned int model_len(const struct model *m, const struct frame *f);
/* Change what would make it a good frame, which has no place here */
void model_spoil(const struct model *m, struct frame *f);
/* Where the frame ends */
enum move model_reason(const struct model *m, const struct frame *f);
/* That, and all it moves, added to @want */
enum move model_moves(struct model *m, const struct frame *f,
		      uint64_t want[M_COUNT]);
/* How far its PSN is from the one that is expected; never 0 but on UC */
uint32_t model_psn_off(const struct frame *f);

/* ---- the stage ------------------------------------------------------- */

#define BATCH		128
#define BATCH_BYTES	(256 * 1024)

struct batch;

/**
 * struct bad - the device with a queue pair of each kind
 * @t: device, stranger, honest connection; its QP is T_RC
 * @m: what is predicted
 * @uc: UC endpoint
 * @xrc: both QPs of XRC
 * @ud_empty: likewise, T_UD_EMPTY and so on
 * @ud_short: likewise
 * @err: likewise
 * @init: likewise
 * @dead_qpn: T_NONE: the number of a QP that is gone
 * @srqn: number of the SRQ of @xrc
 * @batch: frames that wait to be sent
 */
struct bad {
	struct stage t;
	struct model m;
	struct endpoint uc;
	struct endpoint xrc;
	struct end ud_empty;
	struct end ud_short;
	struct end err;
	struct end init;
	uint32_t dead_qpn;
	uint32_t srqn;
	struct batch *batch;
};

/* The UC QP expects this one first, the target of XRC likewise */
#define UC_PSN		0x123456
#define XRC_PSN		0xfffff0

/* Its connections have a small path MTU, and all the time */
struct qp_opts bad_opts(enum ibv_qp_type type);

void bad_open(struct bad *b);
/* All of them still work, and nothing has happened that must not */
void bad_close(struct bad *b);

void batch_open(struct bad *b);
void batch_close(struct bad *b);

/* A frame of the model, to be sent */
void bad_frame(struct bad *b, struct frame f);
/* Any frame, with what it moves and a name */
void bad_spec(struct bad *b, const struct spec *s,
	      const uint64_t moves[M_COUNT], const char *what);
/* Send what waits: all is counted as predicted, nothing else is */
void bad_flush(struct bad *b);
struct spec bad_spec_of(struct bad *b, const struct frame *f);

/* ---- all tests together ---------------------------------------------- */

/**
 * struct totals - what all tests did, in memory that they share
 * @sent: frames
 * @ended: where they ended, by the counters
 */
struct totals {
	uint64_t sent;
	uint64_t ended[R_COUNT];
};

extern struct totals *totals;

void totals_open(void);
/* @moved: of the device's counters, or what is known without them */
void totals_add(uint64_t sent, const uint64_t moved[R_COUNT]);

/* PANE_ALL=1: all of it, however long that takes */
bool all_wanted(void);

/* Each file's tests */
void list_sweep(void);
void list_next(void);
void list_outer(void);

#endif
