/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The RDMA core's objects as far as the driver's headers name them. What the
 * code under test does not look into is left out.
 */
#ifndef PANE_SHIM_IB_VERBS_H
#define PANE_SHIM_IB_VERBS_H

#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/types.h>

struct ib_dmah;
struct ib_qp_init_attr;
struct ib_send_wr;
struct ib_udata;
struct ib_umem;
struct rdma_ah_attr;
struct rdma_hw_stats;
struct scatterlist;

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE	= 1 << 0,
	IB_ACCESS_REMOTE_WRITE	= 1 << 1,
	IB_ACCESS_REMOTE_READ	= 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC	= 1 << 3,
	IB_ACCESS_MW_BIND	= 1 << 4,
	IB_ZERO_BASED		= 1 << 5,
	IB_ACCESS_FLUSH_GLOBAL	= 1 << 8,
};

#define IB_DEVICE_FLUSH_GLOBAL	(1ULL << 38)
#define IB_DEVICE_ATOMIC_WRITE	(1ULL << 40)

enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_QP_FATAL,
};

enum ib_mr_type {
	IB_MR_TYPE_MEM_REG,
};

enum ib_mtu {
	IB_MTU_256	= 1,
	IB_MTU_4096	= 5,
};

enum ib_qp_state {
	IB_QPS_RESET,
	IB_QPS_INIT,
	IB_QPS_RTR,
	IB_QPS_RTS,
	IB_QPS_SQD,
	IB_QPS_SQE,
	IB_QPS_ERR,
};

enum ib_qp_type {
	IB_QPT_SMI,
	IB_QPT_GSI,
	IB_QPT_RC,
	IB_QPT_UC,
	IB_QPT_UD,
	IB_QPT_XRC_INI		= 9,
	IB_QPT_XRC_TGT,
};

enum ib_wc_opcode {
	IB_WC_SEND,
	IB_WC_RDMA_WRITE,
	IB_WC_RDMA_READ,
	IB_WC_COMP_SWAP,
	IB_WC_FETCH_ADD,
	IB_WC_BIND_MW,
	IB_WC_LOCAL_INV,
	IB_WC_REG_MR,
	IB_WC_FLUSH,
	IB_WC_ATOMIC_WRITE,
};

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
	IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_MW_BIND_ERR,
};

union ib_gid {
	u8 raw[16];
};

struct ib_device_attr {
	u64 device_cap_flags;
};

struct ib_device {
	struct ib_device_attr attrs;
};

struct ib_mr {
	struct ib_device *device;
	u32 lkey;
	u32 rkey;
};

struct ib_mw {
	struct ib_device *device;
	u32 rkey;
};

struct ib_pd {
	struct ib_device *device;
};

struct ib_qp {
	struct ib_device *device;
};

struct ib_qp_attr {
	enum ib_qp_state qp_state;
};

struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct ib_recv_wr {
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
};

struct ib_srq {
	struct ib_device *device;
};

struct ib_xrcd {
	struct ib_device *device;
};

struct ib_ucontext {
	struct ib_device *device;
};

#endif
