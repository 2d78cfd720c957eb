/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory windows: allocation, bind, invalidation */
#ifndef PANE_MW_H
#define PANE_MW_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/pane-abi.h>

struct pane_dev;
struct pane_grant;
struct pane_mr;
struct pane_qp;
struct pane_ucontext;

/**
 * struct pane_mw - a memory window
 * @ibmw: the core's half
 * @handle: type 1: uverbs' number of it
 * @issued: type 1: the key that was given out for a bind last, which its owner
 *          takes for the current one; lock of the context's windows
 * @grant: type 2: what it opens while it is bound, memory for it while it is not;
 *         slot lock
 * @slotno: its place in the key table. A type 1 window moves to another one
 *          with each bind; slot lock.
 * @key: the key it was bound with last, or was given at first; slot lock
 * @bound: is it bound? slot lock
 * @mr: region it is bound to; slot lock
 * @qp: QP a type 2 window is bound on; slot lock, and that QP's mw_lock
 * @qp_node: in @qp's list; that QP's mw_lock
 */
struct pane_mw {
	struct ib_mw ibmw;
	union {
		struct {
			u32 handle;
			u32 issued;
		};
		struct pane_grant *grant;
	};
	u32 slotno;
	u32 key;
	bool bound;
	struct pane_mr *mr;
	struct pane_qp *qp;
	struct list_head qp_node;
};

/**
 * struct pane_bind - a bind request, in kernel memory
 * @addr: first byte of the window, an address of the region
 * @length: bytes
 * @mw_handle: type 1: uverbs' number of the window
 * @latest: type 1: @mw_rkey is the key that was given out last for the window
 *          @mw_handle, current or not, and so names that
 * @mw_rkey: names the window: type 1 by all 32 bits, type 2 by the upper 24
 * @new_rkey: type 1: the reserved new key; type 2: its low 8 bits count
 * @new_slotno: type 1: the slot reserved for it
 * @lkey: of the region
 * @access: IB_ACCESS_ flags
 */
struct pane_bind {
	u64 addr;
	u64 length;
	u32 mw_handle;
	bool latest;
	u32 mw_rkey;
	u32 new_rkey;
	u32 new_slotno;
	u32 lkey;
	u32 access;
};

static inline struct pane_mw *to_pane_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct pane_mw, ibmw);
}

int pane_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int pane_dealloc_mw(struct ib_mw *ibmw);

int pane_mw_reserve_key(struct pane_dev *dev, struct pane_bind *b);
void pane_mw_issue_key(struct pane_ucontext *uc, struct pane_bind *b);
void pane_mw_unreserve_key(struct pane_dev *dev, const struct pane_bind *b);
enum pane_vendor_err pane_mw_bind_type1(struct pane_qp *qp,
					const struct pane_bind *b);
enum pane_vendor_err pane_mw_bind_type2(struct pane_qp *qp,
					const struct pane_bind *b);
enum pane_vendor_err pane_key_invalidate(struct pane_qp *qp, u32 key);
void pane_mw_unbind_qp(struct pane_qp *qp);

#endif /* PANE_MW_H */
