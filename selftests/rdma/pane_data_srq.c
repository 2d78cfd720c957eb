// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: their limit event, and another size while in use */
#include <errno.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_data.h"

#define LEN		64
#define SMALL		8
#define LARGE		64
#define QPS		2

/**
 * struct pool - queue pairs of a node that receive from one queue
 * @node: the sender's device and the receiver's
 * @srq: the queue
 * @from: the senders
 * @to: the receivers
 * @mem: memory at both ends
 * @posted: receive requests so far; the number of one is its wr_id
 * @received: how many of them have ended
 */
struct pool {
	struct node node[2];
	struct ibv_srq *srq;
	struct end from[QPS];
	struct end to[QPS];
	struct region mem[2];
	uint64_t posted;
	uint64_t received;
};

static void pool_open(struct pool *p, uint32_t max_wr)
{
	struct qp_opts qo = qp_opts_default(), shared = qo;
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = max_wr, .max_sge = 2 },
	};

	memset(p, 0, sizeof(*p));
	node_open_owner(&p->node[0]);
	node_open_peer(&p->node[1]);
	p->srq = ibv_create_srq(p->node[1].pd, &init);
	CHECK(p->srq, "%s", strerror(errno));
	CHECK_EQ(init.attr.max_wr, max_wr);
	shared.shared = p->srq;
	for (unsigned int i = 0; i < QPS; i++) {
		end_open(&p->from[i], &p->node[0], &qo);
		end_open(&p->to[i], &p->node[1], &shared);
		ends_connect(&p->from[i], &p->to[i], &qo);
	}
	for (unsigned int i = 0; i < 2; i++)
		region_open(&p->mem[i], p->node[i].pd, LARGE * LEN, 0,
			    IBV_ACCESS_LOCAL_WRITE);
}

static void pool_close(struct pool *p)
{
	for (unsigned int i = 0; i < QPS; i++) {
		end_close(&p->from[i]);
		end_close(&p->to[i]);
	}
	CHECK_OK(ibv_destroy_srq(p->srq));
	for (unsigned int i = 0; i < 2; i++) {
		region_close(&p->mem[i]);
		node_close(&p->node[i]);
	}
}

/* One more receive request; 0 or an errno value */
static int pool_try_recv(struct pool *p)
{
	struct ibv_sge sge = sge_of(&p->mem[1], p->posted % LARGE * LEN, LEN);
	struct ibv_recv_wr *bad, wr = {
		.wr_id = p->posted,
		.sg_list = &sge,
		.num_sge = 1,
	};
	int ret = ibv_post_srq_recv(p->srq, &wr, &bad);

	if (!ret)
		p->posted++;
	return ret;
}

static void pool_recv(struct pool *p, unsigned int num)
{
	while (num--)
		CHECK_OK(pool_try_recv(p));
}

/* A message by one of the connections ends the oldest request */
static void pool_send(struct pool *p, unsigned int num)
{
	while (num--) {
		unsigned int i = p->received % QPS;
		struct ibv_sge sge = sge_of(&p->mem[0], 0, LEN);
		struct ibv_send_wr wr = wr_to(IBV_WR_SEND, &sge, NULL, 0);
		uint8_t *at = p->mem[1].addr + p->received % LARGE * LEN;

		random_fill(p->mem[0].addr, LEN);
		CHECK_EQ(end_do(&p->from[i], wr), IBV_WC_SUCCESS);
		CHECK_WC(p->to[i].rcq, p->received, IBV_WC_SUCCESS, NULL);
		CHECK(!memcmp(at, p->mem[0].addr, LEN), "other data");
		p->received++;
	}
}

static int pool_modify(struct pool *p, uint32_t max_wr, uint32_t limit,
		       int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return ibv_modify_srq(p->srq, &attr, mask);
}

static int pool_resize(struct pool *p, uint32_t max_wr)
{
	return pool_modify(p, max_wr, 0, IBV_SRQ_MAX_WR);
}

static struct ibv_srq_attr pool_query(struct pool *p)
{
	struct ibv_srq_attr attr;

	CHECK_OK(ibv_query_srq(p->srq, &attr));
	return attr;
}

/* ---- another size ---------------------------------------------------- */

/* What waits stays, in its order, and there is room for more */
static void grows(const void *arg)
{
	struct pool p;

	pool_open(&p, SMALL);
	pool_recv(&p, SMALL);
	CHECK_EQ(pool_try_recv(&p), ENOMEM);
	pool_send(&p, 3);
	pool_recv(&p, 3);
	CHECK_OK(pool_resize(&p, LARGE));
	CHECK_EQ(pool_query(&p).max_wr, LARGE);
	CHECK_EQ(pool_query(&p).max_sge, 2);
	pool_recv(&p, LARGE - SMALL);
	CHECK_EQ(pool_try_recv(&p), ENOMEM);
	pool_send(&p, LARGE);
	pool_recv(&p, 5);
	pool_send(&p, 5);
	pool_close(&p);
}

static void shrinks(const void *arg)
{
	struct pool p;

	pool_open(&p, LARGE);
	pool_recv(&p, SMALL + 1);
	CHECK_EQ(pool_resize(&p, SMALL), EINVAL);
	pool_send(&p, 1);
	CHECK_OK(pool_resize(&p, SMALL));
	CHECK_EQ(pool_query(&p).max_wr, SMALL);
	CHECK_EQ(pool_try_recv(&p), ENOMEM);
	pool_send(&p, SMALL);
	pool_recv(&p, SMALL);
	pool_send(&p, SMALL);
	pool_close(&p);
}

/* Up and down, with the indices anywhere */
static void again_and_again(const void *arg)
{
	struct pool p;

	random_seed();
	pool_open(&p, SMALL);
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int waits = p.posted - p.received;
		uint32_t size = SMALL << random_below(4);

		if (size >= waits)
			CHECK_OK(pool_resize(&p, size));
		else
			CHECK_EQ(pool_resize(&p, size), EINVAL);
		size = pool_query(&p).max_wr;
		pool_recv(&p, random_below(size - waits + 1));
		pool_send(&p, random_below(p.posted - p.received + 1));
	}
	pool_send(&p, p.posted - p.received);
	pool_close(&p);
}

static void refused(const void *arg)
{
	struct ibv_device_attr dev;
	struct pool p;

	pool_open(&p, SMALL);
	CHECK_OK(ibv_query_device(p.node[1].ctx, &dev));
	CHECK(dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, "not announced");
	CHECK_EQ(pool_resize(&p, 0), EINVAL);
	CHECK_EQ(pool_resize(&p, dev.max_srq_wr + 1), EINVAL);
	CHECK_EQ(pool_modify(&p, LARGE, LARGE + 1,
			     IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	CHECK_EQ(pool_query(&p).max_wr, SMALL);
	CHECK_OK(pool_resize(&p, dev.max_srq_wr));
	CHECK_EQ(pool_query(&p).max_wr, dev.max_srq_wr);
	pool_recv(&p, 2);
	pool_send(&p, 2);
	pool_close(&p);
}

/* ---- the limit ------------------------------------------------------- */

static void limit_told(struct pool *p)
{
	event_wait(&p->node[1], IBV_EVENT_SRQ_LIMIT_REACHED, NULL);
	CHECK_EQ(pool_query(p).srq_limit, 0);
}

/* Told once, when fewer are left; also when that is so already */
static void limit(const void *arg)
{
	struct pool p;

	pool_open(&p, LARGE);
	pool_recv(&p, 10);
	CHECK_OK(pool_modify(&p, 0, 8, IBV_SRQ_LIMIT));
	CHECK_EQ(pool_query(&p).srq_limit, 8);
	pool_send(&p, 2);
	CHECK(!event_pending(&p.node[1]), "too early");
	pool_send(&p, 1);
	limit_told(&p);
	pool_send(&p, 7);
	CHECK(!event_pending(&p.node[1]), "twice");
	CHECK_OK(pool_modify(&p, 0, 1, IBV_SRQ_LIMIT));
	limit_told(&p);
	CHECK_EQ(pool_modify(&p, 0, LARGE + 1, IBV_SRQ_LIMIT), EINVAL);
	pool_close(&p);
}

/* Both at once, and a size that the limit does not allow any more */
static void limit_and_size(const void *arg)
{
	struct pool p;

	pool_open(&p, SMALL);
	pool_recv(&p, SMALL);
	CHECK_OK(pool_modify(&p, LARGE, 5, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	CHECK_EQ(pool_query(&p).srq_limit, 5);
	CHECK_EQ(pool_query(&p).max_wr, LARGE);
	pool_send(&p, 4);
	limit_told(&p);
	pool_recv(&p, LARGE - 4);
	CHECK_OK(pool_modify(&p, 0, 20, IBV_SRQ_LIMIT));
	pool_send(&p, LARGE - 20);
	CHECK_OK(pool_resize(&p, 32));
	CHECK_EQ(pool_resize(&p, 16), EINVAL);
	pool_send(&p, 1);
	limit_told(&p);
	CHECK_EQ(pool_resize(&p, 16), EINVAL);
	pool_send(&p, 3);
	CHECK_OK(pool_resize(&p, 16));
	pool_send(&p, 16);
	pool_close(&p);
}

void list_srq(void)
{
	pane_test(0, grows, NULL, "an SRQ grows");
	pane_test(0, shrinks, NULL, "an SRQ shrinks");
	pane_test(0, again_and_again, NULL, "an SRQ changes its size all the time");
	pane_test(0, refused, NULL, "sizes of an SRQ that are refused");
	pane_test(0, limit, NULL, "the limit of an SRQ");
	pane_test(0, limit_and_size, NULL, "limit and size of an SRQ");
}
