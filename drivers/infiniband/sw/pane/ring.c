// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who works when user space has rung for a send queue?
 *
 * He who rings does it himself, in his system call: nothing is faster for
 * somebody who then waits for what comes of it. But he who posts one request
 * after another and looks at completions only now and then would make a system
 * call, and a packet, for each of them. For him the worker does it on another
 * processor; as long as that is at it he need not ring, and what he has posted
 * meanwhile goes out in trains.
 *
 * He is known by what he does between two looks at his completion queue: he
 * rings several times, or posts without having to ring.
 *
 * Where a receiver was not ready, the worker may be what keeps him from his
 * processor. For some time then a timer does the same a moment later, on the
 * poster's own processor.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/workqueue.h>

#include "cq.h"
#include "pane.h"
#include "qp.h"
#include "req.h"
#include "ring.h"

/* So many times between two looks */
#define RING_MANY	4
/* Looks that the worker takes at one send queue before others get their turn */
#define RING_LOOKS	64
/* Jiffies that a receiver who was not ready is spared the worker */
#define RING_SLOW	HZ
/* Requests that one turn is good for at least; see pane_ring_finish() */
#define RING_FINISH_TURN	64
/*
 * Nanoseconds that the timer gives to post more: some tens of requests, where
 * processors are slow some
 */
#define RING_DELAY	(60 * NSEC_PER_USEC)

static struct workqueue_struct *ring_wq;

/* Completions that user space has taken, of any QP of the queues */
static u32 ring_taken(const struct pane_qp *qp)
{
	u32 taken = READ_ONCE(qp->send_cq->ctl->cons);

	if (qp->recv_cq)
		taken += READ_ONCE(qp->recv_cq->ctl->cons);
	return taken;
}

/* Does he go on posting without a look at what has completed? */
static bool ring_goes_on(struct pane_qp *qp)
{
	struct pane_ring *r = &qp->ring;
	u32 taken = ring_taken(qp);

	if (taken != r->taken) {
		r->many = r->rings + r->unrung >= RING_MANY;
		r->taken = taken;
		r->rings = 0;
		r->unrung = 0;
	}
	return ++r->rings >= RING_MANY || r->many;
}

/* The receiver was not ready */
void pane_ring_slow(struct pane_qp *qp)
{
	qp->ring.slow_until = jiffies + RING_SLOW;
}

static bool ring_is_slow(const struct pane_ring *r)
{
	return time_before(jiffies, r->slow_until);
}

/*
 * Some other processor, of those that are not kept free of such work: a worker
 * here would come before the poster goes on, and nothing would be won.
 * Return: nr_cpu_ids or more if there is none
 */
static unsigned int ring_cpu(void)
{
	const struct cpumask *allowed = housekeeping_cpumask(HK_TYPE_WQ);
	unsigned int here = raw_smp_processor_id();
	unsigned int cpu = cpumask_next_and(here, cpu_online_mask, allowed);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first_and(cpu_online_mask, allowed);
	return cpu == here ? nr_cpu_ids : cpu;
}

/**
 * pane_ring_send - user space has rung for the send queue
 * @qp: the QP, a user's, entered
 */
void pane_ring_send(struct pane_qp *qp)
{
	struct pane_ring *r = &qp->ring;
	unsigned int cpu;

	if (!pane_qp_sends(qp) || !ring_goes_on(qp)) {
		pane_req_kick(qp);
		return;
	}
	pane_req_doorbell(qp, false);
	r->posted = READ_ONCE(qp->ctl->sq_prod);
	cpu = ring_is_slow(r) ? nr_cpu_ids : ring_cpu();
	if (cpu < nr_cpu_ids)
		queue_work_on(cpu, ring_wq, &r->work);
	else
		hrtimer_start(&r->timer, ns_to_ktime(RING_DELAY),
			      HRTIMER_MODE_REL_PINNED_SOFT);
}

/* The last look: from now on he has to ring. How many have come without it? */
static void ring_look_last(struct pane_qp *qp)
{
	struct pane_ring *r = &qp->ring;

	r->attended = false;
	pane_req_kick(qp);
	if ((s32)(qp->sq.prod - r->posted) > 0)
		r->unrung += qp->sq.prod - r->posted;
}

/* One look at the send queue. True to come again: until nothing new was found */
static bool ring_look(struct pane_qp *qp)
{
	struct pane_ring *r = &qp->ring;
	bool again;

	pane_qp_enter(qp);
	r->attended = pane_qp_sends(qp) && !ring_is_slow(r);
	pane_req_kick(qp);
	again = r->attended && qp->sq.prod != r->seen;
	r->seen = qp->sq.prod;
	if (!again)
		ring_look_last(qp);
	pane_qp_leave(qp);
	return again;
}

static void ring_work(struct work_struct *work)
{
	struct pane_qp *qp = container_of(work, struct pane_qp, ring.work);
	unsigned int looks;

	for (looks = RING_LOOKS; looks; looks--) {
		if (!ring_look(qp))
			return;
		cond_resched();
	}
	/* others are due */
	queue_work(ring_wq, work);
}

static enum hrtimer_restart ring_timeout(struct hrtimer *timer)
{
	struct pane_qp *qp = container_of(timer, struct pane_qp, ring.timer);

	pane_qp_enter(qp);
	ring_look_last(qp);
	pane_qp_leave(qp);
	return HRTIMER_NORESTART;
}

/* Has what was posted up to @target become packets? None will, if it cannot. */
static bool ring_is_done(const struct pane_qp *qp, u32 target)
{
	return qp->state != IB_QPS_RTS || (s32)(qp->sq.cur - target) >= 0;
}

/**
 * pane_ring_finish - send what a user has posted so far
 * @qp: the QP, a user's that is not acknowledged, not entered
 *
 * Who has posted a datagram and asked for no completion has nothing to wait
 * for: he may take away what it is sent with while the worker was not there yet.
 *
 * Context: process. The QP stays.
 */
void pane_ring_finish(struct pane_qp *qp)
{
	u32 turns = qp->sq.mask / RING_FINISH_TURN + 2;
	u32 target = READ_ONCE(qp->ctl->sq_prod);
	bool done, elsewhere;

	do {
		pane_qp_enter(qp);
		pane_req_kick(qp);
		done = ring_is_done(qp, target);
		elsewhere = qp->tx_req.busy;
		pane_qp_leave(qp);
		/* another processor sends, and makes room when it is done */
		if (!done && elsewhere)
			synchronize_rcu();
	} while (!done && --turns);
}

void pane_ring_create(struct pane_qp *qp)
{
	qp->ring.slow_until = jiffies;
	INIT_WORK(&qp->ring.work, ring_work);
	hrtimer_setup(&qp->ring.timer, ring_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_SOFT);
}

/* Nobody is at the send queue any more, for good if nobody can ring for it */
void pane_ring_stop(struct pane_qp *qp)
{
	cancel_work_sync(&qp->ring.work);
	hrtimer_cancel(&qp->ring.timer);
}

int pane_ring_init(void)
{
	/* no high priority: it would come before ksoftirqd, who receives */
	ring_wq = alloc_workqueue("pane_ring", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	return ring_wq ? 0 : -ENOMEM;
}

void pane_ring_exit(void)
{
	destroy_workqueue(ring_wq);
}
