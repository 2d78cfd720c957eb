/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of any length by each operation that has one, between any two
 * devices: every byte arrives, and none before or behind it is touched.
 */
#ifndef PANE_BOX_H
#define PANE_BOX_H

#include "pane_verbs.h"

/* Bytes on each side of a message's place */
#define GUARD		64

/* Memory between guards, for one message */
struct box {
	struct region r;
	size_t len;
};

void box_empty(struct box *b);
void box_check(const struct box *b, const void *data, size_t len);

static inline struct ibv_sge box_sge(const struct box *b, size_t len)
{
	return sge_of(&b->r, GUARD, len);
}

/**
 * struct boxes - a connection and a message's place at each end
 * @p: the connection
 * @from: data of the first end
 * @to: place at the second end
 */
struct boxes {
	struct pair p;
	struct box from;
	struct box to;
};

void boxes_open(struct boxes *b, const struct qp_opts *qo, size_t len);
void boxes_close(struct boxes *b);
enum ibv_wc_status long_do(struct end *e, struct ibv_send_wr wr);
void boxes_transfer(struct boxes *b, enum ibv_wr_opcode opcode, size_t len,
		    unsigned int flags);

/* Operations that bring a message from the first end to the second */
struct transfer {
	enum ibv_wr_opcode opcode;
	const char *name;
};

#define NUM_TRANSFERS	5

extern const struct transfer transfers[NUM_TRANSFERS];

#endif
