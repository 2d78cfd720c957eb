// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module is loaded, a device added and deleted, while memory runs out: each
 * allocation fails in turn, with PANE_ALL=1 in the environment, or one of a few.
 * Then it was not loaded, or added, and nothing is left of it; what is done
 * without, as the core does without a client that fails, is told of by nobody.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_fault.h"
#include "pane_nldev.h"
#include "pane_run.h"
#include "pane_verbs.h"

/* Names that selftests/vm/allow.list knows */
#define DEV		"panefault"
#define IFNAME		"pflt0"
#define MODULE		"rdma_pane"

/**
 * struct load - what is loaded and added
 * @image: the module's file
 * @len: bytes of it
 * @nl: netlink socket
 * @index: of the device
 */
struct load {
	void *image;
	size_t len;
	int nl;
	uint32_t index;
};

/* ---- the module ------------------------------------------------------ */

/* Its file, as modinfo finds it; false if the driver is built in */
static bool module_read(struct load *l)
{
	char path[512] = "";
	struct stat st;
	FILE *f;
	int fd;

	f = popen("modinfo -n " MODULE " 2>/dev/null", "r");
	CHECK(f, "%s", strerror(errno));
	if (fgets(path, sizeof(path), f))
		path[strcspn(path, "\n")] = '\0';
	pclose(f);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	CHECK(!fstat(fd, &st), "%s", strerror(errno));
	l->len = st.st_size;
	l->image = mmap(NULL, l->len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
			0);
	close(fd);
	return l->image != MAP_FAILED;
}

static bool module_is_loaded(void)
{
	return !access("/sys/module/" MODULE "/refcnt", F_OK);
}

static int call_load(void *ctx)
{
	struct load *l = ctx;

	return syscall(SYS_init_module, l->image, l->len, "") ? errno : 0;
}

static int module_remove(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? errno : 0;
}

static void undo_load(void *ctx, bool done)
{
	if (done)
		CHECK_OK(module_remove());
}

static int call_unload(void *ctx)
{
	return module_remove();
}

static void same_load(void *ctx)
{
	CHECK(!module_is_loaded(), "the module is there");
}

/* ---- devices --------------------------------------------------------- */

static bool device_is_there(struct load *l)
{
	return nldev_find(l->nl, DEV) >= 0;
}

/* When the answer was what there was no memory for, the device tells it */
static int call_add(void *ctx)
{
	struct load *l = ctx;
	int err = nldev_link_add(l->nl, DEV, IFNAME);

	if (err >= 0)
		return err;
	return device_is_there(l) ? 0 : ENOBUFS;
}

static void undo_add(void *ctx, bool done)
{
	struct load *l = ctx;

	CHECK_EQ(device_is_there(l), done);
	if (done)
		CHECK_OK(nldev_link_del(l->nl, nldev_find(l->nl, DEV)));
}

static int prepare_add(void *ctx)
{
	struct load *l = ctx;

	CHECK_OK(call_add(l));
	l->index = nldev_find(l->nl, DEV);
	return 0;
}

static int call_del(void *ctx)
{
	struct load *l = ctx;
	int err = nldev_link_del(l->nl, l->index);

	if (err >= 0)
		return err;
	return device_is_there(l) ? ENOBUFS : 0;
}

/* Also the socket is gone, which the next device needs, and all references */
static void same_add(void *ctx)
{
	CHECK(!device_is_there(ctx), "the device is there");
}

/* ---- tests ----------------------------------------------------------- */

/* Those before the last ones are the loader's and event tracing's, which warns */
static const struct fault_call loads[] = {
	{ "load the module", NULL, call_load, undo_load, .any_error = true,
	  .last = 300, .same = same_load },
	{ "remove the module", call_load, call_unload, undo_load,
	  .removes = true, .same = same_load },
};

/* The first allocations are the driver's; thousands of the core follow */
static const struct fault_call links[] = {
	{ "add a device", NULL, call_add, undo_add, .first = 64,
	  .same = same_add },
	{ "delete a device", prepare_add, call_del, undo_add, .first = 64,
	  .removes = true, .same = same_add },
};

/* A device takes seconds to come and go where the kernel checks itself */
#define STEP	4

static void try_call(struct load *l, const struct fault_call *call)
{
	const char *all = getenv("PANE_ALL");
	struct fault_call c = *call;

	c.ctx = l;
	random_seed();
	if (!all || strcmp(all, "1")) {
		c.step = STEP;
		c.skip = random_below(STEP);
	}
	CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "%s", strerror(errno));
	fault_each(&c);
}

/* Not while somebody has a device of ours */
static void test_load(const void *arg)
{
	struct load l = {};

	if (module_is_loaded() && module_remove())
		pane_skip("the module is in use");
	if (!module_read(&l))
		pane_skip("the driver is built in");
	try_call(&l, arg);
}

static const char netdev_up[] =
	"modprobe -q " MODULE "; modprobe -q ib_uverbs; set -e;"
	"ip link add " IFNAME " type veth peer name pflt1;"
	"ip addr add 10.98.0.1/24 dev " IFNAME ";"
	"ip link set pflt1 up; ip link set " IFNAME " up";

/* With a driver that is unloaded in between, so that every reference shows */
static void test_link(const void *arg)
{
	struct load l = { .nl = nldev_open() };

	pane_shell("exec 2>/dev/null; ip link del " IFNAME, "");
	CHECK(!pane_shell(netdev_up, ""), "no interface");
	try_call(&l, arg);
	CHECK(!pane_shell("ip link del " IFNAME, ""), "the interface stays");
	if (module_is_loaded())
		CHECK_OK(module_remove());
	close(l.nl);
}

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(links); i++)
		pane_test(0, test_link, &links[i], "each allocation fails: %s",
			  links[i].name);
	for (unsigned int i = 0; i < ARRAY_SIZE(loads); i++)
		pane_test(0, test_load, &loads[i], "each allocation fails: %s",
			  loads[i].name);
}

int main(int argc, char **argv)
{
	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("needs root to load a module\n");
	if (!fault_possible())
		ksft_exit_skip("the kernel has no fault injection\n");
	if (pane_shell("modprobe -q " MODULE, ""))
		ksft_exit_skip("no " MODULE " module\n");
	fault_setup();
	return pane_run_bare(argc, argv, list);
}
