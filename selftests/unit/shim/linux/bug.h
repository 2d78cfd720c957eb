/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_BUG_H
#define PANE_SHIM_BUG_H

#include "../shim.h"

#define WARN_ON_ONCE(condition) SHIM_BUG_ON(condition)

#endif
