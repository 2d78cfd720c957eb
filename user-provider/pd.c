// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, thread domains, and the parent domains that join them.
 * Thread and parent domains are unknown to the kernel.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "pane.h"

struct ibv_pd *pane_alloc_pd(struct ibv_context *ibctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct pane_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->ibv_pd;
}

static int pane_dealloc_parent_domain(struct pane_pd *pd)
{
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	atomic_fetch_sub(&pd->domain->users, 1);
	free(pd);
	return 0;
}

int pane_dealloc_pd(struct ibv_pd *ibpd)
{
	struct pane_pd *pd = to_pane_pd(ibpd);
	int ret;

	if (pd->domain)
		return pane_dealloc_parent_domain(pd);

	if (atomic_load(&pd->users))
		return EBUSY;

	ret = ibv_cmd_dealloc_pd(ibpd);
	if (!ret)
		free(pd);
	return ret;
}

/* A handle is all that there is to a protection domain */
struct ibv_pd *pane_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	struct pane_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;

	pd->ibv_pd.context = ibctx;
	pd->ibv_pd.handle = handle;
	return &pd->ibv_pd;
}

void pane_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_pane_pd(ibpd));
}

struct ibv_td *pane_alloc_td(struct ibv_context *ibctx,
			     struct ibv_td_init_attr *attr)
{
	struct pane_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;

	td->ibv_td.context = ibctx;
	return &td->ibv_td;
}

int pane_dealloc_td(struct ibv_td *ibtd)
{
	struct pane_td *td = to_pane_td(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;

	free(td);
	return 0;
}

/* What of the attributes this provider can keep to */
static int pane_check_parent_domain(struct ibv_parent_domain_init_attr *attr)
{
	/*
	 * Allocators are for the memory of queues. All of that is the kernel's
	 * here, so they are accepted and there is nothing to call them for.
	 */
	const uint32_t supported = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				   IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (ibv_check_alloc_parent_domain(attr))
		return errno;
	return check_comp_mask(attr->comp_mask, supported) ? 0 : EOPNOTSUPP;
}

struct ibv_pd *
pane_alloc_parent_domain(struct ibv_context *ibctx,
			 struct ibv_parent_domain_init_attr *attr)
{
	struct pane_pd *pd;
	int ret;

	(void)ibctx;
	ret = pane_check_parent_domain(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->domain = to_pane_pd(attr->pd);
	if (pd->domain->domain)		/* given a parent domain itself */
		pd->domain = pd->domain->domain;
	atomic_fetch_add(&pd->domain->users, 1);

	if (attr->td) {
		pd->td = to_pane_td(attr->td);
		atomic_fetch_add(&pd->td->users, 1);
	}

	ibv_initialize_parent_domain(&pd->ibv_pd, &pd->domain->ibv_pd);
	return &pd->ibv_pd;
}

/* Did the user promise that one thread at a time uses the objects of @ibpd? */
bool pane_pd_single_threaded(struct ibv_pd *ibpd)
{
	return ibpd && to_pane_pd(ibpd)->td;
}

/*
 * The same domain in the kernel's eyes: parent domains stand for the protection
 * domain that they extend.
 */
bool pane_same_pd(const struct ibv_pd *a, const struct ibv_pd *b)
{
	return a->context == b->context && a->handle == b->handle;
}
