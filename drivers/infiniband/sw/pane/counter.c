// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP counts what happens to it on its device or, while it is bound to a
 * counter of the core, there: the core adds the two up when it is asked for the
 * device's, and keeps what a counter had when it goes.
 */
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "counter.h"
#include "pane.h"
#include "qp.h"
#include "stats.h"

/* The core has cleared it, and the rest comes with the first QP */
void pane_counter_init(struct rdma_counter *counter)
{
}

static struct pane_stats __percpu *counter_stats(struct rdma_counter *counter)
{
	struct pane_dev *dev = to_pane_dev(counter->device);

	return (struct pane_stats __percpu __force *)xa_load(&dev->counters,
							     counter->id);
}

/* The first QP is bound to it: give it a number and room */
static int counter_open(struct rdma_counter *counter)
{
	struct pane_dev *dev = to_pane_dev(counter->device);
	struct pane_stats __percpu *stats = alloc_percpu(struct pane_stats);
	u32 id;
	int err;

	if (!stats)
		return -ENOMEM;
	err = xa_alloc(&dev->counters, &id, (void __force *)stats,
		       xa_limit_31b, GFP_KERNEL);
	if (err) {
		free_percpu(stats);
		return err;
	}
	counter->id = id;
	return 0;
}

static void counter_use(struct ib_qp *ibqp, struct pane_stats __percpu *stats)
{
	struct pane_qp *qp = to_pane_qp(ibqp);

	spin_lock_bh(&qp->lock);
	/* packets are counted before they enter, too */
	WRITE_ONCE(qp->stats, stats);
	spin_unlock_bh(&qp->lock);
}

/**
 * pane_counter_bind_qp - count what happens to a QP apart
 * @counter: where
 * @ibqp: the QP
 * @port: its port
 *
 * Return: 0 or -ENOMEM
 */
int pane_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp,
			 u32 port)
{
	int err = counter->id ? 0 : counter_open(counter);

	if (err)
		return err;
	counter_use(ibqp, counter_stats(counter));
	/* for the core, which leaves that to drivers */
	ibqp->counter = counter;
	return 0;
}

int pane_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	ibqp->counter = NULL;
	counter_use(ibqp, to_pane_dev(ibqp->device)->stats);
	return 0;
}

/* No QP is bound to it; packets that came before may still be counted */
int pane_counter_dealloc(struct rdma_counter *counter)
{
	struct pane_stats __percpu *stats = counter_stats(counter);

	xa_erase(&to_pane_dev(counter->device)->counters, counter->id);
	synchronize_rcu();
	free_percpu(stats);
	return 0;
}

struct rdma_hw_stats *pane_counter_alloc_stats(struct rdma_counter *counter)
{
	return pane_stats_alloc();
}

int pane_counter_update(struct rdma_counter *counter)
{
	pane_stats_sum(counter_stats(counter), counter->stats);
	return 0;
}
