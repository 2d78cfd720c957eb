#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core's own tests as a gate: pane_pyverbs-VERSION.baseline says which of
# them have to pass with that version of rdma-core.
#
#   PANE_CORE_ROOT      root directory whose rdma-core is used (default /)
#   PANE_CORE_PROVIDER  the provider for it, in the way of RDMAV_DRIVERS

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

ROOT=${PANE_CORE_ROOT:-}
SUITE=$ROOT/usr/share/doc/rdma-core/tests
IN_ROOT=()
HUGE_PAGES=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
HUGE_PAGES_BEFORE=
[ -z "$ROOT" ] || IN_ROOT=("$PANE_TOP/selftests/setup/in-root.sh" "$ROOT")

# The number in front: the minor ones have the same tests
core_version()
{
	# shellcheck disable=SC2016 # dpkg-query expands it
	dpkg-query --root="$ROOT/" -W -f '${Version}' python3-pyverbs \
		2>/dev/null | sed 's/\..*//'
}

# The package has them compressed, where they cannot be run.
copy_suite()
{
	cp -r "$SUITE" "$OUT/tests" &&
		find "$OUT/tests" -name '*.gz' -exec gunzip {} +
}

# The suite of rdma-core 44 looks for the interface of a device in a place in
# sysfs that only devices with a parent have, and skips the tests of rdma_cm.
tell_interface()
{
	local base=$OUT/tests/base.py

	! grep -q "'rdma', 'link'" "$base" || return 0
	sed -i "s|not os.path.exists('/sys/class/infiniband/.*|False:|" "$base"
	cat >>"$base" <<-EOT

	RDMATestCase.get_net_name = staticmethod(lambda dev: "$IF_A")
	EOT
}

# rdma_cm goes by the route to the group when it joins one.
route_groups()
{
	ip -n "$NS_A" route add 224.0.0.0/4 dev "$IF_A"
}

# Some tests put queues and buffers on huge pages.
huge_pages_up()
{
	[ -w "$HUGE_PAGES" ] || return 0
	HUGE_PAGES_BEFORE=$(cat "$HUGE_PAGES")
	echo $((HUGE_PAGES_BEFORE + 32)) >"$HUGE_PAGES"
}

huge_pages_down()
{
	[ -z "$HUGE_PAGES_BEFORE" ] || echo "$HUGE_PAGES_BEFORE" >"$HUGE_PAGES"
}

# The modules of the package are in the path of the system's own interpreter.
run_suite()
{
	RDMAV_DRIVERS=${PANE_CORE_PROVIDER:-$RDMAV_DRIVERS} \
		in_a "${IN_ROOT[@]}" /usr/bin/python3 ./pane_pyverbs.py "$OUT/tests" \
		"pane_pyverbs-$VERSION.baseline" --dev "$DEV_A" \
		--gid "$(gid_index "$DEV_A" "$IP4_A")"
}

ktap_print_header
need_pane
"${IN_ROOT[@]}" /usr/bin/python3 -c 'import pyverbs' 2>/dev/null ||
	skip_all "no python3-pyverbs on this machine"
[ -d "$SUITE" ] || skip_all "no $SUITE on this machine"
cleanup_at_exit
ktap_set_plan 3
VERSION=$(core_version)
[ -e "pane_pyverbs-$VERSION.baseline" ] ||
	ktap_exit_fail_msg "no baseline for rdma-core $VERSION"
if ! stage_up || ! route_groups; then
	ktap_exit_fail_msg "no devices"
fi
if ! copy_suite || ! tell_interface; then
	ktap_exit_fail_msg "the suite cannot be copied"
fi
huge_pages_up
subtest "rdma-core's tests" run_suite
huge_pages_down
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
