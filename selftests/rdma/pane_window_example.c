// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lending memory for the length of one request: the abort pattern.
 *
 *	pane_window_example ADDRESS		answers requests
 *	pane_window_example ADDRESS client	makes two
 *
 * A client binds a type 2 window over a buffer, and sends the key with its
 * request in one go. The server writes its answer into the buffer and gives
 * the window back with its reply, by SEND_WITH_INV. When the reply does not
 * come in time, the client takes the window back itself, by LOCAL_INV: from
 * the completion on the buffer is its own again, whatever the server does.
 * This server is late on purpose with the second request.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PORT		"7471"
#define SIZE		65536
#define TIMEOUT_MS	200

/* What a request carries; big endian */
struct request {
	uint64_t addr;
	uint32_t rkey;
	uint32_t late;		/* answer when the next message is there */
};

/* What both ends have */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;	/* of @data */
	struct ibv_mr *msg_mr;
	char *data;
	struct request msg[3];	/* one to send, two to receive */
};

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static void post_recv(struct end *e, int i)
{
	check(rdma_post_recv(e->id, NULL, &e->msg[i], sizeof(e->msg[i]),
			     e->msg_mr), "post receive");
}

/* Connect or accept; receives are posted before the other end can send */
static void open_end(struct end *e, const char *address, int passive)
{
	struct rdma_addrinfo hints = {
		.ai_flags = passive ? RAI_PASSIVE : 0,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 4,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	check(rdma_getaddrinfo(address, PORT, &hints, &info), "address");
	check(rdma_create_ep(&id, info, NULL, &attr), "endpoint");
	rdma_freeaddrinfo(info);
	e->id = id;
	if (passive) {
		check(rdma_listen(id, 1), "listen");
		printf("server: ready\n");
		check(rdma_get_request(id, &e->id), "connection request");
	}

	e->data = aligned_alloc(4096, SIZE);
	check(!e->data, "memory");
	e->mr = ibv_reg_mr(e->id->pd, e->data, SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	check(!e->mr, "register memory");
	e->msg_mr = rdma_reg_msgs(e->id, e->msg, sizeof(e->msg));
	check(!e->msg_mr, "register messages");
	post_recv(e, 1);
	post_recv(e, 2);

	if (passive) {
		check(rdma_accept(e->id, NULL), "accept");
		rdma_destroy_ep(id);
	} else {
		check(rdma_connect(e->id, NULL), "connect");
	}
}

static void close_end(struct end *e)
{
	rdma_disconnect(e->id);
	rdma_dereg_mr(e->msg_mr);
	check(rdma_dereg_mr(e->mr), "deregister memory");
	free(e->data);
	rdma_destroy_ep(e->id);
}

/* Wait for a completion of requests sent; its status */
static enum ibv_wc_status sent(struct end *e)
{
	struct ibv_wc wc;

	check(rdma_get_send_comp(e->id, &wc) < 0, "send completion");
	return wc.status;
}

/* ---- the client owns the memory -------------------------------------- */

/* Bind the window and send the request: one post, no wait in between */
static void offer(struct end *e, struct ibv_mw *mw, int late)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->msg,
		.length = sizeof(e->msg[0]),
		.lkey = e->msg_mr->lkey,
	};
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_send_wr bind = {
		.opcode = IBV_WR_BIND_MW,
		.next = &send,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = e->mr,
				.addr = (uintptr_t)e->data,
				.length = SIZE,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	struct ibv_send_wr *bad;

	e->msg[0] = (struct request) {
		.addr = htobe64((uintptr_t)e->data),
		.rkey = htobe32(bind.bind_mw.rkey),
		.late = htobe32(late),
	};
	check(ibv_post_send(e->id->qp, &bind, &bad), "post bind and send");
	check(sent(e), "bind and send");
}

/* Take the window back; on return the buffer is ours */
static void revoke(struct end *e, struct ibv_mw *mw)
{
	struct ibv_send_wr inv = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = mw->rkey,
	};
	struct ibv_send_wr *bad;

	check(ibv_post_send(e->id->qp, &inv, &bad), "post invalidate");
	check(sent(e), "invalidate");
}

/* Wait for the reply; 0 when it does not come in time */
static int reply(struct end *e, struct ibv_wc *wc)
{
	struct pollfd fd = {
		.fd = e->id->recv_cq_channel->fd,
		.events = POLLIN,
	};
	struct ibv_cq *cq;
	void *context;
	int n;

	for (;;) {
		check(ibv_req_notify_cq(e->id->recv_cq, 0), "arm");
		n = ibv_poll_cq(e->id->recv_cq, 1, wc);
		check(n < 0 || (n && wc->status), "receive");
		if (n || poll(&fd, 1, TIMEOUT_MS) <= 0)
			return n;
		check(ibv_get_cq_event(e->id->recv_cq_channel, &cq, &context),
		      "event");
		ibv_ack_cq_events(cq, 1);
	}
}

/* One request. Whichever way it ends, no key opens the buffer any more. */
static void request(struct end *e, struct ibv_mw *mw, int late)
{
	struct ibv_wc wc;

	memset(e->data, 0, SIZE);
	offer(e, mw, late);
	if (!reply(e, &wc)) {
		revoke(e, mw);
		printf("client: no answer in time, the window is shut\n");
		return;
	}
	if (!(wc.wc_flags & IBV_WC_WITH_INV) ||
	    wc.invalidated_rkey != mw->rkey)
		revoke(e, mw);
	printf("client: answer '%s', the window came back with it\n", e->data);
}

static int client(struct end *e)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->id->pd, IBV_MW_TYPE_2);
	struct ibv_async_event event;

	check(!mw, "allocate window");
	request(e, mw, 0);
	request(e, mw, 1);

	/* the buffer is used for something else, and the server wakes up */
	strcpy(e->data, "something else");
	check(rdma_post_send(e->id, NULL, &e->msg[0], sizeof(e->msg[0]),
			     e->msg_mr, IBV_SEND_SIGNALED), "post send");
	/* its late write breaks the connection, and reaches nothing */
	check(ibv_get_async_event(e->id->verbs, &event), "event");
	printf("client: %s, the buffer holds '%s'\n",
	       ibv_event_type_str(event.event_type), e->data);
	ibv_ack_async_event(&event);

	check(ibv_dealloc_mw(mw), "free window");
	return 0;
}

/* ---- the server writes into it --------------------------------------- */

static void wait_message(struct end *e, int i)
{
	struct ibv_wc wc;

	check(rdma_get_recv_comp(e->id, &wc) < 0 || wc.status, "receive");
	post_recv(e, i);
}

/* Write the answer, then reply and invalidate the window with it */
static enum ibv_wc_status answer(struct end *e, const struct request *r)
{
	uint32_t rkey = be32toh(r->rkey);
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};
	struct ibv_send_wr *bad;
	enum ibv_wc_status status;

	strcpy(e->data, "forty-two");
	check(rdma_post_write(e->id, NULL, e->data, SIZE, e->mr,
			      IBV_SEND_SIGNALED, be64toh(r->addr), rkey),
	      "post write");
	check(ibv_post_send(e->id->qp, &send, &bad), "post reply");
	status = sent(e);
	/* after an error the reply completes too, flushed */
	if (sent(e) && !status)
		status = IBV_WC_GENERAL_ERR;
	return status;
}

static int server(struct end *e)
{
	struct request r;
	int i;

	for (i = 1; i <= 2; i++) {
		/* messages come in the order in which receives were posted */
		check(rdma_get_recv_comp(e->id, &(struct ibv_wc){}) < 0,
		      "receive");
		r = e->msg[i];
		post_recv(e, i);
		if (r.late)
			wait_message(e, 1);
		printf("server: request %d, my write: %s\n", i,
		       ibv_wc_status_str(answer(e, &r)));
	}
	return 0;
}

int main(int argc, char *argv[])
{
	int passive = argc == 2;
	struct end e = {};
	int ret;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s ADDRESS [client]\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&e, argv[1], passive);
	ret = passive ? server(&e) : client(&e);
	close_end(&e);
	return ret;
}
