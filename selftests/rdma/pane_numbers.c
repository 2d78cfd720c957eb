// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Print numbers that a device hands out, one a line behind what it is a number
 * of: keys of windows and regions without their low byte, numbers of QPs, and
 * the PSNs that connections of rdma_cm begin with.
 *
 * usage: pane_numbers DEVICE ADDRESS
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM		256
#define NUM_PSN		32
#define CM_PORT		4400
#define CM_TIMEOUT	10000

/* Fails the program, which is none of its own tests */
#define NEED(cond) do {							\
	if (!(cond)) {							\
		perror(#cond);						\
		exit(1);						\
	}								\
} while (0)

/* ---- keys and QPs ---------------------------------------------------- */

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	NEED(list);
	for (unsigned int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	NEED(ctx);
	ibv_free_device_list(list);
	return ctx;
}

static void print_windows(struct ibv_pd *pd, enum ibv_mw_type type,
			  const char *name)
{
	for (unsigned int i = 0; i < NUM; i++) {
		struct ibv_mw *mw = ibv_alloc_mw(pd, type);

		NEED(mw);
		printf("%s %06x\n", name, mw->rkey >> 8);
		ibv_dealloc_mw(mw);
	}
}

static void print_regions(struct ibv_pd *pd)
{
	static char mem[4096];

	for (unsigned int i = 0; i < NUM; i++) {
		struct ibv_mr *mr = ibv_reg_mr(pd, mem, sizeof(mem), 0);

		NEED(mr);
		printf("mr %06x\n", mr->lkey >> 8);
		ibv_dereg_mr(mr);
	}
}

static void print_qps(struct ibv_pd *pd)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
	};

	NEED(cq);
	for (unsigned int i = 0; i < NUM; i++) {
		struct ibv_qp *qp = ibv_create_qp(pd, &init);

		NEED(qp);
		printf("qp %06x\n", qp->qp_num);
		ibv_destroy_qp(qp);
	}
	ibv_destroy_cq(cq);
}

/* ---- connections ----------------------------------------------------- */

static struct rdma_event_channel *channel;

/* The next event is this one; returns whose */
static struct rdma_cm_id *event_need(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEED(!rdma_get_cm_event(channel, &event));
	id = event->id;
	if (event->event != type) {
		fprintf(stderr, "%s, not %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(1);
	}
	rdma_ack_cm_event(event);
	return id;
}

/* Without receive requests the library makes no CQ for them, and needs one */
static void id_make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = 1,
			.max_send_sge = 1,
			.max_recv_wr = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	NEED(!rdma_create_qp(id, NULL, &init));
}

static void print_psn(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(!ibv_query_qp(id->qp, &attr, IBV_QP_SQ_PSN, &init));
	printf("psn %06x\n", attr.sq_psn);
}

/* To itself: both ends are here */
static void connect_once(struct sockaddr_in *addr)
{
	struct rdma_conn_param param = {};
	struct rdma_cm_id *id, *other;

	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, CM_TIMEOUT));
	event_need(RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(id, CM_TIMEOUT));
	event_need(RDMA_CM_EVENT_ROUTE_RESOLVED);
	id_make_qp(id);
	NEED(!rdma_connect(id, &param));
	other = event_need(RDMA_CM_EVENT_CONNECT_REQUEST);
	id_make_qp(other);
	NEED(!rdma_accept(other, &param));
	event_need(RDMA_CM_EVENT_ESTABLISHED);
	event_need(RDMA_CM_EVENT_ESTABLISHED);
	print_psn(id);
	print_psn(other);
	rdma_destroy_qp(id);
	rdma_destroy_qp(other);
	rdma_destroy_id(other);
	rdma_destroy_id(id);
}

static void print_psns(const char *address)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(CM_PORT),
	};
	struct rdma_cm_id *listener;

	NEED(inet_pton(AF_INET, address, &addr.sin_addr) == 1);
	channel = rdma_create_event_channel();
	NEED(channel);
	NEED(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	NEED(!rdma_bind_addr(listener, (struct sockaddr *)&addr));
	NEED(!rdma_listen(listener, 8));
	for (unsigned int i = 0; i < NUM_PSN; i++)
		connect_once(&addr);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	if (argc != 3)
		return 1;
	ctx = device_open(argv[1]);
	pd = ibv_alloc_pd(ctx);
	NEED(pd);
	print_windows(pd, IBV_MW_TYPE_1, "mw1");
	print_windows(pd, IBV_MW_TYPE_2, "mw2");
	print_regions(pd);
	print_qps(pd);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	print_psns(argv[2]);
	return 0;
}
