#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What goes away in the middle of traffic: programs, devices, the link, the
# interface, the namespace; and the module, two hundred times. Whatever it was,
# all that was in use is given back, and new traffic works.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./traffic.sh

# A timeout, as a code: seven retries last for half a minute. A link that flaps is
# down for most of the time.
PATIENT=20

# ---- programs are killed -----------------------------------------------

client_is_killed()
{
	start "$1" && both_alive && kill_hard "$CLIENT_PID"
	after $? && nothing_in_use
}

server_is_killed()
{
	start "$1" && both_alive && kill_hard "$SERVER_PID" &&
		hears_nothing "$1"
	after $? && nothing_in_use
}

both_are_killed()
{
	start "$1" && both_alive && kill_hard "$CLIENT_PID" "$SERVER_PID"
	after $? && nothing_in_use && new_traffic_works
}

# What a program has posted goes on being carried out while it is stopped.
stopped_then_killed()
{
	start "$1" && kill -STOP "$CLIENT_PID" "$SERVER_PID" &&
		kill_hard "$SERVER_PID" && kill_hard "$CLIENT_PID"
	after $? && nothing_in_use
}

# Windows of type 2A do not let their QP go, but for those of a dead program.
kind_2a()
{
	set_mw_type2 2A && "$1" windows && set_mw_type2 2B
}

set_mw_type2()
{
	echo "$1" >"/sys/class/infiniband/$DEV_A/mw_type2"
}

# ---- devices are deleted -----------------------------------------------

# A deletion does not wait for programs.
delete_device()
{
	timeout "$TOOL_SECONDS" rdma link delete "$1" ||
		complain "rdma link delete $1: status $?"
}

delete_both()
{
	local pid_a pid_b

	delete_device "$DEV_A" &
	pid_a=$!
	delete_device "$DEV_B" &
	pid_b=$!
	wait "$pid_a"
	local status=$?

	wait "$pid_b" && [ "$status" -eq 0 ]
}

# gone_and_back STATUS: of what programs had in the kernel nothing is left, and
# it can be had anew; false if it has gone wrong before
gone_and_back()
{
	devices_down && wait_until port_is_free "$NS_A" &&
		wait_until port_is_free "$NS_B" &&
		wait_until refcount_is_zero && devices_up &&
		new_traffic_works && nothing_in_use && [ "$1" -eq 0 ]
} 2>/dev/null

# What a program waits for is flushed when its device goes, and it ends.
is_told()
{
	ended_badly client "$CLIENT_PID"
}

own_device_is_deleted()
{
	start "$1" && delete_device "$DEV_A" && not dev_exists "$DEV_A" &&
		is_told
	after $?
	gone_and_back "$?"
}

peers_device_is_deleted()
{
	start "$1" && delete_device "$DEV_B" && not dev_exists "$DEV_B" &&
		hears_nothing "$1"
	after $?
	gone_and_back "$?"
}

both_devices_are_deleted()
{
	start "$1" && delete_both && not dev_exists "$DEV_A" &&
		not dev_exists "$DEV_B" && is_told
	after $?
	gone_and_back "$?"
}

# is_told_by_event COMMAND...: which takes the device away
is_told_by_event()
{
	local watch status=0

	stdbuf -oL ibv_asyncwatch -d "$DEV_A" >"$OUT/events" 2>&1 &
	watch=$!
	wait_until grep -q "event FD" "$OUT/events" && "$@" &&
		wait_until grep -q 'DEVICE_FATAL\|device fatal' "$OUT/events" ||
		status=1
	kill_hard "$watch"
	[ "$status" -eq 0 ] || show events
	return "$status"
}

# ---- the link is interrupted -------------------------------------------

# An interface that goes down loses its IPv6 addresses.
link_is_back()
{
	ip -n "$NS_A" addr replace "$IP6_A/64" dev "$IF_A" nodad
	ip -n "$NS_B" addr replace "$IP6_B/64" dev "$IF_B" nodad
	new_traffic_works && nothing_in_use && [ "$1" -eq 0 ]
}

set_link()
{
	ip -n "$NS_A" link set "$IF_A" "$@"
}

set_peers_link()
{
	ip -n "$NS_B" link set "$IF_B" "$@"
}

port_follows()
{
	port_is "$DEV_A" "$1"
}

# short_outage HOW KIND: retries outlast it
short_outage()
{
	local IMPATIENT=$PATIENT

	start "$2" && "$1" down && wait_until port_follows DOWN && "$1" up &&
		wait_until port_follows ACTIVE && flows && both_alive
	after $?
	link_is_back "$?"
}

# long_outage HOW KIND: it outlasts the retries
long_outage()
{
	start "$2" && "$1" down && ended_badly client "$CLIENT_PID"
	local status=$?

	"$1" up
	after "$status"
	link_is_back "$?"
}

# Packets that are too long for a while are lost like others.
mtu_shrinks()
{
	local IMPATIENT=$PATIENT

	start "$1" && set_link mtu 1500 && set_link mtu "$MTU" && flows &&
		both_alive
	after $?
	link_is_back "$?"
}

# Down and up faster than anybody can retry
link_flaps()
{
	local IMPATIENT=$PATIENT status=0 i

	start "$1" || status=1
	for ((i = 0; i < $(scaled 50 5); i++)); do
		set_link down && set_peers_link down && set_link up &&
			set_peers_link up || status=1
	done
	{
		[ "$status" -eq 0 ] && wait_until port_follows ACTIVE &&
			flows && both_alive
	} || status=1
	after "$status"
	link_is_back "$?"
}

# ---- interface and namespace -------------------------------------------

devices_vanish()
{
	wait_until not dev_exists "$DEV_A" && wait_until not dev_exists "$DEV_B"
}

# stage_again STATUS: everything is gone, and comes back
stage_again()
{
	devices_vanish && wait_until refcount_is_zero || return
	net_down 2>/dev/null
	net_up && devices_up && new_traffic_works && nothing_in_use &&
		[ "$1" -eq 0 ]
}

# It returns when nothing refers to the interface any more.
delete_interface()
{
	timeout "$TOOL_SECONDS" ip -n "$NS_A" link del "$IF_A"
}

interface_is_deleted()
{
	start "$1" && is_told_by_event delete_interface && is_told
	after $?
	stage_again "$?"
}

# Programs keep the namespace that they are in, and all that is in it.
namespace_loses_its_name()
{
	start "$1" && ip netns del "$NS_B" && flows && both_alive &&
		dev_exists "$DEV_B"
	after $?
	stage_again "$?"
}

# A device can be used from other namespaces, and does not keep its own.
namespace_is_deleted()
{
	local PLACE_A=$NS_C PLACE_B=$NS_C TCP_ADDRESS=127.0.0.1

	start "$1" && is_told_by_event ip netns del "$NS_B" && devices_vanish
	after $?
	stage_again "$?"
}

# ---- everything at once ------------------------------------------------

at_once()
{
	local -a jobs=()
	local command

	for command in "rdma link delete $DEV_A" "ip -n $NS_A link del $IF_A" \
		"rdma link delete $DEV_B" "kill -9 $CLIENT_PID" \
		"ip -n $NS_B link del $IF_B" "kill -9 $SERVER_PID"; do
		$command 2>/dev/null &
		jobs+=($!)
	done
	wait "${jobs[@]}" "$CLIENT_PID" "$SERVER_PID"
	return 0
} 2>/dev/null

# Whoever comes first: the devices go once, and nobody waits for another.
all_at_once()
{
	local round

	for ((round = 0; round < $(scaled 5 2); round++)); do
		start "$1" && at_once
		after $?
		stage_again "$?" || complain "round $round" || return
	done
}

# ---- the module --------------------------------------------------------

module_stays()
{
	need_module || return
	start "$1" && not modprobe -r -q rdma_pane && flows && both_alive
	after $? && nothing_in_use
}

caches()
{
	awk '{ print $1 }' /proc/slabinfo | sort
}

unload()
{
	wait_until modprobe -r -q rdma_pane && ! [ -d /sys/module/rdma_pane ]
}

full_cycle()
{
	modprobe rdma_pane && link_add "$NS_A" "$DEV_A" "$IF_A" &&
		ibv_devinfo -d "$DEV_A" >/dev/null && link_del "$DEV_A" &&
		unload
}

# Without the modules below
bare_cycle()
{
	modprobe rdma_pane && wait_until rmmod rdma_pane
}

# The module takes the device along, and the device its connections.
loaded_cycle()
{
	devices_up && pingpong && wait_until refcount_is_zero && unload
}

CYCLES=200
FULL_CYCLES=$(scaled 40 20)

cycle()
{
	if [ "$1" -ge "$FULL_CYCLES" ]; then
		bare_cycle
	elif [ $(($1 % 20)) -eq 19 ]; then
		loaded_cycle
	else
		full_cycle
	fi
}

# The first time other modules come along that stay.
load_cycles()
{
	local i

	devices_down
	need_module || return
	unload && loaded_cycle || return
	caches >"$OUT/caches"
	for ((i = 0; i < CYCLES; i++)); do
		cycle "$i" || complain "cycle $i" || return
	done
}

no_traces()
{
	local left

	need_module || return
	left=$(traces)
	[ -z "$left" ] || complain "left: $left" || return
	caches | diff "$OUT/caches" - >"$OUT/diff" && return
	show diff
	complain "other slab caches than before"
}

stage_after_cycles()
{
	devices_up && new_traffic_works && nothing_in_use
}

# ---- the list ----------------------------------------------------------

NS_C=pane-c.$$

outside_up()
{
	ip netns add "$NS_C" && ip -n "$NS_C" link set lo up
}

cleanup_more()
{
	kill_hard "$CLIENT_PID" "$SERVER_PID"
	cleanup
	ip netns del "$NS_C"
} 2>/dev/null

# Every line is one result; a slow machine leaves out those with a star.
list()
{
	cat <<EOT
$(list_of_kills)
  kind_2a client_is_killed
* kind_2a server_is_killed
* kind_2a both_are_killed
  kind_2a own_device_is_deleted
* stopped_then_killed send
  stopped_then_killed windows
* own_device_is_deleted write
  own_device_is_deleted send
* own_device_is_deleted read
  own_device_is_deleted windows
* peers_device_is_deleted write
* peers_device_is_deleted send
  peers_device_is_deleted read
* peers_device_is_deleted windows
* both_devices_are_deleted send
  both_devices_are_deleted windows
  short_outage set_link write
* short_outage set_link read
* short_outage set_peers_link send
  long_outage set_link send
* long_outage set_peers_link read
* mtu_shrinks write
* link_flaps write
  link_flaps send
* interface_is_deleted send
  interface_is_deleted windows
  namespace_loses_its_name write
* namespace_is_deleted send
  namespace_is_deleted read
  all_at_once windows
* all_at_once send
  module_stays write
  load_cycles
  no_traces
  stage_after_cycles
  nothing_left
EOT
}

list_of_kills()
{
	local star='  ' name

	for name in send read windows write shared atomic xrc datagram \
		unreliable; do
		[ "$name" != write ] || star='* '
		cat <<-EOT
		${star}client_is_killed $name
		${star}server_is_killed $name
		${star}both_are_killed $name
		EOT
	done
}

list_for_machine()
{
	local all='s/^..//p'

	! is_slow || all='s/^  //p'
	list | sed -n "$all"
}

ktap_print_header
need_pane
need pgrep stdbuf ibv_asyncwatch ib_write_bw ib_send_bw ib_read_bw ib_atomic_bw ibv_devinfo ibv_rc_pingpong
cleanup_at_exit
trap cleanup_more EXIT
ktap_set_plan "$(list_for_machine | wc -l)"
{ stage_up && outside_up; } || ktap_exit_fail_msg "no devices"
while read -r -u 3 line; do
	read -ra words <<<"$line"
	check "${line//_/ }" "${words[@]}"
done 3< <(list_for_machine)
ktap_finished
