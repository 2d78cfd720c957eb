/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_SIZES_H
#define PANE_SHIM_SIZES_H
#endif
