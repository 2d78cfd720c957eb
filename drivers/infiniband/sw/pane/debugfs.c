// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One line for each window of all devices. Whose key is known can be used by
 * who may use it, so the list is for CAP_NET_ADMIN only.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "grant.h"
#include "mr.h"
#include "mw.h"
#include "netdev.h"
#include "pane.h"
#include "qp.h"

static struct dentry *pane_debugfs_dir;

/* What is told of a window, copied under its slot lock */
struct window_line {
	u32 key;
	u32 mr_id;
	u32 qpn;
	u64 addr;
	u64 length;
	u16 access;
	char type;
	bool bound;
};

/* False if the slot holds no window */
static bool window_read(struct pane_dev *dev, u32 slotno, struct window_line *l)
{
	const struct pane_slot *slot = pane_keytab_at(&dev->keys, slotno);
	spinlock_t *lock = pane_slot_lock(&dev->keys, slotno);
	const struct pane_grant *g;
	const struct pane_mw *mw;
	bool found = false;

	spin_lock_bh(lock);
	if (slot->kind == PANE_SLOT_MW) {
		mw = slot->owner;
		memset(l, 0, sizeof(*l));
		l->key = mw->key;
		l->type = mw->ibmw.type == IB_MW_TYPE_1 ? '1' : dev->mw2;
		l->bound = mw->bound;
		g = slot->grant;
		if (g) {
			l->mr_id = g->mr->ibmr.res.id;
			l->qpn = g->qpn;
			l->addr = g->addr;
			l->length = g->length;
			l->access = g->access;
		}
		found = true;
	}
	spin_unlock_bh(lock);
	return found;
}

static void window_print(struct seq_file *m, struct pane_dev *dev,
			 const struct window_line *l)
{
	seq_printf(m, "%s %s%c rkey %#010x %s", dev_name(&dev->ibdev.dev),
		   l->type == '1' ? "" : "2", l->type, l->key,
		   l->bound ? "bound" : "free");
	if (l->bound)
		seq_printf(m, " mr %u addr %#llx length %llu rights %s%s%s",
			   l->mr_id, l->addr, l->length,
			   l->access & IB_ACCESS_REMOTE_READ ? "r" : "-",
			   l->access & IB_ACCESS_REMOTE_WRITE ? "w" : "-",
			   l->access & IB_ACCESS_REMOTE_ATOMIC ? "a" : "-");
	if (l->qpn)
		seq_printf(m, " qpn %#x", l->qpn);
	seq_putc(m, '\n');
}

static void windows_of(struct pane_dev *dev, void *ctx)
{
	u32 used = READ_ONCE(dev->keys.used), slotno;
	struct seq_file *m = ctx;
	struct window_line l;

	for (slotno = 0; slotno < used && !seq_has_overflowed(m); slotno++)
		if (window_read(dev, slotno, &l))
			window_print(m, dev, &l);
}

static int windows_show(struct seq_file *m, void *unused)
{
	pane_netdev_for_each(windows_of, m);
	return 0;
}

static int windows_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	return single_open(file, windows_show, NULL);
}

static const struct file_operations windows_fops = {
	.owner = THIS_MODULE,
	.open = windows_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

void pane_debugfs_init(void)
{
	pane_debugfs_dir = debugfs_create_dir("rdma_pane", NULL);
	debugfs_create_file("windows", 0400, pane_debugfs_dir, NULL,
			    &windows_fops);
}

void pane_debugfs_exit(void)
{
	debugfs_remove(pane_debugfs_dir);
}
