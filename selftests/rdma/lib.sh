# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Two network namespaces with an Ethernet link between them and a pane device at
# each end, and what tests on them need: servers that are waited for, counters,
# and the check that nothing is left behind. Source it after ktap_helpers.sh.
#
# The devices carry names that look like those of other drivers: a provider
# that goes by the name would take the wrong one.

. "${BASH_SOURCE[0]%/*}/gid.sh"
. "${BASH_SOURCE[0]%/*}/scaled.sh"

NS_A=pane-a.$$
NS_B=pane-b.$$
IF_A=pna$$
IF_B=pnb$$
DEV_A=rxe_$$
DEV_B=mlx5_$$
IP4_A=10.77.0.1
IP4_B=10.77.0.2
IP6_A=fd77::1
IP6_B=fd77::2
MTU=4200

# For things that happen at once unless something is broken
DEADLINE=$(scaled 10 60)
# For a program that has some work to do
TOOL_SECONDS=$(scaled 30 180)

# PANE_ALL=1: everything, however long it takes
is_all()
{
	[ "${PANE_ALL:-}" = 1 ]
}

# What every line of a list begins with when only PANE_ALL runs it
list_for_time()
{
	local some='s/^  //p'

	! is_all || some='s/^..//p'
	sed -n "$some"
}

OUT=$(mktemp -d)
# A pipe that nobody writes to
NEVER=$OUT/never
mkfifo "$NEVER"

# nap SECONDS: without a program, whose start takes longer than that at times
nap()
{
	read -rt "$1" <>"$NEVER"
	return 0
}

# wait_until COMMAND...: poll until it succeeds; false when the time is over
wait_until()
{
	local end=$((SECONDS + DEADLINE))

	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		nap 0.05
	done
}

not()
{
	! "$@"
}

# complain REASON...: false, for the end of a condition that was not met
complain()
{
	ktap_print_msg "$*"
	return 1
}

# A condition that is not met ends a test with this status, which skips it
SKIP=4

# skip REASON...
skip()
{
	ktap_print_msg "$*"
	return "$SKIP"
}

# check NAME COMMAND...: one result; the command may end with the status above
check()
{
	local name=$1 status=0

	shift
	"$@" || status=$?
	case $status in
	0) ktap_test_pass "$name" ;;
	"$SKIP") ktap_test_skip "$name" ;;
	*) ktap_test_fail "$name" ;;
	esac
}

# refused TEXT COMMAND...: the command fails, and this is among what it says
refused()
{
	local text=$1 said

	shift
	if said=$("$@" 2>&1); then
		ktap_print_msg "succeeded: $*"
		return 1
	fi
	grep -qi -- "$text" <<<"$said" && return
	ktap_print_msg "'$said' instead of '$text': $*"
	return 1
}

# skip_all REASON...: nothing can be tested
skip_all()
{
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

# need TOOL...: skip the whole test when one of them is missing
need()
{
	local tool

	for tool in "$@"; do
		command -v "$tool" >/dev/null ||
			skip_all "no $tool on this machine"
	done
}

need_pane()
{
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	need ip rdma ss ethtool ping
	modprobe -q rdma_pane || skip_all "no rdma_pane module"
	grep -q '^rdma_pane ' /proc/modules || BUILT_IN=yes
}

# Part of the kernel, the driver cannot be unloaded.
BUILT_IN=

is_built_in()
{
	[ -n "$BUILT_IN" ]
}

need_module()
{
	! is_built_in || skip "the driver is built in"
}

module_goes()
{
	is_built_in || modprobe -r rdma_pane
}

# ---- whose devices are seen where --------------------------------------

# In shared mode all namespaces see all devices, in exclusive mode each sees its
# own, and sysfs has to be looked at from inside.
RDMA_NETNS=shared

# netns_mode shared|exclusive: without namespaces, and those deleted take a while
netns_mode()
{
	wait_until rdma system set netns "$1" 2>/dev/null || return
	RDMA_NETNS=$1
}

# in_sight DEVICE COMMAND...: where the device is seen
in_sight()
{
	local place=$NS_B

	[ "$1" = "$DEV_A" ] && place=$NS_A
	shift
	if [ "$RDMA_NETNS" = exclusive ]; then
		ip netns exec "$place" "$@"
	else
		"$@"
	fi
}

# in_sight_call FUNCTION DEVICE ARGUMENT...: one of those that are exported
in_sight_call()
{
	if [ "$RDMA_NETNS" = exclusive ]; then
		in_sight "$2" bash -c '"$@"' bash "$@"
	else
		"$@"
	fi
}

# everywhere COMMAND...: wherever there are devices
everywhere()
{
	if [ "$RDMA_NETNS" = exclusive ]; then
		in_a "$@"
		in_b "$@"
	else
		"$@"
	fi
}

# ---- namespaces, interfaces, devices -----------------------------------

in_a()
{
	ip netns exec "$NS_A" "$@"
}

in_b()
{
	ip netns exec "$NS_B" "$@"
}

# ip_batch NAMESPACE: commands from stdin, whatever becomes of those before
ip_batch()
{
	ip -n "$1" -force -batch -
}

add_address()
{
	ip_batch "$1" <<-EOT
	addr add $3 dev $2
	addr add $4 dev $2 nodad
	link set $2 up
	link set lo up
	EOT
}

# Of `ip link`, for both interfaces
IF_OPTIONS=()

net_wire()
{
	ip -n "$NS_A" link add "$IF_A" "${IF_OPTIONS[@]}" mtu "$MTU" \
		type veth peer name "$IF_B" "${IF_OPTIONS[@]}" mtu "$MTU" \
		netns "$NS_B"
}

# Namespaces, and a link between them
wire_up()
{
	ip netns add "$NS_A" && ip netns add "$NS_B" && net_wire
}

# With addresses
net_up()
{
	wire_up || return
	add_address "$NS_A" "$IF_A" "$IP4_A/24" "$IP6_A/64"
	add_address "$NS_B" "$IF_B" "$IP4_B/24" "$IP6_B/64"
}

# link_add NAMESPACE DEVICE INTERFACE
link_add()
{
	ip netns exec "$1" rdma link add "$2" type pane netdev "$3"
}

dev_exists()
{
	in_sight "$1" test -e "/sys/class/infiniband/$1"
}

link_del()
{
	in_sight "$1" rdma link delete "$1"
}

# Kernels from 6.17 on let a driver put the device into the namespace of its
# interface. Before, it is in the first one, and `rdma dev set` has to move it.
device_up()
{
	link_add "$1" "$2" "$3" || return
	if [ "$RDMA_NETNS" = exclusive ] && [ -e "/sys/class/infiniband/$2" ]
	then
		ktap_print_msg "device is moved by hand"
		rdma dev set "$2" netns "$1"
	fi
}

devices_up()
{
	device_up "$NS_A" "$DEV_A" "$IF_A" &&
		device_up "$NS_B" "$DEV_B" "$IF_B" &&
		wait_until gids_ready && wait_until answers "$IP4_B" &&
		wait_until answers "$IP6_B"
}

# Connecting a QP does not wait for long until a neighbour is found.
answers()
{
	in_a ping -c 1 -W 1 "$1" >/dev/null
}

devices_down()
{
	link_del "$DEV_A"
	link_del "$DEV_B"
	wait_until not dev_exists "$DEV_A" && wait_until not dev_exists "$DEV_B"
}

net_down()
{
	ip netns del "$NS_A"
	ip netns del "$NS_B"
}

# The whole stage; the trap of cleanup_at_exit takes it down
stage_up()
{
	net_up && devices_up && resources_note
}

# ---- addresses of devices ----------------------------------------------

# gid_index DEVICE ADDRESS [v1|v2 [INTERFACE]]: the number, wherever the device is seen
gid_index()
{
	in_sight_call gid_index_here "$@"
}

has_gid()
{
	gid_index "$@" >/dev/null
}

gids_ready()
{
	has_gid "$DEV_A" "$IP4_A" && has_gid "$DEV_A" "$IP6_A" &&
		has_gid "$DEV_B" "$IP4_B" && has_gid "$DEV_B" "$IP6_B" &&
		port_is "$DEV_A" ACTIVE && port_is "$DEV_B" ACTIVE
}

port_is_here()
{
	local state=''

	read -r state 2>/dev/null <"/sys/class/infiniband/$1/ports/1/state"
	[ "${state#*: }" = "$2" ]
}

# port_is DEVICE ACTIVE|DOWN
port_is()
{
	in_sight_call port_is_here "$@"
}

export -f port_is_here

# ---- programs at both ends ---------------------------------------------

SERVER_PID=

# Where servers are
SERVER_NS=$NS_B

# server COMMAND...: run it there, with a time limit
server()
{
	ip netns exec "$SERVER_NS" timeout -k 5 "$TOOL_SECONDS" "$@" >"$OUT/server" 2>&1 &
	SERVER_PID=$!
}

# client COMMAND...: in the first namespace
client()
{
	in_a timeout -k 5 "$TOOL_SECONDS" "$@" >"$OUT/client" 2>&1
}

listens_tcp()
{
	[ -n "$(ip netns exec "$SERVER_NS" ss -Htln "sport = :$1")" ]
}

# Devices that an expression stands for are looked at only
CM_DEVICE='.*'

listens_cm()
{
	ip netns exec "$SERVER_NS" rdma resource show cm_id |
		grep -q "^link $CM_DEVICE/.* state LISTEN .*:$1 "
}

# For those that do not listen: they say when they are ready.
listens_text()
{
	grep -q "$1" "$OUT/server"
}

# wait_server tcp|cm PORT, or text TEXT: until it listens; false when it gives up before
wait_server()
{
	local end=$((SECONDS + DEADLINE))

	until "listens_$1" "$2"; do
		kill -0 "$SERVER_PID" 2>/dev/null && [ "$SECONDS" -lt "$end" ] ||
			return 1
		nap 0.05
	done
}

# The server's exit status; it ends by itself or is broken
server_status()
{
	wait "$SERVER_PID"
	local status=$?

	SERVER_PID=
	return "$status"
}

server_kill()
{
	[ -n "$SERVER_PID" ] || return 0
	kill "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID" 2>/dev/null
	SERVER_PID=
}

show()
{
	local name

	for name in "$@"; do
		[ -s "$OUT/$name" ] && sed "s/^/# $name: /" "$OUT/$name" |
			tail -n 8
	done
}

# Messages each way, as a sign of life
pingpong()
{
	local a b

	a=$(gid_index "$DEV_A" "$IP4_A") && b=$(gid_index "$DEV_B" "$IP4_B") ||
		return
	talk tcp 18515 ibv_rc_pingpong -d "$DEV_B" -g "$b" -n 100 -- \
		ibv_rc_pingpong -d "$DEV_A" -g "$a" -n 100 "$IP4_B"
}

# A listener is listed a moment before the first connection finds it: there is no
# such service (8) as yet.
came_too_early()
{
	[ "$1" = cm ] && grep -q 'REJECTED.*error: 8\b' "$OUT/client"
}

# talk tcp|cm|text WHAT SERVER-COMMAND -- CLIENT-COMMAND: both have to succeed;
# with ENDLESS the server is one that has to be ended
talk()
{
	local kind=$1 port=$2 status=0
	local -a server_command=()

	shift 2
	while [ "$1" != -- ]; do
		server_command+=("$1")
		shift
	done
	shift
	server "${server_command[@]}"
	if ! wait_server "$kind" "$port"; then
		complain "server does not listen: ${server_command[*]}"
		server_kill
		show server
		return 1
	fi
	client "$@" || status=$?
	if [ "$status" -ne 0 ] && came_too_early "$kind"; then
		status=0
		client "$@" || status=$?
	fi
	if [ "$status" -ne 0 ]; then
		complain "client: status $status: $*"
		server_kill
	elif [ -n "${ENDLESS:-}" ]; then
		server_kill
	elif ! server_status; then
		complain "server failed: ${server_command[*]}" || status=1
	fi
	[ "$status" -eq 0 ] || show client server
	return "$status"
}

# ---- a stranger who sends frames by hand --------------------------------

# At the second end of the link, under addresses that nobody has
STRANGER_IP4=10.77.0.66
STRANGER_IP6=fd77::66
STRANGER_MAC=02:00:00:00:00:66

mac_of()
{
	ip netns exec "$1" cat "/sys/class/net/$2/address"
}

# The device's end knows the stranger, and has a second address of each kind.
stranger_up()
{
	ip -n "$NS_A" neigh replace "$STRANGER_IP4" lladdr "$STRANGER_MAC" \
		dev "$IF_A" &&
		ip -n "$NS_A" neigh replace "$STRANGER_IP6" \
			lladdr "$STRANGER_MAC" dev "$IF_A" &&
		ip -n "$NS_A" addr add 10.77.0.129/24 dev "$IF_A" &&
		ip -n "$NS_A" addr add fd77::81/64 dev "$IF_A" nodad &&
		wait_until has_gid "$DEV_A" 10.77.0.129 &&
		wait_until has_gid "$DEV_A" fd77::81 &&
		# one frame a packet, which is what is decoded there
		in_a ethtool -K "$IF_A" tx-udp-segmentation off >/dev/null
}

# as_stranger NET COMMAND...: with what PANE_FRAMES has to say
as_stranger()
{
	local net=$1

	shift
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET=$net \
	PANE_FRAMES="/run/netns/$NS_B $IF_B $STRANGER_IP4 $STRANGER_IP6 \
		$STRANGER_MAC $(mac_of "$NS_A" "$IF_A") /run/netns/$NS_A" "$@"
}

# Not every device has RoCE v1.
as_stranger_v1()
{
	has_gid "$DEV_A" "$IP4_A" v1 || return "$SKIP"
	as_stranger v1 "$@"
}

# strange_frames COMMAND...: all of a test whose program sends frames that a
# stranger might send, over each network
strange_frames()
{
	ktap_print_header
	need_pane
	cleanup_at_exit
	ktap_set_plan 6
	stage_up || ktap_exit_fail_msg "no devices"
	stranger_up || ktap_exit_fail_msg "no stranger"
	subtest "IPv4" as_stranger ip4 "$@"
	subtest "IPv6" as_stranger ip6 "$@"
	subtest "RoCE v1" as_stranger_v1 "$@"
	ktap_test_result "no packet waits in the socket" nothing_in_socket
	ktap_test_result "all objects are given back" nothing_in_use
	ktap_test_result "nothing is left behind" nothing_left
	ktap_finished
}

# Packets that the driver leaves to the socket nobody reads would stay there.
nothing_in_socket()
{
	in_a ss -Huan "sport = :4791" | awk '$2 > 0 { found = 1 }
		END { exit found }'
}

# multicast RECEIVER-ADDRESS SENDER-ADDRESS OPTION...: by mckey, which needs to
# know from the routes where the group is, and ends with success in any case
multicast()
{
	local to=$1 from=$2 group=239.7.7.7

	shift 2
	ip -n "$NS_A" route replace 224.0.0.0/4 dev "$IF_A" &&
		ip -n "$NS_B" route replace 224.0.0.0/4 dev "$IF_B" || return
	talk text "receiving" stdbuf -oL mckey -m "$group" -b "$to" "$@" -- \
		mckey -m "$group" -b "$from" -s "$@" &&
		transfers_complete server && transfers_complete client
}

transfers_complete()
{
	grep -q "data transfers complete" "$OUT/$1" && return
	show "$1"
	complain "$1: no transfers"
}

# ---- frames ------------------------------------------------------------

# Frame by frame, with all checksums in them
single_frames()
{
	local pair

	for pair in "$NS_A $IF_A" "$NS_B $IF_B"; do
		ip netns exec "${pair% *}" ethtool -K "${pair#* }" \
			tx-udp-segmentation off tx-checksum-ip-generic off
	done
} >/dev/null

# A datagram that is none of RoCE, and the last one
END=pane-end-of-capture
END_PORT=9

TCPDUMP_PID=

# capture NAMESPACE INTERFACE FILE [FILTER]: from now on
capture()
{
	ip netns exec "$1" tcpdump -i "$2" -Z root -U --immediate-mode \
		-B 16384 -w "$OUT/$3.pcap" "${@:4}" >"$OUT/tcpdump" 2>&1 &
	TCPDUMP_PID=$!
	wait_until grep -q "listening on" "$OUT/tcpdump"
}

has_end()
{
	grep -aq "$END" "$1"
}

# capture_end FILE: all that was sent before this is in the file
capture_end()
{
	in_a bash -c "echo $END >/dev/udp/$IP4_B/$END_PORT"
	wait_until has_end "$OUT/$1.pcap"
	local status=$?

	kill -INT "$TCPDUMP_PID"
	wait "$TCPDUMP_PID"
	[ "$status" -eq 0 ] && grep -q "^0 packets dropped by kernel" \
		"$OUT/tcpdump" && return
	show tcpdump
	complain "frames were not captured"
}

# frames FILE FILTER: how many
frames()
{
	tcpdump -n -r "$OUT/$1.pcap" "$2" 2>/dev/null | wc -l
}

# ---- how rdma_cm connects ----------------------------------------------

CONFIG=/sys/kernel/config

# cm_mode MODE: of what rdma_cm connects by these devices; CM_SETTING says which
cm_mode()
{
	local device

	for device in "$DEV_A" "$DEV_B"; do
		mkdir -p "$CONFIG/rdma_cm/$device" &&
			echo "$1" 2>/dev/null \
				>"$CONFIG/rdma_cm/$device/ports/1/$CM_SETTING" ||
			return
	done
}

cm_mode_off()
{
	rmdir "$CONFIG/rdma_cm/$DEV_A" "$CONFIG/rdma_cm/$DEV_B"
} 2>/dev/null

need_configfs()
{
	modprobe -q rdma_cm
	[ -d "$CONFIG/rdma_cm" ] || mount -t configfs none "$CONFIG"
	[ -d "$CONFIG/rdma_cm" ] || skip "no configfs of rdma_cm"
} 2>/dev/null

# ---- counters ----------------------------------------------------------

# counters DEVICE: all of them, "NAME VALUE" each, as they are now
counters()
{
	in_sight "$1" rdma statistic show link "$1/1" | sed 's/^link [^ ]* //' |
		tr -s ' ' '\n' | paste -d ' ' - - | sort
}

# counter DEVICE NAME: the same by way of sysfs, which takes less time; nothing
# if there is no such counter
counter()
{
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2" 2>/dev/null
}

# counters_note DEVICE; counters_diff DEVICE: "NAME +N" for each that moved
counters_note()
{
	counters "$1" >"$OUT/counters.$1"
}

counters_diff()
{
	counters "$1" | join "$OUT/counters.$1" - |
		awk '$2 != $3 { print $1, $3 - $2 }'
}

# counter_moved DEVICE NAME: by how much since counters_note
counter_moved()
{
	local before

	before=$(awk -v name="$2" '$1 == name { print $2 }' "$OUT/counters.$1")
	echo $(($(counter "$1" "$2") - before))
}

# ---- rdma_rxe ----------------------------------------------------------

# It has the port in the first namespace up to Linux 7.0, from when it is loaded
# on, and since then in that of its device. Sets where it is taken, and an
# interface there for another device.
# shellcheck disable=SC2034 # for whoever calls it
rxe_take_port()
{
	RXE_NS=$NS_A RXE_IF=$IF_A
	ip -n "$NS_A" link add "dm$$" type dummy
	modprobe rdma_rxe || return
	if [ -n "$(ss -Huan 'sport = :4791')" ]; then
		# the socket is in the first namespace
		ip link add "rx$$" type dummy
		ip netns attach "rxe.$$" $$
		RXE_NS=rxe.$$ RXE_IF=rx$$
	else
		ip netns exec "$NS_A" rdma link add "rx$$" type rxe \
			netdev "dm$$"
	fi
}

rxe_give_back()
{
	rdma link del "rx$$" 2>/dev/null
	modprobe -r rdma_rxe
	ip link del "rx$$" 2>/dev/null
	ip -n "$NS_A" link del "dm$$"
	[ ! -e "/run/netns/rxe.$$" ] || ip netns del "rxe.$$"
}

# ---- what must not be left behind --------------------------------------

# Objects on the devices, without the kernel's names for them
resources()
{
	everywhere rdma resource show 2>/dev/null | sed 's/^[0-9]*: //' |
		grep -e "^$DEV_A:" -e "^$DEV_B:" | sort
}

resources_note()
{
	resources >"$OUT/resources"
}

resources_same()
{
	resources | cmp -s - "$OUT/resources"
}

port_is_free()
{
	[ -z "$(ip netns exec "$1" ss -Huan "sport = :4791")" ]
}

refcount_is_zero()
{
	[ "$(cat /sys/module/rdma_pane/refcnt 2>/dev/null || echo 0)" -eq 0 ]
}

no_pane_links()
{
	! everywhere rdma link show | grep -q -e "link $DEV_A/" -e "link $DEV_B/"
}

# With the devices still there: all that programs had is given back
nothing_in_use()
{
	wait_until resources_same && return
	ktap_print_msg "left behind, before and now:"
	sed 's/^/# before: /' "$OUT/resources"
	resources | sed 's/^/# now:    /'
	everywhere rdma resource show qp | sed 's/^/# /'
	return 1
}

# Without devices: no socket, no reference to the module, which can go
nothing_left()
{
	devices_down
	wait_until port_is_free "$NS_A" || complain "left: UDP port, $NS_A" ||
		return
	wait_until port_is_free "$NS_B" || complain "left: UDP port, $NS_B" ||
		return
	wait_until refcount_is_zero || complain "left: module in use" || return
	wait_until no_pane_links || complain "left: a device" || return
	wait_until module_goes || complain "left: the module"
}

# All of ours that can be seen when the module is not loaded
traces()
{
	ls -d /sys/module/rdma_pane /sys/kernel/debug/rdma_pane \
		/sys/kernel/tracing/events/pane 2>/dev/null
	grep -w 'pane[a-z_]*' /proc/slabinfo
	pgrep -l -P 2 '^pane|R-pane'
	ip netns exec "$NS_A" ss -Huan "sport = :4791"
}

# The trap: whatever happened before
cleanup()
{
	local job

	server_kill
	for job in $(jobs -p); do
		kill "$job"
	done
	link_del "$DEV_A"
	link_del "$DEV_B"
	ip netns del "$NS_A"
	ip netns del "$NS_B"
	[ "$RDMA_NETNS" = shared ] || netns_mode shared
	rm -rf "$OUT"
} 2>/dev/null

cleanup_at_exit()
{
	trap cleanup EXIT
	trap 'exit 143' TERM INT
}

# ---- programs that print results of their own --------------------------

# subtest NAME COMMAND...: its stream goes below the result line
subtest()
{
	local name=$1 status

	shift
	"$@" 2>&1 | sed -u 's/^/# /'
	status=${PIPESTATUS[0]}
	case $status in
	0) ktap_test_pass "$name" ;;
	4) ktap_test_skip "$name" ;;
	*) ktap_test_fail "$name (status $status)" ;;
	esac
}
