/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs.
 *
 * One spinlock guards all of a QP: its state, both queues, requester and
 * responder. Whoever has work for a QP (a doorbell, a packet, a timer, the
 * worker) enters it, does the work and leaves; packets that the work made are
 * sent on leaving, without the lock, by one sender at a time so that they keep
 * their order. Completion handlers are called then, too.
 *
 * struct pane_qp lives until an RCU grace period after destroy, so those who
 * find it in the table need no reference: they enter, and look at the state.
 */
#ifndef PANE_QP_H
#define PANE_QP_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/pane-abi.h>

#include "av.h"
#include "mem.h"
#include "mw.h"
#include "num.h"

struct pane_cq;
struct pane_mr;
struct pane_srq;
struct pane_umap;
struct pane_wc;

/*
 * Operations of the send queue: those of enum pane_wr_opcode, and these, which
 * no ring can hold.
 */
enum {
	PANE_WR_BIND_MW1	= PANE_WR_USER_MAX,
	PANE_WR_REG_MR,
	PANE_WR_MAX,
};

/* CQs that a QP can have notified at one time by itself */
#define PANE_QP_NOTIFY	4

/* A QP's state is an enum ib_qp_state, or this once it is being destroyed */
#define PANE_QPS_DEAD	255

enum pane_swqe_state {
	PANE_SWQE_POSTED,	/* not begun */
	PANE_SWQE_SENT,		/* begun: it has PSNs */
	PANE_SWQE_DONE,		/* waits for earlier ones to complete */
	PANE_SWQE_FAILED,	/* likewise; the QP stops here */
};

/**
 * struct pane_swqe - a send request, the kernel's copy
 * @wr_id: returned in the completion
 * @op: PANE_WR_
 * @state: enum pane_swqe_state
 * @status: of the completion, when it failed
 * @num_sge: elements in @sge
 * @flags: enum pane_wr_flags
 * @ex: immediate (big endian) or key to invalidate
 * @length: bytes of the message
 * @first_psn: of its first packet, once begun
 * @num_pkts: PSNs it takes
 * @vendor_err: enum pane_vendor_err
 * @in_flight: counted in sq.rd_out
 * @rdma: all that is not one of the others; @rdma.feth: FLUSH, for the wire;
 *        @rdma.compare_add and @rdma.swap: atomics
 * @ud: sends of a UD QP: number of the address handle, and where to
 * @bind: BIND_MW, and what binds windows of type 1
 * @reg: fast registration, kernel users only
 * @sge: elements, or inline data in the same place
 */
struct pane_swqe {
	u64 wr_id;
	u8 op;
	u8 state;
	u8 status;
	u8 num_sge;
	u16 flags;
	u32 ex;
	u32 length;
	u32 first_psn;
	u32 num_pkts;
	u32 vendor_err;
	bool in_flight;
	union {
		struct {
			u64 va;
			u32 rkey;
			u32 srqn;
			u32 feth;
			u64 compare_add;
			u64 swap;
		} rdma;
		struct {
			u32 ah;
			u32 qpn;
			u32 qkey;
		} ud;
		struct pane_bind bind;
		struct {
			struct pane_mr *mr;
			u32 key;
			int access;
		} reg;
	};
	struct pane_sge sge[];
};

/* What the requester waits for before it may go on */
enum pane_sq_wait {
	PANE_SQ_RUN,		/* nothing */
	PANE_SQ_WAIT_RNR,	/* the time the receiver asked for */
	PANE_SQ_WAIT_TX,	/* room in a queue of the network stack */
	PANE_SQ_WAIT_PAGES,	/* pages of an on-demand region */
};

/**
 * struct pane_sq - send queue and requester
 * @wqes: the requests, @stride bytes each
 * @stride: bytes of a struct pane_swqe with its elements
 * @mask: slots - 1
 * @max_sge: elements a request may have
 * @max_inline: bytes of inline data it may have
 * @ring: user's ring, NULL for kernel users
 * @ring_stride: bytes of its slots
 * @prod: next slot to fill
 * @cur: request to send next
 * @cons: oldest request that has not completed
 * @cur_pkt: packet of request @cur to send next
 * @psn: of the next request that is begun
 * @una: oldest PSN without an answer
 * @sent: one past the newest PSN that was ever sent
 * @rd_out: READs and atomics on their way
 * @owed: responses that were asked for by them and by others before, however
 *        often, and have not come
 * @since_ack: packets sent since one asked for an ACK
 * @retries: left before the QP fails
 * @rnr_retries: likewise, for receivers that are not ready
 * @went_back: went back for a lost response, which has not come yet
 * @wait: enum pane_sq_wait
 * @wait_end: jiffies when that is over
 * @progress: jiffies when an answer last brought us on
 * @sgl: place in the data of request @cur
 * @resp_sgl: place in the buffer of the READ that is being answered
 * @resp_psn: PSN of the response that belongs there; PANE_PSN_NONE for none
 * @resp_page: page that was absent when a response came; no region for none
 */
struct pane_sq {
	void *wqes;
	u32 stride;
	u32 mask;
	u32 max_sge;
	u32 max_inline;
	const void *ring;
	u32 ring_stride;
	u32 prod;
	u32 cur;
	u32 cons;
	u32 cur_pkt;
	u32 psn;
	u32 una;
	u32 sent;
	u32 rd_out;
	u32 owed;
	u32 since_ack;
	u8 retries;
	u8 rnr_retries;
	bool went_back;
	u8 wait;
	unsigned long wait_end;
	unsigned long progress;
	struct pane_sgl sgl;
	struct pane_sgl resp_sgl;
	u32 resp_psn;
	struct pane_odp_page resp_page;
};

/**
 * struct pane_ring - how user space rings for its send queue; see ring.c
 * @taken: completions it had taken when it last rang
 * @rings: how often it rang since that changed
 * @unrung: requests that were found without ringing since then
 * @posted: its count of requests when it rang last for @work
 * @seen: requests that were found when the worker looked last
 * @many: the last time that it looked for completions it had gone on posting
 * @work: works on the send queue
 * @timer: likewise, a moment later
 * @slow_until: jiffies; a receiver was not ready some time before that
 * @attended: it comes back to it by itself, so that he need not ring
 */
struct pane_ring {
	u32 taken;
	u32 rings;
	u32 unrung;
	u32 posted;
	u32 seen;
	bool many;
	struct work_struct work;
	struct hrtimer timer;
	unsigned long slow_until;
	bool attended;
};

/**
 * struct pane_rq - a receive queue
 * @ring: requests, @stride bytes each
 * @stride: bytes of a struct pane_rq_wqe with its elements
 * @mask: slots - 1
 * @max_sge: elements a request may have
 * @prod: where the poster says how many he posted
 * @taken: how many were taken
 * @cons: where he is told that
 */
struct pane_rq {
	void *ring;
	u32 stride;
	u32 mask;
	u32 max_sge;
	const u32 *prod;
	u32 taken;
	u32 *cons;
};

/* A receive request, the kernel's copy */
struct pane_rwqe {
	u64 wr_id;
	u32 num_sge;
	u64 length;
	struct pane_sge sge[];
};

/* A READ or atomic that was answered, kept for duplicates */
struct pane_res {
	u8 kind;		/* enum pane_op_kind; 0 when empty */
	u32 first_psn;
	u32 num_pkts;
	u64 va;
	u32 length;
	struct pane_keyref ref;	/* READ */
	u64 orig;		/* atomic */
};

enum pane_resp_phase {
	PANE_RESP_IDLE,		/* between messages */
	PANE_RESP_SEND,		/* inside a SEND */
	PANE_RESP_WRITE,	/* inside a WRITE */
};

/* A READ that is being answered */
struct pane_reading {
	u64 va;
	u32 left;
	u32 psn;
	u32 first_psn;		/* of its first response */
	bool again;		/* it was answered before */
	bool active;
	bool paused;		/* until wait_timer fires */
	struct pane_keyref ref;
};

/**
 * struct pane_resp - responder
 * @pd: protection domain of remote accesses; with XRC that of the SRQ which
 *      the packet names
 * @srq: SRQ of an XRC packet, while it is handled
 * @srqn: its number, also of the message that @rwqe is of
 * @epsn: PSN it expects
 * @msn: messages it completed
 * @phase: enum pane_resp_phase
 * @nak_sent: the requester was told to go back; nothing is said until the
 *            expected PSN comes
 * @have_rwqe: @rwqe is in use
 * @rwqe: receive request of the message
 * @sgl: place in it
 * @rcvd: bytes of the message so far
 * @ref: binding of a WRITE
 * @va: where its next byte goes
 * @left: bytes of it to come
 * @length: bytes of all of it
 * @ack_due: an ACK was asked for, and is to be sent on leaving
 * @absent: the first packet in @pend waits for pages of an on-demand region
 * @reading: READ that is being answered
 * @res: READs and atomics for duplicates, a ring
 * @res_size: its size
 * @res_next: entry to use next
 * @pend: packets that wait for @reading to end, or for pages
 * @bad_keys: UC: wrong keys since @bad_since
 * @bad_since: jiffies
 */
struct pane_resp {
	struct ib_pd *pd;
	struct pane_srq *srq;
	u32 srqn;
	u32 epsn;
	u32 msn;
	u8 phase;
	bool nak_sent;
	bool have_rwqe;
	struct pane_rwqe *rwqe;
	struct pane_sgl sgl;
	u32 rcvd;
	struct pane_keyref ref;
	u64 va;
	u32 left;
	u32 length;
	bool ack_due;
	bool absent;
	struct pane_reading reading;
	struct pane_res *res;
	u32 res_size;
	u32 res_next;
	struct sk_buff_head pend;
	u32 bad_keys;
	unsigned long bad_since;
};

/**
 * struct pane_txq - packets to send
 * @skbs: the packets, in order
 * @busy: somebody is sending from it
 * @full: the requester stopped because too many are in it
 * @refusals: times that the network stack took none of them, one after another
 * @frag: memory for the packets of trains
 * @ip_id: IPv4 ID of the next packet
 */
struct pane_txq {
	struct sk_buff_head skbs;
	bool busy;
	bool full;
	u8 refusals;
	struct page_frag frag;
	u16 ip_id;
};

/**
 * struct pane_qp - a queue pair
 * @dev: its device
 * @stats: where it is counted what happens to it: its device's, or those that it
 *         is bound to
 * @ibqp: the core's half; not to be touched once the state is PANE_QPS_DEAD
 * @pd: protection domain; likewise
 * @send_cq: likewise
 * @recv_cq: likewise
 * @srq: likewise; NULL if it has a receive queue of its own, or is XRC
 * @xrcd: domain of an XRC QP that receives
 * @type: IB_QPT_
 * @transport: enum pane_transport, the upper bits of its opcodes
 * @user: made by user space
 * @sq_sig_all: every send request gives a completion
 * @num: how packets find it, but for GSI
 * @qpn: its number
 * @ibuc: context of a user's QP, only to compare
 * @mutex: serialises modify, query, destroy
 * @lock: guards all that follows up to @mw_lock
 * @state: IB_QPS_ or PANE_QPS_DEAD
 * @attr: attributes as set by modify
 * @mtu_shift: log2 of the path MTU
 * @ack_timeout: jiffies, 0 for none
 * @av: where a connected QP's packets go; never NULL. RCU
 * @sq: send queue, requester
 * @ring: how it is rung for
 * @rq: receive queue
 * @resp: responder
 * @tx_req: requests to send
 * @tx_resp: responses to send; apart, so that who posts sends himself though
 *           the CPU that received is still sending an ACK
 * @established: IB_EVENT_COMM_EST was raised
 * @more: the requester stopped only to give others a turn
 * @absent: page that was last asked for
 * @refused: page that cannot be had, while the QP is told so
 * @cnp_sent: when the peer was last told of congestion, ktime_get_ns()
 * @notify: CQs whose handlers are to be called
 * @num_notify: how many
 * @events: bits of IB_EVENT_ to raise
 * @rexmit_timer: no response came
 * @wait_timer: end of sq.wait, and of a pause in a READ's answer
 * @work: raises events, goes on with long work
 * @ctl: head of a user's rings
 * @map: mapping of them
 * @kring: a kernel user's receive ring
 * @krq_prod: a kernel user's count of posted receive requests
 * @krq_cons: where the kernel user's taken count goes
 * @mw_lock: guards @mws
 * @mws: type 2 windows bound here
 * @ud_node: in &pane_pd.ud_qps, or empty
 * @rcu: frees it
 */
struct pane_qp {
	struct pane_dev *dev;
	struct pane_stats __percpu *stats;
	struct ib_qp *ibqp;
	struct ib_pd *pd;
	struct pane_cq *send_cq;
	struct pane_cq *recv_cq;
	struct pane_srq *srq;
	struct ib_xrcd *xrcd;
	enum ib_qp_type type;
	u8 transport;
	bool user;
	bool sq_sig_all;
	struct pane_num num;
	u32 qpn;
	struct ib_ucontext *ibuc;
	struct mutex mutex;

	spinlock_t lock;
	u8 state;
	struct ib_qp_attr attr;
	u8 mtu_shift;
	unsigned long ack_timeout;
	struct pane_av __rcu *av;
	struct pane_sq sq;
	struct pane_ring ring;
	struct pane_rq rq;
	struct pane_resp resp;
	struct pane_txq tx_req;
	struct pane_txq tx_resp;
	bool established;
	bool more;
	struct pane_odp_page absent;
	const struct pane_odp_page *refused;
	u64 cnp_sent;
	struct pane_cq *notify[PANE_QP_NOTIFY];
	u32 num_notify;
	unsigned long events;
	struct timer_list rexmit_timer;
	struct timer_list wait_timer;
	struct work_struct work;

	struct pane_qp_ctl *ctl;
	struct pane_umap *map;
	void *kring;
	u32 krq_prod;
	u32 krq_cons;

	spinlock_t mw_lock;
	struct list_head mws;
	struct list_head ud_node;
	struct rcu_head rcu;
};

/* The core's half, which the core allocates and frees */
struct pane_ibqp {
	struct ib_qp ibqp;
	struct pane_qp *qp;
};

static inline struct pane_qp *to_pane_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct pane_ibqp, ibqp)->qp;
}

/* Where the QP's packets go; good until the RCU read side ends */
static inline struct pane_av *pane_qp_av(const struct pane_qp *qp)
{
	return rcu_dereference(qp->av);
}

static inline struct pane_swqe *pane_swqe(const struct pane_sq *sq, u32 index)
{
	return sq->wqes + (size_t)(index & sq->mask) * sq->stride;
}

/* The data of a send request, which all of it is used of */
static inline void pane_swqe_sgl(struct pane_sgl *sgl, const struct pane_qp *qp,
				 const struct pane_swqe *w)
{
	pane_sgl_init(sgl, qp->pd, w->sge, w->num_sge);
	sgl->whole = true;
}

static inline bool pane_qp_is_datagram(const struct pane_qp *qp)
{
	return qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;
}

/* Are packets acknowledged? */
static inline bool pane_qp_is_reliable(const struct pane_qp *qp)
{
	return qp->type == IB_QPT_RC || qp->type == IB_QPT_XRC_INI ||
	       qp->type == IB_QPT_XRC_TGT;
}

static inline bool pane_qp_has_sq(const struct pane_qp *qp)
{
	return qp->type != IB_QPT_XRC_TGT;
}

static inline bool pane_qp_has_rq(const struct pane_qp *qp)
{
	return qp->rq.ring;
}

static inline u32 pane_qp_mtu(const struct pane_qp *qp)
{
	return 1U << qp->mtu_shift;
}

/* Attributes as the state machine of the requester and responder needs them */
static inline bool pane_qp_sends(const struct pane_qp *qp)
{
	return qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
}

static inline bool pane_qp_receives(const struct pane_qp *qp)
{
	return qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS ||
	       qp->state == IB_QPS_SQD || qp->state == IB_QPS_SQE;
}

/* qp.c */
struct pane_qp *pane_qp_find(u32 qpn);
void pane_qp_enter(struct pane_qp *qp);
void pane_qp_leave(struct pane_qp *qp);
void pane_qp_purge_tx(struct pane_qp *qp);
enum pane_cq_result pane_qp_post_wc(struct pane_qp *qp, struct pane_cq *cq,
				    struct pane_wc *wc, bool solicited);
void pane_qp_complete(struct pane_qp *qp, struct pane_cq *cq,
		      struct pane_wc *wc, bool solicited);
void pane_qp_forget(struct pane_qp *qp);
void pane_qp_pages_came(u32 qpn, const struct pane_odp_page *refused);
void pane_qp_raise(struct pane_qp *qp, enum ib_event_type event);
void pane_qp_work(struct work_struct *work);

/* qp_create.c */
int pane_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata);
int pane_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* qp_state.c */
int pane_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int pane_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
void pane_qp_error(struct pane_qp *qp);
void pane_qp_reset_locked(struct pane_qp *qp);

#endif /* PANE_QP_H */
