// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What no transport can do without, on this machine: bytes a second of memcpy()
 * and of the driver's CRC-32, over 1 MiB, and a system call that does nothing.
 * Prints "cost memcpy MB/s", "cost crc MB/s", each the best of some, and "cost
 * syscall MICROSECONDS", the median of some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crc_sliced.h"

#define LEN	(1 << 20)
#define PACKET	4096
#define TRIES	50

static unsigned char from[LEN], to[LEN];
static volatile u32 sink;

/* Whatever was written may be looked at. */
#define LOOK_AT(p)	__asm__ __volatile__("" : : "r" (p) : "memory")

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void copy_all(void)
{
	memcpy(to, from, LEN);
	LOOK_AT(to);
}

static void crc_all(void)
{
	u32 crc = ~0U;

	for (size_t off = 0; off < LEN; off += PACKET)
		crc = pane_crc_sliced(crc, from + off, PACKET);
	sink = crc;
}

static double best_rate(void (*fn)(void))
{
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		double start = now(), rate;

		fn();
		rate = LEN / (now() - start) / 1e6;
		if (rate > best)
			best = rate;
	}
	return best;
}

#define BATCHES	200
#define CALLS	100

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* In batches, as looking at the clock may be a system call, too */
static double median_call(void)
{
	static double taken[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now();

		for (int j = 0; j < CALLS; j++)
			syscall(SYS_getppid);
		taken[i] = (now() - start) / CALLS;
	}
	qsort(taken, BATCHES, sizeof(*taken), compare);
	return taken[BATCHES / 2] * 1e6;
}

int main(void)
{
	pane_crc_sliced_init();
	for (size_t i = 0; i < LEN; i++)
		from[i] = i * 7;
	printf("cost memcpy %.0f\n", best_rate(copy_all));
	printf("cost crc %.0f\n", best_rate(crc_all));
	printf("cost syscall %.2f\n", median_call());
	return 0;
}
