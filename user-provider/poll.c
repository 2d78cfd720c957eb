// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Taking completions out of a CQ, in both interfaces. The ring is mapped
 * read-only; an entry says itself whether it is there.
 */
#include <config.h>

#include <errno.h>
#include <time.h>

#include "pane.h"

/*
 * The first entry from *@index on, which is set to its index; NULL when it is
 * not there yet. Entries of a QP that was reset since are passed over.
 */
static const struct pane_cqe *pane_peek_cqe(const struct pane_cq *cq,
					    uint32_t *index)
{
	const struct pane_cqe *cqe;

	for (;; (*index)++) {
		cqe = &cq->ring[*index & cq->mask];
		if (pane_load_acquire(&cqe->seq) != *index + 1)
			return NULL;
		if (!(cqe->flags & PANE_CQE_VOID))
			return cqe;
	}
}

/* Also tells that the entries before @cons were read and may be overwritten */
static void pane_publish_cons(struct pane_cq *cq)
{
	pane_store_release(&cq->ctl->cons, cq->cons);
}

/* The bits of the ABI are not those of the verbs: IBV_WC_WITH_INV differs */
static unsigned int pane_wc_flags(const struct pane_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & PANE_CQE_GRH)
		flags |= IBV_WC_GRH;
	if (cqe->flags & PANE_CQE_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & PANE_CQE_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

/*
 * The immediate stays big endian, an invalidated key is in host order; the
 * entry holds either as the reader wants it.
 */
static void pane_fill_wc(struct ibv_wc *wc, const struct pane_cqe *cqe)
{
	*wc = (struct ibv_wc) {
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.invalidated_rkey = cqe->ex,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
		.wc_flags = pane_wc_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = cqe->sl,
	};
}

int pane_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct pane_cq *cq = to_pane_cq(ibcq);
	const struct pane_cqe *cqe;
	uint32_t from;
	int n;

	pane_lock_to_poll(cq);
	from = cq->cons;
	for (n = 0; n < num_entries; n++) {
		cqe = pane_peek_cqe(cq, &cq->cons);
		if (!cqe)
			break;
		pane_fill_wc(&wc[n], cqe);
		cq->cons++;
	}
	if (cq->cons != from)
		pane_publish_cons(cq);
	pane_unlock(&cq->lock);

	return n;
}

/*
 * The extended interface. While the user iterates, @cons is the index of the
 * entry that @cur points to; it is given back when the next is asked for.
 */

/* Make the first entry from *@index on, which is set to its index, current */
static int pane_set_current(struct pane_cq *cq, uint32_t *index)
{
	const struct pane_cqe *cqe = pane_peek_cqe(cq, index);

	if (!cqe)
		return ENOENT;

	cq->cons = *index;
	cq->cur = cqe;
	cq->vcq.cq_ex.wr_id = cqe->wr_id;
	cq->vcq.cq_ex.status = cqe->status;
	return 0;
}

static int pane_start_poll(struct ibv_cq_ex *cq_ex,
			   struct ibv_poll_cq_attr *attr)
{
	struct pane_cq *cq = to_pane_cq_ex(cq_ex);
	uint32_t index;
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	pane_lock_to_poll(cq);
	index = cq->cons;
	ret = pane_set_current(cq, &index);
	if (ret) {
		/* entries that were passed over make room, too */
		if (index != cq->cons) {
			cq->cons = index;
			pane_publish_cons(cq);
		}
		pane_unlock(&cq->lock);
	}
	return ret;
}

static int pane_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct pane_cq *cq = to_pane_cq_ex(cq_ex);
	uint32_t index = cq->cons + 1;
	int ret;

	ret = pane_set_current(cq, &index);
	if (!ret)
		pane_publish_cons(cq);
	return ret;
}

static void pane_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct pane_cq *cq = to_pane_cq_ex(cq_ex);

	cq->cons++;
	pane_publish_cons(cq);
	pane_unlock(&cq->lock);
}

static enum ibv_wc_opcode pane_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->opcode;
}

static uint32_t pane_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->vendor_err;
}

static uint32_t pane_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->byte_len;
}

/* ibv_wc_read_invalidated_rkey() comes here too */
static __be32 pane_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return (__force __be32)to_pane_cq_ex(cq_ex)->cur->ex;
}

static uint32_t pane_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->qp_num;
}

static uint32_t pane_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->src_qp;
}

static unsigned int pane_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return pane_wc_flags(to_pane_cq_ex(cq_ex)->cur);
}

static uint8_t pane_read_sl(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->sl;
}

/* Ethernet has no LIDs */
static uint32_t pane_read_slid(struct ibv_cq_ex *cq_ex)
{
	(void)cq_ex;
	return 0;
}

static uint8_t pane_read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	(void)cq_ex;
	return 0;
}

/* The clock of completions; pane_query_rt_values() tells of it, too */
static uint64_t pane_read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	return to_pane_cq_ex(cq_ex)->cur->timestamp;
}

static int64_t pane_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static uint64_t pane_read_completion_wallclock_ns(struct ibv_cq_ex *cq_ex)
{
	return pane_read_completion_ts(cq_ex) + pane_clock_ns(CLOCK_REALTIME) -
	       pane_clock_ns(CLOCK_MONOTONIC_RAW);
}

/* An application finds out what it did not ask for by a NULL pointer */
void pane_init_cq_ex(struct ibv_cq_ex *cq_ex, uint64_t wc_flags)
{
	cq_ex->start_poll = pane_start_poll;
	cq_ex->next_poll = pane_next_poll;
	cq_ex->end_poll = pane_end_poll;
	cq_ex->read_opcode = pane_read_opcode;
	cq_ex->read_vendor_err = pane_read_vendor_err;
	cq_ex->read_wc_flags = pane_read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq_ex->read_byte_len = pane_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq_ex->read_imm_data = pane_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq_ex->read_qp_num = pane_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq_ex->read_src_qp = pane_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq_ex->read_slid = pane_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq_ex->read_sl = pane_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq_ex->read_dlid_path_bits = pane_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq_ex->read_completion_ts = pane_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq_ex->read_completion_wallclock_ns =
			pane_read_completion_wallclock_ns;
}
