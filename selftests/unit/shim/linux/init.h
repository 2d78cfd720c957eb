/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_INIT_H
#define PANE_SHIM_INIT_H

#define __init

#endif
