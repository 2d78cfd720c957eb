#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A device lives in the namespace of its interface. Namespaces do not know of
# each other, not even by their addresses; and what is moved or deleted takes
# with it what is in it, whoever uses it at the time.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./traffic.sh

ITERS=$(scaled 1000 20)

# ---- the kernel's log --------------------------------------------------

# From here on, until lines are looked at
MARK=

log_mark()
{
	MARK="pane_netns $$ $RANDOM"
	echo "$MARK" >/dev/kmsg
}

log_since()
{
	dmesg | sed "1,/$MARK/d"
}

# Of interfaces that come and go the kernel says something, of devices nothing
# but that the link is down.
log_is_quiet()
{
	local lines

	lines=$(log_since | grep -v ' Link ' |
		grep -iE "rdma|infiniband|pane|WARNING|BUG|\
unregister_netdevice|$DEV_A|$DEV_B")
	[ -z "$lines" ] || complain "kernel log: $lines"
}

# ---- two pairs with the same addresses ---------------------------------

NS_C=pane-c.$$
NS_D=pane-d.$$
DEV_C=hfi1_$$
DEV_D=siw_$$

# twin COMMAND...: for the other pair
#
# Its interfaces have other numbers than those of the first pair. rdma_cm (its
# cma_netevent_callback(), seen up to Linux 7.3) finds the connections of a
# neighbour by the number of the interface and the address, in all namespaces: a
# neighbour that one pair confirms would end a connection of the other one with
# RDMA_CM_EVENT_UNREACHABLE, whatever the devices are.
twin()
{
	local -a IF_OPTIONS=(index 1000)
	local NS_A=$NS_C NS_B=$NS_D DEV_A=$DEV_C DEV_B=$DEV_D OUT=$OUT/twin
	local SERVER_NS=$NS_D CM_DEVICE=$DEV_D SERVER_PID=

	mkdir -p "$OUT"
	"$@"
}

twins_up()
{
	twin net_up && twin devices_up
}

twins_down()
{
	twin devices_down
	twin net_down
}

# at_once COMMAND...: for both pairs
at_once()
{
	local CM_DEVICE=$DEV_B pid status=0

	counters_note_all
	twin "$@" &
	pid=$!
	"$@" || status=1
	wait "$pid" && [ "$status" -eq 0 ] && nothing_strayed
}

counters_note_all()
{
	local device

	for device in "$DEV_A" "$DEV_B" "$DEV_C" "$DEV_D"; do
		counters_note "$device"
	done
}

# What comes to the wrong place is counted there.
nothing_strayed()
{
	local device name

	for device in "$DEV_A" "$DEV_B" "$DEV_C" "$DEV_D"; do
		[ "$(counter_moved "$device" rcvd_pkts)" -gt 0 ] ||
			complain "$device got nothing" || return
		for name in rx_no_qp rx_source rx_qkey rx_icrc rx_transport; do
			[ "$(counter_moved "$device" "$name")" -eq 0 ] ||
				complain "$device: $name" || return
		done
	done
}

# Both ends look at what they receive.
checked()
{
	local a b

	a=$(gid_index "$DEV_A" "$IP4_A") && b=$(gid_index "$DEV_B" "$IP4_B") ||
		return
	talk tcp 18515 "$1" -c -d "$DEV_B" -g "$b" -n "$ITERS" -- \
		"$1" -c -d "$DEV_A" -g "$a" -n "$ITERS" "$IP4_B"
}

checked_rping()
{
	talk cm 7174 rping -s -a "$1" -C "$ITERS" -S 3000 -V -- \
		rping -c -a "$1" -C "$ITERS" -S 3000 -V
}

# taken NAMESPACE NUMBER: sockets of each family
taken()
{
	[ "$(ip netns exec "$1" ss -Huln4 'sport = :4791' | wc -l)" -eq "$2" ] &&
		[ "$(ip netns exec "$1" ss -Huln6 'sport = :4791' |
			wc -l)" -eq "$2" ]
}

# One for each family, however many devices there are, and until the last goes
sockets_of_a_namespace()
{
	local ns status=0

	for ns in "$NS_A" "$NS_B" "$NS_C" "$NS_D"; do
		taken "$ns" 1 || complain "sockets of $ns" || return
	done
	[ -z "$(ss -Huln 'sport = :4791')" ] || complain "first namespace" ||
		return
	ip -n "$NS_A" link add "dm$$" type dummy
	ip -n "$NS_A" link set "dm$$" up
	{
		link_add "$NS_A" "more_$$" "dm$$" && taken "$NS_A" 1 &&
			link_del "$DEV_A" && taken "$NS_A" 1 &&
			link_del "more_$$" && taken "$NS_A" 0 &&
			taken "$NS_C" 1 && link_add "$NS_A" "$DEV_A" "$IF_A"
	} || status=1
	ip -n "$NS_A" link del "dm$$"
	[ "$status" -eq 0 ] && wait_until gids_ready && pingpong
}

# The one pair goes, and the other one does not notice.
twin_goes()
{
	local status=0

	start write && twins_down && flows && both_alive || status=1
	after "$status" && wait_until not dev_exists "$DEV_C" &&
		wait_until not dev_exists "$DEV_D" && nothing_in_use
}

# ---- deleted under traffic ---------------------------------------------

# A control connection to an end that is gone keeps its namespace for minutes.
forget_soon()
{
	ip netns exec "$1" sysctl -qw net.ipv4.tcp_orphan_retries=1
}

# A switch in a third namespace: the one end can go without the other's
# interface, and programs are where nothing is deleted.
switched_up()
{
	ip netns add "$NS_A" && ip netns add "$NS_B" && ip netns add "$NS_C" ||
		return
	ip -n "$NS_C" link set lo up
	ip -n "$NS_C" link add "br$$" type bridge
	ip -n "$NS_C" link set "br$$" up
	plug "$NS_A" "$IF_A" "$IP4_A/24" "$IP6_A/64" &&
		plug "$NS_B" "$IF_B" "$IP4_B/24" "$IP6_B/64" && devices_up
}

# plug NAMESPACE INTERFACE ADDRESS4 ADDRESS6
plug()
{
	forget_soon "$1"
	ip -n "$1" link add "$2" mtu "$MTU" type veth \
		peer name "s$2" mtu "$MTU" netns "$NS_C" || return
	ip -n "$NS_C" link set "s$2" up master "br$$" && add_address "$@"
}

switched_down()
{
	devices_down
	net_down
	ip netns del "$NS_C"
} 2>/dev/null

# What a program says whose peer is gone: the status of a completion; and one
# whose own device is gone, which may also notice that it cannot post
UNANSWERED="Failed status 12"
FLUSHED="Failed status 5|Couldn't post send"

# ended_with TEXT: that is why the client ended
ended_with()
{
	ended_badly client "$CLIENT_PID" || return
	grep -qE "$1" "$OUT/client" && return
	sed 's/^/# client: /' "$OUT/client"
	complain "client: no '$1'"
}

# The namespace goes with all that is in it, while programs elsewhere use it.
end_deleted()
{
	local PLACE_A=$NS_C PLACE_B=$NS_C TCP_ADDRESS=127.0.0.1 status=0

	start "$1" && ip netns del "$2" && wait_until not dev_exists "$3" &&
		ended_with "$4" || status=1
	after "$status"
	status=$?
	wait_until refcount_is_zero || complain "module in use" || status=1
	switched_down
	switched_up && new_traffic_works && [ "$status" -eq 0 ]
}

peers_namespace_is_deleted()
{
	end_deleted "$1" "$NS_B" "$DEV_B" "$UNANSWERED"
}

own_namespace_is_deleted()
{
	end_deleted "$1" "$NS_A" "$DEV_A" "$FLUSHED"
}

# The last program in it keeps a namespace without a name; it is killed.
namespace_goes_with_program()
{
	local status=0

	start "$1" && ip netns del "$NS_B" && flows &&
		kill_hard "$SERVER_PID" && wait_until not dev_exists "$DEV_B" &&
		ended_with "$UNANSWERED" || status=1
	after "$status"
	status=$?
	switched_down
	switched_up && new_traffic_works && [ "$status" -eq 0 ]
}

# The interface goes to another namespace, and the device goes.
interface_is_moved()
{
	local PLACE_A=$NS_C PLACE_B=$NS_C TCP_ADDRESS=127.0.0.1 status=0

	start "$1" && ip -n "$NS_B" link set "$IF_B" netns "$NS_C" &&
		wait_until not dev_exists "$DEV_B" &&
		wait_until port_is_free "$NS_B" &&
		ended_with "$UNANSWERED" || status=1
	after "$status"
	status=$?
	ip -n "$NS_C" link set "$IF_B" netns "$NS_B"
	add_address "$NS_B" "$IF_B" "$IP4_B/24" "$IP6_B/64"
	link_add "$NS_B" "$DEV_B" "$IF_B" && new_traffic_works &&
		[ "$status" -eq 0 ]
}

# ---- exclusive mode ----------------------------------------------------

# The mode changes when there are no namespaces.
set_mode()
{
	wait_until rdma system set netns "$1" 2>/dev/null ||
		complain "mode stays: $(rdma system)"
}

exclusive_up()
{
	set_mode exclusive && ip netns add "$NS_C" && owned_devices &&
		wait_until exclusive_ready
}

owned_devices()
{
	net_up && forget_soon "$NS_A" && forget_soon "$NS_B" &&
		owned "$NS_A" "$DEV_A" "$IF_A" && owned "$NS_B" "$DEV_B" "$IF_B"
}

# Kernels from 6.17 on let a driver put a device where its interface is.
owned()
{
	link_add "$1" "$2" "$3" || return
	dev_exists "$2" || return 0
	rdma dev set "$2" netns "$1"
}

exclusive_ready()
{
	sees "$NS_A" "$DEV_A" && sees "$NS_B" "$DEV_B" &&
		inside "$NS_A" has_gid "$DEV_A" "$IP4_A" &&
		inside "$NS_B" has_gid "$DEV_B" "$IP4_B" &&
		inside "$NS_A" has_gid "$DEV_A" "$IP6_A" &&
		inside "$NS_B" has_gid "$DEV_B" "$IP6_B" && answers "$IP4_B" &&
		answers "$IP6_B"
}

# inside NAMESPACE FUNCTION ARGUMENT...: where /sys is that of the namespace
inside()
{
	ip netns exec "$1" bash -c \
		"$(declare -f); CM_DEVICE='$CM_DEVICE'; \"\$@\"" - "${@:2}"
}

# sees NAMESPACE DEVICE: all the ways to look
sees()
{
	ip netns exec "$1" rdma dev show | grep -q " $2:" &&
		ip netns exec "$1" ls "/sys/class/infiniband/$2" >/dev/null 2>&1
}

sees_not()
{
	! ip netns exec "$1" rdma dev show | grep -q " $2:" &&
		! ip netns exec "$1" ls "/sys/class/infiniband/$2" 2>/dev/null
}

exclusive_pingpong()
{
	local a b

	wait_until exclusive_ready || complain "not ready" || return
	a=$(inside "$NS_A" gid_index "$DEV_A" "$IP4_A")
	b=$(inside "$NS_B" gid_index "$DEV_B" "$IP4_B")
	talk tcp 18515 ibv_rc_pingpong -c -d "$DEV_B" -g "$b" -- \
		ibv_rc_pingpong -c -d "$DEV_A" -g "$a" "$IP4_B"
}

exclusive_rping()
{
	SERVER_NS=$NS_B
	talk cm 7174 rping -s -a "$1" -C 5 -V -- rping -c -a "$1" -C 5 -V
}

# Each sees its own, and the others', and the first namespace's, not.
each_sees_its_own()
{
	sees "$NS_A" "$DEV_A" && sees "$NS_B" "$DEV_B" &&
		sees_not "$NS_A" "$DEV_B" && sees_not "$NS_B" "$DEV_A" &&
		sees_not "$NS_C" "$DEV_A" && not dev_exists "$DEV_A" &&
		not in_b ibv_devinfo -d "$DEV_A" >/dev/null 2>&1
}

# give DEVICE FROM TO
give()
{
	timeout "$TOOL_SECONDS" ip netns exec "$2" rdma dev set "$1" netns "$3"
}

device_moves_idle()
{
	give "$DEV_A" "$NS_A" "$NS_C" && sees "$NS_C" "$DEV_A" &&
		sees_not "$NS_A" "$DEV_A" && sees_not "$NS_B" "$DEV_A" &&
		give "$DEV_A" "$NS_C" "$NS_A" && sees_not "$NS_C" "$DEV_A" &&
		exclusive_pingpong
}

# Who has it open is told that it is gone.
device_moves_open()
{
	local watch status=0

	ip netns exec "$NS_A" stdbuf -oL ibv_asyncwatch -d "$DEV_A" \
		>"$OUT/events" 2>&1 &
	watch=$!
	wait_until grep -q "event FD" "$OUT/events" &&
		give "$DEV_A" "$NS_A" "$NS_C" && sees "$NS_C" "$DEV_A" &&
		wait_until grep -q 'DEVICE_FATAL\|device fatal' "$OUT/events" ||
		status=1
	kill_hard "$watch"
	[ "$status" -eq 0 ] || show events
	give "$DEV_A" "$NS_C" "$NS_A" && exclusive_pingpong &&
		[ "$status" -eq 0 ]
}

# start_exclusive KIND: as start(), by what the namespaces see themselves
start_exclusive()
{
	local a b before

	a=$(inside "$NS_A" gid_index "$DEV_A" "$IP4_A") &&
		b=$(inside "$NS_B" gid_index "$DEV_B" "$IP4_B") ||
		complain "no GIDs" || return
	before=$(received_inside)
	kind "$1"
	SERVER_NS=$NS_B
	ip netns exec "$NS_B" "${PROGRAM[@]}" -d "$DEV_B" -x "$b" \
		>"$OUT/server" 2>&1 &
	SERVER_PID=$!
	wait_server tcp 18515 || complain "no server" || return
	ip netns exec "$NS_A" "${PROGRAM[@]}" -d "$DEV_A" -x "$a" "$IP4_B" \
		>"$OUT/client" 2>&1 &
	CLIENT_PID=$!
	wait_until more_than_inside $((before + 200)) && return
	show client server
	stop
	complain "no traffic"
}

received_inside()
{
	in_a cat "/sys/class/infiniband/$DEV_A/$COUNTERS/rcvd_pkts" || echo 0
} 2>/dev/null

more_than_inside()
{
	[ "$(received_inside)" -gt "$1" ]
}

device_moves_busy()
{
	local status=0

	start_exclusive "$1" && give "$DEV_A" "$NS_A" "$NS_C" &&
		sees "$NS_C" "$DEV_A" && ended_with "$FLUSHED" || status=1
	after "$status"
	status=$?
	give "$DEV_A" "$NS_C" "$NS_A" && exclusive_pingpong &&
		[ "$status" -eq 0 ]
}

# The device does not turn up elsewhere, nor does its name.
exclusive_interface_is_deleted()
{
	local status=0

	start_exclusive "$1" && timeout "$TOOL_SECONDS" \
		ip -n "$NS_A" link del "$IF_A" && ended_with "$FLUSHED" ||
		status=1
	all_gone "$status"
}

# Programs in it keep it: it goes with the last one.
exclusive_namespace_is_deleted()
{
	local status=0

	start_exclusive "$1" && ip netns del "$NS_B" &&
		kill_hard "$SERVER_PID" && ended_badly client "$CLIENT_PID" ||
		status=1
	all_gone "$status"
}

# all_gone STATUS: no device is left of what was ended with that status
all_gone()
{
	local status

	after "$1"
	status=$?
	wait_until refcount_is_zero || complain "module in use" || status=1
	nowhere || complain "a device is left" || status=1
	exclusive_again && [ "$status" -eq 0 ]
}

nowhere()
{
	wait_until not dev_exists "$DEV_A" && wait_until not dev_exists "$DEV_B" &&
		wait_until not sees "$NS_C" "$DEV_A"
} 2>/dev/null

exclusive_again()
{
	net_down 2>/dev/null
	owned_devices && exclusive_pingpong
}

exclusive_down()
{
	in_a rdma link del "$DEV_A"
	in_b rdma link del "$DEV_B"
	wait_until port_is_free "$NS_A" && wait_until port_is_free "$NS_B" ||
		return
	net_down
	ip netns del "$NS_C"
	set_mode shared
}

# ---- beside rdma_rxe ---------------------------------------------------

# lines_of_port: those in the kernel's log that name it
lines_of_port()
{
	log_since | grep -c 4791
}

# Who cannot have the port says so, in one line.
rxe_has_the_port()
{
	local status=0

	devices_down
	{
		rxe_take_port && log_mark &&
			refused "address already in use" \
				link_add "$RXE_NS" other "$RXE_IF" &&
			not dev_exists other && one_line_of_port
	} || status=1
	rxe_give_back
	wait_until port_is_free "$NS_A" && devices_up && pingpong &&
		[ "$status" -eq 0 ]
}

one_line_of_port()
{
	local number

	number=$(lines_of_port)
	[ "$number" -eq 1 ] || complain "$number lines of the log name the port"
}

# rxe_comes: into the namespaces of both kinds of kernels
rxe_comes()
{
	modprobe rdma_rxe && in_a rdma link add "rx$$" type rxe netdev "dm$$"
}

# Where the port is ours rdma_rxe does not get it, and we do not notice.
pane_has_the_port()
{
	local status=0

	ip link add "rx$$" type dummy
	ip -n "$NS_A" link add "dm$$" type dummy
	ip link set "rx$$" up
	{
		rdma link add "more_$$" type pane netdev "rx$$" &&
			start write && refused "" rxe_comes &&
			not dev_exists "rx$$" && flows && both_alive
	} || status=1
	after "$status"
	status=$?
	link_del "more_$$"
	rxe_give_back
	[ -z "$(ss -Huan 'sport = :4791')" ] || complain "the port is not free" ||
		status=1
	[ "$status" -eq 0 ] && new_traffic_works && nothing_in_use
}

# ---- running -----------------------------------------------------------

list_of_twins()
{
	list_for_time <<-EOT
	  at_once checked ibv_rc_pingpong
	  at_once checked ibv_ud_pingpong
	  at_once checked_rping $IP4_B
	* at_once checked_rping $IP6_B
	  sockets_of_a_namespace
	  twin_goes
	EOT
}

list_of_deletions()
{
	list_for_time <<-EOT
	  peers_namespace_is_deleted write
	* peers_namespace_is_deleted read
	* peers_namespace_is_deleted atomic
	* own_namespace_is_deleted write
	  own_namespace_is_deleted read
	* own_namespace_is_deleted send
	* namespace_goes_with_program write
	  interface_is_moved write
	* interface_is_moved read
	  log_is_quiet
	EOT
}

list_of_moves()
{
	list_for_time <<-EOT
	  each_sees_its_own
	  exclusive_pingpong
	* exclusive_rping $IP4_B
	* exclusive_rping $IP6_B
	  device_moves_idle
	* device_moves_open
	  device_moves_busy write
	* device_moves_busy read
	* device_moves_busy send
	  exclusive_interface_is_deleted write
	  exclusive_namespace_is_deleted write
	* exclusive_namespace_is_deleted send
	  log_is_quiet
	EOT
}

run_list()
{
	local words

	while read -r -u 3 -a words; do
		check "${words[*]//_/ }" "${words[@]}"
	done 3< <("$1")
}

count()
{
	local name

	for name in twins deletions moves; do
		"list_of_$name"
	done | wc -l
}

cleanup_more()
{
	kill_hard "$CLIENT_PID" "$SERVER_PID"
	in_a rdma link delete "$DEV_A"
	in_b rdma link delete "$DEV_B"
	ip netns exec "$NS_C" rdma link delete "$DEV_A"
	rxe_give_back
	cleanup
	twin cleanup
	rdma link delete "more_$$"
	ip link del "rx$$"
	wait_until rdma system set netns shared
} 2>/dev/null

ktap_print_header
need_pane
is_all || skip_all "takes minutes: make check-all has it"
need ibv_rc_pingpong ibv_ud_pingpong ibv_asyncwatch ibv_devinfo rping stdbuf \
	dmesg sysctl ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw
[ -w /dev/kmsg ] || skip_all "no log of the kernel"
cleanup_at_exit
trap cleanup_more EXIT
ktap_set_plan $(($(count) + 5))
{ stage_up && twins_up; } || ktap_exit_fail_msg "no devices"
run_list list_of_twins
if modprobe -q rdma_rxe; then
	modprobe -r rdma_rxe
	check "rdma_rxe has the port: told in one line" rxe_has_the_port
	check "rdma_rxe comes second" pane_has_the_port
else
	ktap_test_skip "rdma_rxe has the port: told in one line"
	ktap_test_skip "rdma_rxe comes second"
fi
devices_down
net_down
switched_up || ktap_exit_fail_msg "no switch"
log_mark
run_list list_of_deletions
switched_down
exclusive_up || ktap_exit_fail_msg "no exclusive mode"
log_mark
run_list list_of_moves
check "exclusive mode ends" exclusive_down
SERVER_NS=$NS_B
net_up && devices_up
check "traffic in shared mode again" pingpong
check "nothing is left behind" nothing_left
ktap_finished
