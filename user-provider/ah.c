// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles: the kernel keeps the address, requests carry its number.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "pane.h"

struct ibv_ah *pane_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct pane_cmd_create_ah_resp resp = {};
	struct pane_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	ret = ibv_cmd_create_ah(ibpd, &ah->ibv_ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}

	ah->number = resp.ah;
	return &ah->ibv_ah;
}

int pane_destroy_ah(struct ibv_ah *ibah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ibah);
	if (!ret)
		free(to_pane_ah(ibah));
	return ret;
}
