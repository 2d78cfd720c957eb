/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reporting in KTAP for tests written in C, under the kernel's names for these
 * functions. A test prints the header, sets the plan, reports each result and
 * ends with ksft_finished(), which also checks that the plan was kept.
 */
#ifndef PANE_KSELFTEST_H
#define PANE_KSELFTEST_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KSFT_PASS  0
#define KSFT_FAIL  1
#define KSFT_XFAIL 2
#define KSFT_XPASS 3
#define KSFT_SKIP  4

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#define KSFT_PRINTF(fmt_index, arg_index) \
	__attribute__((unused, format(printf, fmt_index, arg_index)))

struct ksft_count {
	unsigned int pass;
	unsigned int fail;
	unsigned int xfail;
	unsigned int skip;
};

static struct ksft_count ksft_cnt __attribute__((unused));
static unsigned int ksft_plan __attribute__((unused));

static inline unsigned int ksft_test_num(void)
{
	return ksft_cnt.pass + ksft_cnt.fail + ksft_cnt.xfail + ksft_cnt.skip;
}

static inline void ksft_print_header(void)
{
	/* results must be seen in order with what a crash leaves behind */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
}

static inline void ksft_set_plan(unsigned int plan)
{
	ksft_plan = plan;
	printf("1..%u\n", plan);
}

static inline void ksft_print_cnts(void)
{
	if (ksft_plan != ksft_test_num())
		printf("# Planned tests != run tests (%u != %u)\n", ksft_plan,
		       ksft_test_num());
	printf("# Totals: pass:%u fail:%u xfail:%u xpass:0 skip:%u error:0\n",
	       ksft_cnt.pass, ksft_cnt.fail, ksft_cnt.xfail, ksft_cnt.skip);
}

static KSFT_PRINTF(1, 2) void ksft_print_msg(const char *msg, ...)
{
	va_list args;

	printf("# ");
	va_start(args, msg);
	vprintf(msg, args);
	va_end(args);
}

static inline void ksft_perror(const char *msg)
{
	ksft_print_msg("%s: %s (%d)\n", msg, strerror(errno), errno);
}

/* As in the kernel's header, the message brings its own newline. */
static inline void ksft_vresult(const char *word, const char *directive,
				const char *msg, va_list args)
{
	printf("%s %u %s", word, ksft_test_num(), directive);
	vprintf(msg, args);
}

static KSFT_PRINTF(1, 2) void ksft_test_result_pass(const char *msg, ...)
{
	va_list args;

	ksft_cnt.pass++;
	va_start(args, msg);
	ksft_vresult("ok", "", msg, args);
	va_end(args);
}

static KSFT_PRINTF(1, 2) void ksft_test_result_fail(const char *msg, ...)
{
	va_list args;

	ksft_cnt.fail++;
	va_start(args, msg);
	ksft_vresult("not ok", "", msg, args);
	va_end(args);
}

static KSFT_PRINTF(1, 2) void ksft_test_result_xfail(const char *msg, ...)
{
	va_list args;

	ksft_cnt.xfail++;
	va_start(args, msg);
	ksft_vresult("ok", "# XFAIL ", msg, args);
	va_end(args);
}

static KSFT_PRINTF(1, 2) void ksft_test_result_skip(const char *msg, ...)
{
	va_list args;

	ksft_cnt.skip++;
	va_start(args, msg);
	ksft_vresult("ok", "# SKIP ", msg, args);
	va_end(args);
}

#define ksft_test_result(condition, fmt, ...) do {			\
	if (condition)							\
		ksft_test_result_pass(fmt, ##__VA_ARGS__);		\
	else								\
		ksft_test_result_fail(fmt, ##__VA_ARGS__);		\
} while (0)

static inline __attribute__((noreturn)) void ksft_exit_pass(void)
{
	ksft_print_cnts();
	exit(KSFT_PASS);
}

static inline __attribute__((noreturn)) void ksft_exit_fail(void)
{
	ksft_print_cnts();
	exit(KSFT_FAIL);
}

static KSFT_PRINTF(1, 2) __attribute__((noreturn))
void ksft_exit_fail_msg(const char *msg, ...)
{
	va_list args;

	printf("Bail out! ");
	va_start(args, msg);
	vprintf(msg, args);
	va_end(args);
	ksft_print_cnts();
	exit(KSFT_FAIL);
}

/* Before any result, it skips the whole file; later, what is left of it. */
static KSFT_PRINTF(1, 2) __attribute__((noreturn))
void ksft_exit_skip(const char *msg, ...)
{
	va_list args;

	if (ksft_plan || ksft_test_num())
		printf("ok %u # SKIP ", 1 + ksft_test_num());
	else
		printf("1..0 # SKIP ");
	va_start(args, msg);
	vprintf(msg, args);
	va_end(args);
	if (ksft_plan)
		ksft_print_cnts();
	exit(KSFT_SKIP);
}

static inline __attribute__((noreturn)) void ksft_finished(void)
{
	bool complete = ksft_test_num() == ksft_plan;

	if (ksft_cnt.fail || !complete)
		ksft_exit_fail();
	ksft_exit_pass();
}

#endif
