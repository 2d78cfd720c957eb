#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All that can happen to a device, at once, for as long as one likes. There are
# two pairs of devices. On the one pair programs work undisturbed, and everything
# has to be right all the time. To the other pair each kind of race below does
# what it can, in a loop of its own, beside traffic that is right as long as it
# lasts. In phases: shared and exclusive RDMA namespaces by turns, and after each
# phase all is given back, and the module goes.
#
#   PANE_SOAK_SECONDS  of races, and at least until each kind has come about
#   PANE_SOAK_CYCLES   connections that rdma_cm makes and ends meanwhile
#   PANE_SOAK_TURNS    changes of what is used, by each thread of pane_soak_verbs
#   PANE_SEED          repeats a run, as far as processes can

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./traffic.sh

SOAK_SECONDS=${PANE_SOAK_SECONDS:-$(scaled 10 4)}
CYCLES=${PANE_SOAK_CYCLES:-20}
TURNS=${PANE_SOAK_TURNS:-20}
SEED=${PANE_SEED:-$RANDOM}

# Of races at a time, at most
PHASE_SECONDS=120
# Connections, and turns, that a program is asked for
CHUNK=10
# For races that have not come about in their time
LAST_SECONDS=$(scaled 60 300)
# Tenths of a second between rounds, at most
PAUSE=$(scaled 5 30)

# ---- the pair that suffers ---------------------------------------------

NS_C=pane-c.$$
NS_D=pane-d.$$
NS_E=pane-e.$$
IF_C=pnc$$
IF_D=pnd$$
DEV_C=hfi1_$$
DEV_D=siw_$$

# Traffic would leave races no time on a machine with a single processor, where
# it makes pauses, too.
PANE_PAUSE=$(scaled 1000 50000)
export PANE_PAUSE

behind_races()
{
	renice -n 10 "$@" >/dev/null
}

# victim COMMAND...: for that pair
#
# Its addresses are others: a neighbour that changes ends connections of rdma_cm
# to that address in all namespaces, see pane_netns.sh.
# shellcheck disable=SC2034 # for lib.sh
victim()
{
	local NS_A=$NS_C NS_B=$NS_D DEV_A=$DEV_C DEV_B=$DEV_D
	local IF_A=$IF_C IF_B=$IF_D IP4_A=10.78.0.1 IP4_B=10.78.0.2
	local IP6_A=fd78::1 IP6_B=fd78::2

	"$@"
}

# Either end, by chance; false if its namespace is away
one_end()
{
	if ((RANDOM % 2)); then
		NS=$NS_A DEV=$DEV_A IF=$IF_A IP4=$IP4_A IP6=$IP6_A
	else
		NS=$NS_B DEV=$DEV_B IF=$IF_B IP4=$IP4_B IP6=$IP6_B
	fi
	[ -e "/run/netns/$NS" ]
}

pause()
{
	local tenths=$((RANDOM % PAUSE + 1))

	nap "$((tenths / 10)).$((tenths % 10))"
}

# Is there a device that can be seen from here?
in_view()
{
	[ "$RDMA_NETNS" = exclusive ] || dev_exists "$DEV"
}

# What takes everything away does so now and then, or there would be nothing.
now_and_then()
{
	((RANDOM % 8 == 0)) || is_late
}

is_late()
{
	[ "$SECONDS" -ge "$PHASE_END" ]
}

# What is there stays as it is.
net_again()
{
	[ -e "/run/netns/$NS_A" ] || ip netns add "$NS_A"
	[ -e "/run/netns/$NS_B" ] || ip netns add "$NS_B"
	net_wire || return 0
	add_address "$NS_A" "$IF_A" "$IP4_A/24" "$IP6_A/64"
	add_address "$NS_B" "$IF_B" "$IP4_B/24" "$IP6_B/64"
}

both_there()
{
	dev_exists "$DEV_A" && dev_exists "$DEV_B"
}

# What was moved, or renamed, and could not come back is in the way of what is
# still to come about. A link goes with either of its ends.
begin_anew()
{
	ip_batch "$NS_E" <<-EOT
	link delete $IF_A
	link delete $IF_B
	EOT
	ip_batch "$NS_A" <<-EOT
	link delete $IF_A
	link delete re$$
	EOT
	ip_batch "$NS_B" <<-EOT
	link delete $IF_B
	link delete re$$
	EOT
}

victims_down()
{
	for NS in "$NS_C" "$NS_D" "$NS_E"; do
		ip netns del "$NS" 2>/dev/null
	done
	wait_until no_other_links || complain "a device is left: $(rdma link)"
}

# In exclusive mode a device that is in no namespace would be in the first one.
no_other_links()
{
	! { rdma link; everywhere rdma link; } | grep -v -e "link $DEV_A/" \
		-e "link $DEV_B/" | grep -q '^link '
}

# ---- races -------------------------------------------------------------

# Each does something once, and is true if that came about.

added()
{
	not dev_exists "$2" && device_up "$@"
}

# What the others took away comes back.
race_add()
{
	local status=1

	net_again
	added "$NS_A" "$DEV_A" "$IF_A" && status=0
	added "$NS_B" "$DEV_B" "$IF_B" && status=0
	is_late && not both_there && begin_anew
	return "$status"
}

race_delete()
{
	one_end && in_view || return
	ip netns exec "$NS" rdma link delete "$DEV"
}

race_unregister()
{
	now_and_then && one_end || return
	ip -n "$NS" link delete "$IF"
}

# Programs in it keep it for a while.
race_netns()
{
	now_and_then && one_end || return
	ip netns delete "$NS"
}

race_move_interface()
{
	one_end || return
	ip -n "$NS" link set "$IF" netns "$NS_E" || return
	pause
	ip -n "$NS_E" link set "$IF" netns "$NS" &&
		add_address "$NS" "$IF" "$IP4/24" "$IP6/64"
	return 0
}

race_move_device()
{
	one_end || return
	ip netns exec "$NS" rdma dev set "$DEV" netns "$NS_E" || return
	pause
	ip netns exec "$NS_E" rdma dev set "$DEV" netns "$NS"
	return 0
}

# Kernels before 6.2 rename what is down only.
race_rename_interface()
{
	one_end || return
	ip_batch "$NS" <<-EOT
	link set $IF down
	link set $IF name re$$
	link set re$$ up
	link set re$$ down
	link set re$$ name $IF
	link set $IF up
	EOT
}

race_rename_device()
{
	one_end && in_view || return
	ip netns exec "$NS" rdma dev set "$DEV" name "re$$" || return
	pause
	ip netns exec "$NS" rdma dev set "re$$" name "$DEV"
	return 0
}

race_mtu()
{
	one_end || return
	ip_batch "$NS" <<-EOT
	link set $IF mtu $((68 + RANDOM % 9000))
	link set $IF mtu $((1280 + RANDOM % 9000))
	EOT
}

race_down()
{
	one_end || return
	ip -n "$NS" link set "$IF" down || return
	pause
	add_address "$NS" "$IF" "$IP4/24" "$IP6/64"
	return 0
}

race_kill()
{
	local -a files=("$OUT"/pids.*) pids

	read -ra pids <"${files[RANDOM % ${#files[@]}]}" || return
	kill -9 "${pids[RANDOM % ${#pids[@]}]}"
}

# The other pair is in use.
race_unload()
{
	is_built_in && return
	not modprobe -r rdma_pane || echo "unloaded while in use" >>"$OUT/wrong"
}

# victims_are KIND PID...: race_kill never sees a file that is not whole
victims_are()
{
	local kind=$1

	shift
	echo "$*" >"$OUT/new.$kind" && mv "$OUT/new.$kind" "$OUT/pids.$kind"
}

victims_ended()
{
	rm -f "$OUT/pids.$1"
}

# Traffic, which ends when one of the programs is killed, or learns that its
# device is gone
race_windows()
{
	both_there || return
	ip netns exec "$NS_B" ./pane_lend "$IP4_B" >"$OUT/lend.b" 2>&1 &
	local server=$!

	pause
	ip netns exec "$NS_A" ./pane_lend "$IP4_B" client >"$OUT/lend.a" 2>&1 &
	victims_are windows "$server" $!
	behind_races "$server" $!
	wait -n "$server" $!
	victims_ended windows
	kill_hard "$server" $!
	note_wrong lend.a lend.b
}

race_verbs()
{
	local device_b=$DEV_B

	both_there || return
	[ "$RDMA_NETNS" = shared ] || device_b=$DEV_A
	PANE_DEVICES="$DEV_A $device_b" PANE_OPERATIONS=1000000 \
		PANE_SEED=$RANDOM ip netns exec "$NS_A" ./pane_soak_verbs \
		>"$OUT/verbs" 2>&1 &
	victims_are verbs $!
	behind_races $!
	wait $!
	victims_ended verbs
	note_wrong verbs
}

note_wrong()
{
	local name

	for name in "$@"; do
		grep "wrong bytes" "$OUT/$name"
	done >>"$OUT/wrong"
	return 0
}

# Does traffic flow? It is enough to have seen it once.
race_flow()
{
	local before

	has_come_about flow && return
	before=$(received)
	pause
	[ "$(received)" -gt "$before" ]
}

# Those go on to the end of a phase: without them nothing else comes about.
ALWAYS=(add windows verbs)

# Those count, and end with the time, but not before they have come about.
KINDS_SHARED=(
	delete unregister netns move_interface rename_interface rename_device
	mtu down kill unload flow
)
KINDS_EXCLUSIVE=("${KINDS_SHARED[@]}" move_device)

# ---- a phase's races ---------------------------------------------------

PHASE_END=0
RACERS=()

has_come_about()
{
	[ -s "$OUT/rounds.$1" ]
}

round()
{
	"race_$1" && echo >>"$OUT/rounds.$1"
	pause
}

# racer KIND SEED
racer()
{
	RANDOM=$2
	while not is_late || not has_come_about "$1"; do
		[ ! -e "$OUT/stop" ] || return
		round "$1"
	done
} >"$OUT/log.$1" 2>&1

racer_always()
{
	RANDOM=$2
	until [ -e "$OUT/stop" ]; do
		round "$1"
	done
} >"$OUT/log.$1" 2>&1

# racers_start SEED KIND...
racers_start()
{
	local seed=$1 kind

	shift
	RACERS=()
	rm -f "$OUT"/rounds.* "$OUT"/pids.* "$OUT/stop" "$OUT/wrong"
	for kind in "${ALWAYS[@]}"; do
		victim racer_always "$kind" $((seed + ${#RACERS[@]})) &
		RACERS+=("$!")
	done
	for kind in "$@"; do
		victim racer "$kind" $((seed + ${#RACERS[@]})) &
		RACERS+=("$!")
	done
}

# All but those that always run
racers_ended()
{
	local pid

	for pid in "${RACERS[@]:${#ALWAYS[@]}}"; do
		not alive "$pid" || return
	done
}

victims_kill()
{
	cat "$OUT"/pids.* | xargs -r kill -9
} 2>/dev/null

racers_gone()
{
	local pid

	victims_kill
	for pid in "${RACERS[@]}"; do
		not alive "$pid" || return
	done
}

# All of the time, and then until nothing is missing
races_run()
{
	local status=0 kind

	sleep "$1"
	DEADLINE=$LAST_SECONDS wait_until racers_ended
	for kind in $(missing); do
		show "log.$kind"
		complain "has not come about: $kind" || status=1
	done
	: >"$OUT/stop"
	wait_until racers_gone || complain "a race does not end" || status=1
	return "$status"
}

missing()
{
	local kind

	for kind in "${KINDS[@]}"; do
		has_come_about "$kind" || echo "$kind"
	done
}

rounds_print()
{
	local kind
	local -a counts=()

	for kind in "${ALWAYS[@]}" "${KINDS[@]}"; do
		counts+=("$kind $(wc -l <"$OUT/rounds.$kind")")
	done
	ktap_print_msg "rounds: ${counts[*]}"
} 2>/dev/null

# ---- the pair that does not --------------------------------------------

# cycles NUMBER: connections that rdma_cm makes and ends
cycles()
{
	local OUT=$OUT/cycles SERVER_PID='' TOOL_SECONDS=$((TOOL_SECONDS + $1))

	mkdir -p "$OUT"
	talk cm 7474 ./pane_soak_cm "$IP4_B" "$1" -- \
		./pane_soak_cm "$IP4_B" "$1" client
}

# turns NUMBER: of each thread of pane_soak_verbs; in exclusive mode a process
# sees one device only
turns()
{
	local -a place=() only=()
	local device_b=$DEV_B

	if [ "$RDMA_NETNS" = exclusive ]; then
		place=(ip netns exec "$NS_A") only=(loopback) device_b=$DEV_A
	fi
	PANE_DEVICES="$DEV_A $device_b" PANE_OPERATIONS=$1 PANE_SEED=$RANDOM \
		"${place[@]}" ./pane_soak_verbs "${only[@]}" >"$OUT/turns" 2>&1 &&
		return
	show turns
	complain "pane_soak_verbs failed"
}

# steadily WHAT NUMBER CHUNK: in parts, as long as there are races
steadily()
{
	local rest=$2 part

	behind_races "$BASHPID"
	RANDOM=$((SEED + rest))
	until [ "$rest" -le 0 ] || [ -e "$OUT/stop" ]; do
		part=$((rest < $3 ? rest : $3))
		"$1" "$part" || return
		rest=$((rest - part))
		echo "$part" >>"$OUT/steady.$1"
	done
}

done_of()
{
	awk '{ sum += $1 } END { print sum + 0 }' "$OUT/steady.$1"
}

STEADY=()
WATCH_PID=

honest_start()
{
	ip netns exec "$NS_A" stdbuf -oL ibv_asyncwatch -d "$DEV_A" \
		>"$OUT/events" 2>&1 &
	WATCH_PID=$!
	wait_until grep -q "event FD" "$OUT/events" && start windows &&
		behind_races "$CLIENT_PID" "$SERVER_PID" || return
	steadily cycles $((CYCLES - $(done_of cycles))) "$CHUNK" &
	STEADY=("$!")
	steadily turns $((TURNS - $(done_of turns))) "$CHUNK" &
	STEADY+=("$!")
}

# Of all that ran beside the races nothing has failed.
honest_end()
{
	local status=0 pid

	for pid in "${STEADY[@]}"; do
		wait "$pid" || status=1
	done
	both_alive && flows || status=1
	stop || status=1
	kill_hard "$WATCH_PID"
	not grep -s "event_type" "$OUT/events" || status=1
	return "$status"
}

# ---- memory ------------------------------------------------------------

# Objects of the driver that are counted exactly
driver_memory()
{
	local cache=/sys/kernel/slab/pane_grant objects

	grep -c '\[rdma_pane\]' /proc/vmallocinfo
	# one that has become a part of another says nothing
	if [ -d "$cache" ] && [ ! -L "$cache" ]; then
		echo 1 >"$cache/shrink"
		read -r objects _ <"$cache/objects"
		echo "$objects"
	fi
}

driver_memory_same()
{
	driver_memory | cmp -s - "$OUT/memory"
}

# Objects in each slab cache, without those that are only kept for later
slabs()
{
	local cache objects

	echo 2 >/proc/sys/vm/drop_caches
	for cache in /sys/kernel/slab/*; do
		echo 1 >"$cache/shrink"
		read -r objects _ <"$cache/objects"
		echo "${cache##*/} $objects"
	done | sort
} 2>/dev/null

# Which have more than a few objects more than before
slabs_grown()
{
	slabs | join "$OUT/slabs" - | awk '$3 > $2 + 1000 { print $1, $3 - $2 }'
}

slabs_none_grown()
{
	[ -z "$(slabs_grown)" ]
}

# RCU frees what has been given back some time later.
slabs_same()
{
	[ -s "$OUT/slabs" ] || skip "no counts of slab objects" || return
	wait_until slabs_none_grown ||
		complain "more objects than before: $(slabs_grown | paste -s -d ',')"
}

# ---- phases ------------------------------------------------------------

stage_mode()
{
	netns_mode "$1" && stage_up && driver_memory >"$OUT/memory"
}

races()
{
	local status=0

	ip netns add "$NS_E"
	victim race_add >"$OUT/log.add" 2>&1
	PHASE_END=$((SECONDS + $2))
	racers_start "$1" "${KINDS[@]}"
	races_run "$2" || status=1
	rounds_print
	return "$status"
}

nothing_wrong()
{
	[ -s "$OUT/wrong" ] || return 0
	show wrong
	complain "see above"
}

given_back()
{
	victims_down && nothing_in_use &&
		{ wait_until driver_memory_same || complain "driver's memory"; }
}

module_without_traces()
{
	nothing_left || return
	is_built_in && return
	[ -z "$(traces)" ] || complain "left: $(traces)"
}

# phase NUMBER MODE: five results
phase()
{
	local name="phase $1, $2"
	local -a KINDS=("${KINDS_SHARED[@]}")

	[ "$2" = shared ] || KINDS=("${KINDS_EXCLUSIVE[@]}")
	stage_mode "$2" || ktap_exit_fail_msg "no devices in phase $1"
	honest_start || ktap_exit_fail_msg "no traffic in phase $1"
	check "$name: each kind of race has come about" \
		races $((SEED + 100 * $1)) $((SOAK_SECONDS / NUM_PHASES))
	check "$name: nothing wrong in traffic that is disturbed" nothing_wrong
	check "$name: nothing disturbs the other pair" honest_end
	check "$name: all is given back" given_back
	check "$name: the module goes, without traces" module_without_traces
	net_down
	[ -s "$OUT/slabs" ] || slabs >"$OUT/slabs"
}

# What there was no time for beside the races
the_rest()
{
	rm -f "$OUT/stop"
	PANE_PAUSE=0 steadily "$1" "$2" $((100 * CHUNK))
}

# The kernel complains of an interface that is in use ten seconds after it was
# deleted. A device that is just being registered takes as long on a machine that
# is slow, when others do the same.
UNREGISTER=/proc/sys/net/core/netdev_unregister_timeout_secs

unregister_seconds()
{
	[ ! -w "$UNREGISTER" ] || echo "$1" >"$UNREGISTER"
}

cleanup_more()
{
	unregister_seconds 10
	: >"$OUT/stop"
	victims_kill
	kill_hard "$CLIENT_PID" "$SERVER_PID" "$WATCH_PID" "${RACERS[@]}" \
		"${STEADY[@]}"
	victims_down
	cleanup
} 2>/dev/null

# One of each mode, at least
PAIRS=$(((SOAK_SECONDS + 2 * PHASE_SECONDS - 1) / (2 * PHASE_SECONDS)))
NUM_PHASES=$((2 * PAIRS))

ktap_print_header
need_pane
need ibv_asyncwatch pgrep renice stdbuf xargs
cleanup_at_exit
trap cleanup_more EXIT
unregister_seconds "$DEADLINE"
touch "$OUT/steady.cycles" "$OUT/steady.turns"
ktap_print_msg "PANE_SEED=$SEED"
ktap_set_plan $((5 * NUM_PHASES + 6))
for ((i = 1; i <= NUM_PHASES; i += 2)); do
	phase "$i" shared
	phase $((i + 1)) exclusive
done
stage_mode shared || ktap_exit_fail_msg "no devices after the races"
cycles_left=$((CYCLES - $(done_of cycles)))
turns_left=$((TURNS - $(done_of turns)))
ktap_print_msg "beside races: $((CYCLES - cycles_left)) connections," \
	"$((TURNS - turns_left)) turns"
check "$CYCLES connections made and ended" the_rest cycles "$cycles_left"
check "$TURNS turns of each thread" the_rest turns "$turns_left"
check "new traffic works" new_traffic_works
check "all is given back" given_back
check "nothing is left behind" module_without_traces
net_down
check "no more slab objects than before" slabs_same
ktap_finished
