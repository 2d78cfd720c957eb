#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# in-tree.sh [OPTION-OF-THE-RUNNER...]: is this what a kernel's tree would take?
# Puts the driver into one, compiles it with the kernel's own Kconfig and Makefile
# as a module and built in, installs the tests with the kernel's own kselftest,
# and runs some of them on a kernel (User-mode Linux) that the driver is built
# into. Ends with one line "N passed, N failed, N skipped".
#
#   PANE_IN_TREE_SERIES  which of Debian's linux-source
#   PANE_IN_TREE_TESTS   run these: "rdma:a.sh rdma:b", or all with "rdma"

set -u
set -o pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/setup/lib.sh"
. "$here/setup/kconfig.sh"
. "$here/kselftest/ktap_helpers.sh"

DRIVER=drivers/infiniband/sw/pane
OUT=$PANE_TOP/build/in-tree
KERNEL=$OUT/kernel
INSTALLED=$OUT/kselftest
FRAGMENTS=$PANE_TOP/selftests/kconfig

# Windows, data, programs, devices and their end: a part of each
TESTS="rdma:vm_smoke.sh rdma:pane_mw_legal rdma:pane_mw_bind rdma:pane_mw_access
	rdma:pane_mw_inval rdma:pane_mw_life rdma:pane_window_example.sh
	rdma:pane_link.sh rdma:pane_data.sh rdma:pane_frames.sh
	rdma:pane_tools.sh rdma:pane_reload.sh"
TEST_SECONDS=600
GUEST_SECONDS=2400

# kmake BUILD-DIR ARGUMENT...: User-mode Linux, whose configuration is small
kmake()
{
	make -C "$entry/tree" ARCH=um O="$entry/$1" -j"$(nproc)" "${@:2}"
}

# step NAME COMMAND...: a result, and of a failure the end of what was printed
step()
{
	local name=$1

	shift
	say "in-tree: $name"
	if ("$@") >"$OUT/log" 2>&1 </dev/null; then
		ktap_test_pass "$name"
		return
	fi
	tail -n 40 "$OUT/log" | sed 's/^/# /'
	ktap_test_fail "$name"
	return 1
}

options_for()
{
	kconfig_newest_options \
		"$FRAGMENTS"/{base,net,rdma,uml,fast}.config \
		"$PANE_TOP/selftests/rdma/config" "$FRAGMENTS/pane-$1.config"
}

configure()
{
	mkdir -p "$entry/$1"
	options_for "$1" >"$entry/$1.options" &&
		kconfig_make "$entry/$1" "$entry/$1.options" kmake "$1" &&
		kmake "$1" prepare
}

# compiles_cleanly module|built-in
compiles_cleanly()
{
	configure "$1" || return
	# no warnings come of what is compiled already
	rm -rf "${entry:?}/$1/$DRIVER"
	kmake "$1" W=1 "$DRIVER/" 2>&1 | tee "$OUT/warnings" || return
	! grep -i 'warning:' "$OUT/warnings"
}

# By the kernel's own Makefiles, against its own user headers. Those are none of
# User-mode Linux's.
tests_are_installed()
{
	rm -rf "$INSTALLED"
	make -C "$entry/tree" O="$entry/user" -j"$(nproc)" headers &&
		make -C "$entry/tree/tools/testing/selftests" O="$entry/user" \
			TARGETS=rdma FORCE_TARGETS=1 USERCFLAGS=-Werror \
			KSFT_INSTALL_PATH="$INSTALLED" -j"$(nproc)" install
}

kernel_is_built()
{
	rm -rf "$KERNEL"
	mkdir -p "$KERNEL"
	kmake built-in linux modules &&
		kmake built-in INSTALL_MOD_PATH="$KERNEL" modules_install &&
		strip -o "$KERNEL/linux" "$entry/built-in/linux" &&
		cp "$entry/built-in/.config" "$KERNEL/config" &&
		grep "/rdma_pane\.ko" "$KERNEL"/lib/modules/*/modules.builtin
}

# What is made in the cache is copied from there while nobody else is at it.
build_all()
{
	entry=$("$here/setup/in-tree-source.sh") || die "no sources"
	step "the driver as a module: W=1 finds nothing" \
		compiles_cleanly module
	step "the driver built in: W=1 finds nothing" \
		compiles_cleanly built-in
	step "the kernel's kselftest installs the tests" tests_are_installed
	step "a kernel with the driver is built" kernel_is_built
}

# Its runner prints a stream of its own.
run_tests()
{
	local test
	local -a select=()

	for test in ${PANE_IN_TREE_TESTS:-$TESTS}; do
		case $test in
		*:*) select+=(-t "$test") ;;
		*) select+=(-c "$test") ;;
		esac
	done
	"$here/vm/run" --backend uml --vmlinuz "$KERNEL/linux" \
		--modules "$(echo "$KERNEL"/lib/modules/*)" --no-module \
		--results "$OUT/guest" --timeout "$GUEST_SECONDS" "$@" -- \
		"$INSTALLED/run_kselftest.sh" -o "$TEST_SECONDS" \
		"${select[@]}" | tee "$OUT/tests.tap"
}

# A test that failed has been counted; here it is the guest that counts.
guest_ends_well()
{
	run_tests "$@" >&3 2>&4
	[ $? -le 1 ]
}

rm -rf "$OUT"
mkdir -p "$OUT"
# make has none to give to those below
unset MAKEFLAGS MFLAGS MAKELEVEL
exec 3>&1 4>&2

{
	ktap_print_header
	ktap_set_plan 5
	with_lock in-tree build_all
	if [ -e "$KERNEL/lib" ] && [ -e "$INSTALLED/run_kselftest.sh" ]; then
		step "the guest ends well, with nothing bad in its log" \
			guest_ends_well "$@"
	else
		ktap_test_skip "the guest ends well, with nothing bad in its log"
	fi
} | tee "$OUT/builds.tap"
"$here/kselftest/tap_summary.py" "$OUT"/*.tap
