#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What an administrator sees of windows and refusals: counters, tracepoints, the
# list of windows, the kind of type 2 windows, objects. And what others do not.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

TRACING=/sys/kernel/tracing
WINDOWS=/sys/kernel/debug/rdma_pane/windows

# As somebody without any rights
ordinary()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

# As a root who may not administer networks
no_net_admin()
{
	setpriv --bounding-set -net_admin -- "$@"
}

# fails_with TEXT COMMAND...
fails_with()
{
	local text=$1 said

	shift
	if said=$("$@" 2>&1); then
		complain "succeeded: $*"
		return
	fi
	grep -qi -- "$text" <<<"$said" || complain "'$said': $*"
}

# ---- counters and events -----------------------------------------------

# An instance of its own, so that nobody else's events are in it
INSTANCE=$TRACING/instances/pane.$$

events_on()
{
	mkdir "$INSTANCE" && echo 1 >"$INSTANCE/events/pane/enable"
}

events_off()
{
	rmdir "$INSTANCE"
}

# Bind, invalidate and violation, without who and when
events()
{
	sed -n 's/^.*: \(pane_[a-z_]*: .*\)$/\1/p' "$INSTANCE/trace" |
		grep -v '^pane_qp_state:'
}

# Counters that tell of what was refused, or of a window
reasons_moved()
{
	counters_diff "$1" | grep -e '^access_' -e '^mw_' -e '_refused ' \
		-e '^sent_[a-z]*_[a-z]* ' -e '_err ' -e '^cq_' | xargs
}

pane_seen()
{
	PANE_DEVICES="$DEV_A $DEV_B" ./pane_seen "$@"
}

# counted_and_told NAME COUNTER-AND-NUMBER...: these move, and no others; the
# events are those that it prints
counted_and_told()
{
	local name=$1 moved moved_b

	shift
	counters_note "$DEV_A"
	counters_note "$DEV_B"
	echo >"$INSTANCE/trace"
	if ! pane_seen "do" "$name" >"$OUT/wanted"; then
		show wanted
		complain "pane_seen failed"
		return
	fi
	moved=$(reasons_moved "$DEV_A")
	moved_b=$(reasons_moved "$DEV_B")
	events >"$OUT/events"
	[ "$moved" = "$*" ] && [ -z "$moved_b" ] ||
		complain "moved: $moved; at the peer: $moved_b" || return
	diff "$OUT/wanted" "$OUT/events" >"$OUT/diff" && return
	show diff
	complain "other events"
}

# All counters by both ways, and all that stats.h tells of has a name
sysfs_agrees()
{
	local device name value other file

	for device in "$DEV_A" "$DEV_B"; do
		counters "$device" >"$OUT/all"
		[ "$(wc -l <"$OUT/all")" -ge 50 ] ||
			complain "only $(wc -l <"$OUT/all") counters" || return
		while read -r name value; do
			file=/sys/class/infiniband/$device/ports/1/hw_counters
			read -r other <"$file/$name" &&
				[ "$other" = "$value" ] ||
				complain "$name: $value, $other" || return
		done <"$OUT/all"
	done
}

states_are_told()
{
	echo >"$INSTANCE/trace"
	pane_seen "do" bind >/dev/null || return
	grep -q 'pane_qp_state: qpn=0x[0-9a-f]* from=[0-9] to=[0-9]$' \
		"$INSTANCE/trace"
}

# ---- the list of windows -----------------------------------------------

hold_start()
{
	mkfifo "$OUT/fifo"
	pane_seen hold <"$OUT/fifo" >"$OUT/held" 2>&1 &
	HOLD_PID=$!
	exec 4>"$OUT/fifo"
	wait_until grep -q ready "$OUT/held" && return
	show held
	return 1
}

hold_stop()
{
	exec 4>&-
	wait "$HOLD_PID"
}

windows_are_listed()
{
	sed -n 's/^window: //p' "$OUT/held" | sort >"$OUT/wanted"
	grep "^$DEV_A " "$WINDOWS" | sed 's/ mr [0-9]* / mr N /' |
		sort >"$OUT/list"
	[ "$(wc -l <"$OUT/wanted")" -eq 5 ] &&
		diff "$OUT/wanted" "$OUT/list" >"$OUT/diff" &&
		! grep -q "^$DEV_B " "$WINDOWS" && return
	show diff
	return 1
}

# The region is known by the number that it has elsewhere
window_names_its_region()
{
	local number

	number=$(sed -n "s/^$DEV_A .* mr \([0-9]*\) .*/\1/p" "$WINDOWS" |
		sort -u)
	rdma resource show mr dev "$DEV_A" mrn "$number" |
		grep -q "$(sed -n 's/^lkey: /lkey /p' "$OUT/held") " ||
		complain "mr $number"
}

list_is_for_administrators()
{
	cat "$WINDOWS" >/dev/null &&
		fails_with "not permitted" no_net_admin cat "$WINDOWS" &&
		fails_with "denied" ordinary cat "$WINDOWS" &&
		[ "$(stat -c %a "$WINDOWS")" = 400 ]
}

trace_is_for_administrators()
{
	fails_with "denied" ordinary cat "$INSTANCE/trace" &&
		fails_with "denied" ordinary \
			cat "$INSTANCE/events/pane/pane_mw_bind/enable"
}

held_keys()
{
	sed -n 's/^.* rkey 0x\([0-9a-f]*\) .*/\1/p; s/^lkey: 0x//p' "$OUT/held"
}

# Neither the log nor netlink shows keys to everybody.
keys_are_not_told()
{
	local key

	dmesg >"$OUT/dmesg"
	ordinary rdma resource show mr >"$OUT/mr" 2>/dev/null
	for key in $(held_keys); do
		! grep -qi "$key" "$OUT/dmesg" "$OUT/mr" ||
			complain "key $key is shown" || return
	done
	[ -s "$OUT/mr" ]
}

# ---- objects -----------------------------------------------------------

# shows KIND NUMBER: of the program, on the first device
shows()
{
	local number

	number=$(rdma resource show "$1" 2>"$OUT/rdma" |
		grep -e "^dev $DEV_A " -e "^link $DEV_A/" |
		grep -c "comm pane_seen")
	[ "$number" -eq "$2" ] || complain "$1: $number, not $2"
}

objects_are_listed()
{
	shows qp 1 && shows cq 2 && shows mr 1 && shows pd 1 && shows ctx 1 &&
		shows_srq || return
	rdma resource show qp | grep "^link $DEV_A/" |
		grep -q "$(sed -n 's/^qp: //p' "$OUT/held") type RC state RTS"
}

shows_srq()
{
	rdma resource show srq | grep "^dev $DEV_A " | grep -q "comm pane_seen"
}

# detail KIND TEXT: of one of the program's objects
detail()
{
	rdma -dd resource show "$1" | grep -e "^dev $DEV_A " \
		-e "^link $DEV_A/" | grep "comm pane_seen" | grep -q "$2" ||
		complain "$1: no $2"
}

objects_have_details()
{
	detail qp "drv_sq_requests 0 drv_sq_waits_for nothing" &&
		detail qp "drv_rq_waiting 0" && detail mr "drv_memory user" &&
		detail cq "drv_entries 0 drv_armed"
}

# of_link NAME: all that was counted on the first device, of any QP
of_link()
{
	rdma statistic show link "$DEV_A/1" | grep -o " $1 [0-9]*" |
		sed 's/.* //'
}

# A QP is bound to a counter, which has the same names
qp_is_counted_apart()
{
	local qp

	qp=$(sed -n 's/^qp: lqpn \([0-9]*\) .*/\1/p' "$OUT/held")
	rdma statistic qp bind link "$DEV_A/1" lqpn "$qp" || return
	rdma statistic qp show link "$DEV_A/1" >"$OUT/counted"
	grep -q "rcvd_pkts 0 " "$OUT/counted" &&
		grep -q "sent_rem_access 0" "$OUT/counted" ||
		complain "not shown" || return
	rdma statistic qp unbind link "$DEV_A/1" cntn \
		"$(grep -o "cntn [0-9]*" "$OUT/counted" | sed 's/cntn //')" \
		lqpn "$qp" && [ -z "$(rdma statistic qp show link "$DEV_A/1")" ]
}

# What QPs count apart is part of what the link has, and stays there.
all_is_counted()
{
	local before after status=0

	rdma statistic qp set link "$DEV_A/1" auto type on || return
	before=$(of_link rcvd_pkts)
	counters_note "$DEV_A"
	pingpong || status=1
	after=$(of_link rcvd_pkts)
	rdma statistic qp set link "$DEV_A/1" auto off
	[ "$status" -eq 0 ] && [ "$after" -gt "$((before + 100))" ] &&
		[ "$(counter_moved "$DEV_A" rcvd_pkts)" -eq \
			"$((after - before))" ] && return
	complain "from $before to $after, and not the same in sysfs"
}

# ---- what type 2 windows are -------------------------------------------

mw_type2()
{
	echo "/sys/class/infiniband/$1/mw_type2"
}

type2_reads()
{
	local reads

	reads=$(cat "$(mw_type2 "$DEV_A")")
	[ "$reads" = "$1" ] || complain "reads $reads" || return
	capability_is "$1" || complain "another capability than $1"
}

# One kind excludes the other.
capability_is()
{
	local kinds

	kinds=$(ibv_devinfo -v -d "$DEV_A" | grep -o 'MEM_WINDOW_TYPE_2[AB]')
	[ "$kinds" = "MEM_WINDOW_TYPE_$1" ]
}

# write_type2 TEXT: by a program, so that its error can be seen
write_type2()
{
	printf '%b' "$1" | tee "$(mw_type2 "$DEV_A")"
}

type2_is_2b()
{
	type2_reads 2B && [ "$(cat "$(mw_type2 "$DEV_B")")" = 2B ]
}

type2_can_be_chosen()
{
	write_type2 2A >/dev/null && type2_reads 2A &&
		[ "$(cat "$(mw_type2 "$DEV_B")")" = 2B ] &&
		write_type2 '2B\n' >/dev/null && type2_reads 2B
}

nonsense_is_refused()
{
	local text

	for text in 2C 2 A 2AB '2A 2B' 2a ' 2A' '\n' '2A\n\n'; do
		fails_with "invalid argument" write_type2 "$text" || return
	done
	type2_reads 2B
}

type2_is_for_root()
{
	[ "$(ordinary cat "$(mw_type2 "$DEV_A")")" = 2B ] &&
		fails_with "denied" ordinary tee "$(mw_type2 "$DEV_A")" \
			</dev/null
}

# The kind that it has can be written all the same.
type2_is_busy()
{
	fails_with "busy" write_type2 2A && write_type2 2B >/dev/null &&
		type2_reads 2B
}

type2_is_free_again()
{
	hold_stop && write_type2 2A >/dev/null && type2_reads 2A &&
		write_type2 2B >/dev/null && ! grep -q "^$DEV_A " "$WINDOWS"
}

# ---- running -----------------------------------------------------------

cleanup_more()
{
	exec 4>&-
	cleanup
	rmdir "$INSTANCE"
} 2>/dev/null

tests=(
	"counted_and_told key access_key 1 sent_rem_access 1"
	"counted_and_told range access_range 1 mw_bound 1 sent_rem_access 1"
	"counted_and_told rights access_rights 1 mw_bound 1 sent_rem_access 1"
	"counted_and_told qp access_qp 1 mw_bound 1 sent_rem_access 1"
	"counted_and_told pd access_pd 1 sent_rem_access 1"
	"counted_and_told bind mw_bound 1"
	"counted_and_told bind_refused bind_refused 1"
	"counted_and_told invalidate mw_bound 1 mw_invalidated 1"
	"counted_and_told invalidate_refused inv_refused 1"
	"counted_and_told remote_invalidate_refused inv_refused 1 sent_rem_access 1"
	sysfs_agrees
	states_are_told
	type2_is_2b
	type2_can_be_chosen
	nonsense_is_refused
	type2_is_for_root
	hold_start
	windows_are_listed
	window_names_its_region
	list_is_for_administrators
	trace_is_for_administrators
	keys_are_not_told
	objects_are_listed
	objects_have_details
	qp_is_counted_apart
	all_is_counted
	type2_is_busy
	type2_is_free_again
	events_off
	nothing_in_use
	nothing_left
)

ktap_print_header
need_pane
need setpriv ibv_devinfo stat tee mkfifo
cleanup_at_exit
trap cleanup_more EXIT
stage_up || ktap_exit_fail_msg "no devices"
[ -e "$WINDOWS" ] || skip_all "no debugfs"
events_on || skip_all "no tracefs"
ktap_set_plan ${#tests[@]}
for line in "${tests[@]}"; do
	read -ra words <<<"$line"
	name=${words[*]:0:2}
	ktap_test_result "${name//_/ }" "${words[@]}"
done
ktap_finished
