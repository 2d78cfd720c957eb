/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell file: user space's way to say that there is work in a ring */
#ifndef PANE_DOORBELL_H
#define PANE_DOORBELL_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition pane_uapi_defs[];

#endif /* PANE_DOORBELL_H */
