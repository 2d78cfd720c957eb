// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection, thread and parent domains */
#include <errno.h>

#include "tests.h"

static struct ibv_pd *new_parent(struct ibv_pd *of, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = of, .td = td };
	struct ibv_pd *parent;

	parent = pane_alloc_parent_domain(&context.vctx.context, &attr);
	if (!parent)
		ksft_exit_fail_msg("no parent domain\n");
	return parent;
}

/* Locks are left out, and what is in use stays. */
void test_domains(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td = pane_alloc_td(&context.vctx.context, &td_attr);
	struct ibv_pd *parent = new_parent(&pd.ibv_pd, td), *grandparent;
	struct ibv_qp *qp = new_qp_in(parent, IBV_QPT_RC, 0, 0);

	CHECK_EQ(parent->handle, pd.ibv_pd.handle);
	CHECK(pane_same_pd(parent, &pd.ibv_pd));
	CHECK(!pane_same_pd(parent, &other_pd.ibv_pd));
	CHECK(!to_pane_qp(qp)->sq.q.lock.needed);
	CHECK(!to_pane_qp(qp)->rq.lock.needed);
	end_qp(qp);

	CHECK_EQ(pane_dealloc_td(td), EBUSY);
	CHECK_EQ(pane_dealloc_pd(&pd.ibv_pd), EBUSY);
	/* a parent of a parent extends the same protection domain */
	grandparent = new_parent(parent, NULL);
	CHECK(to_pane_pd(grandparent)->domain == &pd);
	CHECK(!pane_dealloc_pd(parent));
	CHECK(!pane_dealloc_td(td));
	CHECK_EQ(pane_dealloc_pd(&pd.ibv_pd), EBUSY);
	CHECK(!pane_dealloc_pd(grandparent));
	CHECK_EQ(pd.users, 0);

	/* without a thread domain there are locks */
	qp = new_qp(IBV_QPT_RC, 0);
	CHECK(to_pane_qp(qp)->sq.q.lock.needed);
	end_qp(qp);
}

static void check_refused(struct ibv_parent_domain_init_attr attr,
			  int expected)
{
	errno = 0;
	CHECK(!pane_alloc_parent_domain(&context.vctx.context, &attr));
	CHECK_EQ(errno, expected);
}

void test_domains_refused(void)
{
	struct ibv_td_init_attr attr = { .comp_mask = 1 };

	check_refused((struct ibv_parent_domain_init_attr) {}, EINVAL);
	check_refused((struct ibv_parent_domain_init_attr) {
		.pd = &pd.ibv_pd, .comp_mask = 4 }, EOPNOTSUPP);
	errno = 0;
	CHECK(!pane_alloc_td(&context.vctx.context, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(pd.users, 0);
}
