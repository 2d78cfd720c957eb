/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access to memory through keys: the checks, and the copies between packets
 * and pages. Every byte that the driver moves passes through here.
 */
#ifndef PANE_MEM_H
#define PANE_MEM_H

#include <linux/atomic.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <rdma/pane-abi.h>

#include "grant.h"

struct ib_pd;
struct pane_odp;
struct pane_qp;

/* What became of an access that the rules allow, or do not */
enum pane_mem {
	PANE_MEM_OK,
	PANE_MEM_REFUSED,	/* a key, range or right is wrong */
	PANE_MEM_ABSENT,	/* the pages are being brought: wait, try again */
};

/**
 * struct pane_odp_page - pages that the data path did not find
 * @odp: region
 * @va: address of the first byte
 * @write: it was to be written
 */
struct pane_odp_page {
	const struct pane_odp *odp;
	u64 va;
	bool write;
};

static inline bool pane_odp_page_same(const struct pane_odp_page *a,
				      const struct pane_odp_page *b)
{
	return a->odp == b->odp && a->va == b->va && a->write == b->write;
}

/* Instead of a length: wherever the key begins and ends */
#define PANE_WHOLE	U64_MAX

/* Why an access was refused, in the order of the checks (A2 to A6) */
enum pane_access {
	PANE_ACCESS_OK,
	PANE_ACCESS_KEY,	/* opens nothing */
	PANE_ACCESS_PD,
	PANE_ACCESS_QP,
	PANE_ACCESS_RIGHTS,
	PANE_ACCESS_RANGE,
	PANE_ACCESS_DEAD,	/* the binding a message began with is gone */
};

/**
 * struct pane_keyref - a grant that was looked up
 * @slot: where it was published; NULL before the first look-up
 * @key: the key it was asked for by
 * @gen: which of the slot's grants
 *
 * Names one binding for good: an invalidate followed by a bind with the same
 * key is another one.
 */
struct pane_keyref {
	struct pane_slot *slot;
	u32 key;
	u32 gen;
};

/**
 * struct pane_sgl - a gather or scatter list and a place in it
 * @pd: protection domain of its elements
 * @sge: its elements
 * @num: how many
 * @cur: element the place is in
 * @off: bytes of that element before the place
 * @whole: all of its bytes will be used, so they are brought in advance
 * @ref: the region that element was last found in
 */
struct pane_sgl {
	struct ib_pd *pd;
	const struct pane_sge *sge;
	u32 num;
	u32 cur;
	u32 off;
	bool whole;
	struct pane_keyref ref;
};

static inline void pane_sgl_init(struct pane_sgl *sgl, struct ib_pd *pd,
				 const struct pane_sge *sge, u32 num)
{
	sgl->pd = pd;
	sgl->sge = sge;
	sgl->num = num;
	sgl->cur = 0;
	sgl->off = 0;
	sgl->whole = false;
	sgl->ref.slot = NULL;
}

void pane_sgl_seek(struct pane_sgl *sgl, u32 pos);
enum pane_mem pane_sgl_gather(struct pane_qp *qp, struct pane_sgl *sgl,
			      u8 *dst, u32 len, u32 *crc);
enum pane_mem pane_sgl_scatter(struct pane_qp *qp, struct pane_sgl *sgl,
			       const struct sk_buff *skb, u32 off, u32 len);
enum pane_mem pane_sgl_put(struct pane_qp *qp, struct pane_sgl *sgl,
			   const void *src, u32 len);

const struct pane_grant *pane_remote_hold(struct pane_qp *qp,
					  struct pane_keyref *ref, u32 rkey,
					  int access, u64 va, u64 len,
					  enum pane_access *why);
const struct pane_grant *pane_keyref_hold(const struct pane_keyref *ref);
enum pane_mem pane_remote_write(struct pane_qp *qp, const struct pane_grant *g,
				u64 va, u32 left, const struct sk_buff *skb,
				u32 off, u32 len);
enum pane_mem pane_remote_read(struct pane_qp *qp, const struct pane_grant *g,
			       u64 va, u32 left, u8 *dst, u32 len, u32 *crc);
enum pane_mem pane_remote_atomic(struct pane_qp *qp,
				 const struct pane_grant *g, u64 va,
				 atomic64_t **word);

#endif /* PANE_MEM_H */
