#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qemu-kernel.sh VARIANT: print a directory with a kernel for the machine that
# qemu emulates, built in the cache when it is not there yet. `vmlinux` there is
# what qemu boots; own-kernel.sh has the rest.
#
# VARIANT is `kcsan`: several processors, and KCSAN, which User-mode Linux has
# not.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"
. "$here/kconfig.sh"
. "$here/own-kernel.sh"

FRAGMENTS=$PANE_TOP/selftests/kconfig

[ "${1:-}" = kcsan ] || die "usage: qemu-kernel.sh kcsan"

wanted_options()
{
	kconfig_newest_options "$FRAGMENTS"/{base,net,rdma,qemu,kcsan}.config
}

own_kernel qemu kcsan "${PANE_QEMU_SERIES:-7.3}" wanted_options
