// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging: regions whose pages come when they are needed, and go */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_util.h"

#define ODP_RIGHTS	(IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL | \
			 IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND)
#define PAGE		4096
/* More than is asked for at one time, and than a window of packets */
#define LEN		(3 * 1024 * 1024)
/* Not at the start of a page */
#define OFF		1234

/* ---- memory ---------------------------------------------------------- */

static void *map_at(void *addr, size_t len, int prot)
{
	void *p = mmap(addr, len, prot, MAP_PRIVATE | MAP_ANONYMOUS |
		       (addr ? MAP_FIXED : 0), -1, 0);

	CHECK(p != MAP_FAILED, "%s", strerror(errno));
	return p;
}

static uint8_t *map_fresh(size_t len)
{
	return map_at(NULL, len, PROT_READ | PROT_WRITE);
}

static void unmap(void *addr, size_t len)
{
	CHECK_OK(munmap(addr, len) ? errno : 0);
}

static void check_odp(struct node *n)
{
	if (!node_has_odp(n))
		pane_skip("no on-demand paging in this kernel");
}

/**
 * struct odp - two ends, each with memory that nobody has touched
 * @d: the ends
 * @own: the owner's region
 * @peer: the peer's region
 */
struct odp {
	struct duo d;
	struct region own;
	struct region peer;
};

static void odp_open(struct odp *t)
{
	duo_open(&t->d);
	check_odp(&t->d.own);
	region_open_at(&t->own, t->d.own.pd, map_fresh(LEN), LEN, ODP_RIGHTS);
	region_open_at(&t->peer, t->d.peer.pd, map_fresh(LEN), LEN,
		       ODP_RIGHTS);
}

static void odp_close(struct odp *t)
{
	region_close(&t->own);
	region_close(&t->peer);
	duo_close(&t->d);
}

/* @len bytes from the peer's region to the owner's, or back */
static enum ibv_wc_status odp_do(struct odp *t, enum ibv_wr_opcode op,
				 size_t off, size_t len)
{
	struct req req = req_remote(op, &t->peer, len,
				    region_at(&t->own, off),
				    t->own.mr->rkey);

	req.addr = t->peer.addr + off;
	req.compare_add = 7;
	req.swap = 7;
	return ep_do(&t->d.p, req);
}

static bool has_reads(void)
{
	return pane_cfg.qp_type != IBV_QPT_UC;
}

/* ---- pages that were never there ------------------------------------- */

static void untouched_write(const void *arg)
{
	const size_t *len = arg;
	struct odp t;

	odp_open(&t);
	fill_pattern(t.peer.addr + OFF, *len, 3);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, OFF, *len), IBV_WC_SUCCESS);
	ep_arrived(&t.d.p);
	CHECK(has_pattern(t.own.addr + OFF, *len, 3), "other data");
	odp_close(&t);
}

/* The sender's pages were not touched either: they are zero */
static void untouched_source(const void *arg)
{
	struct odp t;

	odp_open(&t);
	memset(t.own.addr, 1, 5 * PAGE);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, OFF, 3 * PAGE), IBV_WC_SUCCESS);
	ep_arrived(&t.d.p);
	for (size_t i = OFF; i < OFF + 3 * PAGE; i++)
		CHECK_EQ(t.own.addr[i], 0);
	odp_close(&t);
}

static void untouched_read(const void *arg)
{
	const size_t *len = arg;
	struct odp t;

	odp_open(&t);
	fill_pattern(t.own.addr + OFF, *len, 4);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_READ, OFF, *len), IBV_WC_SUCCESS);
	CHECK(has_pattern(t.peer.addr + OFF, *len, 4), "other data");
	odp_close(&t);
}

static void untouched_atomic(const void *arg)
{
	uint64_t *word, *orig;
	struct odp t;

	odp_open(&t);
	word = (uint64_t *)(t.own.addr + PAGE);
	orig = (uint64_t *)(t.peer.addr + PAGE);
	CHECK_EQ(odp_do(&t, IBV_WR_ATOMIC_FETCH_AND_ADD, PAGE, 8),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*word, 7);
	CHECK_EQ(*orig, 0);
	CHECK_EQ(odp_do(&t, IBV_WR_ATOMIC_CMP_AND_SWP, PAGE, 8),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*orig, 7);
	odp_close(&t);
}

static enum ibv_wc_status odp_send(struct odp *t, size_t len)
{
	return ep_do(&t->d.p, (struct req) {
		.opcode = IBV_WR_SEND,
		.addr = t->peer.addr + OFF,
		.len = len,
		.lkey = t->peer.mr->lkey,
	});
}

static void untouched_send(const void *arg)
{
	const size_t len = 100000;
	struct ibv_wc wc;
	struct odp t;

	odp_open(&t);
	fill_pattern(t.peer.addr + OFF, len, 5);
	CHECK_OK(ep_post_recv(&t.d.o, 9, t.own.addr + OFF, len,
			      t.own.mr->lkey));
	CHECK_EQ(odp_send(&t, len), IBV_WC_SUCCESS);
	CHECK_WC(t.d.o.rcq, 9, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.byte_len, len);
	CHECK(has_pattern(t.own.addr + OFF, len, 5), "other data");
	odp_close(&t);
}

/* ---- pages that are taken away --------------------------------------- */

enum side { OWNERS, PEERS };

struct gone_row {
	const char *name;
	enum ibv_wr_opcode op;
	enum side side;
	enum ibv_wc_status status;
};

static const struct gone_row gone_rows[] = {
	{ "WRITE to", IBV_WR_RDMA_WRITE, OWNERS, IBV_WC_REM_OP_ERR },
	{ "READ from", IBV_WR_RDMA_READ, OWNERS, IBV_WC_REM_OP_ERR },
	{ "atomic on", IBV_WR_ATOMIC_FETCH_AND_ADD, OWNERS,
	  IBV_WC_REM_OP_ERR },
	{ "WRITE out of", IBV_WR_RDMA_WRITE, PEERS, IBV_WC_LOC_PROT_ERR },
	{ "READ into", IBV_WR_RDMA_READ, PEERS, IBV_WC_LOC_PROT_ERR },
	{ "atomic into", IBV_WR_ATOMIC_FETCH_AND_ADD, PEERS,
	  IBV_WC_LOC_PROT_ERR },
};

/* What is left of the region goes on to work, for another connection */
static void memory_gone(const void *arg)
{
	const struct gone_row *row = arg;
	size_t len = row->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 3 * PAGE;
	uint8_t *at;
	struct odp t;

	odp_open(&t);
	CHECK_EQ(odp_do(&t, row->op, 0, len), IBV_WC_SUCCESS);
	at = row->side == OWNERS ? t.own.addr : t.peer.addr;
	unmap(at, PAGE);
	CHECK_EQ(odp_do(&t, row->op, 0, len), row->status);
	ep_reconnect(&t.d.o, &t.d.p);
	CHECK_EQ(odp_do(&t, row->op, PAGE, len), IBV_WC_SUCCESS);
	odp_close(&t);
}

static void receive_gone(const void *arg)
{
	struct odp t;

	odp_open(&t);
	unmap(t.own.addr, PAGE);
	CHECK_OK(ep_post_recv(&t.d.o, 9, t.own.addr, 100, t.own.mr->lkey));
	CHECK_EQ(odp_send(&t, 100), IBV_WC_REM_OP_ERR);
	CHECK_WC(t.d.o.rcq, 9, IBV_WC_LOC_PROT_ERR, NULL);
	odp_close(&t);
}

/* New pages at the old address are what the key opens from then on */
static void memory_replaced(const void *arg)
{
	const size_t len = 5 * PAGE;
	struct odp t;

	odp_open(&t);
	for (unsigned int i = 0; i < 20; i++) {
		fill_pattern(t.peer.addr, len, i);
		CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, len),
			 IBV_WC_SUCCESS);
		ep_arrived(&t.d.p);
		CHECK(has_pattern(t.own.addr, len, i), "other data");
		unmap(t.own.addr, len);
		map_at(t.own.addr, len, PROT_READ | PROT_WRITE);
	}
	odp_close(&t);
}

/* A file's first bytes take the place of the owner's */
static void map_file(struct odp *t, int fd, size_t len)
{
	CHECK_OK(ftruncate(fd, len) ? errno : 0);
	CHECK(mmap(t->own.addr, len, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, fd, 0) == t->own.addr, "%s",
	      strerror(errno));
}

/* A file has what was written to its mapping, and not what was cut off it */
static void file_mapped(const void *arg)
{
	const size_t len = 4 * PAGE;
	uint8_t data[PAGE];
	struct odp t;
	int fd;

	odp_open(&t);
	fd = memfd_create("pane", 0);
	CHECK(fd >= 0, "%s", strerror(errno));
	map_file(&t, fd, len);
	fill_pattern(t.peer.addr, len, 6);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, len), IBV_WC_SUCCESS);
	ep_arrived(&t.d.p);
	CHECK_EQ(pread(fd, data, PAGE, PAGE), PAGE);
	CHECK(!memcmp(data, t.peer.addr + PAGE, PAGE), "other data");

	CHECK_OK(ftruncate(fd, PAGE) ? errno : 0);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, PAGE), IBV_WC_SUCCESS);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, PAGE, PAGE),
		 IBV_WC_REM_OP_ERR);
	close(fd);
	odp_close(&t);
}

/* Memory that the kernel itself has no way to */
static void memory_secret(const void *arg)
{
	struct odp t;
	int fd;

	odp_open(&t);
#ifdef SYS_memfd_secret
	fd = syscall(SYS_memfd_secret, 0);
#else
	fd = -1;
#endif
	if (fd < 0)
		pane_skip("no secret memory in this kernel");
	map_file(&t, fd, PAGE);
	t.own.addr[0] = 1;
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, 8), IBV_WC_REM_OP_ERR);
	close(fd);
	odp_close(&t);
}

/* In a child: that its copy of the memory stays as it was */
static void child_keeps(const uint8_t *at, size_t len, unsigned int seed,
			int go)
{
	char c;

	if (read(go, &c, 1) != 1)
		_exit(2);
	_exit(!has_pattern(at, len, seed));
}

/* What is written after a fork is for the parent alone */
static void memory_forked(const void *arg)
{
	const size_t len = 3 * PAGE;
	int go[2], status;
	struct odp t;
	pid_t pid;

	odp_open(&t);
	fill_pattern(t.peer.addr, len, 1);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, len), IBV_WC_SUCCESS);
	ep_arrived(&t.d.p);
	CHECK_OK(pipe(go) ? errno : 0);
	pid = fork();
	CHECK(pid >= 0, "%s", strerror(errno));
	if (!pid)
		child_keeps(t.own.addr, len, 1, go[0]);
	fill_pattern(t.peer.addr, len, 2);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, len), IBV_WC_SUCCESS);
	ep_arrived(&t.d.p);
	CHECK(has_pattern(t.own.addr, len, 2), "other data");
	CHECK_EQ(write(go[1], "x", 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	close(go[0]);
	close(go[1]);
	odp_close(&t);
}

static void memory_read_only(const void *arg)
{
	struct odp t;

	odp_open(&t);
	fill_pattern(t.own.addr, PAGE, 8);
	CHECK_OK(mprotect(t.own.addr, PAGE, PROT_READ) ? errno : 0);
	if (has_reads()) {
		CHECK_EQ(odp_do(&t, IBV_WR_RDMA_READ, 0, PAGE),
			 IBV_WC_SUCCESS);
		CHECK(has_pattern(t.peer.addr, PAGE, 8), "other data");
	}
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, PAGE), IBV_WC_REM_OP_ERR);
	CHECK(has_pattern(t.own.addr, PAGE, 8), "memory changed");
	odp_close(&t);
}

/* Each fork makes all pages of the process read-only, until one writes */
static void *thread_forks(void *arg)
{
	volatile bool *end = arg;
	pid_t pid;

	while (!*end) {
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return NULL;
}

/* Data is right while the pages change under it all the time */
static void memory_moves(const void *arg)
{
	const size_t len = 20 * PAGE;
	volatile bool end = false;
	pthread_t thread;
	struct odp t;

	odp_open(&t);
	CHECK_OK(pthread_create(&thread, NULL, thread_forks, (void *)&end));
	for (unsigned int i = 0; i < pane_rounds(500); i++) {
		fill_pattern(t.peer.addr, len, i);
		CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, len),
			 IBV_WC_SUCCESS);
		CHECK(has_pattern(t.own.addr, len, i), "other data");
		fill_pattern(t.own.addr, len, i + 1);
		CHECK_EQ(odp_do(&t, IBV_WR_RDMA_READ, 0, len),
			 IBV_WC_SUCCESS);
		CHECK(has_pattern(t.peer.addr, len, i + 1), "other data");
	}
	end = true;
	CHECK_OK(pthread_join(thread, NULL));
	odp_close(&t);
}

/* ---- all of the address space, and windows --------------------------- */

static void implicit(const void *arg)
{
	struct region all[2], buf;
	struct req req;
	struct duo d;

	duo_open(&d);
	check_odp(&d.own);
	region_open_at(&all[0], d.own.pd, NULL, SIZE_MAX, ODP_RIGHTS);
	region_open_at(&all[1], d.peer.pd, NULL, SIZE_MAX, ODP_RIGHTS);
	for (unsigned int i = 0; i < 3; i++) {
		buf = (struct region) {
			.mr = all[1].mr,
			.addr = map_fresh(LEN),
		};
		uint8_t *to = map_fresh(LEN);

		fill_pattern(buf.addr, LEN, i);
		CHECK_EQ(ep_write(&d.p, &buf, LEN, (uintptr_t)to,
				  all[0].mr->rkey), IBV_WC_SUCCESS);
		ep_arrived(&d.p);
		CHECK(has_pattern(to, LEN, i), "other data");
		unmap(to, LEN);
	}
	CHECK_EQ(ep_write(&d.p, &buf, 8, 0, all[0].mr->rkey),
		 IBV_WC_REM_OP_ERR);
	ep_reconnect(&d.o, &d.p);
	req = req_remote(IBV_WR_RDMA_WRITE, &buf, 8, UINT64_MAX - 8,
			 all[0].mr->rkey);
	CHECK_EQ(ep_do(&d.p, req), IBV_WC_REM_OP_ERR);
	region_close(&all[0]);
	region_close(&all[1]);
	duo_close(&d);
}

static void window(const void *arg)
{
	const size_t len = 100000;
	struct ibv_mw *mw;
	struct odp t;

	odp_open(&t);
	mw = mw_open(t.d.own.pd, pane_cfg.mw_type);
	mw_bind(&t.d.o, mw, &t.own, OFF, len, RIGHTS_RW);
	fill_pattern(t.peer.addr, len, 1);
	CHECK_EQ(ep_write(&t.d.p, &t.peer, len, region_at(&t.own, OFF),
			  mw->rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(t.own.addr + OFF, len, 1), "other data");
	CHECK_EQ(ibv_dereg_mr(t.own.mr), EBUSY);
	mw_unbind(&t.d.o, mw);
	CHECK_EQ(ep_write(&t.d.p, &t.peer, len, region_at(&t.own, OFF),
			  mw->rkey), IBV_WC_REM_ACCESS_ERR);
	mw_close(mw);
	odp_close(&t);
}

/* ---- prefetch -------------------------------------------------------- */

static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		  uint32_t flags, uint64_t addr, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = lkey };

	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static bool is_resident(const void *addr)
{
	unsigned char vec;

	CHECK_OK(mincore((void *)addr, 1, &vec) ? errno : 0);
	return vec & 1;
}

static void prefetch(const void *arg)
{
	const uint32_t wait = IBV_ADVISE_MR_FLAG_FLUSH;
	struct odp t;
	uint64_t at;

	odp_open(&t);
	at = region_at(&t.own, 0);
	CHECK_OK(advise(t.d.own.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			wait, at, LEN, t.own.mr->lkey));
	CHECK(!is_resident(t.own.addr), "it was brought");
	CHECK_OK(advise(t.d.own.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, wait,
			at, LEN, t.own.mr->lkey));
	CHECK(is_resident(t.own.addr), "it was not brought");
	CHECK(is_resident(t.own.addr + LEN - PAGE), "it was not brought");
	CHECK_OK(advise(t.d.peer.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
			region_at(&t.peer, 0), LEN, t.peer.mr->lkey));
	fill_pattern(t.peer.addr, LEN, 9);
	CHECK_EQ(odp_do(&t, IBV_WR_RDMA_WRITE, 0, LEN), IBV_WC_SUCCESS);
	CHECK(has_pattern(t.own.addr, LEN, 9), "other data");
	odp_close(&t);
}

static void prefetch_refused(const void *arg)
{
	const enum ibv_advise_mr_advice read = IBV_ADVISE_MR_ADVICE_PREFETCH,
		write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const uint32_t wait = IBV_ADVISE_MR_FLAG_FLUSH;
	struct region only_read;
	struct ibv_pd *other;
	struct odp t;
	uint64_t at;

	odp_open(&t);
	at = region_at(&t.own, 0);
	CHECK_EQ(advise(t.d.own.pd, read, wait, at, LEN,
			t.own.mr->lkey ^ 1), ENOENT);
	CHECK_EQ(advise(t.d.own.pd, read, wait, at, LEN + 1,
			t.own.mr->lkey), EFAULT);
	CHECK_EQ(advise(t.d.own.pd, read, wait, region_at(&t.d.mem, 0), 1,
			t.d.mem.mr->lkey), EINVAL);
	other = ibv_alloc_pd(t.d.own.ctx);
	CHECK(other, "%s", strerror(errno));
	CHECK_EQ(advise(other, read, wait, at, LEN, t.own.mr->lkey), EPERM);
	CHECK_OK(ibv_dealloc_pd(other));
	region_open_at(&only_read, t.d.own.pd, t.own.addr, LEN,
		       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	CHECK_EQ(advise(t.d.own.pd, write, wait, at, LEN,
			only_read.mr->lkey), EPERM);
	region_close(&only_read);
	unmap(t.own.addr + PAGE, PAGE);
	CHECK_EQ(advise(t.d.own.pd, read, wait, at, 3 * PAGE,
			t.own.mr->lkey), EFAULT);
	CHECK_OK(advise(t.d.own.pd, read, 0, at, 3 * PAGE, t.own.mr->lkey));
	CHECK_OK(advise(t.d.own.pd, read, wait, at, 0, t.own.mr->lkey));
	odp_close(&t);
}

/* ---- registration ---------------------------------------------------- */

static void registration(const void *arg)
{
	struct odp t;

	odp_open(&t);
	CHECK_EQ(ibv_rereg_mr(t.own.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
			      0, IBV_ACCESS_LOCAL_WRITE) ? errno : 0,
		 EOPNOTSUPP);
	CHECK(!ibv_reg_mr(t.d.own.pd, (void *)4096, SIZE_MAX, ODP_RIGHTS),
	      "over the end");
	odp_close(&t);
}

static void list(void)
{
	static const size_t lens[] = { 1, PAGE, 2 * PAGE, 70000, LEN - OFF };

	for (unsigned int i = 0; i < ARRAY_SIZE(lens); i++) {
		/* on UC what does not fit into the queue that waits is lost */
		pane_test(V_PATHS | (lens[i] > 100000 ? V_RC | V_XRC : V_QPS),
			  untouched_write, &lens[i],
			  "WRITE to untouched memory, %zu bytes", lens[i]);
		pane_test(V_PATHS | V_RC | V_XRC, untouched_read, &lens[i],
			  "READ into untouched memory, %zu bytes", lens[i]);
	}
	pane_test(V_QPS, untouched_source, NULL, "WRITE from untouched memory");
	pane_test(V_RC | V_XRC, untouched_atomic, NULL,
		  "atomics on untouched memory");
	pane_test(V_RC, untouched_send, NULL, "SEND to untouched memory");
	for (unsigned int i = 0; i < ARRAY_SIZE(gone_rows); i++)
		pane_test(V_RC | V_XRC, memory_gone, &gone_rows[i],
			  "%s memory that is gone", gone_rows[i].name);
	pane_test(V_RC, receive_gone, NULL, "SEND to memory that is gone");
	pane_test(V_QPS, memory_replaced, NULL, "memory is replaced");
	pane_test(V_RC, file_mapped, NULL, "a file's mapping");
	pane_test(0, memory_secret, NULL, "secret memory");
	pane_test(V_QPS, memory_forked, NULL, "fork");
	pane_test(V_RC | V_XRC, memory_read_only, NULL, "read-only memory");
	pane_test(V_PATHS, memory_moves, NULL, "pages change all the time");
	pane_test(V_PATHS, implicit, NULL, "all of the address space");
	pane_test(V_TYPES, window, NULL, "windows");
	pane_test(0, prefetch, NULL, "prefetch");
	pane_test(0, prefetch_refused, NULL, "a prefetch that is refused");
	pane_test(0, registration, NULL, "registration");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
