# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the tests of users in the kernel share: one device in the first network
# namespace, whose both ends they are, data that is compared, load that goes on
# meanwhile, and the check that nothing is left behind. Source it after lib.sh.
#
# A test has users_down, which ends what it has begun, at whatever point that
# was. MODULES are those that it loads.

ADDR=10.79.0.1
IF_A=ulp0
DEV_A=nvme0dev
CONFIGFS=/sys/kernel/config
# a brd device that holds what is written, as large as it is by default where it
# is a part of the kernel
DISK=/dev/ram0
SIZE=$((4 << 20))
MODULES=

# need_modules WHAT MODULE...: skip the test where one is missing
need_modules()
{
	local what=$1 module

	shift
	MODULES=$*
	for module in "$@"; do
		modprobe -q "$module" ||
			skip_all "no $what in this kernel: $module"
	done
	# Loaded, it has the port of the first namespace, even without devices.
	modprobe -r -q rdma_rxe
	mountpoint -q "$CONFIGFS" || mount -t configfs none "$CONFIGFS"
}

# ---- the device ----------------------------------------------------------

# The targets listen in the first network namespace only.
stage_up_here()
{
	ip link add $IF_A mtu 4200 type veth peer name ulp1 mtu 4200 &&
		ip link set lo up && ip link set ulp1 up &&
		ip link set $IF_A up && ip addr add $ADDR/24 dev $IF_A &&
		device_comes
}

device_comes()
{
	rdma link add $DEV_A type pane netdev $IF_A &&
		wait_until has_gid $DEV_A $ADDR && roce_mode
}

# What those connect by that leave it to rdma_cm, as they all do
ROCE="IB/RoCE v1"

roce_mode()
{
	local dir=$CONFIGFS/rdma_cm/$DEV_A

	[ -d "$CONFIGFS/rdma_cm" ] || return 0
	mkdir "$dir" && echo "$ROCE" >"$dir/ports/1/default_roce_mode"
	rmdir "$dir"
}

# With all that users have on it: a user that holds on to it holds this up.
device_goes()
{
	timeout "$DEADLINE" rdma link delete $DEV_A ||
		complain "the device stays" || return
	wait_until not dev_exists $DEV_A || complain "the device is there"
}

here_down()
{
	local job

	load_end
	for job in $(jobs -p); do
		kill "$job"
	done
	users_down
	rdma link delete $DEV_A
	ip link delete $IF_A
	rm -rf "$OUT"
} 2>/dev/null

# All that can go; a part of the kernel itself has no count of its users.
modules_go()
{
	local module

	# shellcheck disable=SC2086 # a list
	modprobe -r -a $MODULES 2>/dev/null
	for module in $MODULES; do
		[ ! -e "/sys/module/${module//-/_}/refcnt" ] || return
	done
}

nothing_left_here()
{
	here_down
	wait_until modules_go || complain "left: a module in use" || return
	wait_until refcount_is_zero || complain "left: module in use" || return
	[ -z "$(ss -Huan 'sport = :4791')" ] || complain "left: UDP port" ||
		return
	wait_until module_goes || complain "left: the module"
}

# twice COMMAND...: once by each version of RoCE
twice()
{
	for ROCE in "IB/RoCE v1" "RoCE v2"; do
		roce_mode || ktap_exit_fail_msg "no $ROCE"
		"$@"
	done
}

# begin_here STEPS: with the device; all_steps gives so many results each time
begin_here()
{
	trap here_down EXIT
	trap 'exit 143' TERM INT
	ktap_set_plan $((2 * $1 + 1))
	stage_up_here || ktap_exit_fail_msg "no device"
}

# The test itself, to its end
run_here()
{
	twice all_steps
	ktap_test_result "nothing is left behind" nothing_left_here
	ktap_finished
}

# step NAME COMMAND...: one result, which says by which version it was
step()
{
	local name=$1

	shift
	check "$name, ${ROCE#IB/}" "$@"
}

# ---- counters ------------------------------------------------------------

# moved_by NAME NUMBER: at least, since counters_note
moved_by()
{
	local moved

	moved=$(counter_moved "$DEV_A" "$1")
	[ "$moved" -ge "$2" ] || complain "$1: $moved"
}

# Whoever uses a device in order is never refused anything. (access_dead and
# sent_rem_access may move: an answer that is given again ends where the key was
# taken back.)
nothing_was_refused()
{
	counters_diff "$DEV_A" | grep -e "^access_[kpqr]" -e ^sent_rem_op \
		-e ^sent_inv_req -e _refused -e ^local_prot_err -e ^wqe_err -e ^cq_overrun \
		>"$OUT/refused" || return 0
	show refused
	complain "something was refused"
}

# keys_were_taken_back NUMBER: by SEND_WITH_INV or LOCAL_INV
keys_were_taken_back()
{
	moved_by mw_invalidated "$1" && nothing_was_refused
}

# sends_with_inv COMMAND...: during it, the other side takes keys back. Packets
# of v2 that go to an address of this machine pass the loopback interface.
sends_with_inv()
{
	local pid status=0
	local -a what=("$IF_A" "ether proto 0x8915" "ether[54]")

	[ "$ROCE" != "RoCE v2" ] ||
		what=(lo "udp dst port 4791" "udp[8]")
	timeout "$TOOL_SECONDS" tcpdump -i "${what[0]}" -Z root -n -c 8 \
		-w /dev/null \
		"${what[1]} and (${what[2]} = 0x16 or ${what[2]} = 0x17)" \
		>"$OUT/tcpdump" 2>&1 &
	pid=$!
	wait_until grep -q "listening on" "$OUT/tcpdump" && "$@" || status=1
	wait_until not alive "$pid" || complain "no SEND_WITH_INV" || status=1
	kill "$pid" 2>/dev/null
	wait "$pid" && return "$status"
}

alive()
{
	kill -0 "$1" 2>/dev/null
}

# ---- data ----------------------------------------------------------------

# quietly COMMAND...: what it says is shown if it fails
quietly()
{
	"$@" >"$OUT/said" 2>&1 && return
	show said
	complain "failed: $*"
}

# copies DISK BLOCK-SIZE: random bytes there and back, past the page caches
copies()
{
	local bs=$2 count=256

	[ $((bs * count)) -le "$SIZE" ] || count=$((SIZE / bs))
	head -c $((bs * count)) /dev/urandom >"$OUT/wrote" &&
		quietly dd if="$OUT/wrote" of="$1" bs="$bs" oflag=direct \
			conv=nocreat &&
		quietly dd if="$1" of="$OUT/read" bs="$bs" count=$count \
			iflag=direct &&
		cmp "$OUT/wrote" "$OUT/read" &&
		quietly dd if="$DISK" of="$OUT/kept" bs="$bs" count=$count \
			iflag=direct &&
		cmp "$OUT/wrote" "$OUT/kept"
}

# A tree of files: small ones, some around the sizes of pages and of what goes
# in one message, large ones, links
tree_make()
{
	local dir=$1 size i

	for i in 1 2; do
		mkdir -p "$dir/$i/deep/deeper" || return
		for size in 0 1 511 4095 4096 4097; do
			head -c "$size" /dev/urandom >"$dir/$i/$size"
		done
		for size in 65535 65536 65537; do
			head -c "$size" /dev/urandom >"$dir/$i/deep/$size"
		done
		ln -s ../4096 "$dir/$i/deep/deeper/link"
	done
	head -c 2097153 /dev/urandom >"$dir/large"
}

tree_same()
{
	diff -r --no-dereference "$1" "$2" >"$OUT/diff" 2>&1 && return
	show diff
	complain "trees differ"
}

# tree_copies DIR: a tree there, and what is read when no cache has it
tree_copies()
{
	rm -rf "$OUT/tree" "$1/tree"
	tree_make "$OUT/tree" && cp -a "$OUT/tree" "$1/tree" &&
		sync -f "$1/tree" && echo 3 >/proc/sys/vm/drop_caches &&
		tree_same "$OUT/tree" "$1/tree"
}

# A file system on a disk that has come by the network
file_system_works()
{
	local disk=$1 status=0

	mkdir -p "$OUT/mnt"
	quietly mkfs.ext4 -q -F "$disk" &&
		quietly mount -t ext4 "$disk" "$OUT/mnt" || return
	tree_copies "$OUT/mnt" || status=1
	quietly umount "$OUT/mnt" && [ "$status" -eq 0 ] || return
	quietly mount -t ext4 -o ro "$disk" "$OUT/mnt" || return
	tree_same "$OUT/tree" "$OUT/mnt/tree" || status=1
	quietly umount "$OUT/mnt" && quietly e2fsck -f -n "$disk" &&
		[ "$status" -eq 0 ]
}

# ---- load ----------------------------------------------------------------

LOAD_PID=

# There and back, again and again. A disk that is gone must not become a file.
disk_rounds()
{
	local disk=$1

	head -c 262144 /dev/urandom >"$OUT/load.wrote"
	while [ -e "$OUT/load" ]; do
		dd if="$OUT/load.wrote" of="$disk" bs=64k oflag=direct \
			conv=nocreat &&
			dd if="$disk" of="$OUT/load.read" bs=64k count=4 \
				iflag=direct &&
			cmp "$OUT/load.wrote" "$OUT/load.read" || return
		echo round >>"$OUT/rounds"
	done
}

# A directory is copied, compared and removed, again and again, from inside:
# the file system is in use all the time.
tree_rounds()
{
	cd "$1" || return
	rm -rf load.tree "$OUT/load.tree"
	mkdir "$OUT/load.tree"
	head -c 300000 /dev/urandom >"$OUT/load.tree/large"
	head -c 5000 /dev/urandom >"$OUT/load.tree/small"
	while [ -e "$OUT/load" ]; do
		cp -r "$OUT/load.tree" . && diff -r "$OUT/load.tree" load.tree &&
			rm -r load.tree || return
		echo round >>"$OUT/rounds"
	done
}

rounds_done()
{
	wc -l <"$OUT/rounds"
}

rounds_above()
{
	[ "$(rounds_done)" -gt "$1" ] || not alive "$LOAD_PID"
}

# load_goes_on: it has done more than what was under way
load_goes_on()
{
	wait_until rounds_above $(($(rounds_done) + 1)) ||
		complain "load is stuck" || return
	alive "$LOAD_PID" && return
	show load.log
	complain "load has ended"
}

# load_begin COMMAND...: rounds of it, in the background
load_begin()
{
	: >"$OUT/load"
	: >"$OUT/rounds"
	"$@" >"$OUT/load.log" 2>&1 &
	LOAD_PID=$!
	load_goes_on
}

# load_end: ask it to end; false if it ended badly
load_end()
{
	[ -n "$LOAD_PID" ] || return 0
	local pid=$LOAD_PID

	rm -f "$OUT/load"
	wait_until not alive "$LOAD_PID" || complain "load does not end"
	kill -9 "$pid" 2>/dev/null
	LOAD_PID=
	wait "$pid" 2>/dev/null
}
