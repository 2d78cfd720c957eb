#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Is the guest what the runner promised, and what the other tests count on?

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh

booted_kernel_is_the_wanted_one()
{
	[ "$(uname -r)" = "$PANE_KERNEL" ]
}

memory_can_be_locked()
{
	[ "$(ulimit -l)" = unlimited ]
}

clock_rate_is_known()
{
	grep -q '^cpu MHz' /proc/cpuinfo
}

results_can_be_written()
{
	local probe

	probe=$(mktemp "$PANE_RESULTS/smoke.XXXXXX") && rm "$probe"
}

kernel_filesystems_are_mounted()
{
	mountpoint -q /sys/kernel/debug && mountpoint -q /dev/shm &&
		[ -c /dev/pts/ptmx ]
}

verbs_library_works()
{
	modprobe ib_uverbs && ibv_devices >/dev/null
}

namespaces_work()
{
	ip netns add smoke && ip -n smoke link set lo up &&
		ip netns exec smoke ping -c 1 -W 5 127.0.0.1 >/dev/null
	local status=$?

	ip netns del smoke
	return "$status"
}

ktap_print_header
if [ -z "$PANE_KERNEL" ]; then
	ktap_skip_all "not in the runner's guest"
	exit "$KSFT_SKIP"
fi
ktap_set_plan 7
ktap_test_result "booted kernel is $PANE_KERNEL" booted_kernel_is_the_wanted_one
ktap_test_result "memory can be locked" memory_can_be_locked
ktap_test_result "clock rate is known" clock_rate_is_known
ktap_test_result "results can be written" results_can_be_written
ktap_test_result "kernel file systems are mounted" kernel_filesystems_are_mounted
ktap_test_result "libibverbs works" verbs_library_works
ktap_test_result "network namespaces work" namespaces_work
ktap_finished
