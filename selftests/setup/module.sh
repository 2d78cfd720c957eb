#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# module.sh KVER KDIR [MAKE-ARGUMENT...]: build the module for one more kernel
# in a copy of its sources under build/modules, so that the objects in the tree
# stay those of the default kernel. Prints the path of the module.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 2 ] || die "usage: module.sh KVER KDIR [MAKE-ARGUMENT...]"
kver=$1
kdir=$2
shift 2
# two kernels of one version may be configured differently
copy=$PANE_TOP/build/modules/$kver-$(hash_of <(printf '%s' "$kdir"))

build()
{
	copy_sources "$copy" Kbuild drivers include
	log_run "the module's build for $kver" \
		make -C "$kdir" M="$copy" -j"$(nproc)" "$@" modules
}

with_lock "module-${copy##*/}" build "$@"
printf '%s\n' "$copy/drivers/infiniband/sw/pane/rdma_pane.ko"
