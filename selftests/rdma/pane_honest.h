/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an honest program does, beside others that are not */
#ifndef PANE_HONEST_H
#define PANE_HONEST_H

#include "pane_util.h"

/**
 * struct honest - a connection that is used as it should be
 * @d: the connection
 * @mw: a window of each type
 */
struct honest {
	struct duo d;
	struct ibv_mw *mw[2];
};

void honest_open(struct honest *h);
/* Windows are bound, used, compared byte for byte, and closed */
void honest_round(struct honest *h);
void honest_close(struct honest *h);

#endif
