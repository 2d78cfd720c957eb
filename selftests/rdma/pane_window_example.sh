#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The example of Documentation/infiniband/pane-windows.rst says what is printed
# there.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

CM_PORT=7471

said_server()
{
	cat <<-'EOF'
	server: ready
	server: request 1, my write: success
	server: request 2, my write: remote access error
	EOF
}

said_client()
{
	cat <<-'EOF'
	client: answer 'forty-two', the window came back with it
	client: no answer in time, the window is shut
	client: local access violation work queue error, the buffer holds 'something else'
	EOF
}

# example ADDRESS: of the server
example()
{
	talk cm "$CM_PORT" ./pane_window_example "$1" -- \
		./pane_window_example "$1" client &&
		diff <(said_server) "$OUT/server" &&
		diff <(said_client) "$OUT/client"
}

ktap_print_header
need_pane
cleanup_at_exit
ktap_set_plan 4
stage_up || ktap_exit_fail_msg "no devices"
ktap_test_result "over IPv4" example "$IP4_B"
ktap_test_result "over IPv6" example "$IP6_B"
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
