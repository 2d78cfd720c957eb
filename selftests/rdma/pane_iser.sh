#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: iSER, target and initiator, on one device. The initiator
# registers memory with REG_MR, and the target's SEND_WITH_INV takes it back.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./ulp.sh

# Programs that are not installed are where the runner says.
PATH=$PATH:${PANE_TOOLS:-}/sbin
LD_LIBRARY_PATH=${PANE_TOOLS:-}/usr/lib/$(uname -m)-linux-gnu
export LD_LIBRARY_PATH
TARGET=iqn.2001-04.com.example:pane
INITIATOR=iqn.2001-04.com.example:host
FABRIC=$CONFIGFS/target/iscsi
TPG=$FABRIC/$TARGET/tpgt_1
# A portal of one address would not outlive the device.
PORTAL=$TPG/np/0.0.0.0:3260
STORE=$CONFIGFS/target/core/iblock_0/pane
DAEMON_PID=

target_up()
{
	mkdir -p $STORE && echo "udev_path=$DISK" >$STORE/control &&
		echo 1 >$STORE/enable || return
	mkdir -p $TPG/lun/lun_0 $PORTAL &&
		ln -s $STORE $TPG/lun/lun_0/pane &&
		echo 1 >$PORTAL/iser &&
		echo 0 >$TPG/attrib/authentication &&
		echo 1 >$TPG/attrib/generate_node_acls &&
		echo 1 >$TPG/attrib/cache_dynamic_acls &&
		echo 0 >$TPG/attrib/demo_mode_write_protect &&
		echo 1 >$TPG/enable
} >"$OUT/target"

target_down()
{
	echo 0 >"$TPG/enable"
	rm -f "$TPG/lun/lun_0/pane"
	rmdir "$PORTAL" "$TPG/lun/lun_0" "$TPG" "$FABRIC/$TARGET" "$FABRIC"
	rmdir "$STORE" "$CONFIGFS/target/core/iblock_0"
} 2>/dev/null

# With settings of its own, whatever this machine has
daemon_up()
{
	mkdir -p /etc/iscsi /run/lock && mount -t tmpfs pane /etc/iscsi || return
	echo "InitiatorName=$INITIATOR" >/etc/iscsi/initiatorname.iscsi
	cat >/etc/iscsi/iscsid.conf <<-END
		node.startup = manual
		node.session.auth.authmethod = None
		node.session.timeo.replacement_timeout = 120
		node.conn[0].timeo.noop_out_interval = 1
		node.conn[0].timeo.noop_out_timeout = 2
	END
	# When it ends, it ends all its process group.
	setsid iscsid -f >"$OUT/daemon" 2>&1 &
	DAEMON_PID=$!
	wait_until admin -m session -P 0
}

# Success is a list of sessions, or that there is none
admin()
{
	local status=0

	iscsiadm "$@" >"$OUT/admin" 2>&1 || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 21 ]
}

daemon_down()
{
	[ -n "$DAEMON_PID" ] || return 0
	kill "$DAEMON_PID"
	wait "$DAEMON_PID"
	DAEMON_PID=
	umount /etc/iscsi
	rmdir /etc/iscsi
} 2>/dev/null

node()
{
	quietly iscsiadm -m node -T "$TARGET" -p "$ADDR:3260" "$@"
}

host_disk()
{
	local dir

	for dir in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		[ ! -e "$dir" ] || echo "/dev/${dir##*/}"
	done
}

has_disk()
{
	[ -b "$(host_disk)" ]
}

session_is()
{
	[ "$(cat /sys/class/iscsi_session/session*/state 2>/dev/null)" = "$1" ]
}

uses_iser()
{
	grep -qx iser /sys/class/iscsi_host/host*/device/scsi_host/*/proc_name ||
		grep -q iser <<<"$(iscsiadm -m session)"
} 2>/dev/null

logs_in()
{
	node -I iser -o new && node -I iser -l || return
	wait_until has_disk || complain "no disk" || return
	uses_iser || complain "this is not iSER"
}

logs_out()
{
	node -u && wait_until not has_disk && node -o delete
}

copies_blocks()
{
	copies "$(host_disk)" "$1"
}

has_file_system()
{
	file_system_works "$(host_disk)"
}

logs_in_again()
{
	logs_in && copies_blocks 65536
}

# What was under way when the connection went is done again.
reconnects_under_load()
{
	load_begin disk_rounds "$(host_disk)" || return
	echo 0 >"$TPG/enable"
	wait_until not session_is LOGGED_IN || complain "session stays"
	echo 1 >"$TPG/enable"
	wait_until session_is LOGGED_IN || complain "session does not return"
	load_goes_on
	load_end
}

device_goes_under_load()
{
	load_begin disk_rounds "$(host_disk)" && device_goes && device_comes ||
		return
	wait_until session_is LOGGED_IN || complain "session does not return"
	load_goes_on
	load_end
}

users_down()
{
	mountpoint -q "$OUT/mnt" && umount "$OUT/mnt"
	iscsiadm -m node -u
	daemon_down
	target_down
} >/dev/null 2>&1

all_steps()
{
	counters_note "$DEV_A"
	step "the initiator logs in" logs_in
	step "blocks of 4 KiB" copies_blocks 4096
	step "blocks of 1 MiB" copies_blocks 1048576
	step "SEND_WITH_INV is used" sends_with_inv copies_blocks 65536
	step "keys are taken back" keys_were_taken_back 100
	step "a file system" has_file_system
	step "the initiator logs out" logs_out
	step "the initiator logs in again" logs_in_again
	step "the target goes and returns under load" reconnects_under_load
	step "the device goes and returns under load" device_goes_under_load
	step "the initiator logs out again" logs_out
}

ktap_print_header
need_pane
need dd cmp diff mkfs.ext4 e2fsck iscsid iscsiadm tcpdump
! pidof iscsid >/dev/null || skip_all "this machine runs iscsid"
need_modules iSER iscsi_target_mod target_core_iblock ib_isert ib_iser sd_mod brd
begin_here 11
target_up || ktap_exit_fail_msg "no target"
daemon_up || ktap_exit_fail_msg "no iscsid"
run_here
