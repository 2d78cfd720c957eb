// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Limits: those that a device tells of are reached and not passed; those that
 * the administrator sets hold for who they are set for, and for nobody else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"
#include "pane_verbs.h"

static struct ibv_device_attr attr_of(struct node *n)
{
	struct ibv_device_attr attr;

	CHECK_OK(ibv_query_device(n->ctx, &attr));
	return attr;
}

/* ---- how many -------------------------------------------------------- */

static void many_pds(const void *arg)
{
	struct ibv_pd **pd;
	struct node n;
	int num, i;

	node_open_owner(&n);
	num = attr_of(&n).max_pd - 1;	/* the node has one */
	pd = calloc(num, sizeof(*pd));
	for (i = 0; i < num; i++) {
		pd[i] = ibv_alloc_pd(n.ctx);
		CHECK(pd[i], "%d: %s", i, strerror(errno));
	}
	CHECK(!ibv_alloc_pd(n.ctx), "one more");
	CHECK_EQ(errno, ENOMEM);
	CHECK_OK(ibv_dealloc_pd(pd[7]));
	pd[7] = ibv_alloc_pd(n.ctx);
	CHECK(pd[7], "%s", strerror(errno));
	for (i = 0; i < num; i++)
		CHECK_OK(ibv_dealloc_pd(pd[i]));
	free(pd);
	node_close(&n);
}

static void many_ahs(const void *arg)
{
	struct ibv_ah_attr ah_attr;
	struct ibv_ah **ah;
	struct duo d;
	int num, i;

	duo_open(&d);
	ah_attr = ah_attr_to(&d.own, &d.peer.gid);
	num = attr_of(&d.own).max_ah;
	ah = calloc(num, sizeof(*ah));
	for (i = 0; i < num; i++) {
		ah[i] = ibv_create_ah(d.own.pd, &ah_attr);
		CHECK(ah[i], "%d: %s", i, strerror(errno));
	}
	CHECK(!ibv_create_ah(d.own.pd, &ah_attr), "one more");
	CHECK_EQ(errno, ENOMEM);
	for (i = 0; i < num; i++)
		CHECK_OK(ibv_destroy_ah(ah[i]));
	free(ah);
	duo_close(&d);
}

/* ---- groups ---------------------------------------------------------- */

/* One of more than a device can have */
static union ibv_gid group_gid(unsigned int i)
{
	union ibv_gid gid = {
		.raw = { [10] = 0xff, 0xff, 239, 1, i >> 8, i },
	};

	return gid;
}

static struct qp_opts ud_opts(void)
{
	struct qp_opts opts = qp_opts_default();

	opts.type = IBV_QPT_UD;
	return opts;
}

static int join(struct end *e, unsigned int i)
{
	union ibv_gid gid = group_gid(i);

	return ibv_attach_mcast(e->qp, &gid, 0);
}

static int leave(struct end *e, unsigned int i)
{
	union ibv_gid gid = group_gid(i);

	return ibv_detach_mcast(e->qp, &gid, 0);
}

static void many_groups(const void *arg)
{
	struct qp_opts opts = ud_opts();
	struct node n;
	struct end e;
	int num, i;

	node_open_owner(&n);
	num = attr_of(&n).max_mcast_grp;
	end_open(&e, &n, &opts);
	for (i = 0; i < num; i++)
		CHECK_OK(join(&e, i));
	CHECK_EQ(join(&e, num), ENOMEM);
	CHECK_OK(leave(&e, 7));
	CHECK_OK(join(&e, num));
	CHECK_EQ(join(&e, 7), ENOMEM);
	CHECK_EQ(leave(&e, 7), EINVAL);
	for (i = 0; i <= num; i++)
		CHECK_EQ(leave(&e, i), i == 7 ? EINVAL : 0);
	end_close(&e);
	node_close(&n);
}

static void many_members(const void *arg)
{
	struct qp_opts opts = ud_opts();
	struct node n;
	struct end *e;
	int num, i;

	node_open_owner(&n);
	num = attr_of(&n).max_mcast_qp_attach;
	e = calloc(num + 1, sizeof(*e));
	for (i = 0; i <= num; i++) {
		end_open(&e[i], &n, &opts);
		CHECK_EQ(join(&e[i], 0), i < num ? 0 : ENOMEM);
	}
	CHECK_OK(leave(&e[7], 0));
	CHECK_OK(join(&e[num], 0));
	for (i = 0; i <= num; i++) {
		CHECK_EQ(leave(&e[i], 0), i == 7 ? EINVAL : 0);
		end_close(&e[i]);
	}
	free(e);
	node_close(&n);
}

/* ---- how large ------------------------------------------------------- */

static struct ibv_qp *qp_of(struct node *n, struct ibv_cq *cq,
			    struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = cap,
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(n->pd, &init);
}

static void large_qps(const void *arg)
{
	struct ibv_device_attr attr;
	struct ibv_qp_cap most, cap;
	uint32_t *const more[] = {
		&cap.max_send_wr, &cap.max_recv_wr, &cap.max_send_sge,
		&cap.max_recv_sge,
	};
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct node n;

	node_open_owner(&n);
	attr = attr_of(&n);
	cq = ibv_create_cq(n.ctx, 16, NULL, NULL, 0);
	CHECK(cq, "%s", strerror(errno));
	most = (struct ibv_qp_cap) {
		.max_send_wr = attr.max_qp_wr,
		.max_recv_wr = attr.max_qp_wr,
		.max_send_sge = attr.max_sge,
		.max_recv_sge = attr.max_sge,
	};
	qp = qp_of(&n, cq, most);
	CHECK(qp, "%s", strerror(errno));
	CHECK_OK(ibv_destroy_qp(qp));
	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++) {
		cap = most;
		++*more[i];
		CHECK(!qp_of(&n, cq, cap), "more than %u", i);
		CHECK_EQ(errno, EINVAL);
	}
	CHECK_OK(ibv_destroy_cq(cq));
	node_close(&n);
}

/* QPs that want more READs at once than a device can have do not become ready */
static void outstanding_reads(const void *arg)
{
	struct qp_opts opts = qp_opts_default(), more;
	struct ibv_device_attr attr;
	struct end *e;
	struct pair p;

	pair_nodes_open(&p);
	attr = attr_of(&p.node[0]);
	CHECK_EQ(attr.max_qp_rd_atom, attr.max_qp_init_rd_atom);
	opts.rd_atomic = attr.max_qp_rd_atom;
	more = opts;
	more.rd_atomic++;
	e = &p.end[0];
	end_open(e, &p.node[0], &opts);
	end_init(e, &opts);
	CHECK_EQ(end_try_rtr(e, &more, &p.node[1].gid, 17, 0), EINVAL);
	end_rtr(e, &opts, &p.node[1].gid, 17, 0);
	CHECK_EQ(end_try_rts(e, &more, 0), EINVAL);
	end_rts(e, &opts, 0);
	end_close(e);
	pair_nodes_close(&p);
}

static void large_cqs(const void *arg)
{
	struct ibv_cq *cq;
	struct node n;
	int most;

	node_open_owner(&n);
	most = attr_of(&n).max_cqe;
	cq = ibv_create_cq(n.ctx, most, NULL, NULL, 0);
	CHECK(cq, "%s", strerror(errno));
	CHECK_EQ(ibv_resize_cq(cq, most + 1), EINVAL);
	CHECK_OK(ibv_destroy_cq(cq));
	CHECK(!ibv_create_cq(n.ctx, most + 1, NULL, NULL, 0), "more");
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_create_cq(n.ctx, 16, NULL, NULL,
			     n.ctx->num_comp_vectors), "another vector");
	CHECK_EQ(errno, EINVAL);
	node_close(&n);
}

static void large_srqs(const void *arg)
{
	struct ibv_device_attr attr;
	struct ibv_srq_init_attr init = {};
	struct ibv_srq *srq;
	struct node n;

	node_open_owner(&n);
	attr = attr_of(&n);
	init.attr.max_wr = attr.max_srq_wr;
	init.attr.max_sge = attr.max_srq_sge;
	srq = ibv_create_srq(n.pd, &init);
	CHECK(srq, "%s", strerror(errno));
	CHECK_OK(ibv_destroy_srq(srq));
	init.attr.max_wr = attr.max_srq_wr + 1;
	CHECK(!ibv_create_srq(n.pd, &init), "more requests");
	CHECK_EQ(errno, EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = attr.max_srq_sge + 1;
	CHECK(!ibv_create_srq(n.pd, &init), "more elements");
	CHECK_EQ(errno, EINVAL);
	node_close(&n);
}

/* ---- locked memory --------------------------------------------------- */

/* Pinned memory counts; what is on demand does not */
static void locked_memory(const void *arg)
{
	struct rlimit limit = { .rlim_cur = 65536, .rlim_max = 65536 };
	static uint8_t mem[4 * 65536] __attribute__((aligned(4096)));
	struct ibv_mr *mr, *more;
	struct node n;

	node_open_owner(&n);
	CHECK_OK(setrlimit(RLIMIT_MEMLOCK, &limit) ? errno : 0);
	CHECK_OK(seteuid(65534) ? errno : 0);
	CHECK(!ibv_reg_mr(n.pd, mem, 2 * 65536, 0), "more than allowed");
	CHECK_EQ(errno, ENOMEM);
	mr = ibv_reg_mr(n.pd, mem, 40960, 0);
	CHECK(mr, "%s", strerror(errno));
	CHECK(!ibv_reg_mr(n.pd, mem + 65536, 40960, 0), "both together");
	CHECK_EQ(errno, ENOMEM);
	if (node_has_odp(&n)) {
		more = ibv_reg_mr(n.pd, mem, sizeof(mem), IBV_ACCESS_ON_DEMAND);
		CHECK(more, "%s", strerror(errno));
		CHECK_OK(ibv_dereg_mr(more));
	}
	CHECK_OK(ibv_dereg_mr(mr));
	more = ibv_reg_mr(n.pd, mem + 65536, 40960, 0);
	CHECK(more, "%s", strerror(errno));
	CHECK_OK(ibv_dereg_mr(more));
	CHECK_OK(seteuid(0) ? errno : 0);
	node_close(&n);
}

/* ---- control groups -------------------------------------------------- */

#define CGROUPS	"/sys/fs/cgroup"
#define GROUP	CGROUPS "/pane_limits"

static void group_write(const char *group, const char *file, const char *text)
{
	CHECK(pane_file_write(group, file, text), "%s/%s: %s", group, file,
	      strerror(errno));
}

static void group_open(const char *controller)
{
	pane_shell("mountpoint -q $1 || mount -t cgroup2 none $1", CGROUPS);
	if (!pane_file_write(CGROUPS, "cgroup.subtree_control", controller))
		pane_skip("no control groups for this in this kernel");
	CHECK(!mkdir(GROUP, 0755) || errno == EEXIST, "%s", strerror(errno));
}

/* Members may have so many objects of the device, and open it so often */
static void group_limit(struct node *n, const char *objects, const char *handles)
{
	char text[128];

	snprintf(text, sizeof(text), "%s hca_handle=%s hca_object=%s\n",
		 ibv_get_device_name(n->ctx->device), handles, objects);
	group_write(GROUP, "rdma.max", text);
}

/*
 * When nothing is in use and limited the kernel forgets what it keeps of the group
 * for the device. It does not so when the group goes, and falls over it when the
 * device does.
 */
static void group_unlimit(struct node *n)
{
	group_limit(n, "max", "max");
}

static void enter(const char *group)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", getpid());
	group_write(group, "cgroup.procs", text);
}

static void group_close(void)
{
	CHECK_OK(rmdir(GROUP) ? errno : 0);
}

/* What a member's limit refuses others still get */
static void control_group(const void *arg)
{
	struct ibv_mw *mw[3];
	struct ibv_pd *pd, *more;
	struct duo d;
	int i;

	duo_open(&d);		/* what was there before does not count */
	group_open("+rdma");
	group_limit(&d.own, "4", "1");
	enter(GROUP);
	pd = ibv_alloc_pd(d.own.ctx);
	CHECK(pd, "%s", strerror(errno));
	for (i = 0; i < 3; i++) {
		mw[i] = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
		CHECK(mw[i], "%d: %s", i, strerror(errno));
	}
	CHECK(!ibv_alloc_pd(d.own.ctx), "one more");
	CHECK_EQ(errno, EAGAIN);
	mw_close(mw[1]);
	mw[1] = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(mw[1], "%s", strerror(errno));
	CHECK_EQ(ep_write(&d.p, &d.buf, 0, 0, 0), IBV_WC_SUCCESS);

	enter(CGROUPS);
	more = ibv_alloc_pd(d.own.ctx);
	CHECK(more, "%s", strerror(errno));
	CHECK_OK(ibv_dealloc_pd(more));
	for (i = 0; i < 3; i++)
		mw_close(mw[i]);
	CHECK_OK(ibv_dealloc_pd(pd));
	group_unlimit(&d.own);
	group_close();
	duo_close(&d);
}

/* A program opens a device once more than its group may */
static void group_handles(const void *arg)
{
	struct ibv_context *ctx[2];
	struct node n;

	node_open_owner(&n);
	group_open("+rdma");
	group_limit(&n, "16", "1");
	enter(GROUP);
	ctx[0] = ibv_open_device(n.ctx->device);
	CHECK(ctx[0], "%s", strerror(errno));
	CHECK(!ibv_open_device(n.ctx->device), "one more");
	CHECK_OK(ibv_close_device(ctx[0]));
	ctx[0] = ibv_open_device(n.ctx->device);
	CHECK(ctx[0], "%s", strerror(errno));

	enter(CGROUPS);
	ctx[1] = ibv_open_device(n.ctx->device);
	CHECK(ctx[1], "%s", strerror(errno));
	CHECK_OK(ibv_close_device(ctx[1]));
	CHECK_OK(ibv_close_device(ctx[0]));
	group_unlimit(&n);
	group_close();
	node_close(&n);
}

/* Bytes that are on the group's account */
static long long group_memory(void)
{
	long long bytes = -1;
	FILE *f = fopen(GROUP "/memory.current", "r");

	CHECK(f, "%s", strerror(errno));
	CHECK_EQ(fscanf(f, "%lld", &bytes), 1);
	fclose(f);
	return bytes;
}

/* Rings are memory of the kernel's: who has them made is charged for them. The
 * kernel counts in batches of less than 1 MiB.
 */
static void group_pays(const void *arg)
{
	long long before, ring, slack = 1 << 20;
	struct ibv_cq *cq;
	struct node n;
	int most;

	node_open_owner(&n);
	most = attr_of(&n).max_cqe;
	ring = most * 32LL;	/* at least */
	group_open("+memory");
	enter(GROUP);
	before = group_memory();
	cq = ibv_create_cq(n.ctx, most, NULL, NULL, 0);
	CHECK(cq, "%s", strerror(errno));
	CHECK(group_memory() > before + ring - slack, "%lld after %lld",
	      group_memory(), before);
	CHECK_OK(ibv_destroy_cq(cq));
	CHECK(group_memory() < before + slack, "%lld after %lld",
	      group_memory(), before);
	enter(CGROUPS);
	group_close();
	node_close(&n);
}

static void list(void)
{
	pane_test(0, many_pds, NULL, "protection domains: max_pd, and one more");
	pane_test(0, many_ahs, NULL, "address handles: max_ah, and one more");
	pane_test(0, many_groups, NULL, "groups: max_mcast_grp, and one more");
	pane_test(0, many_members, NULL,
		  "QPs in a group: max_mcast_qp_attach, and one more");
	pane_test(0, outstanding_reads, NULL,
		  "READs at once: max_qp_rd_atom, and one more");
	pane_test(0, large_qps, NULL, "QPs as large as can be");
	pane_test(0, large_cqs, NULL, "CQs as large as can be");
	pane_test(0, large_srqs, NULL, "SRQs as large as can be");
	pane_test(0, locked_memory, NULL, "limit of locked memory");
	pane_test(0, control_group, NULL, "a control group's objects");
	pane_test(0, group_handles, NULL, "a control group's handles");
	pane_test(0, group_pays, NULL, "a control group pays for rings");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
