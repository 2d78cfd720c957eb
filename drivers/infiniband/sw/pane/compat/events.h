/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Included ahead of netdev.c: since 6.14 the core tells clients of the link's
 * state, before drivers did.
 */
#ifndef PANE_COMPAT_EVENTS_H
#define PANE_COMPAT_EVENTS_H

#include "../stats.h"

#ifndef HAVE_CORE_PORT_EVENTS
void compat_port_changed(struct pane_dev *dev, bool up);
#define pane_stats_port_changed compat_port_changed
#endif

#endif /* PANE_COMPAT_EVENTS_H */
