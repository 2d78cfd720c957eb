/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cell of the reliability matrix: messages of one operation and one length over
 * a connection of its own, both ways, of which every byte and every completion is
 * known. Cells are opened side by side and take turns, so that one can go on
 * while another waits for what got lost.
 */
#ifndef PANE_MATRIX_H
#define PANE_MATRIX_H

#include <poll.h>

#include "pane_verbs.h"

#define CELL_DEPTH	16	/* most messages on their way, each way */
#define CELL_CQS	4

/* An operation, with what it goes over */
struct matrix_op {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode opcode;
};

/**
 * struct cell_opts - a cell
 * @op: what is done
 * @len: bytes of a message
 * @num: messages each way
 * @depth: that may be on their way
 * @mtu: of the path
 * @timeout: code
 * @wraps: PSNs pass 2^24 on the way
 * @one_way: nothing goes from the second node to the first
 * @wr_api: post by the ibv_wr_ functions
 */
struct cell_opts {
	const struct matrix_op *op;
	uint32_t len;
	unsigned int num;
	unsigned int depth;
	enum ibv_mtu mtu;
	uint8_t timeout;
	bool wraps;
	bool one_way;
	bool wr_api;
};

/**
 * struct tally - what cells have done
 * @messages: how many there were
 * @bytes: of them
 * @sends: messages that each node has received a SEND for
 * @invalidated: windows of each node that messages were to invalidate
 */
struct tally {
	uint64_t messages;
	uint64_t bytes;
	uint64_t sends[2];
	uint64_t invalidated[2];
};

/* ---- pane_matrix_cell.c ---------------------------------------------- */

struct cell;

struct cell *cell_open(struct node node[2], const struct cell_opts *opts);
/* Post no more than so many messages each way, until told otherwise */
void cell_hold(struct cell *c, unsigned int limit);
bool cell_turn(struct cell *c);
/* Ask for events, and take those that have come */
void cell_arm(const struct cell *c, struct pollfd fd[CELL_CQS]);
void cell_disarm(const struct cell *c, const struct pollfd fd[CELL_CQS]);
bool cell_begun(const struct cell *c);
bool cell_over(const struct cell *c);
/* From here on nothing that is posted gets to the other end, until light */
void cell_dark(struct cell *c);
void cell_light(const struct cell *c);
/* All is over: nothing else may have happened */
void cell_close(struct cell *c, struct tally *tally);

/* ---- pane_matrix_ud.c ------------------------------------------------ */

/* Datagrams, both ways */
void datagrams_run(struct node node[2], uint32_t len, unsigned int num,
		   struct tally *tally);

/* ---- pane_matrix_net.c ----------------------------------------------- */

/**
 * struct network - what a link is made to do, at both ends
 * @name: of it
 * @qdisc: what is put on the interfaces
 * @shows: counters that move then, on one of the devices
 * @loses: nothing unreliable is sent over it
 * @harsh: so much is lost that a request may run out of retries, and the more
 *          requests the likelier
 * @trains: so much is sent again that long messages take too long without them
 * @dark: for two seconds nothing gets through
 */
struct network {
	const char *name;
	const char *qdisc;
	const char *shows[2];
	bool loses;
	bool harsh;
	bool trains;
	bool dark;
};

#define NUM_NETWORKS	9

extern const struct network networks[NUM_NETWORKS];

bool network_can_keep_order(void);
void network_open(const struct network *net, bool trains);
void network_dark(void);
void network_light(void);

#endif
