/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A test program is a table of functions, each of which is one result. CHECK()
 * says what is wrong and lets the function go on, from any thread.
 */
#ifndef PANE_UNIT_H
#define PANE_UNIT_H

#include <stdint.h>

#include "../kselftest.h"

/* More of them say nothing new. */
#define UNIT_MAX_MESSAGES 10

struct unit_test {
	const char *name;
	void (*run)(void);
};

/* one for all files of a program */
__attribute__((weak)) unsigned int unit_failures;

/* Counts a failure; says whether to print a message about it. */
static inline bool unit_fail(void)
{
	return __atomic_fetch_add(&unit_failures, 1, __ATOMIC_RELAXED) <
	       UNIT_MAX_MESSAGES;
}

static inline bool unit_check(bool ok, const char *what, const char *where,
			      int line)
{
	if (!ok && unit_fail())
		ksft_print_msg("%s:%d: %s\n", where, line, what);
	return ok;
}

static inline bool unit_check_eq(uint64_t a, uint64_t b, const char *what,
				 const char *where, int line)
{
	if (a != b && unit_fail())
		ksft_print_msg("%s:%d: %s: %#llx and %#llx\n", where, line,
			       what, (unsigned long long)a,
			       (unsigned long long)b);
	return a == b;
}

/* Both return whether all is well. */
#define CHECK(condition) \
	unit_check(condition, #condition, __func__, __LINE__)
#define CHECK_EQ(a, b) \
	unit_check_eq(a, b, #a " == " #b, __func__, __LINE__)

/* More about the failure of a CHECK(), as long as those are printed */
#define unit_note(fmt, ...) do {					\
	if (unit_failures <= UNIT_MAX_MESSAGES)				\
		ksft_print_msg(fmt, ##__VA_ARGS__);			\
} while (0)

/* SplitMix64: the same numbers in every run unless PANE_UNIT_SEED is set. */
struct unit_rng {
	uint64_t state;
};

static inline uint64_t unit_seed(void)
{
	const char *seed = getenv("PANE_UNIT_SEED");

	return seed ? strtoull(seed, NULL, 0) : 1;
}

static inline uint64_t unit_random(struct unit_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Less than @limit, which is small beside 2^64 */
static inline uint64_t unit_below(struct unit_rng *rng, uint64_t limit)
{
	return unit_random(rng) % limit;
}

static inline void unit_fill(struct unit_rng *rng, void *buf, size_t len)
{
	unsigned char *byte = buf;

	while (len--)
		*byte++ = unit_random(rng) >> 56;
}

static inline int unit_main(const struct unit_test *tests, unsigned int count)
{
	unsigned int i;

	ksft_print_header();
	ksft_set_plan(count);
	for (i = 0; i < count; i++) {
		unit_failures = 0;
		tests[i].run();
		ksft_test_result(!unit_failures, "%s\n", tests[i].name);
	}
	ksft_finished();
}

#endif
