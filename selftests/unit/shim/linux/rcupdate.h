/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Nothing is freed while a test looks at it */
#ifndef SHIM_LINUX_RCUPDATE_H
#define SHIM_LINUX_RCUPDATE_H

#define rcu_dereference(p)	(p)

#endif
