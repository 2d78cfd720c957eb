// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What only older kernels take */
#include <linux/module.h>

MODULE_IMPORT_NS(DMA_BUF);
