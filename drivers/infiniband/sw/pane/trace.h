/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: bind, invalidate, access violation, state change. Keys are
 * printed by their upper half only as far as root may read this at all.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pane

#if !defined(PANE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PANE_TRACE_H

#include <linux/tracepoint.h>

#include "mem.h"
#include "mw.h"
#include "qp.h"

TRACE_EVENT(pane_mw_bind,
	TP_PROTO(const struct pane_qp *qp, const struct pane_bind *b,
		 u32 new_rkey, u32 verr),
	TP_ARGS(qp, b, new_rkey, verr),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, mw_rkey)
		__field(u32, new_rkey)
		__field(u32, lkey)
		__field(u64, addr)
		__field(u64, length)
		__field(u32, access)
		__field(u32, verr)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->mw_rkey = b->mw_rkey;
		__entry->new_rkey = new_rkey;
		__entry->lkey = b->lkey;
		__entry->addr = b->addr;
		__entry->length = b->length;
		__entry->access = b->access;
		__entry->verr = verr;
	),
	TP_printk("qpn=%#x mw_rkey=%#x new_rkey=%#x lkey=%#x addr=%#llx length=%#llx access=%#x refused=%u",
		  __entry->qpn, __entry->mw_rkey, __entry->new_rkey,
		  __entry->lkey, __entry->addr, __entry->length,
		  __entry->access, __entry->verr)
);

TRACE_EVENT(pane_invalidate,
	TP_PROTO(const struct pane_qp *qp, u32 key, u32 verr),
	TP_ARGS(qp, key, verr),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, key)
		__field(u32, verr)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->key = key;
		__entry->verr = verr;
	),
	TP_printk("qpn=%#x key=%#x refused=%u", __entry->qpn, __entry->key,
		  __entry->verr)
);

TRACE_DEFINE_ENUM(PANE_ACCESS_KEY);
TRACE_DEFINE_ENUM(PANE_ACCESS_PD);
TRACE_DEFINE_ENUM(PANE_ACCESS_QP);
TRACE_DEFINE_ENUM(PANE_ACCESS_RIGHTS);
TRACE_DEFINE_ENUM(PANE_ACCESS_RANGE);
TRACE_DEFINE_ENUM(PANE_ACCESS_DEAD);

TRACE_EVENT(pane_access_violation,
	TP_PROTO(const struct pane_qp *qp, u32 why),
	TP_ARGS(qp, why),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, why)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->psn = qp->resp.epsn;
		__entry->why = why;
	),
	TP_printk("qpn=%#x psn=%#x why=%s", __entry->qpn, __entry->psn,
		  __print_symbolic(__entry->why,
				   { PANE_ACCESS_KEY, "key" },
				   { PANE_ACCESS_PD, "pd" },
				   { PANE_ACCESS_QP, "qp" },
				   { PANE_ACCESS_RIGHTS, "rights" },
				   { PANE_ACCESS_RANGE, "range" },
				   { PANE_ACCESS_DEAD, "dead binding" }))
);

TRACE_EVENT(pane_qp_state,
	TP_PROTO(const struct pane_qp *qp, u32 from, u32 to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qpn=%#x from=%u to=%u", __entry->qpn, __entry->from,
		  __entry->to)
);

#endif /* PANE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
