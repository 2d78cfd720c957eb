// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "ah.h"
#include "counter.h"
#include "cq.h"
#include "device.h"
#include "doorbell.h"
#include "mr.h"
#include "mw.h"
#include "netdev.h"
#include "odp.h"
#include "pane.h"
#include "qp.h"
#include "restrack.h"
#include "srq.h"
#include "umap.h"
#include "wire.h"
#include "wr.h"

/* ---- attributes ------------------------------------------------------ */

/* Exactly one kind at a time (o10-37.2.31) */
static u64 device_mw2_cap(const struct pane_dev *dev)
{
	return READ_ONCE(dev->mw2) == 'A' ? IB_DEVICE_MEM_WINDOW_TYPE_2A :
					    IB_DEVICE_MEM_WINDOW_TYPE_2B;
}

static int pane_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibdev);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;

	attr->vendor_id = PANE_VENDOR_ID;
	attr->sys_image_guid = dev->guid;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_XRC |
				 IB_DEVICE_MEM_WINDOW |
				 PANE_FLUSH_CAPS |
				 device_mw2_cap(dev);
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_MASK;
	attr->max_qp = PANE_MAX_QP;
	attr->max_qp_wr = PANE_MAX_QP_WR;
	attr->max_send_sge = PANE_MAX_SGE;
	attr->max_recv_sge = PANE_MAX_SGE;
	attr->max_sge_rd = PANE_MAX_SGE;
	attr->max_cq = PANE_MAX_CQ;
	attr->max_cqe = PANE_MAX_CQE;
	attr->max_srq = PANE_MAX_SRQ;
	attr->max_srq_wr = PANE_MAX_SRQ_WR;
	attr->max_srq_sge = PANE_MAX_SGE;
	attr->max_mr = PANE_MAX_MR;
	attr->max_mw = PANE_MAX_MW;
	attr->max_pd = PANE_MAX_PD;
	attr->max_ah = PANE_MAX_AH;
	attr->max_mcast_grp = PANE_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach = PANE_MAX_MCAST_QP;
	attr->max_total_mcast_qp_attach = PANE_MAX_MCAST_GRP *
					  PANE_MAX_MCAST_QP;
	attr->max_qp_rd_atom = PANE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = PANE_MAX_RD_ATOMIC * PANE_MAX_QP;
	attr->max_qp_init_rd_atom = PANE_MAX_RD_ATOMIC;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->max_fast_reg_page_list_len = PANE_MAX_FRMR_PAGES;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = PANE_ACK_DELAY;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = PANE_CORE_CLOCK;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	pane_odp_set_caps(attr);
	return 0;
}

/* While a device is going, its interface is gone already: a port that is down */
static void port_query_link(struct pane_dev *dev, struct ib_port_attr *attr)
{
	struct net_device *ndev = pane_netdev_get(dev);

	attr->state = IB_PORT_DOWN;
	attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	if (!ndev)
		return;
	if (pane_netdev_is_up(ndev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else if (netif_running(ndev)) {
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	}
	dev_put(ndev);
}

static int pane_query_port(struct ib_device *ibdev, u32 port_num,
			   struct ib_port_attr *attr)
{
	struct pane_dev *dev = to_pane_dev(ibdev);

	port_query_link(dev, attr);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = READ_ONCE(dev->mtu);
	attr->gid_tbl_len = PANE_GID_TBL_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = PANE_MAX_MSG;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	if (ib_get_eth_speed(ibdev, port_num, &attr->active_speed,
			     &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	return 0;
}

/**
 * pane_query_port_speed - ibv_query_port_speed()
 * @ibdev: the device
 * @port_num: its port
 * @speed: of the interface, in units of 100 Mb/s. Of one that does not tell it
 *         is 1 Gb/s, as pane_query_port() says of it, whose other values are
 *         the nearest of InfiniBand's.
 *
 * Context: process; takes RTNL.
 * Return: 0
 */
int pane_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed)
{
	*speed = (pane_netdev_speed(to_pane_dev(ibdev)) ?: SPEED_1000) / 100;
	return 0;
}

static int pane_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index,
			   u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = PANE_PKEY_DEFAULT;
	return 0;
}

static int pane_get_port_immutable(struct ib_device *ibdev, u32 port_num,
				   struct ib_port_immutable *immutable)
{
	struct ib_port_attr attr;
	int err;

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE |
				    RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	err = ib_query_port(ibdev, port_num, &attr);
	if (err)
		return err;
	immutable->pkey_tbl_len = attr.pkey_tbl_len;
	immutable->gid_tbl_len = attr.gid_tbl_len;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer pane_get_link_layer(struct ib_device *ibdev,
						u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* ---- contexts and protection domains --------------------------------- */

static int pane_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct pane_alloc_ucontext_resp resp = {};
	struct pane_alloc_ucontext_req req;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, reserved, 0);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	xa_init_flags(&to_pane_uc(ibuc)->mws, XA_FLAGS_LOCK_BH);
	resp.max_inline = PANE_MAX_INLINE;
	return ib_respond_udata(udata, resp);
}

/* Its objects are gone */
static void pane_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	WARN_ON_ONCE(!xa_empty(&to_pane_uc(ibuc)->mws));
}

/* Rings stay mapped, they are ordinary memory; the core ends all else */
static void pane_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

static int pane_query_ucontext(struct ib_ucontext *ibuc,
			       struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static int pane_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

static int pane_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return 0;
}

/*
 * Those of the kernel's own users (ib_mad), who have no udata, are not counted,
 * or other users would not get what the device tells of.
 */
static int pane_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pane_dev *dev = to_pane_dev(ibpd->device);
	struct pane_pd *pd = to_pane_pd(ibpd);
	int err = ib_no_udata_io(udata);

	if (!err && udata && !pane_quota_take(&dev->num_pd, PANE_MAX_PD))
		err = -ENOMEM;
	if (err)
		return err;
	INIT_LIST_HEAD(&pd->ud_qps);
	mutex_init(&pd->ud_lock);
	return 0;
}

static int pane_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	mutex_destroy(&to_pane_pd(ibpd)->ud_lock);
	if (udata)
		atomic_dec(&to_pane_dev(ibpd->device)->num_pd);
	return 0;
}

/* ---- files in sysfs -------------------------------------------------- */

static struct pane_dev *device_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct pane_dev, ibdev);
}

/* The interface, as rdma_rxe names its own */
static ssize_t parent_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	struct net_device *ndev = pane_netdev_get(device_of(device));
	ssize_t len;

	if (!ndev)
		return -ENODEV;
	len = sysfs_emit(buf, "%s\n", netdev_name(ndev));
	dev_put(ndev);
	return len;
}

static DEVICE_ATTR_RO(parent);

static ssize_t mw_type2_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "2%c\n", READ_ONCE(device_of(device)->mw2));
}

static int device_set_mw2(struct pane_dev *dev, char mw2)
{
	int err = 0;

	mutex_lock(&dev->mw2_lock);
	if (dev->mw2 != mw2 && dev->num_mw2) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(dev->mw2, mw2);
		/* the core answers from its copy */
		dev->ibdev.attrs.device_cap_flags &=
			~(IB_DEVICE_MEM_WINDOW_TYPE_2A |
			  IB_DEVICE_MEM_WINDOW_TYPE_2B);
		dev->ibdev.attrs.device_cap_flags |= device_mw2_cap(dev);
	}
	mutex_unlock(&dev->mw2_lock);
	return err;
}

static ssize_t mw_type2_store(struct device *device,
			      struct device_attribute *attr, const char *buf,
			      size_t len)
{
	int err = -EINVAL;

	if (sysfs_streq(buf, "2A"))
		err = device_set_mw2(device_of(device), 'A');
	else if (sysfs_streq(buf, "2B"))
		err = device_set_mw2(device_of(device), 'B');
	return err ?: len;
}

static DEVICE_ATTR_RW(mw_type2);

static struct attribute *pane_attrs[] = {
	&dev_attr_mw_type2.attr,
	&dev_attr_parent.attr,
	NULL
};

static const struct attribute_group pane_attr_group = {
	.attrs = pane_attrs,
};

/* ---- registration ---------------------------------------------------- */

/* What pane_device_create() made. The core has no use for the device left. */
static void pane_dealloc_driver(struct ib_device *ibdev)
{
	struct pane_dev *dev = to_pane_dev(ibdev);

	pane_netdev_detach(dev);
	/* packets and QPs that were on their way look at what follows */
	synchronize_rcu();
	WARN_ON_ONCE(!xa_empty(&dev->ahs));
	xa_destroy(&dev->ahs);
	pane_keytab_destroy(&dev->keys);
	xa_destroy(&dev->counters);
	free_percpu(dev->stats);
}

static const struct ib_device_ops pane_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)RDMA_DRIVER_PANE,
	.uverbs_abi_ver = PANE_ABI_VERSION,

	.advise_mr = pane_advise_mr,
	.alloc_hw_port_stats = pane_alloc_hw_port_stats,
	.alloc_mr = pane_alloc_mr,
	.alloc_mw = pane_alloc_mw,
	.alloc_pd = pane_alloc_pd,
	.alloc_ucontext = pane_alloc_ucontext,
	.alloc_xrcd = pane_alloc_xrcd,
	.attach_mcast = pane_attach_mcast,
	.counter_alloc_stats = pane_counter_alloc_stats,
	.counter_bind_qp = pane_counter_bind_qp,
	.counter_dealloc = pane_counter_dealloc,
	.counter_unbind_qp = pane_counter_unbind_qp,
	.counter_update_stats = pane_counter_update,
	.create_ah = pane_create_ah,
	.create_cq = pane_create_cq,
	.create_qp = pane_create_qp,
	.create_srq = pane_create_srq,
	.create_user_ah = pane_create_ah,
	.dealloc_driver = pane_dealloc_driver,
	.dealloc_mw = pane_dealloc_mw,
	.dealloc_pd = pane_dealloc_pd,
	.dealloc_ucontext = pane_dealloc_ucontext,
	.dealloc_xrcd = pane_dealloc_xrcd,
	.dereg_mr = pane_dereg_mr,
	.destroy_ah = pane_destroy_ah,
	.destroy_cq = pane_destroy_cq,
	.destroy_qp = pane_destroy_qp,
	.destroy_srq = pane_destroy_srq,
	.detach_mcast = pane_detach_mcast,
	.device_group = &pane_attr_group,
	.disassociate_ucontext = pane_disassociate_ucontext,
	.fill_res_cq_entry = pane_fill_res_cq,
	.fill_res_mr_entry = pane_fill_res_mr,
	.fill_res_qp_entry = pane_fill_res_qp,
	.get_dma_mr = pane_get_dma_mr,
	.get_hw_stats = pane_get_hw_stats,
	.get_link_layer = pane_get_link_layer,
	.get_port_immutable = pane_get_port_immutable,
	.map_mr_sg = pane_map_mr_sg,
	.mmap = pane_mmap,
	.mmap_free = pane_mmap_free,
	.modify_cq = pane_modify_cq,
	.modify_qp = pane_modify_qp,
	.modify_srq = pane_modify_srq,
	.poll_cq = pane_poll_cq,
	.post_recv = pane_post_recv,
	.post_send = pane_post_send,
	.post_srq_recv = pane_post_srq_recv,
	.query_ah = pane_query_ah,
	.query_device = pane_query_device,
	.query_pkey = pane_query_pkey,
	.query_port = pane_query_port,
	PANE_PORT_SPEED
	.query_qp = pane_query_qp,
	.query_srq = pane_query_srq,
	.query_ucontext = pane_query_ucontext,
	.reg_user_mr = pane_reg_user_mr,
	.reg_user_mr_dmabuf = pane_reg_user_mr_dmabuf,
	.req_notify_cq = pane_req_notify_cq,
	.rereg_user_mr = pane_rereg_user_mr,
	.resize_user_cq = pane_resize_user_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, pane_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, pane_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, pane_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, pane_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, pane_ibqp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, pane_ibsrq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, pane_ucontext, ibuc),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, pane_xrcd, ibxrcd),
	PANE_COUNTER_OBJECT
};

/*
 * Clients are told in the reverse order of their registration that a device
 * goes, so we are told before uverbs is, which then destroys all objects of
 * users. The core has no other word for it.
 */
static int device_client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.owner != THIS_MODULE)
		return -EOPNOTSUPP;
	/* it may have left another namespace only */
	WRITE_ONCE(to_pane_dev(ibdev)->leaving, false);
	return 0;
}

static void device_client_remove(struct ib_device *ibdev, void *data)
{
	WRITE_ONCE(to_pane_dev(ibdev)->leaving, true);
}

static struct ib_client pane_device_client = {
	.name = "pane",
	.add = device_client_add,
	.remove = device_client_remove,
};

int pane_device_init(void)
{
	/* to be the later client; without uverbs there are no users */
	request_module("ib_uverbs");
	return ib_register_client(&pane_device_client);
}

void pane_device_exit(void)
{
	ib_unregister_client(&pane_device_client);
}

/* Interfaces without an address of their own exist, GUIDs of zero must not */
static void device_set_guid(struct pane_dev *dev, const struct net_device *ndev)
{
	u8 addr[ETH_ALEN];

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr))
		ether_addr_copy(addr, ndev->dev_addr);
	else
		eth_random_addr(addr);
	addrconf_addr_eui48((u8 *)&dev->guid, (const char *)addr);
}

static int device_init(struct pane_dev *dev, struct net_device *ndev)
{
	int err;

	INIT_LIST_HEAD(&dev->node);
	mutex_init(&dev->mw2_lock);
	mutex_init(&dev->mcast_lock);
	dev->mw2 = 'B';
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	device_set_guid(dev, ndev);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	dev->stats = alloc_percpu(struct pane_stats);
	if (!dev->stats)
		return -ENOMEM;
	/* the index 0 is left out: no key is 0, which has a meaning of its own */
	err = pane_keytab_init(&dev->keys, 1, PANE_PERM_SIZE - 1,
			       PANE_MAX_MR + 2 * PANE_MAX_MW);
	if (err)
		free_percpu(dev->stats);
	return err;
}

static int device_publish(struct pane_dev *dev, const char *name,
			  struct net_device *ndev)
{
	struct ib_device *ibdev = &dev->ibdev;
	int err;

	strscpy(ibdev->node_desc, "pane", sizeof(ibdev->node_desc));
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->node_guid = dev->guid;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = 0;
	ibdev->driver_def = pane_uapi_defs;
	ib_mark_name_assigned_by_user(ibdev);

	err = ib_device_set_netdev(ibdev, ndev, PANE_PORT);
	if (err)
		return err;
	return ib_register_device(ibdev, name, NULL);
}

/*
 * The interface may have gone while we registered: then nobody did it. Or
 * somebody has done it meanwhile: the device is the core's now.
 */
static void device_recheck(struct pane_dev *dev)
{
	struct net_device *ndev = pane_netdev_get(dev);

	dev_put(ndev);
	if (!ndev && ib_device_try_get(&dev->ibdev)) {
		ib_unregister_device_queued(&dev->ibdev);
		ib_device_put(&dev->ibdev);
	}
}

/**
 * pane_device_create - rdma link add NAME type pane netdev NDEV
 * @name: of the device, the user's choice
 * @ndev: the interface
 *
 * Return: 0; -EEXIST if the interface has a pane device already; -ENFILE if
 * the name is taken; -EADDRINUSE if somebody else, rdma_rxe say, has the UDP
 * port in the namespace; -EPERM for a VLAN, whose addresses the device of the
 * interface below it has; -ENOMEM
 */
int pane_device_create(const char *name, struct net_device *ndev)
{
	struct pane_dev *dev;
	int err;

	if (is_vlan_dev(ndev))
		return -EPERM;
	dev = ib_alloc_device_with_net(pane_dev, ibdev, dev_net(ndev));
	if (!dev)
		return -ENOMEM;
	err = device_init(dev, ndev);
	if (err)
		goto err_free;
	/* from here on ib_dealloc_device() undoes device_init() */
	ib_set_device_ops(&dev->ibdev, &pane_device_ops);

	err = pane_netdev_attach(dev, ndev);
	if (err)
		goto err_free;
	/* keeps its memory until we have looked again */
	get_device(&dev->ibdev.dev);
	err = device_publish(dev, name, ndev);
	if (!err)
		device_recheck(dev);
	put_device(&dev->ibdev.dev);
	if (err)
		goto err_free;
	return 0;

err_free:
	ib_dealloc_device(&dev->ibdev);
	return err;
}
