/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Networking and memory management */
#ifndef PANE_COMPAT_NET_H
#define PANE_COMPAT_NET_H

#include <linux/mm.h>
#include <net/ip6_fib.h>

#ifndef HAVE_VM_FLAGS_CLEAR
static inline void vm_flags_clear(struct vm_area_struct *vma,
				  vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#ifndef HAVE_DST_RT6_INFO
#define dst_rt6_info(dst) container_of(dst, struct rt6_info, dst)
#endif

#endif /* PANE_COMPAT_NET_H */
