#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: SRP, target and initiator, on one device. The initiator
# registers memory with REG_MR, and takes it back with LOCAL_INV.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./ulp.sh

CM_PORT=5555
FABRIC=$CONFIGFS/target/srpt
STORE=$CONFIGFS/target/core/iblock_0/pane

# The target port's name is the last half of the first GID of the device.
target_name()
{
	local gid

	read -r gid <"/sys/class/infiniband/$DEV_A/ports/1/gids/0" &&
		echo "${gid#*:*:*:*:}"
}

target_up()
{
	local tpg

	mkdir -p $STORE $FABRIC && echo "udev_path=$DISK" >$STORE/control &&
		echo 1 >$STORE/enable || return
	echo $CM_PORT >$FABRIC/discovery_auth/rdma_cm_port || return
	tpg=$FABRIC/$(target_name)/pane
	mkdir -p "$tpg/lun/lun_0" && ln -s $STORE "$tpg/lun/lun_0/pane" &&
		acl_up "$tpg" && echo 1 >"$tpg/enable"
} >"$OUT/target"

# The initiator has to be known. Its name is its address.
acl_up()
{
	local acl=$1/acls/$ADDR

	mkdir -p "$acl/lun_0" && ln -s "$1/lun/lun_0" "$acl/lun_0/pane"
}

target_down()
{
	local tpg

	for tpg in "$FABRIC"/*/pane; do
		echo 0 >"$tpg/enable"
		rm -f "$tpg"/acls/*/lun_0/pane
		rmdir "$tpg"/acls/*/lun_0 "$tpg"/acls/*
		rm -f "$tpg/lun/lun_0/pane"
		rmdir "$tpg/lun/lun_0" "$tpg" "${tpg%/*}"
	done
	echo 0 >"$FABRIC/discovery_auth/rdma_cm_port"
	rmdir "$FABRIC" "$STORE" "$CONFIGFS/target/core/iblock_0"
} 2>/dev/null

# The target's port, as the initiator sees it: port-HOST:NUMBER
remote_port()
{
	local dir

	for dir in /sys/class/srp_remote_ports/port-*; do
		[ ! -e "$dir" ] || echo "$dir"
	done
}

host_disk()
{
	local dir host

	host=$(remote_port)
	host=${host##*/port-}
	for dir in "/sys/class/scsi_host/host${host%:*}/device"/target*/*/block/*; do
		[ ! -e "$dir" ] || echo "/dev/${dir##*/}"
	done
}

has_disk()
{
	[ -b "$(host_disk)" ]
}

# What the target calls itself
service_id()
{
	local id

	read -r id </sys/module/ib_srpt/parameters/srpt_service_guid &&
		printf '%016x' "$id"
}

# Refused as long as the connection before is not forgotten, which can be seen
# by nothing else.
adds_target()
{
	echo "id_ext=$1,ioc_guid=$1,dest=$ADDR:$CM_PORT" \
		>"/sys/class/infiniband_srp/srp-$DEV_A-1/add_target"
} 2>/dev/null

logs_in()
{
	local id

	id=$(service_id) && wait_until adds_target "$id" && wait_until has_disk
}

logs_out()
{
	echo 1 >"$(remote_port)/delete" && wait_until not has_disk
}

copies_blocks()
{
	copies "$(host_disk)" "$1"
}

has_file_system()
{
	file_system_works "$(host_disk)"
}

port_is_running()
{
	[ "$(cat "$(remote_port)/state" 2>/dev/null)" = running ]
}

# What was under way when the connection went is done again.
reconnects_under_load()
{
	local tpg

	tpg=$FABRIC/$(target_name)/pane
	echo 1 >"$(remote_port)/reconnect_delay"
	load_begin disk_rounds "$(host_disk)" || return
	echo 0 >"$tpg/enable"
	wait_until not port_is_running || complain "no connection is lost"
	echo 1 >"$tpg/enable"
	wait_until port_is_running || complain "connection does not return"
	load_goes_on
	load_end
}

# The disk goes with it, at both ends.
device_goes_under_load()
{
	load_begin disk_rounds "$(host_disk)" && device_goes || return
	wait_until not has_disk || complain "the disk is there" || return
	! load_end || complain "load without a disk"
}

logs_in_again()
{
	logs_in && copies_blocks 65536
}

users_down()
{
	mountpoint -q "$OUT/mnt" && umount "$OUT/mnt"
	! has_disk || logs_out
	target_down
} >/dev/null 2>&1

all_steps()
{
	counters_note "$DEV_A"
	step "the initiator logs in" logs_in
	step "blocks of 4 KiB" copies_blocks 4096
	step "blocks of 1 MiB" copies_blocks 1048576
	step "keys are taken back" keys_were_taken_back 100
	step "a file system" has_file_system
	step "the initiator logs out" logs_out
	step "the initiator logs in again" logs_in_again
	step "the target goes and returns under load" reconnects_under_load
	step "the device goes under load" device_goes_under_load
	target_down
	step "the device returns" device_comes
	target_up || ktap_exit_fail_msg "no target"
}

ktap_print_header
need_pane
need dd cmp diff mkfs.ext4 e2fsck
need_modules SRP target_core_iblock ib_srpt ib_srp sd_mod brd
begin_here 10
target_up || ktap_exit_fail_msg "no target"
run_here
