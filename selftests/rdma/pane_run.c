// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_run.h"

/* For a test, unless it asks for more */
#define TEST_SECONDS	60

struct test {
	char name[160];
	pane_test_fn run;
	const void *arg;
	struct pane_config cfg;
};

struct pane_config pane_cfg;
const char *pane_where_file;
int pane_where_line;

static struct test *tests;
static unsigned int num_tests;
static bool in_child;
/* Only tests whose name contains this, for who works on one of them */
static const char *only;

/* ---- the list -------------------------------------------------------- */

static const char *qp_name(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UC:
		return "UC";
	case IBV_QPT_XRC_SEND:
		return "XRC";
	default:
		return "RC";
	}
}

/* What a variant adds to the name */
static void name_variant(struct test *t, unsigned int variants)
{
	char type[] = "type 2A";
	const char *parts[4];
	unsigned int num = 0;

	type[6] = t->cfg.mw2;
	if (variants & V_TYPES)
		parts[num++] = t->cfg.mw_type == IBV_MW_TYPE_1 ? "type 1" :
								 type;
	if (variants & V_QPS)
		parts[num++] = qp_name(t->cfg.qp_type);
	if (variants & V_APIS)
		parts[num++] = t->cfg.wr_api ? "ibv_wr" : "ibv_post";
	if (variants & V_PATHS)
		parts[num++] = t->cfg.loopback ? "loopback" : "pair";

	for (unsigned int i = 0; i < num; i++) {
		size_t len = strlen(t->name);

		snprintf(t->name + len, sizeof(t->name) - len, "%s%s%s",
			 i ? ", " : " [", parts[i], i + 1 == num ? "]" : "");
	}
}

static bool variant_wanted(unsigned int variants, unsigned int group,
			   unsigned int bit)
{
	unsigned int first = group & -group;

	return variants & group ? variants & bit : bit == first;
}

/* A device with one kind of type 2 windows only has no tests of the other */
static void add(const struct test *t)
{
	if (!pane_mw2_choice && t->cfg.mw_type == IBV_MW_TYPE_2 &&
	    t->cfg.mw2 != pane_mw2_letter)
		return;
	if (only && !strstr(t->name, only))
		return;
	tests = realloc(tests, (num_tests + 1) * sizeof(*tests));
	if (!tests)
		ksft_exit_fail_msg("out of memory\n");
	tests[num_tests++] = *t;
}

/**
 * pane_test - add a test to the list, in all its variants
 * @variants: enum pane_variants
 * @run: the test
 * @arg: passed to it
 * @name: of the rule it tests; a format
 */
void pane_test(unsigned int variants, pane_test_fn run, const void *arg,
	       const char *name, ...)
{
	struct test t = { .run = run, .arg = arg };
	char text[sizeof(t.name)];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);

	for (unsigned int i = 0; i < 3 * 2 * 2 * 3; i++) {
		static const unsigned int types[] = { V_T1, V_T2A, V_T2B };
		static const unsigned int qps[] = { V_RC, V_UC, V_XRC };
		static const enum ibv_qp_type qp_types[] = {
			IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND,
		};
		unsigned int type = types[i % 3], qp = i / 12;
		bool wr = i / 3 & 1, loop = i / 6 & 1;

		/* would be many, and say little */
		if (qps[qp] != V_RC && loop)
			continue;
		if (!variant_wanted(variants, V_TYPES, type) ||
		    !variant_wanted(variants, V_QPS, qps[qp]) ||
		    !variant_wanted(variants, V_APIS, wr ? V_WR : V_POST) ||
		    !variant_wanted(variants, V_PATHS, loop ? V_LOOP : V_PAIR))
			continue;
		t.cfg = (struct pane_config) {
			.mw_type = type == V_T1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2,
			.mw2 = type == V_T2A ? 'A' : 'B',
			.qp_type = qp_types[qp],
			.wr_api = wr,
			.loopback = loop,
		};
		strcpy(t.name, text);
		name_variant(&t, variants);
		add(&t);
	}
}

/* ---- time ------------------------------------------------------------ */

/* Does the kernel check itself at each step? What is done often takes long */
bool pane_kernel_checks(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

bool pane_is_slow(void)
{
	const char *slow = getenv("KSFT_MACHINE_SLOW");

	return (slow && !strcmp(slow, "yes")) || pane_kernel_checks();
}

/* How often to do what is done many times */
unsigned int pane_rounds(unsigned int rounds)
{
	return pane_is_slow() ? rounds / 20 + 1 : rounds;
}

/* Likewise, for what does not take long unless the kernel checks itself */
unsigned int pane_rounds_cheap(unsigned int rounds)
{
	return pane_kernel_checks() ? pane_rounds(rounds) : rounds;
}

/*
 * How much to try at random: PANE_OPERATIONS in the environment says how often,
 * PANE_ALL=1 that a slow machine does no less than others.
 */
uint64_t pane_operations(unsigned int usual)
{
	const char *wanted = getenv("PANE_OPERATIONS");
	const char *all = getenv("PANE_ALL");

	if (wanted)
		return strtoull(wanted, NULL, 0);
	return all && !strcmp(all, "1") ? usual : pane_rounds(usual);
}

/* For things that happen at once unless something is broken */
int pane_deadline_ms(void)
{
	return pane_is_slow() ? 100000 : 10000;
}

/* Memory of the machine that can be had, or -1 */
long pane_available_kib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Write @text to a file of the kernel's, in directory @dir; or false and errno */
bool pane_file_write(const char *dir, const char *name, const char *text)
{
	char path[256];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		return false;
	good = fputs(text, f) >= 0;
	return !fclose(f) && good;
}

/* From here on a test has all of the time again that a test may take */
void pane_more_time(void)
{
	alarm(pane_is_slow() ? 10 * TEST_SECONDS : TEST_SECONDS);
}

/* ---- results --------------------------------------------------------- */

static __attribute__((noreturn)) void leave(int status)
{
	fflush(stdout);
	/* in a child no destructors: other threads may be at work */
	if (in_child)
		_exit(status);
	exit(status);
}

void pane_fail(const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (pane_where_file)
		ksft_print_msg("%s:%d: %s (for %s:%d)\n", file, line, text,
			       pane_where_file, pane_where_line);
	else
		ksft_print_msg("%s:%d: %s\n", file, line, text);
	leave(KSFT_FAIL);
}

void pane_skip(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ksft_print_msg("%s\n", text);
	leave(KSFT_SKIP);
}

static void run_test(const struct test *t)
{
	int status;
	pid_t pid;

	if (pane_mw2_choice)
		pane_mw2_set(t->cfg.mw2);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		in_child = true;
		pane_cfg = t->cfg;
		pane_more_time();
		t->run(t->arg);
		leave(KSFT_PASS);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	pane_fabric_tidy();
	if (WIFSIGNALED(status))
		ksft_print_msg("ended by signal %d (%s)\n", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		ksft_test_result_skip("%s\n", t->name);
	else
		ksft_test_result(WIFEXITED(status) && !WEXITSTATUS(status),
				 "%s\n", t->name);
}

/**
 * pane_run_bare - main() of a program that makes its devices itself
 * @argc: of main()
 * @argv: of main(); the first argument is part of the names of the only tests
 *        to run
 * @list: calls pane_test() for each test
 */
int pane_run_bare(int argc, char **argv, void (*list)(void))
{
	only = argc > 1 ? argv[1] : NULL;
	list();
	ksft_set_plan(num_tests);
	for (unsigned int i = 0; i < num_tests; i++)
		run_test(&tests[i]);
	ksft_finished();
}

/* main() of a program; otherwise as pane_run_bare() */
int pane_run(int argc, char **argv, void (*list)(void))
{
	ksft_print_header();
	pane_fabric_open();
	return pane_run_bare(argc, argv, list);
}
