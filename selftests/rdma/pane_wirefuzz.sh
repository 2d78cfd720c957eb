#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Spoilt frames at random, beside honest traffic: pane_wirefuzz sends them from
# the second namespace, over IPv4, IPv6 and RoCE v1.
#
#   PANE_ALL=1   ten million frames over each
#   PANE_SEED=N  repeats a run

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# Not every device has RoCE v1.
wirefuzz_v1()
{
	has_gid "$DEV_A" "$IP4_A" v1 || return 4
	as_stranger v1 ./pane_wirefuzz
}

ktap_print_header
need_pane
cleanup_at_exit
ktap_set_plan 6
stage_up || ktap_exit_fail_msg "no devices"
stranger_up || ktap_exit_fail_msg "no stranger"
subtest "IPv4" as_stranger ip4 ./pane_wirefuzz
subtest "IPv6" as_stranger ip6 ./pane_wirefuzz
subtest "RoCE v1" wirefuzz_v1
ktap_test_result "no packet waits in the socket" nothing_in_socket
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
