// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device matching, contexts, the doorbell file, and the table of operations.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pane.h"

/*
 * By driver id only: the user gives a Pane device any name, and a name that
 * looks like another driver's says nothing.
 */
static const struct verbs_match_ent pane_match_table[] = {
	VERBS_DRIVER_ID(RDMA_DRIVER_PANE),
	{},
};

static int pane_query_device_ex(struct ibv_context *ibctx,
				const struct ibv_query_device_ex_input *input,
				struct ibv_device_attr_ex *attr,
				size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32),
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);
	return 0;
}

/* The clock of completions, see struct pane_cqe */
static int pane_query_rt_values(struct ibv_context *ibctx,
				struct ibv_values_ex *values)
{
	uint32_t known = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;

	(void)ibctx;
	values->comp_mask = known;
	if (known && clock_gettime(CLOCK_MONOTONIC_RAW, &values->raw_clock))
		return errno;
	return 0;
}

static int pane_query_port(struct ibv_context *ibctx, uint8_t port,
			   struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

/*
 * A ring is memory of the kernel, mapped shared. fork() does not make it
 * copy-on-write, so there is nothing to protect with ibv_dontfork_range().
 */
void *pane_map_ring(struct ibv_context *ibctx, uint64_t offset, uint64_t size,
		    int prot)
{
	void *ring = mmap(NULL, size, prot, MAP_SHARED, ibctx->cmd_fd, offset);

	return ring == MAP_FAILED ? NULL : ring;
}

int pane_ring_doorbell(struct ibv_qp *ibqp, unsigned long request)
{
	struct pane_context *ctx = to_pane_context(ibqp->context);

	if (ioctl(ctx->doorbell_fd, request, (unsigned long)ibqp->qp_num))
		return errno;
	return 0;
}

static int pane_open_doorbell(struct pane_context *ctx)
{
	DECLARE_COMMAND_BUFFER(cmd, PANE_OBJECT_DOORBELL,
			       PANE_METHOD_DOORBELL_ALLOC, 1);
	struct ib_uverbs_attr *fd;
	int ret;

	fd = fill_attr_out_fd(cmd, PANE_ATTR_DOORBELL_ALLOC_FD, 0);
	ret = execute_ioctl(&ctx->vctx.context, cmd);
	if (ret)
		return ret;

	ctx->doorbell_fd = read_attr_fd(PANE_ATTR_DOORBELL_ALLOC_FD, fd);
	return 0;
}

static int pane_get_context(struct pane_context *ctx)
{
	struct pane_cmd_get_context cmd = {};
	struct pane_cmd_get_context_resp resp = {};

	return ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
#if IBVERBS_PABI_VERSION >= 57
				   NULL,
#endif
				   &resp.ibv_resp, sizeof(resp));
}

static void pane_uninit_context(struct pane_context *ctx)
{
	if (ctx->doorbell_fd >= 0)
		close(ctx->doorbell_fd);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static void pane_free_context(struct ibv_context *ibctx)
{
	pane_uninit_context(to_pane_context(ibctx));
}

static const struct verbs_context_ops pane_context_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_mw = pane_alloc_mw,
	.alloc_parent_domain = pane_alloc_parent_domain,
	.alloc_pd = pane_alloc_pd,
	.alloc_td = pane_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = pane_bind_mw,
	.close_xrcd = pane_close_xrcd,
	.create_ah = pane_create_ah,
	.create_cq = pane_create_cq,
	.create_cq_ex = pane_create_cq_ex,
	.create_qp = pane_create_qp,
	.create_qp_ex = pane_create_qp_ex,
	.create_srq = pane_create_srq,
	.create_srq_ex = pane_create_srq_ex,
	.dealloc_mw = pane_dealloc_mw,
	.dealloc_pd = pane_dealloc_pd,
	.dealloc_td = pane_dealloc_td,
	.dereg_mr = pane_dereg_mr,
	.destroy_ah = pane_destroy_ah,
	.destroy_cq = pane_destroy_cq,
	.destroy_qp = pane_destroy_qp,
	.destroy_srq = pane_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = pane_free_context,
	.get_srq_num = pane_get_srq_num,
	.import_mr = pane_import_mr,
	.import_pd = pane_import_pd,
	.modify_cq = pane_modify_cq,
	.modify_qp = pane_modify_qp,
	.modify_srq = pane_modify_srq,
	.open_qp = pane_open_qp,
	.open_xrcd = pane_open_xrcd,
	.poll_cq = pane_poll_cq,
	.post_recv = pane_post_recv,
	.post_send = pane_post_send,
	.post_srq_recv = pane_post_srq_recv,
	.query_device_ex = pane_query_device_ex,
	.query_port = pane_query_port,
#if IBVERBS_PABI_VERSION >= 62
	.query_port_speed = ibv_cmd_query_port_speed,
#endif
	.query_qp = pane_query_qp,
	.query_rt_values = pane_query_rt_values,
	.query_srq = pane_query_srq,
	.reg_dmabuf_mr = pane_reg_dmabuf_mr,
	.reg_mr = pane_reg_mr,
	.req_notify_cq = pane_req_notify_cq,
	.rereg_mr = pane_rereg_mr,
	.resize_cq = pane_resize_cq,
	.unimport_mr = pane_unimport_mr,
	.unimport_pd = pane_unimport_pd,
};

/* What depends on the kernel that the device is in */
static int pane_query_caps(struct pane_context *ctx)
{
	struct ibv_device_attr_ex attr = {};
	int ret;

	ret = pane_query_device_ex(&ctx->vctx.context, NULL, &attr,
				   sizeof(attr));
	ctx->caps = attr.device_cap_flags_ex;
	return ret;
}

/* @attach makes the kernel's context, or asks about one that exists */
static struct verbs_context *
pane_init_context(struct ibv_device *ibdev, int cmd_fd,
		  int (*attach)(struct pane_context *ctx))
{
	struct pane_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   RDMA_DRIVER_PANE);
	if (!ctx)
		return NULL;

	ctx->doorbell_fd = -1;
	ret = attach(ctx);
	if (!ret)
		ret = pane_query_caps(ctx);
	if (ret)
		goto err;

	ret = pane_open_doorbell(ctx);
	if (ret)
		goto err;

	verbs_set_ops(&ctx->vctx, &pane_context_ops);
	return &ctx->vctx;

err:
	pane_uninit_context(ctx);
	errno = ret;
	return NULL;
}

static struct verbs_context *pane_alloc_context(struct ibv_device *ibdev,
						int cmd_fd, void *private_data)
{
	(void)private_data;
	return pane_init_context(ibdev, cmd_fd, pane_get_context);
}

static int pane_query_context(struct pane_context *ctx)
{
	return ibv_cmd_query_context(&ctx->vctx.context, NULL);
}

static struct verbs_context *pane_import_context(struct ibv_device *ibdev,
						 int cmd_fd)
{
	return pane_init_context(ibdev, cmd_fd, pane_query_context);
}

static struct verbs_device *pane_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void pane_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_device_ops pane_device_ops = {
	.name = "pane",
	.match_min_abi_version = PANE_ABI_VERSION,
	.match_max_abi_version = PANE_ABI_VERSION,
	.match_table = pane_match_table,
	.alloc_device = pane_alloc_device,
	.uninit_device = pane_uninit_device,
	.alloc_context = pane_alloc_context,
	.import_context = pane_import_context,
};

PROVIDER_DRIVER(pane, pane_device_ops);
