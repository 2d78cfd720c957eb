// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that mean harm, by all calls and rings that they have, beside one
 * that does not and must not notice. PANE_OPERATIONS in the environment is the
 * number of spoilt calls, PANE_SEED repeats a run as far as several processes can.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fuzz.h"
#include "pane_honest.h"
#include "pane_verbs.h"

#define CALLS		100000
#define CALLERS		2
/* A process has made so many spoilt calls when another takes its place */
#define CALLS_EACH	2000
/* Rounds of the honest one, at least */
#define HONEST_ROUNDS	200

static void limit(int what, rlim_t value)
{
	const struct rlimit l = { value, value };

	CHECK(!setrlimit(what, &l), "%s", strerror(errno));
}

static uint64_t calls_now(void)
{
	return __atomic_load_n(&fuzz_shared->calls, __ATOMIC_ACQUIRE);
}

static void caller_over(int sig)
{
	_exit(0);
}

/*
 * Once in a million calls a spoilt address is one of the caller's own, and the
 * answer goes over what it runs on. That is the end of it, and nobody's fault.
 */
static void end_quietly(void)
{
	static const int ends[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	static char stack[65536];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = {
		.sa_handler = caller_over,
		.sa_flags = SA_ONSTACK,
	};

	CHECK(!sigaltstack(&own, NULL), "%s", strerror(errno));
	for (unsigned int i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		CHECK(!sigaction(ends[i], &action, NULL), "%s",
		      strerror(errno));
}

/* Many short lives: what the library still knows after a while is of no use */
static __attribute__((noreturn)) void caller_run(unsigned int number)
{
	uint64_t end = calls_now() + CALLS_EACH;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit(RLIMIT_NOFILE, 256);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_AS, 1 << 30);
	random_branch(number);
	fuzz_begin();
	end_quietly();
	while (calls_now() < end) {
		pane_more_time();
		fuzz_script();
	}
	_exit(0);
}

static pid_t start(void (*run)(unsigned int number), unsigned int number)
{
	pid_t pid = fork();

	CHECK(pid >= 0, "%s", strerror(errno));
	if (!pid)
		run(number);
	return pid;
}

static __attribute__((noreturn)) void rings_run(unsigned int number)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit(RLIMIT_CORE, 0);
	random_branch(number);
	fuzz_rings();
	_exit(1);
}

/* A caller that has come to its end is followed by the next */
static void callers_renew(pid_t pids[CALLERS], unsigned int *number)
{
	int status;

	for (unsigned int i = 0; i < CALLERS; i++) {
		if (pids[i] && !waitpid(pids[i], &status, WNOHANG))
			continue;
		CHECK(!pids[i] || !status, "a caller ended: status %#x", status);
		pids[i] = start(caller_run, ++*number);
	}
}

static void stop(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL), "%s", strerror(errno));
	CHECK(waitpid(pid, NULL, 0) == pid, "%s", strerror(errno));
}

static void beside(struct honest *h, uint64_t wanted)
{
	unsigned int number = 0, rounds = 0;
	pid_t pids[CALLERS] = {}, rings = start(rings_run, 1000);

	while (calls_now() < wanted || rounds < pane_rounds(HONEST_ROUNDS) ||
	       !fuzz_shared->rounds) {
		pane_more_time();
		callers_renew(pids, &number);
		CHECK(!waitpid(rings, NULL, WNOHANG), "the rings' process ended");
		honest_round(h);
		rounds++;
	}
	for (unsigned int i = 0; i < CALLERS; i++)
		stop(pids[i]);
	stop(rings);
	ksft_print_msg("%llu spoilt calls, %llu of them succeeded\n",
		       (unsigned long long)fuzz_shared->calls,
		       (unsigned long long)fuzz_shared->taken);
	ksft_print_msg("%llu mappings, %llu turns of rings, %u honest rounds\n",
		       (unsigned long long)fuzz_shared->maps,
		       (unsigned long long)fuzz_shared->rounds, rounds);
}

static void test_fuzz(const void *arg)
{
	struct honest h;

	fuzz_shared = mmap(NULL, sizeof(*fuzz_shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(fuzz_shared != MAP_FAILED, "%s", strerror(errno));
	random_seed();
	honest_open(&h);
	beside(&h, pane_operations(CALLS));
	honest_round(&h);
	honest_close(&h);
	/* and for who comes later */
	honest_open(&h);
	honest_round(&h);
	honest_close(&h);
}

static void list(void)
{
	pane_test(0, test_fuzz, NULL,
		  "spoilt calls, and rings of anything, beside an honest process");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
