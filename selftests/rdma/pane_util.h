/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs for tests. Everything here checks its own success and fails the test;
 * what a test wants to see fail it posts or calls itself.
 *
 * In the tests' language the owner has memory, windows and the QP they are
 * bound on; the peer at the other end reads and writes through them.
 */
#ifndef PANE_UTIL_H
#define PANE_UTIL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pane_run.h"

#define RIGHTS_ALL	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_ATOMIC)
#define RIGHTS_RW	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
/* Registration for windows: the region itself is closed to the network */
#define MR_BINDABLE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)

/* ---- devices, memory, queue pairs ------------------------------------ */

/* An opened device with a protection domain */
struct node {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	int gid_index;
	enum ibv_mtu mtu;
};

void node_open_device(struct node *n, struct ibv_device *dev);
void node_open_owner(struct node *n);
void node_open_peer(struct node *n);
void node_close(struct node *n);
/* May memory be registered that is on demand? */
bool node_has_odp(const struct node *n);

/* Memory and its registration */
struct region {
	struct ibv_mr *mr;
	uint8_t *addr;
	size_t len;
	void *map;
	size_t map_len;
};

void region_open(struct region *r, struct ibv_pd *pd, size_t len,
		 size_t offset, int access);
void region_open_at(struct region *r, struct ibv_pd *pd, void *addr,
		    size_t len, int access);
bool region_open_huge(struct region *r, struct ibv_pd *pd, size_t len,
		      int access);
void region_close(struct region *r);

static inline uint64_t region_at(const struct region *r, size_t offset)
{
	return (uintptr_t)r->addr + offset;
}

/* Send requests that fit into a QP, and so the most that one post may have */
#define EP_SEND_WR	128

/**
 * struct endpoint - one end of a connection, with two CQs of its own
 *
 * That is one QP or, with XRC, one that sends and one that receives, for an SRQ
 * in a domain of the endpoint's own. What sends is @qp in either case, and
 * windows are bound on it.
 *
 * @node: where it is
 * @pd: domain of the QP, and of the SRQ
 * @type: of the QP that sends
 * @qp: the QP
 * @qpx: its ibv_wr_ functions
 * @tgt: XRC: the QP that receives
 * @srq: XRC: what it receives for
 * @xrcd: XRC: what they have in common
 * @scq: of what is sent
 * @rcq: of what is received
 * @remote: the other end, if it is of this process
 * @remote_srqn: XRC: number of its SRQ
 * @access: IBV_ACCESS_REMOTE_ flags of the QP, for the next ep_connect()
 * @mtu: likewise
 * @timeout: likewise
 * @retry_cnt: likewise
 * @psn: of the next connection
 */
struct endpoint {
	struct node *node;
	struct ibv_pd *pd;
	enum ibv_qp_type type;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *tgt;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct endpoint *remote;
	uint32_t remote_srqn;
	int access;
	enum ibv_mtu mtu;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint32_t psn;
};

/* The QP that requests come to */
static inline struct ibv_qp *ep_recv_qp(const struct endpoint *ep)
{
	return ep->tgt ?: ep->qp;
}

/* Of the variant's transport */
void ep_open(struct endpoint *ep, struct node *n, struct ibv_pd *pd);
void ep_open_type(struct endpoint *ep, struct node *n, struct ibv_pd *pd,
		  enum ibv_qp_type type);
/* For an endpoint whose @qp was destroyed */
void ep_make_qp(struct endpoint *ep);
void ep_close(struct endpoint *ep);
void ep_connect(struct endpoint *a, struct endpoint *b);
void ep_connect_one(struct endpoint *ep, struct endpoint *remote);
void ep_reconnect(struct endpoint *a, struct endpoint *b);
void ep_modify(struct endpoint *ep, enum ibv_qp_state state);
void ep_drain(struct endpoint *ep);
/* Of what sends, and of what receives */
enum ibv_qp_state ep_state(struct endpoint *ep);
enum ibv_qp_state ep_recv_state(struct endpoint *ep);
/* All that was posted has got to the other end, or is lost */
void ep_arrived(struct endpoint *ep);
/* A domain that nobody else can name; NULL and errno if there is none */
struct ibv_xrcd *xrcd_open(struct ibv_context *ctx);
/* The way from a node to @dgid */
struct ibv_ah_attr ah_attr_to(const struct node *n, const union ibv_gid *dgid);
/* Attributes that only some transports have: of what answers, of what asks */
int qp_mask_rtr(const struct ibv_qp *qp);
int qp_mask_rts(const struct ibv_qp *qp);

/**
 * struct duo - what most tests need
 * @own: owner's device
 * @peer: peer's device
 * @o: owner's endpoint, connected to @p
 * @p: peer's endpoint
 * @mem: owner's memory, bindable, filled by fill_pattern()
 * @buf: peer's memory, for local use
 */
struct duo {
	struct node own;
	struct node peer;
	struct endpoint o;
	struct endpoint p;
	struct region mem;
	struct region buf;
};

#define DUO_LEN		(64 * 1024)

void duo_open(struct duo *d);
void duo_close(struct duo *d);
void duo_link(struct duo *d, struct endpoint *o, struct endpoint *p);
void duo_unlink(struct endpoint *o, struct endpoint *p);
enum ibv_wc_status duo_probe(struct duo *d, uint64_t raddr, uint32_t rkey);
void duo_check_access(struct duo *d, struct endpoint *p, uint64_t raddr,
		      uint32_t rkey, size_t offset, size_t len);

void fill_pattern(void *addr, size_t len, unsigned int seed);
bool has_pattern(const void *addr, size_t len, unsigned int seed);

/* Until there is something to read; what does not come is a failure */
void fd_wait(int fd, const char *what);

/* ---- requests -------------------------------------------------------- */

/**
 * struct req - a send request for either posting interface
 * @opcode: IBV_WR_
 * @flags: IBV_SEND_
 * @id: wr_id
 * @addr: local memory, NULL for an empty list
 * @len: bytes of it
 * @lkey: key of it
 * @raddr: remote address
 * @rkey: remote key; key that a type 2 bind asks for
 * @ex: immediate in host order, or key to invalidate
 * @compare_add: of atomics
 * @swap: of compare and swap
 * @mw: window to bind
 * @bind: what to bind it to
 */
struct req {
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint64_t id;
	void *addr;
	uint32_t len;
	uint32_t lkey;
	uint64_t raddr;
	uint32_t rkey;
	uint32_t ex;
	uint64_t compare_add;
	uint64_t swap;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info bind;
};

/* 0 or an errno value */
int ep_post(struct endpoint *ep, const struct req *reqs, unsigned int num);
int ep_post_recv(struct endpoint *ep, uint64_t id, void *addr, uint32_t len,
		 uint32_t lkey);

struct spin {
	unsigned int turns;
	int64_t end_ms;
};

void spin_turn(struct spin *spin);
void cq_wait(struct ibv_cq *cq, struct ibv_wc *wc);
void cq_spin(struct ibv_cq *cq, struct ibv_wc *wc);
void cq_expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status,
	       struct ibv_wc *wc);
void event_wait(struct node *n, enum ibv_event_type type, struct ibv_qp *qp);
bool event_pending(struct node *n);

/*
 * Post one request, signaled, and say how it ended. On UC nobody tells the
 * requester; the status is then the one that RC would give.
 */
enum ibv_wc_status ep_do(struct endpoint *ep, struct req req);

struct req req_remote(enum ibv_wr_opcode opcode, const struct region *local,
		      size_t len, uint64_t raddr, uint32_t rkey);

static inline enum ibv_wc_status
ep_write(struct endpoint *ep, const struct region *local, size_t len,
	 uint64_t raddr, uint32_t rkey)
{
	return ep_do(ep, req_remote(IBV_WR_RDMA_WRITE, local, len, raddr,
				    rkey));
}

static inline enum ibv_wc_status
ep_read(struct endpoint *ep, const struct region *local, size_t len,
	uint64_t raddr, uint32_t rkey)
{
	return ep_do(ep, req_remote(IBV_WR_RDMA_READ, local, len, raddr,
				    rkey));
}

static inline enum ibv_wc_status ep_local_inv(struct endpoint *ep,
					      uint32_t rkey)
{
	return ep_do(ep, (struct req) {
		.opcode = IBV_WR_LOCAL_INV,
		.ex = rkey,
	});
}

/* ---- windows --------------------------------------------------------- */

struct ibv_mw *mw_open(struct ibv_pd *pd, enum ibv_mw_type type);
void mw_close(struct ibv_mw *mw);
bool mw_is_type2(const struct ibv_mw *mw);

struct ibv_mw_bind_info bind_info(const struct region *r, size_t offset,
				  size_t len, unsigned int access);

/* Post the bind that the window's type asks for; 0 or an errno value */
int mw_post_bind(struct endpoint *ep, struct ibv_mw *mw,
		 const struct ibv_mw_bind_info *info, unsigned int flags,
		 uint64_t id);
/* Signaled; how it ended */
enum ibv_wc_status mw_try_bind(struct endpoint *ep, struct ibv_mw *mw,
			       const struct ibv_mw_bind_info *info);
void mw_bind(struct endpoint *ep, struct ibv_mw *mw, const struct region *r,
	     size_t offset, size_t len, unsigned int access);
/* By the way of the type: a bind of length 0, or LOCAL_INV */
void mw_unbind(struct endpoint *ep, struct ibv_mw *mw);

/* ---- counters -------------------------------------------------------- */

uint64_t counter_read(const struct node *n, const char *name);

#define CHECK_WC(cq, id, status, wc) \
	PANE_AT(cq_expect(cq, id, status, wc))

#endif
