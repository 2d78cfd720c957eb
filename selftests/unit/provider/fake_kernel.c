// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
/* The build may have given the provider others. */
#undef mmap
#undef munmap
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "fake_kernel.h"
#include "../unit.h"

#define PAGE		4096UL
#define MEMORY		(16UL << 20)
#define DOORBELL_FD	777
#define SQ_STRIDE	(sizeof(struct pane_sq_wqe) + KERNEL_MAX_INLINE)
#define RQ_STRIDE \
	(sizeof(struct pane_rq_wqe) + KERNEL_MAX_SGE * sizeof(struct pane_sge))

struct kernel_qp kernel_qp;
struct kernel_cq kernel_cq;
struct kernel_srq kernel_srq;
struct kernel_doorbell doorbell;

struct pane_context context = {
	.doorbell_fd = DOORBELL_FD,
	.caps = KERNEL_CAPS,
};

struct pane_pd pd = { .ibv_pd = { .handle = 1 } };
struct pane_pd other_pd = { .ibv_pd = { .handle = 2 } };

/* All that is ever mapped, and how much of it is in use */
static uint8_t *memory;
static uint64_t memory_used;

void kernel_init(void)
{
	int fd = memfd_create("pane", 0);

	if (fd < 0 || ftruncate(fd, MEMORY))
		ksft_exit_fail_msg("no memory\n");
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		ksft_exit_fail_msg("no mapping\n");
	context.vctx.context.cmd_fd = fd;
	pd.ibv_pd.context = &context.vctx.context;
	other_pd.ibv_pd.context = &context.vctx.context;
}

/* The offset for mmap(2) of so many zero bytes */
static uint64_t take(uint64_t size)
{
	uint64_t offset = memory_used;

	memory_used += (size + PAGE - 1) / PAGE * PAGE;
	if (memory_used > MEMORY)
		ksft_exit_fail_msg("memory is used up\n");
	return offset;
}

static uint32_t round_up_count(uint32_t n)
{
	uint32_t count = 1;

	while (count < n)
		count *= 2;
	return count;
}

/*
 * In mmap(2)'s place for the thread sanitizer, which does not know that two
 * addresses are one memory.
 */
void *kernel_mmap(void *addr, size_t size, int prot, int flags, int fd,
		  off_t offset)
{
	return memory + offset;
}

int kernel_munmap(void *addr, size_t size)
{
	return 0;
}

/* ---- doorbell ---------------------------------------------------------- */

static int bind_mw(struct pane_bind_mw *req)
{
	doorbell.bind++;
	doorbell.last_bind = *req;
	req->rkey = doorbell.new_rkey;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	unsigned long arg;
	va_list args;

	va_start(args, request);
	arg = va_arg(args, unsigned long);
	va_end(args);

	CHECK_EQ(fd, DOORBELL_FD);
	if (doorbell.err) {
		errno = doorbell.err;
		return -1;
	}
	switch (request) {
	case PANE_DB_SEND:
		CHECK_EQ(arg, KERNEL_QPN);
		__atomic_fetch_add(&doorbell.send, 1, __ATOMIC_RELAXED);
		return 0;
	case PANE_DB_RECV:
		CHECK_EQ(arg, KERNEL_QPN);
		__atomic_fetch_add(&doorbell.recv, 1, __ATOMIC_RELAXED);
		return 0;
	case PANE_DB_BIND_MW:
		return bind_mw((void *)arg);
	}
	errno = ENOTTY;
	return -1;
}

/* ---- queue pairs ------------------------------------------------------- */

static void make_qp_rings(struct pane_create_qp_resp *resp, bool has_rq)
{
	resp->max_inline = KERNEL_MAX_INLINE;
	resp->sq_offset = sizeof(struct pane_qp_ctl);
	resp->sq_stride = SQ_STRIDE;
	resp->sq_count = KERNEL_SLOTS;
	resp->rq_offset = resp->sq_offset + SQ_STRIDE * KERNEL_SLOTS;
	resp->rq_stride = RQ_STRIDE;
	resp->rq_count = has_rq ? KERNEL_SLOTS : 0;
	resp->ring_size = resp->rq_offset + RQ_STRIDE * KERNEL_SLOTS;
	resp->ring_offset = take(resp->ring_size);

	kernel_qp.ctl = (void *)(memory + resp->ring_offset);
	kernel_qp.sq = memory + resp->ring_offset + resp->sq_offset;
	kernel_qp.rq = memory + resp->ring_offset + resp->rq_offset;
}

int ibv_cmd_create_qp_ex(struct ibv_context *ibctx, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	struct pane_cmd_create_qp *req = (void *)cmd;

	if (cmd_size != sizeof(*req) || req->comp_mask || req->reserved ||
	    resp_size != sizeof(struct pane_cmd_create_qp_resp))
		return EINVAL;

	attr->cap = (struct ibv_qp_cap) {
		.max_send_wr = KERNEL_SLOTS,
		.max_recv_wr = KERNEL_SLOTS,
		.max_send_sge = KERNEL_MAX_SGE,
		.max_recv_sge = KERNEL_MAX_SGE,
		.max_inline_data = KERNEL_MAX_INLINE,
	};
	if (attr->qp_type != IBV_QPT_XRC_RECV)
		make_qp_rings(&((struct pane_cmd_create_qp_resp *)resp)->drv_payload,
			      !attr->srq);
	qp->qp.context = ibctx;
	qp->qp.pd = attr->pd;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = KERNEL_QPN;
	qp->qp.state = IBV_QPS_RESET;
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd,
		      size_t cmd_size)
{
	return 0;
}

struct pane_sq_wqe *kernel_wqe(uint32_t index)
{
	return (void *)(kernel_qp.sq + index % KERNEL_SLOTS * SQ_STRIDE);
}

struct pane_rq_wqe *kernel_rwqe(uint32_t index)
{
	return (void *)(kernel_qp.rq + index % KERNEL_SLOTS * RQ_STRIDE);
}

void kernel_fill_rings(int byte)
{
	memset(kernel_qp.sq, byte, SQ_STRIDE * KERNEL_SLOTS);
	memset(kernel_qp.rq, byte, RQ_STRIDE * KERNEL_SLOTS);
}

struct ibv_qp *new_qp_in(struct ibv_pd *in_pd, enum ibv_qp_type type,
			 uint64_t send_ops, int sq_sig_all)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = in_pd,
		.qp_type = type,
		.sq_sig_all = sq_sig_all,
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp;

	if (send_ops)
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp = pane_create_qp_ex(&context.vctx.context, &attr);
	if (qp)
		qp->state = IBV_QPS_RTS;
	memset(&doorbell, 0, sizeof(doorbell));
	return qp;
}

struct ibv_qp *new_qp(enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp *qp = new_qp_in(&pd.ibv_pd, type, send_ops, 0);

	if (!qp)
		ksft_exit_fail_msg("no QP of type %u\n", type);
	return qp;
}

void end_qp(struct ibv_qp *qp)
{
	CHECK(!pane_destroy_qp(qp));
}

/* ---- completion queues ------------------------------------------------- */

static uint64_t make_cq_ring(uint32_t cqe)
{
	uint64_t offset;

	kernel_cq.count = round_up_count(cqe);
	offset = take(kernel_cq.count * sizeof(struct pane_cqe));
	kernel_cq.ring = (void *)(memory + offset);
	return offset;
}

int ibv_cmd_create_cq_ex(struct ibv_context *ibctx,
			 const struct ibv_cq_init_attr_ex *attr,
#if IBVERBS_PABI_VERSION >= 59
			 struct ibv_umem *umem,
#endif
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct pane_create_cq_resp *drv =
		&((struct pane_cmd_create_cq_resp *)resp)->drv_payload;

	if (cmd_size != sizeof(struct pane_cmd_create_cq) ||
	    resp_size != sizeof(struct pane_cmd_create_cq_resp))
		return EINVAL;

	drv->ring_offset = make_cq_ring(attr->cqe);
	drv->ring_count = kernel_cq.count;
	drv->ring_size = kernel_cq.count * sizeof(struct pane_cqe);
	drv->ctl_offset = take(PAGE);
	kernel_cq.ctl = (void *)(memory + drv->ctl_offset);
	kernel_cq.prod = 0;
	cq->cq.context = ibctx;
	return 0;
}

/* Entries that were not taken out keep their indices. */
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct pane_resize_cq_resp *drv =
		&((struct pane_cmd_resize_cq_resp *)resp)->drv_payload;
	struct pane_cqe *old = kernel_cq.ring;
	uint32_t old_count = kernel_cq.count, i;

	drv->ring_offset = make_cq_ring(cqe);
	drv->ring_count = kernel_cq.count;
	drv->ring_size = kernel_cq.count * sizeof(struct pane_cqe);
	for (i = kernel_cq.ctl->cons; i != kernel_cq.prod; i++)
		kernel_cq.ring[i % kernel_cq.count] = old[i % old_count];
	if (kernel_cq.during_resize)
		kernel_cq.during_resize();
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

void kernel_complete(const struct pane_cqe *cqe)
{
	struct pane_cqe *to = &kernel_cq.ring[kernel_cq.prod % kernel_cq.count];
	uint32_t seq = ++kernel_cq.prod;

	memcpy(to, cqe, offsetof(struct pane_cqe, seq));
	__atomic_store_n(&to->seq, seq, __ATOMIC_RELEASE);
}

/* ---- shared receive queues --------------------------------------------- */

int ibv_cmd_create_srq_ex(struct ibv_context *ibctx, struct verbs_srq *srq,
			  struct ibv_srq_init_attr_ex *attr,
			  struct ibv_create_xsrq *cmd, size_t cmd_size,
			  struct ib_uverbs_create_srq_resp *resp,
			  size_t resp_size)
{
	struct pane_create_srq_resp *drv =
		&((struct pane_cmd_create_srq_resp *)resp)->drv_payload;

	attr->attr.max_sge = KERNEL_MAX_SGE;
	attr->attr.max_wr = KERNEL_SLOTS;
	drv->rq_offset = sizeof(struct pane_srq_ctl);
	drv->rq_stride = RQ_STRIDE;
	drv->rq_count = KERNEL_SLOTS;
	drv->ring_size = drv->rq_offset + RQ_STRIDE * KERNEL_SLOTS;
	drv->ring_offset = take(drv->ring_size);
	kernel_srq.ctl = (void *)(memory + drv->ring_offset);
	kernel_srq.rq = memory + drv->ring_offset + drv->rq_offset;
	kernel_srq.count = KERNEL_SLOTS;
	srq->srq.context = ibctx;
	return 0;
}

/* What waits goes into the new ring, under its old indices */
static int resize_srq(uint32_t count, struct pane_resize_srq_resp *resp)
{
	struct pane_srq_ctl *old = kernel_srq.ctl;
	uint8_t *from = kernel_srq.rq;
	uint32_t i;

	if (count & (count - 1) || old->prod - old->cons > count)
		return EINVAL;
	*resp = (struct pane_resize_srq_resp) {
		.rq_offset = sizeof(struct pane_srq_ctl),
		.rq_stride = RQ_STRIDE,
		.rq_count = count + kernel_srq.lies,
		.ring_size = sizeof(struct pane_srq_ctl) + RQ_STRIDE * count,
	};
	resp->ring_offset = take(resp->ring_size);
	kernel_srq.ctl = (void *)(memory + resp->ring_offset);
	kernel_srq.rq = memory + resp->ring_offset + resp->rq_offset;
	for (i = old->cons; i != old->prod; i++)
		memcpy(kernel_srq.rq + i % count * RQ_STRIDE,
		       from + i % kernel_srq.count * RQ_STRIDE, RQ_STRIDE);
	kernel_srq.ctl->prod = old->prod;
	kernel_srq.ctl->cons = old->cons;
	kernel_srq.count = count;
	return 0;
}

/* The only call of this kind in what is tested here */
int execute_ioctl(struct ibv_context *ibctx, struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attrs = cmd->hdr.attrs;
	uint32_t count;

	CHECK_EQ(cmd->hdr.object_id, UVERBS_OBJECT_SRQ);
	CHECK_EQ(cmd->hdr.method_id, PANE_METHOD_SRQ_RESIZE);
	CHECK_EQ(attrs[1].attr_id, PANE_ATTR_SRQ_RESIZE_MAX_WR);
	CHECK_EQ(attrs[2].attr_id, PANE_ATTR_SRQ_RESIZE_RESP);
	CHECK_EQ(attrs[2].len, sizeof(struct pane_resize_srq_resp));
	memcpy(&count, &attrs[1].data, sizeof(count));
	return resize_srq(count, (void *)(uintptr_t)attrs[2].data);
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return 0;
}
