#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Frames made by hand: pane_frames sends them from the second namespace, under
# an address that nobody has, over IPv4 and IPv6.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

ktap_print_header
need_pane
cleanup_at_exit
ktap_set_plan 5
stage_up || ktap_exit_fail_msg "no devices"
stranger_up || ktap_exit_fail_msg "no stranger"
subtest "IPv4" as_stranger ip4 ./pane_frames
subtest "IPv6" as_stranger ip6 ./pane_frames
ktap_test_result "no packet waits in the socket" nothing_in_socket
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
