/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_LIST_H
#define PANE_SHIM_LIST_H

#include <linux/types.h>

#endif
