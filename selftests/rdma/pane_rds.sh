#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: RDS over RDMA, both ends on one device. It registers the
# memory of programs with REG_MR, and takes it back with LOCAL_INV.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./ulp.sh

talks()
{
	quietly timeout "$TOOL_SECONDS" ./pane_rds.py "$ADDR" "$@"
}

# By the device, and not by a short cut
messages_arrive()
{
	talks messages && moved_by rcvd_pkts 200
}

load_rounds()
{
	exec ./pane_rds.py "$ADDR" load "$OUT/load" "$OUT/rounds"
}

device_returns()
{
	device_goes && device_comes
}

# The connection comes again with the device, and nothing is lost.
device_goes_under_load()
{
	load_begin load_rounds && device_goes && device_comes || return
	load_goes_on
	load_end
}

users_down()
{
	:
}

# Connections stay; those that come after the device was away are new.
all_steps()
{
	device_returns || ktap_exit_fail_msg "no device"
	counters_note "$DEV_A"
	step "messages" messages_arrive
	step "memory is read and written" talks rdma
	step "keys are taken back" keys_were_taken_back 50
	step "the device goes and returns under load" device_goes_under_load
}

ktap_print_header
need_pane
need python3
need_modules "RDS over RDMA" rds rds_rdma
begin_here 4
run_here
