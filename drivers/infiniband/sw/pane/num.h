/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The numbers of QPs and SRQs: one space for all devices, so that a packet finds
 * what it names without its device.
 */
#ifndef PANE_NUM_H
#define PANE_NUM_H

#include <linux/types.h>

enum pane_num_kind {
	PANE_NUM_QP,
	PANE_NUM_SRQ,
};

/**
 * struct pane_num - what has a number
 * @value: the number, 24 bits
 * @slotno: its place in the table
 * @kind: enum pane_num_kind: what this is part of
 */
struct pane_num {
	u32 value;
	u32 slotno;
	u8 kind;
};

int pane_num_init(void);
void pane_num_exit(void);
int pane_num_alloc(struct pane_num *num, enum pane_num_kind kind);
void pane_num_free(struct pane_num *num);
void pane_num_publish(struct pane_num *num);
void pane_num_unpublish(struct pane_num *num);
struct pane_num *pane_num_find(u32 value, enum pane_num_kind kind);

#endif /* PANE_NUM_H */
