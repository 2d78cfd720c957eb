// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections by rdma_cm, made and ended one after another.
 *
 *	pane_soak_cm ADDRESS COUNT		accepts so many
 *	pane_soak_cm ADDRESS COUNT client	makes them
 *
 * One message goes each way on each of them, and has to be the one that was
 * sent. Any error ends the program. cmtime would do all that in a single batch,
 * compares nothing, and ends with success whatever has happened.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "pane_cm.h"

#define PORT	"7474"
#define WORDS	512

/**
 * struct conn - one of them
 * @id: the connection, with all that belongs to it
 * @mr: of what follows
 * @in: what is received
 * @out: what is sent
 */
struct conn {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint32_t in[WORDS];
	uint32_t out[WORDS];
};

static unsigned long number;	/* of the connection */

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "connection %lu: %s: %s\n", number, what,
		strerror(errno));
	exit(1);
}

static void check_wc(int got, const struct ibv_wc *wc, const char *what)
{
	check(got < 0, what);
	if (!wc->status)
		return;
	fprintf(stderr, "connection %lu: %s: %s\n", number, what,
		ibv_wc_status_str(wc->status));
	exit(1);
}

/* The client's message, and the other way round */
static uint32_t word(unsigned int i, int client)
{
	uint32_t value = number * 0x9e3779b9U + i;

	return client ? value : ~value;
}

static void message_send(struct conn *c, int client)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < WORDS; i++)
		c->out[i] = word(i, client);
	check(rdma_post_send(c->id, NULL, c->out, sizeof(c->out), c->mr,
			     IBV_SEND_SIGNALED), "post send");
	check_wc(rdma_get_send_comp(c->id, &wc), &wc, "send");
}

static void message_receive(struct conn *c, int client)
{
	struct ibv_wc wc;

	check_wc(rdma_get_recv_comp(c->id, &wc), &wc, "receive");
	for (unsigned int i = 0; i < WORDS; i++) {
		if (wc.byte_len == sizeof(c->in) &&
		    c->in[i] == word(i, client))
			continue;
		fprintf(stderr, "connection %lu: wrong bytes\n", number);
		exit(1);
	}
}

static void prepare(struct conn *c)
{
	c->mr = rdma_reg_msgs(c->id, c->in, sizeof(c->in) + sizeof(c->out));
	check(!c->mr, "register");
	check(rdma_post_recv(c->id, NULL, c->in, sizeof(c->in), c->mr),
	      "post receive");
}

static void end(struct conn *c)
{
	check(rdma_disconnect(c->id), "disconnect");
	check(rdma_dereg_mr(c->mr), "deregister");
	rdma_destroy_ep(c->id);
}

static struct rdma_cm_id *make(const char *address, int flags)
{
	struct rdma_cm_id *id = cm_endpoint(address, PORT, flags, 1, 1);

	check(!id, "endpoint");
	return id;
}

static void accept_one(struct rdma_cm_id *listener)
{
	static struct conn c;

	check(rdma_get_request(listener, &c.id), "request");
	prepare(&c);
	check(rdma_accept(c.id, NULL), "accept");
	message_receive(&c, 1);
	message_send(&c, 0);
	end(&c);
}

static void make_one(const char *address)
{
	static struct conn c;

	c.id = make(address, 0);
	prepare(&c);
	check(rdma_connect(c.id, NULL), "connect");
	message_send(&c, 1);
	message_receive(&c, 0);
	end(&c);
}

static void accept_all(const char *address, unsigned long count)
{
	struct rdma_cm_id *listener = make(address, RAI_PASSIVE);

	check(rdma_listen(listener, 8), "listen");
	for (number = 0; number < count; number++)
		accept_one(listener);
	rdma_destroy_ep(listener);
}

static void make_all(const char *address, unsigned long count)
{
	for (number = 0; number < count; number++)
		make_one(address);
}

int main(int argc, char *argv[])
{
	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: %s ADDRESS COUNT [client]\n", argv[0]);
		return 2;
	}
	if (argc == 3)
		accept_all(argv[1], strtoul(argv[2], NULL, 0));
	else
		make_all(argv[1], strtoul(argv[2], NULL, 0));
	return 0;
}
