/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that writes its rings itself, past all checks of the provider, and
 * a neighbour that must not notice.
 */
#ifndef PANE_HOSTILE_H
#define PANE_HOSTILE_H

#include "pane_raw.h"
#include "pane_util.h"

#define WIN_OFF		4000
#define WIN_LEN		5000

/**
 * struct victim - a neighbour in another process, or as good as that
 * @d: its own contexts and connection
 * @mw1: type 1 window, bound
 * @mw2: type 2 window, bound
 */
struct victim {
	struct duo d;
	struct ibv_mw *mw1;
	struct ibv_mw *mw2;
};

/**
 * struct hostile - the process that misbehaves
 * @d: contexts and memory; of its connection only the peer's end is used
 * @qp: QP in the owner's context, connected to that
 * @pd2: another domain
 * @other: region of it
 * @mw1: type 1 window
 * @mw2: type 2 window, free
 * @foreign: type 2 window of @pd2
 * @victim: the neighbour
 */
struct hostile {
	struct duo d;
	struct raw_qp qp;
	struct ibv_pd *pd2;
	struct region other;
	struct ibv_mw *mw1;
	struct ibv_mw *mw2;
	struct ibv_mw *foreign;
	struct victim victim;
};

void hostile_open(struct hostile *h);
void hostile_close(struct hostile *h);

/* The next slot, filled with a good bind of @h->mw2 */
struct pane_sq_wqe *hostile_bind(struct hostile *h);

#endif
