/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_MM_H
#define PANE_SHIM_MM_H

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#endif
