/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program that means harm. It makes the calls that every program makes, by
 * the library and the provider, and before each of them makes others like it
 * that are spoilt: so whatever they have to say to the kernel is tried.
 */
#ifndef PANE_FUZZ_H
#define PANE_FUZZ_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct fuzz_shared - what all processes see
 * @calls: spoilt calls so far
 * @taken: those of them that succeeded
 * @maps: mappings that were tried
 * @rounds: turns of the rings
 */
struct fuzz_shared {
	uint64_t calls;
	uint64_t taken;
	uint64_t maps;
	uint64_t rounds;
};

extern struct fuzz_shared *fuzz_shared;

/* ---- pane_fuzz_calls.c ----------------------------------------------- */

/* Memory that spoilt calls may name: nothing else is written by their doing */
#define ARENA_LEN	(1 << 20)
extern uint8_t *fuzz_arena;

/* From here on calls of this process are preceded by spoilt ones */
void fuzz_begin(void);
void fuzz_pause(bool pause);
/* Mappings of what was mapped before, and of what is beside it */
void fuzz_map(int fd);
/* Has the machine less memory than it should? */
bool fuzz_is_short(void);

/* ---- processes ------------------------------------------------------- */

/* The calls of a program, in some order; nothing is left open */
void fuzz_script(void);
/* Rings full of anything, for ever */
void fuzz_rings(void);

#endif
