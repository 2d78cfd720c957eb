// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A uverbs object of its own with its own file operations, so that ringing
 * costs one light system call. QPs are found by number, so the file keeps
 * nothing but the context it belongs to, and whether that still has a device.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME pane
#include <rdma/uverbs_named_ioctl.h>

#include "doorbell.h"
#include "mw.h"
#include "pane.h"
#include "qp.h"
#include "resp.h"
#include "ring.h"
#include "srq.h"
#include "wr.h"

/**
 * struct pane_doorbell - a doorbell file
 * @uobj: the core's half
 * @alive: held for reading by who needs the context's device to stay
 * @ibuc: context, NULL once the device is gone; written under @alive
 */
struct pane_doorbell {
	struct ib_uobject uobj;
	struct rw_semaphore alive;
	struct ib_ucontext *ibuc;
};

/* A QP of the file's context, entered; the context is only compared */
static struct pane_qp *doorbell_enter(struct pane_doorbell *db, u32 qpn)
{
	struct ib_ucontext *ibuc = READ_ONCE(db->ibuc);
	struct pane_qp *qp;

	rcu_read_lock();
	qp = pane_qp_find(qpn);
	/* QPs of kernel users have none */
	if (qp && ibuc && qp->ibuc == ibuc)
		pane_qp_enter(qp);
	else
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

static long doorbell_error(struct pane_doorbell *db)
{
	return READ_ONCE(db->ibuc) ? -EINVAL : -ENODEV;
}

static long doorbell_send(struct pane_doorbell *db, u32 qpn)
{
	struct pane_qp *qp = doorbell_enter(db, qpn);

	if (!qp)
		return doorbell_error(db);
	pane_ring_send(qp);
	pane_qp_leave(qp);
	return 0;
}

/* Only a QP in the error state needs it: its requests are flushed */
static long doorbell_recv(struct pane_doorbell *db, u32 qpn)
{
	struct pane_qp *qp = doorbell_enter(db, qpn);

	if (!qp)
		return doorbell_error(db);
	if (qp->state == IB_QPS_ERR)
		pane_resp_flush(qp);
	pane_qp_leave(qp);
	return 0;
}

static int bind_check(const struct pane_bind_mw *req)
{
	if (req->comp_mask)
		return -EOPNOTSUPP;
	if (req->flags & ~(PANE_WR_SIGNALED | PANE_WR_FENCE |
			   PANE_BIND_BY_HANDLE) ||
	    req->reserved)
		return -EINVAL;
	return 0;
}

/* Under db->alive, so that the device stays while we sleep for a key */
static long doorbell_post_bind(struct pane_doorbell *db,
			       struct pane_bind_mw *req)
{
	struct pane_bind b = {
		.addr = req->addr,
		.length = req->length,
		.mw_handle = req->mw_handle,
		.mw_rkey = req->rkey,
		.lkey = req->lkey,
		.access = req->access,
	};
	struct pane_dev *dev;
	struct pane_qp *qp;
	long err;

	if (!db->ibuc)
		return -ENODEV;
	dev = to_pane_dev(db->ibuc->device);
	err = pane_mw_reserve_key(dev, &b);
	if (err)
		return err;
	qp = doorbell_enter(db, req->qp_num);
	if (qp) {
		err = pane_post_bind_mw(qp, req, &b);
		pane_qp_leave(qp);
	} else {
		err = -EINVAL;
	}
	if (err)
		pane_mw_unreserve_key(dev, &b);
	else
		req->rkey = b.new_rkey;
	return err;
}

static long doorbell_bind(struct pane_doorbell *db,
			  struct pane_bind_mw __user *arg)
{
	struct pane_bind_mw req;
	long err;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	err = bind_check(&req);
	if (err)
		return err;

	down_read(&db->alive);
	err = doorbell_post_bind(db, &req);
	up_read(&db->alive);
	if (err)
		return err;
	return put_user(req.rkey, &arg->rkey);
}

static long pane_doorbell_ioctl(struct file *file, unsigned int cmd,
				unsigned long arg)
{
	struct ib_uobject *uobj = file->private_data;
	struct pane_doorbell *db = container_of(uobj, struct pane_doorbell,
						uobj);

	switch (cmd) {
	case PANE_DB_SEND:
		return doorbell_send(db, arg);
	case PANE_DB_RECV:
		return doorbell_recv(db, arg);
	case PANE_DB_BIND_MW:
		return doorbell_bind(db, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations pane_doorbell_fops = {
	.owner = THIS_MODULE,
	.release = uverbs_uobject_fd_release,
	.unlocked_ioctl = pane_doorbell_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* The file is closed, or its device goes away */
static void pane_doorbell_destroy(struct ib_uobject *uobj,
				  enum rdma_remove_reason why)
{
	struct pane_doorbell *db = container_of(uobj, struct pane_doorbell,
						uobj);

	down_write(&db->alive);
	WRITE_ONCE(db->ibuc, NULL);
	up_write(&db->alive);
}

static int UVERBS_HANDLER(PANE_METHOD_DOORBELL_ALLOC)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, PANE_ATTR_DOORBELL_ALLOC_FD);
	struct pane_doorbell *db = container_of(uobj, struct pane_doorbell,
						uobj);

	init_rwsem(&db->alive);
	db->ibuc = uobj->context;
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	PANE_METHOD_DOORBELL_ALLOC,
	UVERBS_ATTR_FD(PANE_ATTR_DOORBELL_ALLOC_FD,
		       PANE_OBJECT_DOORBELL,
		       UVERBS_ACCESS_NEW,
		       UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(
	PANE_OBJECT_DOORBELL,
	UVERBS_TYPE_ALLOC_FD(sizeof(struct pane_doorbell),
			     pane_doorbell_destroy,
			     &pane_doorbell_fops,
			     "[pane-doorbell]",
			     O_RDWR | O_CLOEXEC),
	&UVERBS_METHOD(PANE_METHOD_DOORBELL_ALLOC));

const struct uapi_definition pane_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PANE_OBJECT_DOORBELL),
	UAPI_DEF_CHAIN(pane_srq_uapi_defs),
	{},
};
