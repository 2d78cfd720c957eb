/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections for the tests of the data path, with every attribute of a QP at
 * the test's choice, and posting of ready-made requests by either interface.
 * Devices and memory are those of pane_util.h.
 */
#ifndef PANE_VERBS_H
#define PANE_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "pane_util.h"

/**
 * struct qp_opts - what a connection is like
 * @type: IBV_QPT_RC, IBV_QPT_UC or IBV_QPT_UD
 * @mtu: path MTU
 * @psn: of the first packet in each direction
 * @timeout: code; 0 for none
 * @retry_cnt: retries after a timeout
 * @rnr_retry: retries after an RNR NAK; 7 for ever
 * @min_rnr_timer: code
 * @rd_atomic: READs and atomics that may be outstanding
 * @access: IBV_ACCESS_REMOTE_
 * @send_wr: size of the send queue
 * @recv_wr: size of the receive queue
 * @sge: elements of both
 * @inline_len: bytes
 * @cqe: entries of each CQ
 * @sig_all: every request gives a completion
 * @srq: receives are those of an SRQ of its own
 * @shared: receives are those of this SRQ, which others have as well
 * @more_ops: RC: IBV_QP_EX_WITH_, those that not every device has
 */
struct qp_opts {
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint32_t psn[2];
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t rd_atomic;
	int access;
	unsigned int send_wr;
	unsigned int recv_wr;
	unsigned int sge;
	unsigned int inline_len;
	unsigned int cqe;
	bool sig_all;
	bool srq;
	struct ibv_srq *shared;
	uint64_t more_ops;
};

/* Something for everybody: patient, and larger than the usual program's */
struct qp_opts qp_opts_default(void);

/**
 * struct end - a QP with its CQs
 * @node: its device
 * @qp: the QP
 * @qpx: its ibv_wr_ functions
 * @scq: of the send queue
 * @rcq: of the receive queue
 * @srq: where its receives come from, if it is not the QP
 * @max_inline: bytes the QP takes
 */
struct end {
	struct node *node;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_srq *srq;
	unsigned int max_inline;
};

/**
 * struct pair - two nodes and a connection between them
 * @node: the owner's and the peer's device; the same one in loopback
 * @end: a QP on each
 */
struct pair {
	struct node node[2];
	struct end end[2];
};

void pair_open(struct pair *p, const struct qp_opts *opts);
void pair_close(struct pair *p);
void pair_nodes_open(struct pair *p);
void pair_nodes_close(struct pair *p);

void end_open(struct end *e, struct node *n, const struct qp_opts *opts);
void end_close(struct end *e);
void ends_connect(struct end *a, struct end *b, const struct qp_opts *opts);
void end_init(struct end *e, const struct qp_opts *opts);
void end_rtr(struct end *e, const struct qp_opts *opts,
	     const union ibv_gid *dgid, uint32_t dqpn, uint32_t rq_psn);
void end_rts(struct end *e, const struct qp_opts *opts, uint32_t sq_psn);
/* Likewise; 0 or an errno value */
int end_try_rtr(struct end *e, const struct qp_opts *opts,
		const union ibv_gid *dgid, uint32_t dqpn, uint32_t rq_psn);
int end_try_rts(struct end *e, const struct qp_opts *opts, uint32_t sq_psn);
void end_datagram(struct end *e, uint32_t qkey);
enum ibv_qp_state end_state(struct end *e);
void end_to(struct end *e, enum ibv_qp_state state);

int end_post(struct end *e, struct ibv_send_wr *wr);
int end_post_recv(struct end *e, struct ibv_sge *sge, int num, uint64_t id);
/* Post one, signaled, and wait: how it ended */
enum ibv_wc_status end_do(struct end *e, struct ibv_send_wr wr);

/* How to get from a node to an address */
struct ibv_ah *node_make_ah(struct node *n, const union ibv_gid *dgid,
			    uint8_t tclass);

/* ---- what requests are ----------------------------------------------- */

bool opcode_is_atomic(enum ibv_wr_opcode opcode);
bool opcode_is_write(enum ibv_wr_opcode opcode);
/* It completes a receive request */
bool opcode_arrives(enum ibv_wr_opcode opcode);
bool opcode_has_imm(enum ibv_wr_opcode opcode);
/* Of its completion */
enum ibv_wc_opcode opcode_wc(enum ibv_wr_opcode opcode);

static inline unsigned int mtu_bytes(enum ibv_mtu mtu)
{
	return 128U << mtu;
}

struct ibv_sge sge_of(const struct region *r, size_t offset, uint32_t len);
struct ibv_send_wr wr_to(enum ibv_wr_opcode opcode, struct ibv_sge *sge,
			 const struct region *to, size_t offset);

/* ---- random numbers -------------------------------------------------- */

/* The same for the same seed, which is printed: PANE_SEED repeats a run */
void random_seed(void);
/* From here on another sequence of the same seed, for process @number */
void random_branch(unsigned int number);
uint32_t random_u32(void);
uint32_t random_below(uint32_t limit);
void random_fill(void *addr, size_t len);

/* What PANE_NET says of the network between the nodes */
bool net_is(const char *what);

#endif
