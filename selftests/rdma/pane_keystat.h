/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Can numbers be told from random ones? */
#ifndef PANE_KEYSTAT_H
#define PANE_KEYSTAT_H

#include <stdint.h>

#define INDEX_BITS	24
#define INDEX_NUM	(1U << INDEX_BITS)

/*
 * What was handed out, in that order, is all different. Its upper INDEX_BITS
 * are an index. Fails the test if anything beats chance. @num: a power of two
 */
void keystat_check(const uint32_t *keys, unsigned int num);

#endif
