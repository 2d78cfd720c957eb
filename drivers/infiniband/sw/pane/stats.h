/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters: one per reason for a drop, a NAK, a retry or a refusal, seen by
 * `rdma statistic show` and under hw_counters in sysfs. Where rdma_rxe has a
 * counter of the same meaning the name is the same.
 */
#ifndef PANE_STATS_H
#define PANE_STATS_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct pane_dev;

/* name, meaning */
#define PANE_COUNTERS(X)						\
	X(sent_pkts,		"packets sent")				\
	X(sent_bytes,		"bytes sent, from the BTH to the ICRC")	\
	X(rcvd_pkts,		"packets that passed all checks up to the ICRC") \
	X(rcvd_bytes,		"bytes of them")			\
	X(rdma_sends,		"messages sent")			\
	X(rdma_recvs,		"messages received")			\
	X(send_err,		"packets that the network stack refused") \
	X(send_no_route,	"packets without a route")		\
	X(send_no_mem,		"packets not built for want of memory")	\
	X(link_downed,		"times the port went down")		\
	/* checks of what comes in, in their order */			\
	X(rx_grh,		"RoCE v1 without a right global route header") \
	X(rx_short,		"shorter than a BTH and an ICRC")	\
	X(rx_tver,		"transport version not 0")		\
	X(rx_opcode,		"no such opcode")			\
	X(rx_length,		"headers, padding and ICRC do not fit")	\
	X(rx_no_qp,		"no such QP")				\
	X(rx_transport,		"opcode of another transport than the QP's") \
	X(rx_source,		"addresses are not those of the QP")	\
	X(rx_pkey,		"P_Key mismatch")			\
	X(rx_qkey,		"Q_Key mismatch")			\
	X(rx_icrc,		"ICRC wrong")				\
	X(rx_icrc_skipped,	"frames that never left this host, ICRC not checked") \
	X(rx_qp_state,		"QP not in a state that receives")	\
	X(rx_backlog,		"dropped, too much waits behind a READ") \
	X(rx_cnp,		"congestion notifications received")	\
	X(np_ecn_marked_roce_packets, "packets that a queue on the way had marked") \
	X(np_cnp_sent,		"congestion notifications sent")	\
	X(rx_ud_no_recv,	"datagrams without a receive request")	\
	X(rx_ud_length,		"datagrams longer than the receive request, or the MTU") \
	X(rx_uc_dropped,	"UC packets dropped: message torn, no buffer, refused") \
	X(rx_no_srq,		"XRC packets to no SRQ of the QP's domain") \
	/* reliable transport */					\
	X(duplicate_request,	"requests that were seen before")	\
	X(out_of_seq_request,	"requests ahead of the expected PSN")	\
	X(unexpected_response,	"responses to nothing outstanding")	\
	X(implied_nak,		"responses that show an earlier one was lost") \
	X(rcvd_rnr_err,		"RNR NAKs received")			\
	X(send_rnr_err,		"RNR NAKs sent")			\
	X(rcvd_seq_err,		"sequence NAKs received")		\
	X(sent_seq_err,		"sequence NAKs sent")			\
	X(sent_inv_req,		"invalid request NAKs sent")		\
	X(sent_rem_access,	"access NAKs sent")			\
	X(sent_rem_op,		"operational error NAKs sent")		\
	X(retransmits,		"times a requester went back")		\
	X(ack_timeouts,		"times no response came in time")	\
	X(retry_exceeded_err,	"QPs in error after too many retries")	\
	X(retry_rnr_exceeded_err, "QPs in error after too many RNR NAKs") \
	/* keys and windows */						\
	X(access_key,		"remote access: key opens nothing")	\
	X(access_pd,		"remote access: key of another PD")	\
	X(access_qp,		"remote access: window of another QP")	\
	X(access_rights,	"remote access: right not held")	\
	X(access_range,		"remote access: outside region or window") \
	X(access_dead,		"remote access: binding ended during the message") \
	X(access_barred,	"remote access: not looked at, too many wrong keys") \
	X(mw_bound,		"binds done")				\
	X(mw_invalidated,	"invalidations done")			\
	X(bind_refused,		"binds refused by a rule")		\
	X(inv_refused,		"invalidations refused by a rule")	\
	X(local_prot_err,	"local key, range or right wrong")	\
	X(wqe_err,		"malformed requests in a ring")		\
	X(cq_overrun,		"completions lost to a full CQ")

enum pane_counter {
#define X(name, text) PANE_CNT_##name,
	PANE_COUNTERS(X)
#undef X
	PANE_CNT_COUNT,
};

struct pane_stats {
	u64 c[PANE_CNT_COUNT];
};

#define pane_count(dev, name) \
	this_cpu_inc((dev)->stats->c[PANE_CNT_##name])
#define pane_count_add(dev, name, n) \
	this_cpu_add((dev)->stats->c[PANE_CNT_##name], n)

/**
 * pane_stats_add_bh - count, with bottom halves disabled
 * @stats: where
 * @which: the counter
 * @n: how many
 *
 * For each packet: this_cpu_add() disables interrupts on machines without an
 * instruction for it, and that is dear.
 */
static inline void pane_stats_add_bh(struct pane_stats __percpu *stats,
				     enum pane_counter which, u64 n)
{
	preempt_disable_nested();
	__this_cpu_add(stats->c[which], n);
	preempt_enable_nested();
}

/*
 * Where what happens to a QP is counted: on its device, or apart (counter.c).
 * The QP is entered, or bottom halves are disabled otherwise.
 */
#define pane_qp_count_add(qp, name, n) \
	pane_stats_add_bh(READ_ONCE((qp)->stats), PANE_CNT_##name, n)
#define pane_qp_count(qp, name) pane_qp_count_add(qp, name, 1)

void pane_stats_port_changed(struct pane_dev *dev, bool up);
struct rdma_hw_stats *pane_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port_num);
void pane_stats_sum(const struct pane_stats __percpu *stats,
		    struct rdma_hw_stats *sum);
struct rdma_hw_stats *pane_stats_alloc(void);
int pane_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port_num, int index);

#endif /* PANE_STATS_H */
