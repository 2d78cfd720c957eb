// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How often a second memory can be given to a peer and taken back, on any
 * device that has type 2 windows:
 *
 *   bench_mw pairs DEVICE GID-INDEX COUNT
 *	BIND and LOCAL_INV of a window, in lists, on one QP
 *   bench_mw register DEVICE GID-INDEX COUNT
 *	what programs do without windows: ibv_reg_mr() and ibv_dereg_mr()
 *   bench_mw storage DEVICE GID-INDEX COUNT PEER-DEVICE PEER-GID-INDEX
 *	what a storage client does for a request: two BINDs and a fenced SEND,
 *	which the peer answers with a SEND_WITH_INV; the client invalidates the
 *	other window together with its next request
 *
 * prints the rate of the pairs, or of the requests.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST	32	/* windows, and pairs posted at a time */
#define LEN	4096

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
	char buf[LEN] __attribute__((aligned(LEN)));
};

static struct ibv_mr *reg(struct end *e)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, LEN,
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

static void end_connect(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
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
	if (ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
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

static void pairs(struct end *e, struct end *peer, long count)
{
	struct ibv_mw *mw[LIST];

	for (int i = 0; i < LIST; i++)
		mw[i] = alloc_mw(e);
	for (long done = 0; done < count; done += LIST) {
		struct ibv_send_wr wr[2 * LIST] = {};

		for (int i = 0; i < LIST; i++) {
			bind_wr(&wr[2 * i], mw[i], e);
			inv_wr(&wr[2 * i + 1], wr[2 * i].bind_mw.rkey);
		}
		post(e->qp, wr, 2 * LIST);
		wait_for(e->cq, 1);
	}
}

static void registrations(struct end *e, struct end *peer, long count)
{
	while (count--)
		if (ibv_dereg_mr(reg(e)))
			die("ibv_dereg_mr");
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

static void storage(struct end *e, struct end *peer, long count)
{
	struct ibv_mw *mw[2] = { alloc_mw(e), alloc_mw(e) };
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = 64, .lkey = e->mr->lkey,
	};

	post_recv(peer);
	for (long done = 0; done < count; done++) {
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
}

static const struct {
	const char *name;
	void (*run)(struct end *e, struct end *peer, long count);
} modes[] = {
	{ "pairs", pairs },
	{ "register", registrations },
	{ "storage", storage },
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct end ends[2];
	struct end *peer = &ends[argc > 6];
	double from;
	long count;

	if (argc < 5)
		return 2;
	count = atol(argv[4]);
	end_open(&ends[0], argv[2], atoi(argv[3]));
	if (argc > 6)
		end_open(&ends[1], argv[5], atoi(argv[6]));
	end_connect(&ends[0], peer);
	if (argc > 6)
		end_connect(&ends[1], &ends[0]);

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		from = seconds();
		modes[i].run(&ends[0], peer, count);
		printf("%.0f\n", count / (seconds() - from));
		return 0;
	}
	return 2;
}
