/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What every file of the driver shares: the device, its limits, and the order
 * of locks. Each object has a header of its own.
 *
 * Locks, outermost first
 *	qp->mutex		modify, query and destroy of one QP
 *	pd->ud_lock		the list of a domain's datagram QPs
 *	dev->mcast_lock		multicast groups; takes RTNL
 *	qp->lock		a QP's state, queues and packets (BH)
 *	keytab->locks[]		state of windows (BH)
 *	qp->mw_lock		the windows bound on a QP (BH)
 *	cq->lock, srq->lock	one queue (BH)
 *	keytab->lock		handing out numbers (BH)
 *
 * No packet is sent, no completion handler and no event handler is called
 * under any of them, but that users' datagrams are under pd->ud_lock.
 */
#ifndef PANE_H
#define PANE_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/pane-abi.h>

#include "keytab.h"
#include "mcast.h"
#include "stats.h"

#define PANE_VENDOR_ID		0xffffff
#define PANE_PORT		1

#define PANE_MAX_QP		65536
#define PANE_MAX_QP_WR		32768
#define PANE_MAX_SGE		32
#define PANE_MAX_INLINE		1024
#define PANE_MAX_CQ		65536
#define PANE_MAX_CQE		(1U << 20)
#define PANE_MAX_MR		(1U << 20)
#define PANE_MAX_MW		(1U << 20)
#define PANE_MAX_PD		65536
#define PANE_MAX_SRQ		65536
#define PANE_MAX_SRQ_WR		32768
#define PANE_MAX_AH		65536
#define PANE_MAX_MCAST_GRP	8192
#define PANE_MAX_MCAST_QP	128
#define PANE_MAX_RD_ATOMIC	64
#define PANE_MAX_FRMR_PAGES	1024
#define PANE_MAX_MSG		0x80000000U
#define PANE_GID_TBL_LEN	1024
/* Where the core has these operations. Persistence is not promised. */
#define PANE_FLUSH_CAPS		(IB_DEVICE_FLUSH_GLOBAL | \
				 IB_DEVICE_ATOMIC_WRITE)
/* longest time from a request's arrival to its response; 4.096 us << n */
#define PANE_ACK_DELAY		15
/* Of completions, in kHz: nanoseconds */
#define PANE_CORE_CLOCK		1000000

/**
 * struct pane_dev - an RDMA device on an Ethernet interface
 * @ibdev: the core's half
 * @node: in the list of devices that have an interface; RTNL, RCU
 * @ndev: the interface, NULL once it is unregistered; RTNL, RCU
 * @tracker: of the reference to it
 * @net: the interface's namespace, where packets go out and come in; NULL
 *       once the interface is gone. RTNL, RCU.
 * @ifindex: of @ndev
 * @guid: node, system image and port GUID, big endian
 * @mtu: path MTU that fits the interface, enum ib_mtu
 * @port_up: state that was seen last; RTNL
 * @keys: keys of regions and windows
 * @ahs: address handles by number
 * @mcast_lock: guards the multicast groups; outside RTNL
 * @mcgs: multicast groups with QPs here, by address; RCU
 * @num_mcg: how many
 * @gsi: QP 1; RCU
 * @stats: counters
 * @counters: those that QPs are bound to, struct pane_stats by number
 * @num_qp: QPs; limits what users may create
 * @num_mr: regions
 * @num_mw: windows
 * @num_cq: CQs
 * @num_srq: SRQs
 * @num_pd: protection domains of users
 * @mw2_lock: guards the two that follow
 * @mw2: 'A' or 'B': what type 2 windows are
 * @num_mw2: how many there are; @mw2 changes only while there is none
 * @leaving: it is being unregistered
 */
struct pane_dev {
	struct ib_device ibdev;
	struct list_head node;
	struct net_device __rcu *ndev;
	netdevice_tracker tracker;
	struct net __rcu *net;
	int ifindex;
	__be64 guid;
	enum ib_mtu mtu;
	bool port_up;
	struct pane_keytab keys;
	struct xarray ahs;
	struct mutex mcast_lock;
	struct hlist_head mcgs[PANE_MCAST_HASH];
	u32 num_mcg;
	struct pane_qp __rcu *gsi;
	struct pane_stats __percpu *stats;
	struct xarray counters;
	atomic_t num_qp;
	atomic_t num_mr;
	atomic_t num_mw;
	atomic_t num_cq;
	atomic_t num_srq;
	atomic_t num_pd;
	struct mutex mw2_lock;
	char mw2;
	u32 num_mw2;
	bool leaving;
};

/**
 * struct pane_ucontext - a context of user space
 * @ibuc: the core's half
 * @mws: its type 1 windows by handle
 */
struct pane_ucontext {
	struct ib_ucontext ibuc;
	struct xarray mws;
};

/**
 * struct pane_pd - a protection domain
 * @ibpd: the core's half
 * @ud_qps: datagram QPs of users in it
 * @ud_lock: of @ud_qps; a QP does not go while it is held
 */
struct pane_pd {
	struct ib_pd ibpd;
	struct list_head ud_qps;
	struct mutex ud_lock;
};

struct pane_xrcd {
	struct ib_xrcd ibxrcd;
};

static inline struct pane_dev *to_pane_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct pane_dev, ibdev);
}

static inline struct pane_ucontext *to_pane_uc(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct pane_ucontext, ibuc);
}

static inline struct pane_pd *to_pane_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct pane_pd, ibpd);
}

/* Runs what cannot be done where the need for it arises */
extern struct workqueue_struct *pane_wq;

/* Take one of a limited kind: true, and to be given back with atomic_dec() */
static inline bool pane_quota_take(atomic_t *num, int max)
{
	return atomic_add_unless(num, 1, max);
}

#endif /* PANE_H */
