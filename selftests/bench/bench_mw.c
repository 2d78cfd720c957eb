// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many windows a second can be opened and shut again: pairs of a type 2
 * bind and the LOCAL_INV of it, on one QP, posted in lists.
 * Works on any device that has type 2 windows.
 *
 *   bench_mw DEVICE GID-INDEX PAIRS
 *
 * prints pairs per second.
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

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 4 * LIST,
			.max_recv_wr = 1,
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

/* To itself: nothing is sent */
static void connect_qp(struct ibv_qp *qp, int gid_index)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .hop_limit = 1, .sgid_index = gid_index },
		},
	};

	if (ibv_query_gid(qp->context, 1, gid_index, &a.ah_attr.grh.dgid))
		die("ibv_query_gid");
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

/*
 * A pair for each window; the last one is signaled. rdma_rxe does not find a
 * window whose rkey is not the one it was bound with last, and its provider
 * does not keep that up to date.
 */
static void post_pairs(struct ibv_qp *qp, struct ibv_mw **mw, struct ibv_mr *mr)
{
	struct ibv_send_wr wr[2 * LIST] = {}, *bad;
	int i;

	for (i = 0; i < 2 * LIST; i++)
		wr[i].next = &wr[i + 1];
	wr[2 * LIST - 1].next = NULL;
	wr[2 * LIST - 1].send_flags = IBV_SEND_SIGNALED;
	for (i = 0; i < LIST; i++) {
		uint32_t rkey = ibv_inc_rkey(mw[i]->rkey);

		wr[2 * i].opcode = IBV_WR_BIND_MW;
		wr[2 * i].bind_mw.mw = mw[i];
		wr[2 * i].bind_mw.rkey = rkey;
		wr[2 * i].bind_mw.bind_info.mr = mr;
		wr[2 * i].bind_mw.bind_info.addr = (uintptr_t)mr->addr;
		wr[2 * i].bind_mw.bind_info.length = LEN;
		wr[2 * i].bind_mw.bind_info.mw_access_flags =
			IBV_ACCESS_REMOTE_WRITE;
		wr[2 * i + 1].opcode = IBV_WR_LOCAL_INV;
		wr[2 * i + 1].invalidate_rkey = rkey;
	}
	if (ibv_post_send(qp, wr, &bad))
		die("ibv_post_send");
	for (i = 0; i < LIST; i++)
		mw[i]->rkey = wr[2 * i].bind_mw.rkey;
}

static void wait_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (n < 0 || wc.status) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static char buf[LEN] __attribute__((aligned(LEN)));
	long pairs = argc > 3 ? atol(argv[3]) : 0, done;
	struct timespec from, to;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mw *mw[LIST];
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	int i;

	if (argc != 4)
		return 2;
	ctx = open_device(argv[1]);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_MW_BIND) : NULL;
	if (!cq || !mr)
		die("objects");
	for (i = 0; i < LIST; i++) {
		mw[i] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		if (!mw[i])
			die("ibv_alloc_mw");
	}
	qp = make_qp(pd, cq);
	connect_qp(qp, atoi(argv[2]));

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (done = 0; done < pairs; done += LIST) {
		post_pairs(qp, mw, mr);
		wait_one(cq);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.0f\n", done / (to.tv_sec - from.tv_sec +
				 (to.tv_nsec - from.tv_nsec) / 1e9));
	return 0;
}
