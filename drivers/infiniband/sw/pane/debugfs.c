// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One line for each window of all devices. Whose key is known can be used by
 * who may use it, so the list is for CAP_NET_ADMIN only.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
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

/* Where a reader is, and what stands there */
struct windows_iter {
	struct pane_dev *dev;
	struct window_line line;
};

/* A position is the number of a device and that of a slot in its key table */
#define WINDOWS_SLOT_BITS	24
static_assert(PANE_KEYTAB_MAX <= BIT(WINDOWS_SLOT_BITS));

/* The first window at @pos or behind it, and its position */
static void *windows_seek(struct windows_iter *it, loff_t *pos)
{
	u64 n = *pos >> WINDOWS_SLOT_BITS;
	u32 slotno = *pos & (BIT(WINDOWS_SLOT_BITS) - 1);

	for (; (it->dev = pane_netdev_nth(n)); n++, slotno = 0) {
		for (; slotno < READ_ONCE(it->dev->keys.used); slotno++) {
			if (window_read(it->dev, slotno, &it->line)) {
				*pos = n << WINDOWS_SLOT_BITS | slotno;
				return it;
			}
			cond_resched();
		}
	}
	return NULL;
}

static void *windows_start(struct seq_file *m, loff_t *pos)
{
	rtnl_lock();
	return windows_seek(m->private, pos);
}

static void *windows_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return windows_seek(m->private, pos);
}

static void windows_stop(struct seq_file *m, void *v)
{
	rtnl_unlock();
}

static int windows_show(struct seq_file *m, void *v)
{
	const struct windows_iter *it = m->private;
	const struct window_line *l = &it->line;

	seq_printf(m, "%s %s%c rkey %#010x %s", dev_name(&it->dev->ibdev.dev),
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
	return 0;
}

static const struct seq_operations windows_seq_ops = {
	.start = windows_start,
	.next = windows_next,
	.stop = windows_stop,
	.show = windows_show,
};

static int windows_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	return seq_open_private(file, &windows_seq_ops,
				sizeof(struct windows_iter));
}

static const struct file_operations windows_fops = {
	.owner = THIS_MODULE,
	.open = windows_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
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
