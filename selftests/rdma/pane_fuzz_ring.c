// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings of random bytes, which another process rewrites while the kernel reads
 * them, heads and all. The peer's end is connected anew when it has had enough.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fuzz.h"
#include "pane_raw.h"
#include "pane_verbs.h"

/* Between two connections */
#define TURNS		16

/* Most requests are close to one that is right, or they would end at once */
static void random_request(struct duo *d, struct raw_qp *qp,
			   struct pane_sq_wqe *w)
{
	uint8_t *bytes = (void *)w;

	memset(w, 0, qp->ring.sq_stride);
	w->opcode = random_below(PANE_WR_USER_MAX + 1);
	w->flags = random_below(8);
	w->num_sge = 1;
	w->rdma.remote_addr = region_at(&d->buf, random_below(d->buf.len));
	w->rdma.rkey = d->buf.mr->rkey;
	w->sge[0] = (struct pane_sge) {
		.addr = region_at(&d->mem, random_below(d->mem.len)),
		.length = random_below(8192),
		.lkey = d->mem.mr->lkey,
	};
	for (unsigned int i = random_below(4); i; i--)
		bytes[random_below(qp->ring.sq_stride)] = random_u32();
	if (random_below(8) == 0)
		random_fill(w, qp->ring.sq_stride);
}

static void random_turn(struct duo *d, struct raw_qp *qp)
{
	uint32_t num = 1 + random_below(qp->ring.sq_count);

	for (uint32_t i = 0; i < num; i++)
		random_request(d, qp, raw_slot(qp, i));
	random_fill(raw_recv_slot(qp), qp->ring.rq_stride);
	raw_push_recv(qp);
	if (random_below(8) == 0)
		random_fill(qp->ctl, sizeof(*qp->ctl));
	raw_push(qp, num);
	if (random_below(2))
		raw_ring(qp, PANE_DB_RECV, qp->qpn);
}

/* Somebody who shares the mapping, and does not care what it is used for */
static __attribute__((noreturn)) void rewriter(struct raw_qp *qp)
{
	volatile uint8_t *ring = (void *)qp->ctl;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(0);
	random_branch(100);
	for (;;) {
		/* the heads rarely, or nothing would be read at all */
		size_t from = random_below(64) ? sizeof(*qp->ctl) : 0;
		size_t at = from + random_below(qp->ring.ring_size - from);

		ring[at] = random_u32();
		usleep(random_below(50));
	}
}

void fuzz_rings(void)
{
	struct raw_qp qp;
	struct duo d;
	pid_t pid;

	duo_open(&d);
	raw_open(&qp, &d.own, d.own.pd, d.o.scq, d.o.rcq);
	pid = fork();
	CHECK(pid >= 0, "%s", strerror(errno));
	if (!pid)
		rewriter(&qp);
	for (;;) {
		pane_more_time();
		raw_reconnect(&qp, &d.p);
		for (unsigned int i = 0; i < TURNS; i++) {
			random_turn(&d, &qp);
			__atomic_add_fetch(&fuzz_shared->rounds, 1,
					   __ATOMIC_RELAXED);
		}
	}
}
