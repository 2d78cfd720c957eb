#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core's own tests as a gate: pane_pyverbs.baseline says which of them have
# to pass.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

SUITE=/usr/share/doc/rdma-core/tests

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

	grep -q "def get_net_name" "$base" || return 0
	sed -i "s|not os.path.exists('/sys/class/infiniband/.*|False:|" "$base"
	cat >>"$base" <<-EOT

	RDMATestCase.get_net_name = staticmethod(lambda dev: "$IF_A")
	EOT
}

# The modules of the package are in the path of the system's own interpreter.
run_suite()
{
	in_a /usr/bin/python3 ./pane_pyverbs.py "$OUT/tests" \
		pane_pyverbs.baseline --dev "$DEV_A" \
		--gid "$(gid_index "$DEV_A" "$IP4_A")"
}

ktap_print_header
need_pane
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null ||
	ktap_skip_all "no python3-pyverbs on this machine"
[ -d "$SUITE" ] || ktap_skip_all "no $SUITE on this machine"
cleanup_at_exit
ktap_set_plan 3
stage_up || ktap_exit_fail_msg "no devices"
if ! copy_suite || ! tell_interface; then
	ktap_exit_fail_msg "the suite cannot be copied"
fi
subtest "rdma-core's tests" run_suite
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
