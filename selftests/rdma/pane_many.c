// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * As many QPs, CQs, SRQs and regions as a device says it can have, and one more.
 * (Windows: pane_mw_many. What is dear neither in time nor in memory:
 * pane_limits.)
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_nldev.h"
#include "pane_util.h"

/* A process can have fewer mappings (vm.max_map_count) than a device has QPs. */
#define PARTS	8

/**
 * struct stock - what one process makes its objects with
 * @node: its device
 * @cq: of its QPs, once there is one
 * @page: what its regions are of
 */
struct stock {
	struct node node;
	struct ibv_cq *cq;
	uint8_t page[4096] __attribute__((aligned(4096)));
};

/**
 * struct kind - of objects
 * @name: as in the kernel's count of a device's objects
 * @limit: which value of the device's tells how many there can be
 * @open: one more; NULL with errno
 * @mapped: it has rings
 * @bytes: what one takes, at most, with what the RDMA core and the library add
 */
struct kind {
	const char *name;
	size_t limit;
	void *(*open)(struct stock *s);
	bool mapped;
	unsigned int bytes;
};

static void *open_cq(struct stock *s)
{
	return ibv_create_cq(s->node.ctx, 1, NULL, NULL, 0);
}

static void *open_qp(struct stock *s)
{
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	if (!s->cq)
		s->cq = open_cq(s);
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	return ibv_create_qp(s->node.pd, &init);
}

static void *open_srq(struct stock *s)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 1, .max_sge = 1 },
	};

	return ibv_create_srq(s->node.pd, &init);
}

static void *open_mr(struct stock *s)
{
	return ibv_reg_mr(s->node.pd, s->page, sizeof(s->page),
			  IBV_ACCESS_LOCAL_WRITE);
}

/* ---- a process with a part of them ----------------------------------- */

/**
 * struct part - it, seen from outside
 * @pid: number
 * @said: it tells here what it has made
 */
struct part {
	pid_t pid;
	int said;
};

/* What a process has made, and what has ended that: 0 or an errno value */
struct made {
	unsigned int num;
	int err;
};

static struct made make(const struct kind *kind, struct stock *s,
			unsigned int most)
{
	struct made made = {};

	for (; made.num < most; made.num++) {
		errno = 0;
		if (!kind->open(s)) {
			made.err = errno;
			break;
		}
	}
	return made;
}

/* Does not return: whoever is killed gives back all that he has. */
static void part_run(const struct kind *kind, unsigned int most, int said)
{
	static struct stock stock;
	struct made made;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pane_more_time();
	node_open_owner(&stock.node);
	made = make(kind, &stock, most);
	alarm(0);	/* it is the others who take their time from here on */
	if (write(said, &made, sizeof(made)) != sizeof(made))
		_exit(1);
	for (;;)
		pause();
}

static void part_start(struct part *p, const struct kind *kind,
		       unsigned int most)
{
	int said[2];

	CHECK(!pipe(said), "%s", strerror(errno));
	p->pid = fork();
	CHECK(p->pid >= 0, "%s", strerror(errno));
	if (!p->pid)
		part_run(kind, most, said[1]);
	close(said[1]);
	p->said = said[0];
}

static struct made part_made(const struct part *p)
{
	struct made made;

	CHECK(read(p->said, &made, sizeof(made)) == sizeof(made),
	      "nothing was said");
	return made;
}

static void part_end(struct part *p)
{
	pane_more_time();
	close(p->said);
	CHECK(!kill(p->pid, SIGKILL), "%s", strerror(errno));
	CHECK(waitpid(p->pid, NULL, 0) == p->pid, "%s", strerror(errno));
}

/* ---- all of them ----------------------------------------------------- */

static unsigned int count(const struct kind *kind, const struct node *n)
{
	struct resources r;
	int fd = nldev_open();
	unsigned int i;

	resources_read(fd, ibv_get_device_index(n->ctx->device), &r);
	close(fd);
	for (i = 0; i < r.num && strcmp(r.name[i], kind->name); i++)
		;
	CHECK(i < r.num, "%ss are not counted", kind->name);
	return r.count[i];
}

static unsigned int limit_of(const struct kind *kind, const struct node *n)
{
	struct ibv_device_attr attr;

	CHECK_OK(ibv_query_device(n->ctx, &attr));
	return *(const int *)((const char *)&attr + kind->limit);
}

/* Each page of the kernel's mappings is one of the host's, who limits them. */
static bool is_user_mode_linux(void)
{
	return !pane_shell("grep -q '^vendor_id.*User Mode Linux' $1",
			   "/proc/cpuinfo");
}

static void need_memory(const struct kind *kind, unsigned int num)
{
	long wanted = (long)num * kind->bytes >> 20, mib;

	if (kind->mapped && is_user_mode_linux())
		pane_skip("more than User-mode Linux can map");
	if (pane_kernel_checks())
		pane_skip("each takes far more memory on such a kernel");
	mib = pane_available_kib() >> 10;
	if (mib < wanted)
		pane_skip("needs %ld MiB of memory, there are %ld", wanted,
			  mib);
}

/* The last takes all there is */
static void make_all(const struct kind *kind, struct part *parts,
		     unsigned int limit, unsigned int before)
{
	unsigned int share = limit / PARTS, num = before;
	struct made made;

	for (int i = 0; i < PARTS; i++) {
		pane_more_time();
		part_start(&parts[i], kind, i < PARTS - 1 ? share : limit);
		made = part_made(&parts[i]);
		CHECK_EQ(made.err, i < PARTS - 1 ? 0 : ENOMEM);
		num += made.num;
	}
	CHECK_EQ(num, limit);
}

static void test_many(const void *arg)
{
	const struct kind *kind = arg;
	struct part parts[PARTS];
	unsigned int before, limit;
	static struct stock own;
	struct made made;
	long kib;

	node_open_owner(&own.node);
	limit = limit_of(kind, &own.node);
	before = count(kind, &own.node);
	need_memory(kind, limit - before);
	kib = pane_available_kib();

	make_all(kind, parts, limit, before);
	kib -= pane_available_kib();
	ksft_print_msg("%u %ss: %ld bytes each, with those of the RDMA core and the library\n",
		       limit, kind->name, (kib << 10) / limit);
	CHECK_EQ(count(kind, &own.node), limit);
	made = make(kind, &own, 1);
	CHECK(!made.num, "one more");
	CHECK_EQ(made.err, ENOMEM);

	part_end(&parts[0]);
	made = make(kind, &own, 1);
	CHECK_EQ(made.err, 0);
	for (int i = 1; i < PARTS; i++)
		part_end(&parts[i]);
	CHECK_EQ(count(kind, &own.node), before + 1);
}

#define KIND(what, max, rings, size) {					\
	.name = #what,							\
	.limit = offsetof(struct ibv_device_attr, max),			\
	.open = open_##what,						\
	.mapped = rings,						\
	.bytes = size,							\
}

static const struct kind kinds[] = {
	KIND(qp, max_qp, true, 12288),
	KIND(cq, max_cq, true, 12288),
	KIND(srq, max_srq, true, 8192),
	KIND(mr, max_mr, false, 1280),
};

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		pane_test(0, test_many, &kinds[i],
			  "as many %ss as there can be, and one more",
			  kinds[i].name);
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
