#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: NVMe over Fabrics, target and host, on one device. The
# host registers memory with REG_MR, and the target's SEND_WITH_INV or a
# LOCAL_INV takes it back. What is written is read back and compared.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./ulp.sh

NQN=pane
NVMET=$CONFIGFS/nvmet
PORT=$NVMET/ports/1

target_up()
{
	local subsystem=$NVMET/subsystems/$NQN

	mkdir $subsystem $subsystem/namespaces/1 $PORT &&
		echo 1 >$subsystem/attr_allow_any_host &&
		echo $DISK >$subsystem/namespaces/1/device_path &&
		echo 1 >$subsystem/namespaces/1/enable &&
		echo rdma >$PORT/addr_trtype &&
		echo ipv4 >$PORT/addr_adrfam &&
		echo $ADDR >$PORT/addr_traddr &&
		echo 4420 >$PORT/addr_trsvcid &&
		target_listens
}

target_listens()
{
	ln -s $NVMET/subsystems/$NQN $PORT/subsystems/$NQN
}

# All who are connected lose the connection.
target_listens_no_more()
{
	rm "$PORT/subsystems/$NQN"
}

target_down()
{
	target_listens_no_more
	rmdir "$PORT" "$NVMET/subsystems/$NQN/namespaces/1" \
		"$NVMET/subsystems/$NQN"
} 2>/dev/null

# The controller's sysfs directory
controller()
{
	grep -ls "^$NQN\$" /sys/class/nvme/*/subsysnqn | sed 's,/[^/]*$,,'
}

host_disk()
{
	local dir

	dir=$(controller) && [ -n "$dir" ] && echo "/dev/${dir##*/}n1"
}

has_disk()
{
	[ -b "$(host_disk)" ]
}

controller_is()
{
	[ "$(cat "$(controller)/state" 2>/dev/null)" = "$1" ]
}

connects()
{
	echo "transport=rdma,traddr=$ADDR,trsvcid=4420,nqn=$NQN,nr_io_queues=2,reconnect_delay=1" \
		>/dev/nvme-fabrics && wait_until has_disk
}

disconnects()
{
	local dir

	dir=$(controller) && echo 1 >"$dir/delete_controller" &&
		wait_until not has_disk
}

copies_blocks()
{
	copies "$(host_disk)" "$1"
}

has_file_system()
{
	file_system_works "$(host_disk)"
}

connects_again()
{
	connects && copies_blocks 65536
}

# What was under way when the queues went is done again.
resets_under_load()
{
	local i resets=0

	load_begin disk_rounds "$(host_disk)" || return
	for i in 1 2; do
		echo 1 >"$(controller)/reset_controller" ||
			complain "no reset $i" || break
		wait_until controller_is live || complain "no return $i" || break
		load_goes_on || break
		resets=$i
	done
	load_end && [ "$resets" -eq 2 ]
}

reconnects_under_load()
{
	load_begin disk_rounds "$(host_disk)" || return
	target_listens_no_more
	wait_until controller_is connecting || complain "no connection is lost"
	target_listens
	wait_until controller_is live || complain "connection does not return"
	load_goes_on
	load_end
}

# The host has nobody to talk to then, and goes when it is told to.
device_goes_under_load()
{
	local dir

	dir=$(controller)
	load_begin disk_rounds "$(host_disk)" && device_goes || return
	[ ! -e "$dir/delete_controller" ] ||
		echo 1 >"$dir/delete_controller" 2>/dev/null
	wait_until not has_disk || complain "the disk is there" || return
	! load_end || complain "load without a disk"
}

target_module_goes()
{
	modprobe -r -q nvmet-rdma
}

# From here on all of the target's queues take receive requests of a few SRQs.
shares_requests()
{
	[ -e /sys/module/nvmet_rdma/refcnt ] ||
		skip "NVMe over Fabrics is a part of the kernel" || return
	target_down
	wait_until target_module_goes && modprobe nvmet-rdma use_srq=1 &&
		target_up && connects_again || return
	rdma resource show | grep "$DEV_A:" | grep -q "srq [1-9]" ||
		complain "no SRQ" || return
	disconnects
}

users_down()
{
	local dir

	dir=$(controller)
	mountpoint -q "$OUT/mnt" && umount "$OUT/mnt"
	[ -n "$dir" ] && echo 1 >"$dir/delete_controller"
	target_down
} 2>/dev/null

all_steps()
{
	counters_note "$DEV_A"
	step "the host connects" connects
	step "blocks of 4 KiB" copies_blocks 4096
	step "blocks of 1 MiB" copies_blocks 1048576
	step "SEND_WITH_INV is used" sends_with_inv copies_blocks 65536
	step "keys are taken back" keys_were_taken_back 100
	step "a file system" has_file_system
	step "the host disconnects" disconnects
	step "receive requests are shared" shares_requests
	step "the host connects again" connects_again
	step "resets under load" resets_under_load
	step "the target goes and returns under load" reconnects_under_load
	step "the device goes under load" device_goes_under_load
	target_down
	step "the device returns" device_comes
	target_up || ktap_exit_fail_msg "no target"
}

ktap_print_header
need_pane
need dd cmp diff mkfs.ext4 e2fsck tcpdump
need_modules "NVMe over Fabrics" nvmet nvmet-rdma nvme-rdma \
	brd
begin_here 13
target_up || ktap_exit_fail_msg "no target"
run_here
