/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_BUILD_BUG_H
#define PANE_SHIM_BUILD_BUG_H

#define BUILD_BUG_ON(condition) \
	_Static_assert(!(condition), "BUILD_BUG_ON: " #condition)

/* The message may be left out. */
#undef static_assert
#define static_assert(condition, ...) \
	PANE_SHIM_ASSERT(condition, ##__VA_ARGS__, #condition)
#define PANE_SHIM_ASSERT(condition, message, ...) \
	_Static_assert(condition, message)

#endif
