#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# uml-kernel.sh VARIANT: print a directory with a User-mode Linux, built in the
# cache when it is not there yet:
#   linux               the kernel, a program
#   release             its version
#   config              its configuration
#   lib/modules/        its modules
#   build               what modules are compiled against
#
# VARIANT is `fast` (several processors, nothing that watches), `debug` (one
# processor, sanitizers) or `coverage` (as fast, with gcov, and all that the tests
# ask for); each is a list of fragments from selftests/kconfig.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"
. "$here/kconfig.sh"

# Raise it when an entry's contents change for the same fragments.
LAYOUT=1
SERIES=${PANE_UML_SERIES:-7.2}
FRAGMENTS=$PANE_TOP/selftests/kconfig

case ${1:-} in
fast) parts=(base net rdma uml fast) ;;
debug) parts=(base net rdma uml debug) ;;
coverage) parts=(base net rdma uml fast coverage) ;;
*) die "usage: uml-kernel.sh fast|debug|coverage" ;;
esac
variant=$1
files=("${parts[@]/%/.config}")
files=("${files[@]/#/$FRAGMENTS/}")
# what users in the kernel run no line of is not covered
[ "$variant" != coverage ] || files+=("$PANE_TOP/selftests/rdma/config")

# What the result depends on, beside the sources' series.
key()
{
	{
		printf '%s\n' "$LAYOUT"
		kconfig_options "${files[@]}"
		gcc --version
	} | sha256sum | cut -c1-12
}

um_make()
{
	make -C "$source" ARCH=um O="$entry/build" -j"$(nproc)" "$@"
}

configure()
{
	kconfig_options "${files[@]}" >"$entry/wanted.config"
	kconfig_make "$entry/build" "$entry/wanted.config" um_make
	cp "$entry/build/.config" "$entry/config"
}

# Only what a module's build reads is kept of the objects.
drop_objects()
{
	find "$entry/build" -path "$entry/build/scripts" -prune -o \
		\( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name 'vmlinux*' \
		   -o -name linux \) -type f -delete 2>/dev/null || true
}

compile()
{
	log_run "the kernel's build" um_make linux modules
	log_run "the modules' installation" um_make \
		INSTALL_MOD_PATH="$entry" modules_install
	strip -o "$entry/linux" "$entry/build/linux"
	cat "$entry/build/include/config/kernel.release" >"$entry/release"
	cp "$entry/build/vmlinux" "$entry/vmlinux"
	drop_objects
}

make_entry()
{
	local start=$SECONDS source

	[ ! -e "$entry/complete" ] || return 0
	"$here/setup.sh" kernel
	source=$("$here/linux-source.sh" "$SERIES")
	say "kernel: building User-mode Linux $SERIES, variant $variant"
	rm -rf "$entry"
	mkdir -p "$entry/build"
	configure
	compile
	touch "$entry/complete"
	say "kernel: built in $((SECONDS - start)) s"
}

entry=$PANE_CACHE/uml/$SERIES-$variant-$(key)
with_lock "uml-$variant" make_entry
printf '%s\n' "$entry"
