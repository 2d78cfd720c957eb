// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mm_types.h>

struct vma_iterator probe;
