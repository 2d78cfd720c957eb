/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Peers that stream through a window until they are refused. Each is a process
 * of its own, so that it runs beside the owner everywhere: on user-mode Linux
 * the threads of a process never run at the same time. The two wait for each
 * other in loops, for the same reason: that one wakes the other would take a
 * clock tick there.
 */
#ifndef PANE_STREAM_H
#define PANE_STREAM_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/types.h>

#include "pane_util.h"

#define STREAM_BUF	(256 * 1024)
#define STREAM_INV_ID	3	/* of the receive that SEND_WITH_INV goes to */

/* What one process tells another of an endpoint */
struct stream_end {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	enum ibv_mtu mtu;
};

/**
 * struct stream_order - what is to be streamed
 * @opcode: IBV_WR_
 * @va: window
 * @len: of the window
 * @rkey: key
 * @seed: of the random numbers
 * @whole: each request goes to all of the window, else to parts of it
 * @limit: most requests, or 0
 * @inv_at: which request is a SEND_WITH_INV of @rkey, or 0
 */
struct stream_order {
	enum ibv_wr_opcode opcode;
	uint64_t va;
	size_t len;
	uint32_t rkey;
	unsigned int seed;
	bool whole;
	unsigned int limit;
	unsigned int inv_at;
};

enum stream_command {
	STREAM_CONNECT,		/* to @owner */
	STREAM_START,		/* @order, until all of it has ended */
	STREAM_QUIT,
};

/**
 * struct stream_shared - what both processes see
 * @buf: peer's memory: what it writes comes from it, what it reads goes there
 * @peer: its endpoint
 * @owner: endpoint to connect to
 * @order: what to do
 * @command: what the peer does next, when
 * @asked: changes; and when it is done
 * @answered: follows
 * @abort: the peer shall move its QP to ERR
 * @ended: requests that have ended in this round
 * @status: how the first one ended that has not succeeded; or success
 */
struct stream_shared {
	uint8_t buf[STREAM_BUF];
	struct stream_end peer;
	struct stream_end owner;
	struct stream_order order;
	enum stream_command command;
	unsigned int asked;
	unsigned int answered;
	bool abort;
	unsigned int ended;
	enum ibv_wc_status status;
};

/**
 * struct stream - a peer, for the owner
 * @sh: shared
 * @pid: of its process
 */
struct stream {
	struct stream_shared *sh;
	pid_t pid;
};

void stream_open(struct stream *s);
void stream_close(struct stream *s);

/* @o is in RESET, or in a state from which it may be reset */
void stream_connect(struct stream *s, struct endpoint *o);
void stream_start(struct stream *s, const struct stream_order *order);
void stream_flowing(struct stream *s, unsigned int ended);
void stream_abort(struct stream *s);
enum ibv_wc_status stream_join(struct stream *s);

#endif
