/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_XARRAY_H
#define PANE_SHIM_XARRAY_H

struct xarray {
	void *head;
};

#endif
