// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pane_honest.h"

#define WIN_OFF		4000
#define WIN_LEN		5000

void honest_open(struct honest *h)
{
	duo_open(&h->d);
	h->mw[0] = mw_open(h->d.own.pd, IBV_MW_TYPE_1);
	h->mw[1] = mw_open(h->d.own.pd, IBV_MW_TYPE_2);
}

void honest_round(struct honest *h)
{
	struct duo *d = &h->d;

	for (unsigned int i = 0; i < 2; i++) {
		mw_bind(&d->o, h->mw[i], &d->mem, WIN_OFF, WIN_LEN, RIGHTS_RW);
		duo_check_access(d, &d->p, region_at(&d->mem, WIN_OFF),
				 h->mw[i]->rkey, WIN_OFF, WIN_LEN);
		mw_unbind(&d->o, h->mw[i]);
	}
	CHECK(has_pattern(d->mem.addr, WIN_OFF, 0), "written before it");
}

void honest_close(struct honest *h)
{
	mw_close(h->mw[0]);
	mw_close(h->mw[1]);
	duo_close(&h->d);
}
