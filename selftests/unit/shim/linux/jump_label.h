/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_JUMP_LABEL_H
#define PANE_SHIM_JUMP_LABEL_H

#include <linux/types.h>

#define DEFINE_STATIC_KEY_FALSE(name) bool name
#define static_branch_unlikely(key) (*(key))
#define static_branch_enable(key) (*(key) = true)
#define static_branch_disable(key) (*(key) = false)

#endif
