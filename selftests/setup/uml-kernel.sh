#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# uml-kernel.sh [--cached] VARIANT: print a directory with a User-mode Linux, built
# in the cache when it is not there yet; with --cached that is a failure. `linux`
# there is the kernel, a program; own-kernel.sh has the rest.
#
# VARIANT is `fast` (several processors, nothing that watches), `debug` (one
# processor, sanitizers) or `coverage` (as fast, with gcov, and all that the tests
# ask for); each is a list of fragments from selftests/kconfig.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"
. "$here/kconfig.sh"
. "$here/own-kernel.sh"

FRAGMENTS=$PANE_TOP/selftests/kconfig

if [ "${1:-}" = --cached ]; then
	OWN_KERNEL_CACHED=yes
	shift
fi
case ${1:-} in
fast) parts=(base net rdma uml fast) ;;
debug) parts=(base net rdma uml debug) ;;
coverage) parts=(base net rdma uml fast coverage) ;;
*) die "usage: uml-kernel.sh [--cached] fast|debug|coverage" ;;
esac
files=("${parts[@]/%/.config}")
files=("${files[@]/#/$FRAGMENTS/}")
# what users in the kernel run no line of is not covered
[ "$1" != coverage ] || files+=("$PANE_TOP/selftests/rdma/config")

wanted_options()
{
	kconfig_options "${files[@]}"
}

own_kernel uml "$1" "${PANE_UML_SERIES:-7.2}" wanted_options
