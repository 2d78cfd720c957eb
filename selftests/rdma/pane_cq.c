// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What completion queues have beside completions: clocks, moderated events, size */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_util.h"

/* ---- clocks ---------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	CHECK_OK(clock_gettime(clock, &now) ? errno : 0);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The device's clock, in its own unit */
static uint64_t device_clock(struct node *n)
{
	struct ibv_values_ex values = {
		.comp_mask = IBV_VALUES_MASK_RAW_CLOCK,
	};

	CHECK_OK(ibv_query_rt_values_ex(n->ctx, &values));
	CHECK_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return values.raw_clock.tv_sec * 1000000000ULL +
	       values.raw_clock.tv_nsec;
}

/* The peer's endpoint gets a send CQ with clocks */
static struct ibv_cq_ex *clocked_open(struct duo *d, struct endpoint *o,
				      struct endpoint *p)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq;

	ep_open(o, &d->own, d->own.pd);
	ep_open(p, &d->peer, d->peer.pd);
	CHECK_OK(ibv_destroy_qp(p->qp));
	attr.channel = p->scq->channel;
	CHECK_OK(ibv_destroy_cq(p->scq));
	cq = ibv_create_cq_ex(d->peer.ctx, &attr);
	CHECK(cq, "%s", strerror(errno));
	p->scq = ibv_cq_ex_to_cq(cq);
	ep_make_qp(p);
	ep_connect(o, p);
	return cq;
}

static void clocks(const void *arg)
{
	struct ibv_poll_cq_attr poll = {};
	struct ibv_device_attr_ex attr;
	uint64_t before, after, ts, last = 0, real[2];
	struct endpoint o, p;
	struct ibv_cq_ex *cq;
	struct req req;
	struct duo d;

	duo_open(&d);
	CHECK_OK(ibv_query_device_ex(d.peer.ctx, NULL, &attr));
	CHECK_EQ(attr.completion_timestamp_mask, UINT64_MAX);
	CHECK_EQ(attr.hca_core_clock, 1000000);
	cq = clocked_open(&d, &o, &p);
	req = req_remote(IBV_WR_RDMA_WRITE, &d.buf, 0, 0, 0);
	req.flags = IBV_SEND_SIGNALED;
	for (unsigned int i = 0; i < 10; i++) {
		struct spin spin = {};

		before = device_clock(&d.peer);
		real[0] = clock_ns(CLOCK_REALTIME);
		CHECK_OK(ep_post(&p, &req, 1));
		while (ibv_start_poll(cq, &poll))
			spin_turn(&spin);
		after = device_clock(&d.peer);
		ts = ibv_wc_read_completion_ts(cq);
		CHECK(ts >= before && ts <= after, "%llu, not in %llu..%llu",
		      (unsigned long long)ts, (unsigned long long)before,
		      (unsigned long long)after);
		CHECK(ts > last, "time goes back");
		last = ts;
		ts = ibv_wc_read_completion_wallclock_ns(cq);
		real[1] = clock_ns(CLOCK_REALTIME);
		/* the two clocks are not read at the same time */
		CHECK(ts + 1000000000 > real[0] && ts < real[1] + 1000000000,
		      "wall clock");
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		ibv_end_poll(cq);
	}
	ep_close(&p);
	ep_close(&o);
	duo_close(&d);
}

/* ---- moderated events ------------------------------------------------ */

static void moderate(struct duo *d, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	CHECK_OK(ibv_modify_cq(d->p.scq, &attr));
}

static bool mod_event(struct duo *d)
{
	struct pollfd pfd = {
		.fd = d->p.scq->channel->fd,
		.events = POLLIN,
	};

	return poll(&pfd, 1, 0) == 1;
}

static void mod_take_event(struct duo *d)
{
	struct ibv_cq *cq;
	void *context;

	fd_wait(d->p.scq->channel->fd, "an event");
	CHECK_OK(ibv_get_cq_event(d->p.scq->channel, &cq, &context) ? errno : 0);
	CHECK(cq == d->p.scq, "another CQ");
	ibv_ack_cq_events(cq, 1);
}

/* One completion is there. Not by waiting for it, which would take the event. */
static void mod_completes(struct duo *d)
{
	struct req req = req_remote(IBV_WR_RDMA_WRITE, &d->buf, 0, 0, 0);
	struct ibv_wc wc;

	req.flags = IBV_SEND_SIGNALED;
	CHECK_OK(ep_post(&d->p, &req, 1));
	cq_spin(d->p.scq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

static void moderated_count(const void *arg)
{
	struct ibv_device_attr_ex attr;
	struct duo d;

	duo_open(&d);
	CHECK_OK(ibv_query_device_ex(d.peer.ctx, NULL, &attr));
	CHECK_EQ(attr.cq_mod_caps.max_cq_count, UINT16_MAX);
	CHECK_EQ(attr.cq_mod_caps.max_cq_period, UINT16_MAX);
	moderate(&d, 4, 0);
	for (unsigned int round = 0; round < 3; round++) {
		CHECK_OK(ibv_req_notify_cq(d.p.scq, 0));
		for (unsigned int i = 0; i < 3; i++) {
			mod_completes(&d);
			CHECK(!mod_event(&d), "an event after %u", i + 1);
		}
		mod_completes(&d);
		mod_take_event(&d);
	}
	duo_close(&d);
}

static void moderated_period(const void *arg)
{
	struct duo d;

	duo_open(&d);
	moderate(&d, UINT16_MAX, 1000);
	for (unsigned int round = 0; round < 3; round++) {
		CHECK_OK(ibv_req_notify_cq(d.p.scq, 0));
		mod_completes(&d);
		mod_take_event(&d);
	}
	duo_close(&d);
}

/* What is held back is told when there is no reason for that any more */
static void moderated_no_more(const void *arg)
{
	struct duo d;

	duo_open(&d);
	moderate(&d, 10, 0);
	CHECK_OK(ibv_req_notify_cq(d.p.scq, 0));
	mod_completes(&d);
	CHECK(!mod_event(&d), "an event");
	moderate(&d, 0, 0);
	mod_take_event(&d);
	CHECK_OK(ibv_req_notify_cq(d.p.scq, 0));
	mod_completes(&d);
	mod_take_event(&d);
	duo_close(&d);
}

/* Something is held back when the queue goes */
static void moderated_destroyed(const void *arg)
{
	struct duo d;

	duo_open(&d);
	moderate(&d, 10, UINT16_MAX);
	CHECK_OK(ibv_req_notify_cq(d.p.scq, 0));
	mod_completes(&d);
	duo_close(&d);
}

/* ---- size ------------------------------------------------------------ */

#define RESIZE_ROUNDS	2000

/* A queue that changes its size all the time */
struct restless {
	struct ibv_cq *cq;
	bool stop;
	pthread_t thread;
};

static void *restless_run(void *arg)
{
	struct restless *r = arg;

	for (unsigned int i = 0; !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE);
	     i++) {
		CHECK_OK(ibv_resize_cq(r->cq, 2 * EP_SEND_WR + i % 1000));
		usleep(100);
	}
	return NULL;
}

/*
 * Who has asked for an event, found nothing and sleeps is woken, whichever ring
 * the entry is in
 */
static void resized_while_waited(const void *arg)
{
	struct restless r = {};
	struct ibv_mw *mw;
	struct duo d;

	duo_open(&d);
	mw = mw_open(d.own.pd, IBV_MW_TYPE_2);
	r.cq = d.o.scq;
	CHECK_OK(pthread_create(&r.thread, NULL, restless_run, &r));
	for (unsigned int i = 0; i < pane_rounds(RESIZE_ROUNDS); i++) {
		mw_bind(&d.o, mw, &d.mem, 0, DUO_LEN, RIGHTS_RW);
		mw_unbind(&d.o, mw);
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	CHECK_OK(pthread_join(r.thread, NULL));
	mw_close(mw);
	duo_close(&d);
}

static void list(void)
{
	pane_test(0, clocks, NULL, "completions tell the time");
	pane_test(0, moderated_count, NULL, "one event for four completions");
	pane_test(0, moderated_period, NULL, "an event after some time");
	pane_test(0, moderated_no_more, NULL, "moderation ends");
	pane_test(0, moderated_destroyed, NULL,
		  "a moderated queue is destroyed");
	pane_test(0, resized_while_waited, NULL,
		  "a queue is resized while another thread waits for entries");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
