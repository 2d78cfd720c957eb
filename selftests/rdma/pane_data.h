/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mixed traffic whose outcome is known to the last byte: each end sends random
 * requests to the other, a model says what memory has to look like after them
 * and which completions have to come, in which order.
 */
#ifndef PANE_DATA_H
#define PANE_DATA_H

#include "pane_verbs.h"

/**
 * struct mix_opts - what is sent
 * @ops: requests, each way
 * @max_len: bytes of the longest message
 * @mtu: bytes; lengths around its multiples are preferred
 * @turn: called now and then, when it is not NULL
 * @arg: for @turn
 */
struct mix_opts {
	unsigned int ops;
	uint32_t max_len;
	uint32_t mtu;
	void (*turn)(void *arg);
	void *arg;
};

#define MIX_MAX	16	/* connections at a time */

void mix_run(struct end ends[][2], unsigned int num,
	     const struct mix_opts *opts);

/* pane_data_end.c: how requests end that do not succeed at once */
void list_endings(void);
/* pane_data_ud.c */
void list_datagrams(void);
void list_datagrams_plain(void);
/* pane_data_mc.c */
void list_multicast(void);
/* pane_data_srq.c */
void list_srq(void);
/* pane_data_xrc.c */
void list_xrc(void);

#endif
