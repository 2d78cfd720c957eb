// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How often a second memory can be given to a peer and taken back, on any
 * device that has type 2 windows:
 *
 *   bench_mw pairs DEVICE GID-INDEX COUNT DEPTH
 *	BIND and LOCAL_INV of a window, DEPTH pairs posted at a time, on one QP
 *   bench_mw register DEVICE GID-INDEX COUNT
 *	what programs do without windows: ibv_reg_mr() and ibv_dereg_mr() of
 *	1 MiB
 *   bench_mw storage DEVICE GID-INDEX COUNT PEER-DEVICE PEER-GID-INDEX
 *	what a storage client does for a request: two BINDs and a fenced SEND,
 *	which the peer answers with a SEND_WITH_INV; the client invalidates the
 *	other window together with its next request
 *
 * print the rate of the pairs, or of the requests.
 *
 *   bench_mw windows DEVICE GID-INDEX WINDOWS
 *	rate of LOCAL_INV and BIND, of windows by chance among so many bound
 *   bench_mw latency DEVICE GID-INDEX WINDOWS
 *	microseconds of a WRITE of 8 bytes through one of them
 *   bench_mw qpmem DEVICE GID-INDEX COUNT
 *	bytes of memory for an idle connection's end
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST	32	/* pairs posted at a time, at most */
#define LEN	4096	/* of a window */
#define REGION	(1 << 20)
#define ROUNDS	20000	/* of what is done with many windows */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die(name);
	ibv_free_device_list(list);
	return ctx;
}

/* One end of a connection */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	int gid_index;
	char buf[REGION] __attribute__((aligned(LEN)));
};

static struct ibv_mr *reg(struct end *e)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, REGION,
				       IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_MW_BIND);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 4 * LIST,
			.max_recv_wr = LIST,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

static void end_open(struct end *e, const char *name, int gid_index)
{
	e->ctx = open_device(name);
	e->gid_index = gid_index;
	e->pd = ibv_alloc_pd(e->ctx);
	e->cq = ibv_create_cq(e->ctx, 4 * LIST, NULL, NULL, 0);
	if (!e->pd || !e->cq)
		die("objects");
	e->mr = reg(e);
	e->qp = make_qp(e->pd, e->cq);
}

static void connect_qp(struct end *e, struct ibv_qp *qp,
		       const struct end *peer, uint32_t peer_qpn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_qpn,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .hop_limit = 1, .sgid_index = e->gid_index },
		},
	};

	if (ibv_query_gid(peer->ctx, 1, peer->gid_index, &a.ah_attr.grh.dgid))
		die("ibv_query_gid");
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void end_connect(struct end *e, const struct end *peer)
{
	connect_qp(e, e->qp, peer, peer->qp->qp_num);
}

/* ---- requests --------------------------------------------------------- */

static struct ibv_mw *alloc_mw(struct end *e)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);

	if (!mw)
		die("ibv_alloc_mw");
	return mw;
}

/*
 * rdma_rxe does not find a window whose rkey is not the one it was bound with
 * last, and its provider does not keep that up to date: post() does.
 */
static void bind_wr(struct ibv_send_wr *wr, struct ibv_mw *mw, struct end *e)
{
	wr->opcode = IBV_WR_BIND_MW;
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr->bind_mw.bind_info.mr = e->mr;
	wr->bind_mw.bind_info.addr = (uintptr_t)e->buf;
	wr->bind_mw.bind_info.length = LEN;
	wr->bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
}

static void inv_wr(struct ibv_send_wr *wr, uint32_t rkey)
{
	wr->opcode = IBV_WR_LOCAL_INV;
	wr->invalidate_rkey = rkey;
}

/* @num requests, of which the last one is signaled */
static void post(struct ibv_qp *qp, struct ibv_send_wr *wr, int num)
{
	struct ibv_send_wr *bad;

	for (int i = 0; i < num; i++)
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	wr[num - 1].send_flags |= IBV_SEND_SIGNALED;
	if (ibv_post_send(qp, wr, &bad))
		die("ibv_post_send");
	for (int i = 0; i < num; i++)
		if (wr[i].opcode == IBV_WR_BIND_MW)
			wr[i].bind_mw.mw->rkey = wr[i].bind_mw.rkey;
}

static void post_recv(struct end *e)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = 64, .lkey = e->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die("ibv_post_recv");
}

static void wait_for(struct ibv_cq *cq, int num)
{
	struct ibv_wc wc;
	int got;

	while (num) {
		got = ibv_poll_cq(cq, 1, &wc);
		if (got < 0 || (got && wc.status)) {
			fprintf(stderr, "completion: %s\n",
				ibv_wc_status_str(wc.status));
			exit(1);
		}
		num -= got;
	}
}

/* ---- what is measured ------------------------------------------------- */

/* What is asked for on the command line */
struct job {
	struct end *e;
	struct end *peer;
	long count;
	long depth;
};

/* The seconds since the last call */
static double lap(void)
{
	static struct timespec last;
	struct timespec now;
	double passed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	passed = now.tv_sec - last.tv_sec + (now.tv_nsec - last.tv_nsec) / 1e9;
	last = now;
	return passed;
}

static double pairs(const struct job *job)
{
	struct ibv_mw *mw[LIST];

	for (int i = 0; i < job->depth; i++)
		mw[i] = alloc_mw(job->e);
	lap();
	for (long done = 0; done < job->count; done += job->depth) {
		struct ibv_send_wr wr[2 * LIST] = {};

		for (int i = 0; i < job->depth; i++) {
			bind_wr(&wr[2 * i], mw[i], job->e);
			inv_wr(&wr[2 * i + 1], wr[2 * i].bind_mw.rkey);
		}
		post(job->e->qp, wr, 2 * job->depth);
		wait_for(job->e->cq, 1);
	}
	return job->count / lap();
}

static double registrations(const struct job *job)
{
	lap();
	for (long done = 0; done < job->count; done++)
		if (ibv_dereg_mr(reg(job->e)))
			die("ibv_dereg_mr");
	return job->count / lap();
}

static void answer(struct end *e, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = rkey,
	};

	post_recv(e);
	post(e->qp, &wr, 1);
}

static double storage(const struct job *job)
{
	struct end *e = job->e, *peer = job->peer;
	struct ibv_mw *mw[2] = { alloc_mw(e), alloc_mw(e) };
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = 64, .lkey = e->mr->lkey,
	};

	post_recv(peer);
	lap();
	for (long done = 0; done < job->count; done++) {
		struct ibv_send_wr wr[4] = {}, *first = wr;

		/* nothing is left open by a request that was not made */
		inv_wr(&wr[0], mw[1]->rkey);
		if (!done)
			first++;
		bind_wr(&wr[1], mw[0], e);
		bind_wr(&wr[2], mw[1], e);
		wr[3].opcode = IBV_WR_SEND;
		wr[3].send_flags = IBV_SEND_FENCE;
		wr[3].sg_list = &sge;
		wr[3].num_sge = 1;
		post_recv(e);
		post(e->qp, first, wr + 4 - first);
		wait_for(peer->cq, 1);
		answer(peer, mw[0]->rkey);
		wait_for(e->cq, 2);
		wait_for(peer->cq, 1);
	}
	return job->count / lap();
}

/* Windows, all bound */
static struct ibv_mw **bind_many(const struct job *job)
{
	struct ibv_mw **mw = calloc(job->count, sizeof(*mw));

	if (!mw)
		die("calloc");
	for (long done = 0; done < job->count; done += LIST) {
		struct ibv_send_wr wr[LIST] = {};
		int num = 0;

		for (; num < LIST && done + num < job->count; num++) {
			mw[done + num] = alloc_mw(job->e);
			bind_wr(&wr[num], mw[done + num], job->e);
		}
		post(job->e->qp, wr, num);
		wait_for(job->e->cq, 1);
	}
	return mw;
}

static double many_windows(const struct job *job)
{
	struct ibv_mw **mw = bind_many(job);

	srandom(1);
	lap();
	for (long i = 0; i < ROUNDS; i++) {
		struct ibv_mw *one = mw[random() % job->count];
		struct ibv_send_wr wr[2] = {};

		inv_wr(&wr[0], one->rkey);
		bind_wr(&wr[1], one, job->e);
		post(job->e->qp, wr, 2);
		wait_for(job->e->cq, 1);
	}
	return ROUNDS / lap();
}

static double latency(const struct job *job)
{
	struct ibv_mw **mw = bind_many(job);
	struct ibv_sge sge = {
		.addr = (uintptr_t)job->e->buf, .length = 8,
		.lkey = job->e->mr->lkey,
	};

	srandom(1);
	lap();
	for (long i = 0; i < ROUNDS; i++) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = {
				.remote_addr = (uintptr_t)job->e->buf,
				.rkey = mw[random() % job->count]->rkey,
			},
		};

		post(job->e->qp, &wr, 1);
		wait_for(job->e->cq, 1);
	}
	return lap() / ROUNDS * 1e6;
}

static long available_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		die("/proc/meminfo");
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %ld", &kib);
	fclose(f);
	return kib;
}

static double qp_memory(const struct job *job)
{
	long before = available_kib();

	for (long i = 0; i < job->count; i++) {
		struct ibv_qp *qp = make_qp(job->e->pd, job->e->cq);

		connect_qp(job->e, qp, job->e, qp->qp_num);
	}
	return (before - available_kib()) * 1024.0 / job->count;
}

static const struct {
	const char *name;
	double (*run)(const struct job *job);
} modes[] = {
	{ "pairs", pairs },
	{ "register", registrations },
	{ "storage", storage },
	{ "windows", many_windows },
	{ "latency", latency },
	{ "qpmem", qp_memory },
};

int main(int argc, char **argv)
{
	static struct end ends[2];
	struct job job = { .e = &ends[0], .peer = &ends[argc > 6], .depth = 1 };

	if (argc < 5)
		return 2;
	job.count = atol(argv[4]);
	if (argc == 6)
		job.depth = atol(argv[5]);
	if (job.count < 1 || job.depth < 1 || job.depth > LIST)
		return 2;
	end_open(&ends[0], argv[2], atoi(argv[3]));
	if (argc > 6)
		end_open(&ends[1], argv[5], atoi(argv[6]));
	end_connect(&ends[0], job.peer);
	if (argc > 6)
		end_connect(&ends[1], &ends[0]);

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		printf("%.1f\n", modes[i].run(&job));
		return 0;
	}
	return 2;
}
