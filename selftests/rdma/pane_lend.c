// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic through windows that goes on until somebody ends it, in two programs
 * so that either can be ended alone.
 *
 *	pane_lend ADDRESS		writes into what it is lent
 *	pane_lend ADDRESS client	lends
 *
 * The lender has buffers with a window each, of both types by turns. It binds
 * the window and sends the key; the other writes into the buffer, reads it back
 * and answers, and the window is bound anew. A type 2 window is invalidated by
 * the answer, one of type 1 by the next bind. What is written tells the key, and
 * both compare it. Any error ends the program.
 *
 * PANE_PAUSE in the environment: microseconds that the lender waits before it
 * lends a buffer again, for who has other things to do at the same time.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#include "pane_cm.h"

#define PORT		"7473"
#define SLOTS		8
#define SIZE		16384
#define QUEUE		(16 * SLOTS)

/* What a message carries; big endian */
struct msg {
	uint64_t addr;
	uint32_t rkey;
	uint32_t slot;
};

/**
 * struct end - what both ends have
 * @id: connection
 * @mr: of @data
 * @data: of all slots
 * @msg_mr: of @in and @out
 * @in: messages to receive
 * @out: messages to send, one for each slot
 * @mw: the lender's windows
 */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *data;
	struct ibv_mr *msg_mr;
	struct msg in[SLOTS];
	struct msg out[SLOTS];
	struct ibv_mw *mw[SLOTS];
};

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* For functions that return an errno value */
static void check_ret(int ret, const char *what)
{
	errno = ret;
	check(ret, what);
}

static void check_wc(const struct ibv_wc *wc, const char *what)
{
	if (!wc->status)
		return;
	fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(wc->status));
	exit(1);
}

static void post_recv(struct end *e, uintptr_t i)
{
	check(rdma_post_recv(e->id, (void *)i, &e->in[i], sizeof(e->in[i]),
			     e->msg_mr), "post receive");
}

static void post(struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	check_ret(ibv_post_send(e->id->qp, wr, &bad), "post");
}

static char *slot_data(struct end *e, unsigned int slot)
{
	return e->data + slot * SIZE;
}

/* ---- bytes ----------------------------------------------------------- */

static uint64_t slot_word(uint32_t rkey, unsigned int i)
{
	return rkey * 0x9e3779b97f4a7c15ULL + i;
}

static void fill_slot(struct end *e, unsigned int slot, uint32_t rkey)
{
	uint64_t *to = (uint64_t *)slot_data(e, slot);

	for (unsigned int i = 0; i < SIZE / sizeof(*to); i++)
		to[i] = slot_word(rkey, i);
}

/* What it was last used for is in it, at both ends */
static void check_slot(struct end *e, unsigned int slot)
{
	const uint64_t *from = (uint64_t *)slot_data(e, slot);
	uint32_t rkey = be32toh(e->out[slot].rkey);

	if (!rkey)
		return;
	for (unsigned int i = 0; i < SIZE / sizeof(*from); i++) {
		if (from[i] == slot_word(rkey, i))
			continue;
		fprintf(stderr, "slot %u, key %#x: wrong bytes\n", slot, rkey);
		exit(1);
	}
}

/* ---- messages -------------------------------------------------------- */

/* Messages were answered, so what was sent before them is complete */
static void reap(struct end *e)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(e->id->send_cq, 1, &wc)) > 0)
		check_wc(&wc, "request");
	check(n < 0, "poll");
}

/* Wait for a message; which of @in it is */
static unsigned int receive(struct end *e)
{
	struct ibv_wc wc;

	check(rdma_get_recv_comp(e->id, &wc) < 0, "receive");
	check_wc(&wc, "receive");
	reap(e);
	return wc.wr_id;
}

/* ---- connecting ------------------------------------------------------ */

static void open_end(struct end *e, const char *address, int passive)
{
	struct rdma_cm_id *listener;

	e->id = cm_endpoint(address, PORT, passive ? RAI_PASSIVE : 0, QUEUE,
			    SLOTS);
	check(!e->id, "endpoint");
	if (passive) {
		listener = e->id;
		check(rdma_listen(listener, 1), "listen");
		check(rdma_get_request(listener, &e->id), "request");
	}
	e->data = aligned_alloc(4096, SLOTS * SIZE);
	check(!e->data, "memory");
	e->mr = ibv_reg_mr(e->id->pd, e->data, SLOTS * SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	check(!e->mr, "register memory");
	e->msg_mr = rdma_reg_msgs(e->id, e->in, sizeof(e->in) + sizeof(e->out));
	check(!e->msg_mr, "register messages");
	for (unsigned int i = 0; i < SLOTS; i++)
		post_recv(e, i);
	if (passive)
		check(rdma_accept(e->id, NULL), "accept");
	else
		check(rdma_connect(e->id, NULL), "connect");
}

/* ---- the lender ------------------------------------------------------ */

static void bind_type1(struct end *e, unsigned int slot,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_mw_bind bind = { .bind_info = *info };

	check_ret(ibv_bind_mw(e->id->qp, e->mw[slot], &bind), "bind");
}

static void bind_type2(struct end *e, unsigned int slot,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = e->mw[slot],
			.rkey = ibv_inc_rkey(e->mw[slot]->rkey),
			.bind_info = *info,
		},
	};

	post(e, &wr);
}

static void lend(struct end *e, unsigned int slot)
{
	struct ibv_mw_bind_info info = {
		.mr = e->mr,
		.addr = (uintptr_t)slot_data(e, slot),
		.length = SIZE,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};
	struct msg *m = &e->out[slot];

	if (slot & 1)
		bind_type2(e, slot, &info);
	else
		bind_type1(e, slot, &info);
	m->addr = htobe64(info.addr);
	m->rkey = htobe32(e->mw[slot]->rkey);
	m->slot = htobe32(slot);
	check(rdma_post_send(e->id, NULL, m, sizeof(*m), e->msg_mr,
			     IBV_SEND_SIGNALED), "post message");
}

static void lender(struct end *e)
{
	const char *text = getenv("PANE_PAUSE");
	useconds_t pause = text ? strtoul(text, NULL, 0) : 0;

	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		e->mw[slot] = ibv_alloc_mw(e->id->pd, slot & 1 ?
					   IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		check(!e->mw[slot], "allocate window");
		lend(e, slot);
	}
	for (;;) {
		unsigned int i = receive(e);
		unsigned int slot = be32toh(e->in[i].slot) % SLOTS;

		if (pause)
			usleep(pause);
		post_recv(e, i);
		check_slot(e, slot);
		lend(e, slot);
	}
}

/* ---- the other end --------------------------------------------------- */

static void use(struct end *e, const struct msg *m)
{
	unsigned int slot = be32toh(m->slot) % SLOTS;
	struct ibv_sge answer_sge = {
		.addr = (uintptr_t)&e->out[slot],
		.length = sizeof(e->out[slot]),
		.lkey = e->msg_mr->lkey,
	};
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot_data(e, slot),
		.length = SIZE,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr answer = {
		.opcode = slot & 1 ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.sg_list = &answer_sge,
		.num_sge = 1,
	};
	struct ibv_send_wr read = {
		.opcode = IBV_WR_RDMA_READ,
		.next = &answer,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {
			.remote_addr = be64toh(m->addr),
			.rkey = be32toh(m->rkey),
		},
	};
	struct ibv_send_wr write = read;

	write.opcode = IBV_WR_RDMA_WRITE;
	write.next = &read;
	if (slot & 1)
		answer.invalidate_rkey = be32toh(m->rkey);
	check_slot(e, slot);
	fill_slot(e, slot, be32toh(m->rkey));
	e->out[slot] = *m;
	post(e, &write);
}

static void borrower(struct end *e)
{
	for (;;) {
		unsigned int i = receive(e);
		struct msg m = e->in[i];

		post_recv(e, i);
		use(e, &m);
	}
}

int main(int argc, char *argv[])
{
	int passive = argc == 2;
	static struct end e;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s ADDRESS [client]\n", argv[0]);
		return 2;
	}
	open_end(&e, argv[1], passive);
	if (passive)
		borrower(&e);
	else
		lender(&e);
	return 0;
}
