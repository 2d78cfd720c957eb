/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* All counters of a device at once, so that a test can see that no other moved */
#ifndef PANE_COUNTERS_H
#define PANE_COUNTERS_H

#include <stdint.h>

#include "pane_util.h"

#define COUNTER_NAME	32
#define COUNTERS_MAX	96

struct counters {
	unsigned int num;
	char name[COUNTERS_MAX][COUNTER_NAME];
	uint64_t value[COUNTERS_MAX];
};

void counters_read(const struct node *n, struct counters *c);
uint64_t counters_moved(const struct counters *before,
			const struct counters *now, const char *name);

#endif
