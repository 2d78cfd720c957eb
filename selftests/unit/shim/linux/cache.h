/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_CACHE_H
#define PANE_SHIM_CACHE_H

#define __ro_after_init

#endif
