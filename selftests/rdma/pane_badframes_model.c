// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a device makes of a frame, without asking it */
#include "../kselftest.h"
#include "pane_badframes.h"

/* BTH and reserved bytes of a congestion notification */
#define CNP_LEN	28

#define ICRC_LEN	4

const char *move_counter(enum move m)
{
	static const char *const names[M_COUNT] = {
#define X(name, counter) [R_##name] = counter,
		REASONS(X)
#undef X
#define X(name, counter) [M_##name] = counter,
		EFFECTS(X)
#undef X
	};

	return names[m];
}

/* ---- opcodes --------------------------------------------------------- */

/* By the lower five bits. New opcodes are added here, and nowhere else. */
static const unsigned int ops[32] = {
	[SEND_FIRST]	   = OP_CONNECTED | OP_SEND | OP_FIRST,
	[SEND_MIDDLE]	   = OP_CONNECTED | OP_SEND,
	[SEND_LAST]	   = OP_CONNECTED | OP_SEND | OP_LAST,
	[SEND_LAST_IMM]	   = OP_CONNECTED | OP_SEND | OP_LAST | OP_IMM,
	[SEND_ONLY]	   = OP_CONNECTED | OP_UD | OP_SEND | OP_ONLY,
	[SEND_ONLY_IMM]	   = OP_CONNECTED | OP_UD | OP_SEND | OP_ONLY | OP_IMM,
	[WRITE_FIRST]	   = OP_CONNECTED | OP_WRITE | OP_FIRST | OP_RETH,
	[WRITE_MIDDLE]	   = OP_CONNECTED | OP_WRITE,
	[WRITE_LAST]	   = OP_CONNECTED | OP_WRITE | OP_LAST,
	[WRITE_LAST_IMM]   = OP_CONNECTED | OP_WRITE | OP_LAST | OP_IMM,
	[WRITE_ONLY]	   = OP_CONNECTED | OP_WRITE | OP_ONLY | OP_RETH,
	[WRITE_ONLY_IMM]   = OP_CONNECTED | OP_WRITE | OP_ONLY | OP_RETH |
			     OP_IMM,
	[READ_REQUEST]	   = OP_RELIABLE | OP_READ | OP_ONLY | OP_RETH,
	[READ_RESP_FIRST]  = OP_RELIABLE | OP_RESPONSE | OP_FIRST | OP_AETH,
	[READ_RESP_MIDDLE] = OP_RELIABLE | OP_RESPONSE,
	[READ_RESP_LAST]   = OP_RELIABLE | OP_RESPONSE | OP_LAST | OP_AETH,
	[READ_RESP_ONLY]   = OP_RELIABLE | OP_RESPONSE | OP_ONLY | OP_AETH,
	[ACKNOWLEDGE]	   = OP_RELIABLE | OP_RESPONSE | OP_ONLY | OP_AETH,
	[ATOMIC_ACK]	   = OP_RELIABLE | OP_RESPONSE | OP_ONLY | OP_AETH |
			     OP_ORIG,
	[CMP_SWAP]	   = OP_RELIABLE | OP_ATOMIC | OP_ONLY,
	[FETCH_ADD]	   = OP_RELIABLE | OP_ATOMIC | OP_ONLY,
	[SEND_LAST_INV]	   = OP_RELIABLE | OP_SEND | OP_LAST | OP_IETH,
	[SEND_ONLY_INV]	   = OP_RELIABLE | OP_SEND | OP_ONLY | OP_IETH,
	[FLUSH]		   = OP_RELIABLE | OP_ONLY | OP_FETH | OP_RETH |
			     OP_OPTIONAL,
	[ATOMIC_WRITE]	   = OP_RELIABLE | OP_ONLY | OP_RETH | OP_OPTIONAL,
};

unsigned int op_transport(uint8_t opcode)
{
	switch (opcode & 0xe0) {
	case 0:
		return OP_RC;
	case UC_BASE:
		return OP_UC;
	case UD_BASE:
		return OP_UD;
	case XRC_BASE:
		return OP_XRC;
	default:
		return 0;
	}
}

unsigned int op_flags(uint8_t opcode)
{
	unsigned int flags = ops[opcode & 0x1f], tr = op_transport(opcode);

	if (opcode == CNP)
		return OP_CNP;
	if (!(flags & tr))
		return 0;
	if (tr == OP_UD)
		flags |= OP_DETH;
	if (tr == OP_XRC && !(flags & OP_RESPONSE))
		flags |= OP_XRCETH;
	return flags;
}

unsigned int op_hdr_len(unsigned int flags)
{
	static const struct {
		unsigned int flag, len;
	} hdrs[] = {
		{ OP_XRCETH, 4 }, { OP_DETH, 8 }, { OP_FETH, 4 },
		{ OP_RETH, 16 }, { OP_ATOMIC, 28 }, { OP_AETH, 4 },
		{ OP_ORIG, 8 }, { OP_IMM, 4 }, { OP_IETH, 4 },
	};
	unsigned int len = 12;

	for (unsigned int i = 0; i < ARRAY_SIZE(hdrs); i++)
		if (flags & hdrs[i].flag)
			len += hdrs[i].len;
	return len;
}

/* Of requests that are connected */
bool op_length_ok(uint8_t opcode, unsigned int len)
{
	unsigned int flags = op_flags(opcode);

	if ((opcode & 0x1f) == ATOMIC_WRITE)
		return len == 8;
	if (flags & (OP_READ | OP_ATOMIC | OP_FETH))
		return !len;
	if (!(flags & OP_LAST))
		return len == BAD_MTU;
	return len <= BAD_MTU && (len || flags & OP_FIRST);
}

/* ---- frames ---------------------------------------------------------- */

bool model_knows(const struct model *m, uint8_t opcode)
{
	unsigned int flags = op_flags(opcode);

	if (flags & OP_OPTIONAL)
		return m->optional & 1U << (opcode & 0x1f);
	return flags;
}

unsigned int model_hdr_len(const struct model *m, uint8_t opcode)
{
	return opcode == CNP ? CNP_LEN : op_hdr_len(op_flags(opcode));
}

unsigned int model_len(const struct model *m, const struct frame *f)
{
	return f->size - model_hdr_len(m, f->opcode) - f->pad - ICRC_LEN;
}

/* Where the headers alone tell, and nothing else is looked at */
static enum move reason_alone(const struct model *m, const struct frame *f)
{
	if (f->size < op_hdr_len(0) + ICRC_LEN)
		return R_SHORT;
	if (f->faults & F_TVER)
		return R_TVER;
	if (!model_knows(m, f->opcode))
		return R_OPCODE;
	if (model_hdr_len(m, f->opcode) + f->pad + ICRC_LEN > f->size ||
	    f->size % 4 || (f->opcode == CNP && model_len(m, f)))
		return R_LENGTH;
	return R_TAKEN;
}

static bool is_datagram(unsigned int target)
{
	return target == T_UD_EMPTY || target == T_UD_SHORT || target == T_GSI;
}

static bool transport_ok(const struct model *m, const struct frame *f)
{
	unsigned int flags = op_flags(f->opcode), tr = op_transport(f->opcode);

	if (f->opcode == CNP)
		return !is_datagram(f->target);
	switch (f->target) {
	case T_UC:
		return tr == OP_UC;
	case T_XRC_TGT:
		return tr == OP_XRC && !(flags & OP_RESPONSE);
	case T_XRC_INI:
		return tr == OP_XRC && flags & OP_RESPONSE;
	case T_UD_EMPTY:
	case T_UD_SHORT:
	case T_GSI:
		return tr == OP_UD;
	default:
		return tr == OP_RC;
	}
}

/* Datagrams come from anywhere, to any address of the device */
static bool source_ok(const struct frame *f)
{
	switch (f->target) {
	case T_UD_EMPTY:
	case T_UD_SHORT:
	case T_GSI:
		return true;
	case T_HONEST:
	case T_INIT:
		return false;
	default:
		return !(f->faults & (F_SOURCE | F_DEST));
	}
}

static enum move reason_before_qp(const struct model *m, const struct frame *f)
{
	enum move reason = reason_alone(m, f);

	if (reason != R_TAKEN)
		return reason;
	if (f->target == T_NONE || f->target == T_FOREIGN)
		return R_NO_QP;
	if (!transport_ok(m, f))
		return R_TRANSPORT;
	if (!source_ok(f))
		return R_SOURCE;
	if (f->faults & F_PKEY)
		return R_PKEY;
	if (f->faults & F_QKEY && op_flags(f->opcode) & OP_DETH)
		return R_QKEY;
	return f->faults & F_ICRC ? R_ICRC : R_TAKEN;
}

uint32_t model_psn_off(const struct frame *f)
{
	static const uint32_t off[PSN_KINDS] = {
		2, 0x7fffff, 0xffffff, 0x800000, 1000,
	};
	uint32_t more = f->psn_kind == 4 ? f->turn % 60000 : 0;
	unsigned int kind = f->psn_kind;

	if (f->target == T_UC && kind < 2)
		return 0;
	/* what is answered to such a duplicate is for others to say */
	if (op_flags(f->opcode) & OP_OPTIONAL && kind > 1)
		kind = 0;
	return off[kind] + more;
}

/* By the queue pair, which a frame without fault has got to */
static enum move reason_by_qp(const struct model *m, const struct frame *f)
{
	if (f->opcode == CNP)
		return R_CNP;
	switch (f->target) {
	case T_UC:
		return R_UC_DROPPED;
	case T_UD_EMPTY:
		return R_UD_NO_RECV;
	case T_UD_SHORT:
		return R_UD_LENGTH;
	case T_ERR:
		return R_QP_STATE;
	default:
		break;
	}
	if (op_flags(f->opcode) & OP_RESPONSE)
		return R_UNEXPECTED;
	return model_psn_off(f) < 0x800000 ? R_AHEAD : R_DUPLICATE;
}

enum move model_reason(const struct model *m, const struct frame *f)
{
	enum move reason = reason_before_qp(m, f);

	return reason == R_TAKEN ? reason_by_qp(m, f) : reason;
}

/* On UC every PSN is as good as another; WRITEs lie about their length */
static bool is_good(const struct model *m, const struct frame *f)
{
	if (f->opcode == CNP)
		return false;
	if (f->target == T_GSI)
		return true;
	return f->target == T_UC && op_flags(f->opcode) & OP_SEND &&
	       op_flags(f->opcode) & OP_FIRST &&
	       op_length_ok(f->opcode, model_len(m, f));
}

void model_spoil(const struct model *m, struct frame *f)
{
	if (reason_before_qp(m, f) == R_TAKEN && is_good(m, f))
		f->faults |= f->target == T_GSI ? F_QKEY : F_ICRC;
}

/* ---- what moves ------------------------------------------------------ */

static void moves_ahead(struct model *m, const struct frame *f, uint64_t *want)
{
	if (m->latched[f->target])
		return;
	m->latched[f->target] = true;
	want[M_SEQ_ERR]++;
	want[M_SENT]++;
}

static void moves_uc(struct model *m, const struct frame *f, uint64_t *want)
{
	uint32_t off = model_psn_off(f);

	if (off)
		want[M_UC_GAP]++;
	m->uc_psn = (m->uc_psn + off + 1) & 0xffffff;
}

enum move model_moves(struct model *m, const struct frame *f,
		      uint64_t want[M_COUNT])
{
	enum move reason = model_reason(m, f);

	want[reason]++;
	if (!is_before_qp(reason)) {
		want[M_RCVD]++;
		want[M_RCVD_BYTES] += f->size;
	}
	if (reason == R_AHEAD)
		moves_ahead(m, f, want);
	else if (reason == R_UC_DROPPED)
		moves_uc(m, f, want);
	else if (reason == R_DUPLICATE &&
		 !(op_flags(f->opcode) & (OP_READ | OP_ATOMIC)))
		want[M_SENT]++;
	return reason;
}
