#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: NVMe over Fabrics, target and host, on one device. The
# host registers memory with REG_MR, and the target's SEND_WITH_INV or a
# LOCAL_INV takes it back. What is written is read back and compared.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

ADDR=10.79.0.1
NQN=pane
NVMET=/sys/kernel/config/nvmet
MODULES="nvmet nvmet-rdma nvme-rdma brd"
# a brd device that holds what is written
DISK=/dev/ram0
SIZE=$((8 << 20))

# The target listens in the first network namespace only.
stage_up_here()
{
	IF_A=nv0
	DEV_A=nvme0dev
	ip link add $IF_A mtu 4200 type veth peer name nv1 mtu 4200 &&
		ip link set lo up && ip link set nv1 up &&
		ip link set $IF_A up && ip addr add $ADDR/24 dev $IF_A &&
		rdma link add $DEV_A type pane netdev $IF_A &&
		wait_until has_gid $DEV_A $ADDR
}

target_up()
{
	local subsystem=$NVMET/subsystems/$NQN port=$NVMET/ports/1

	mkdir $subsystem $subsystem/namespaces/1 $port &&
		echo 1 >$subsystem/attr_allow_any_host &&
		echo $DISK >$subsystem/namespaces/1/device_path &&
		echo 1 >$subsystem/namespaces/1/enable &&
		echo rdma >$port/addr_trtype &&
		echo ipv4 >$port/addr_adrfam &&
		echo $ADDR >$port/addr_traddr &&
		echo 4420 >$port/addr_trsvcid &&
		ln -s $subsystem $port/subsystems/$NQN
}

target_down()
{
	rm -f "$NVMET/ports/1/subsystems/$NQN"
	rmdir "$NVMET/ports/1" "$NVMET/subsystems/$NQN/namespaces/1" \
		"$NVMET/subsystems/$NQN"
} 2>/dev/null

# The controller's sysfs directory
controller()
{
	grep -ls "^$NQN\$" /sys/class/nvme/*/subsysnqn | sed 's,/[^/]*$,,'
}

has_disk()
{
	local dir

	dir=$(controller) && [ -n "$dir" ] && [ -b "/dev/${dir##*/}n1" ]
}

connects()
{
	echo "transport=rdma,traddr=$ADDR,trsvcid=4420,nqn=$NQN,nr_io_queues=2" \
		>/dev/nvme-fabrics && wait_until has_disk
}

disconnects()
{
	local dir

	dir=$(controller) && echo 1 >"$dir/delete_controller" &&
		wait_until not has_disk
}

# copies BLOCK-SIZE: random bytes there and back, past the page caches
copies()
{
	local dir disk

	dir=$(controller)
	disk=/dev/${dir##*/}n1
	head -c "$SIZE" /dev/urandom >"$OUT/wrote" &&
		dd if="$OUT/wrote" of="$disk" bs="$1" oflag=direct 2>&1 &&
		dd if="$disk" of="$OUT/read" bs="$1" count=$((SIZE / $1)) \
			iflag=direct 2>&1 &&
		cmp "$OUT/wrote" "$OUT/read" &&
		dd if="$DISK" of="$OUT/kept" bs=1M count=$((SIZE >> 20)) \
			iflag=direct 2>&1 &&
		cmp "$OUT/wrote" "$OUT/kept"
}

keys_were_taken_back()
{
	local moved

	moved=$(counter_moved "$DEV_A" mw_invalidated)
	[ "$moved" -gt 100 ] || complain "$moved invalidations"
}

connects_again()
{
	connects && copies 65536 && disconnects
}

# The host has nobody to talk to then, and goes when it is told to.
device_goes_under_load()
{
	local dir

	connects || return
	dir=$(controller)
	rdma link delete "$DEV_A" || return
	wait_until not dev_exists "$DEV_A" || return
	[ ! -e "$dir/delete_controller" ] ||
		echo 1 >"$dir/delete_controller" 2>/dev/null
	wait_until not has_disk
}

here_down()
{
	local dir

	dir=$(controller)
	[ -n "$dir" ] && echo 1 >"$dir/delete_controller"
	target_down
	rdma link delete "$DEV_A"
	ip link delete "$IF_A"
	# shellcheck disable=SC2086 # a list
	modprobe -r -a $MODULES
	rm -rf "$OUT"
} 2>/dev/null

nothing_left_here()
{
	here_down
	wait_until refcount_is_zero || complain "left: module in use" || return
	[ -z "$(ss -Huan 'sport = :4791')" ] || complain "left: UDP port" ||
		return
	wait_until modprobe -r rdma_pane || complain "left: the module"
}

ktap_print_header
need_pane
need dd cmp
# shellcheck disable=SC2086 # a list
if ! modprobe -q -a $MODULES || [ ! -b $DISK ]; then
	ktap_skip_all "no NVMe over Fabrics in this kernel"
	exit "$KSFT_SKIP"
fi
# Loaded, it has the port of the first namespace, though there is no device.
modprobe -r -q rdma_rxe
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
trap here_down EXIT
trap 'exit 143' TERM INT
ktap_set_plan 8
stage_up_here || ktap_exit_fail_msg "no device"
target_up || ktap_exit_fail_msg "no target"
counters_note $DEV_A
ktap_test_result "the host connects" connects
ktap_test_result "blocks of 4 KiB" copies 4096
ktap_test_result "blocks of 1 MiB" copies 1048576
ktap_test_result "keys are taken back" keys_were_taken_back
ktap_test_result "the host disconnects" disconnects
ktap_test_result "the host connects again" connects_again
ktap_test_result "the device goes" device_goes_under_load
ktap_test_result "nothing is left behind" nothing_left_here
ktap_finished
