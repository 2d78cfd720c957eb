// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fault.h"
#include "pane_run.h"

#define NTH_FILE	"/proc/thread-self/fail-nth"
#define KNOBS		"/sys/kernel/debug/"

/* A call that has more allocations than this does not end */
#define NTH_MAX		20000

struct knob {
	const char *name;
	const char *value;
	char before[16];
};

static struct knob knobs[] = {
	{ KNOBS "failslab/ignore-gfp-wait", "N" },
	{ KNOBS "failslab/verbose", "0" },
	{ KNOBS "fail_page_alloc/ignore-gfp-wait", "N" },
	{ KNOBS "fail_page_alloc/min-order", "0" },
	{ KNOBS "fail_page_alloc/verbose", "0" },
};

static bool knob_write(const char *name, const char *value)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	ssize_t len = strlen(value);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, value, len) == len;
	close(fd);
	return good;
}

static void knob_read(struct knob *k)
{
	int fd = open(k->name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, k->before, sizeof(k->before) - 1) < 0)
		*k->before = '\0';
	close(fd);
}

static void knobs_restore(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(knobs); i++)
		knob_write(knobs[i].name, knobs[i].before);
}

bool fault_possible(void)
{
	if (access(NTH_FILE, W_OK))
		return false;
	for (unsigned int i = 0; i < ARRAY_SIZE(knobs); i++)
		if (access(knobs[i].name, W_OK))
			return false;
	return true;
}

void fault_setup(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(knobs); i++) {
		knob_read(&knobs[i]);
		if (!knob_write(knobs[i].name, knobs[i].value))
			ksft_exit_fail_msg("%s: %s\n", knobs[i].name,
					   strerror(errno));
	}
	atexit(knobs_restore);
}

/* Its file is opened once, for an open has allocations of its own */
static int nth_fd(void)
{
	static int fd = -1;
	static pid_t owner;

	if (owner == getpid())
		return fd;
	fd = open(NTH_FILE, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0, "%s", strerror(errno));
	owner = getpid();
	return fd;
}

void fault_arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	CHECK(pwrite(nth_fd(), text, len, 0) == len, "%s", strerror(errno));
}

/* No more; how many allocations there still were to the one that fails */
static unsigned int fault_left(void)
{
	char text[16] = "";
	int fd = nth_fd();

	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0, "%s", strerror(errno));
	CHECK(pwrite(fd, "0", 1, 0) == 1, "%s", strerror(errno));
	return strtoul(text, NULL, 10);
}

bool fault_disarm(void)
{
	return !fault_left();
}

/* What a shortage of memory may be called; a socket without a file is ENFILE */
static bool is_shortage(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == ENFILE;
}

static void fault_prepare(const struct fault_call *c)
{
	if (c->prepare)
		CHECK_OK(c->prepare(c->ctx));
}

static void fault_undo(const struct fault_call *c, bool done)
{
	c->undo(c->ctx, done != c->removes);
	if (c->same)
		c->same(c->ctx);
}

/* With the @nth allocation failing; false if there are not so many */
static bool fault_try(const struct fault_call *c, unsigned int nth)
{
	bool hit;
	int err;

	fault_prepare(c);
	fault_arm(nth);
	err = c->call(c->ctx);
	hit = fault_disarm();
	CHECK(!err || (hit && (c->any_error || is_shortage(err))), "allocation %u, %s: %s (%d)",
	      nth, hit ? "which failed" : "no fault", strerror(err), err);
	fault_undo(c, !err);
	return hit;
}

/* Without a fault; returns how many allocations there are */
static unsigned int fault_none(const struct fault_call *c)
{
	unsigned int num;

	fault_prepare(c);
	fault_arm(NTH_MAX);
	CHECK_OK(c->call(c->ctx));
	num = NTH_MAX - fault_left();
	fault_undo(c, true);
	return num;
}

void fault_each(const struct fault_call *c)
{
	unsigned int nth = 1, num, failed = 0;

	/* what is made at the first use is there, and so is all of user space */
	fault_none(c);
	num = fault_none(c);
	if (c->last && num > c->last)
		nth = num - c->last;
	for (nth += c->skip; fault_try(c, nth); nth += c->step ?: 1) {
		failed++;
		CHECK(nth < NTH_MAX - 1, "no end");
		if (c->first && nth >= c->first)
			break;
		pane_more_time();
	}
	ksft_print_msg("%s: %u of %u allocations failed\n", c->name, failed,
		       num);
	fault_none(c);
}
