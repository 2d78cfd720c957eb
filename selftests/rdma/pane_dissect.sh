#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A listener who knows nothing of the driver: tshark reads the frames of each
# operation, and finds in every field what was asked for. This dissector shows
# the ICRC and does not check it; pane_dissect computes it anew. Of packets of
# XRC, of congestion notifications, of ATOMIC WRITE and FLUSH tshark reads the BTH
# only: it has no name for the opcodes of the last two. Their other headers
# pane_dissect takes from the capture, for comparison with what was asked for.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# ---- operations --------------------------------------------------------

# family ip4|ip6|v1: sets what the commands below go by
family()
{
	NET='' ADDRESS=$IP4_B
	CAPTURED="udp port 4791" SHOWN="udp.port == 4791"
	FIELDS[LENGTH_FIELD]=udp.length
	case $1 in
	ip6)
		NET=ip6 ADDRESS=$IP6_B ;;
	v1)
		NET=v1 CAPTURED="ether proto 0x8915" SHOWN="eth.type == 0x8915"
		FIELDS[LENGTH_FIELD]=infiniband.grh.paylen ;;
	esac
}

# Names between blanks: operations that the device does not have
SKIPPED=

operations()
{
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET="$NET" ./pane_dissect run \
		>"$OUT/expected.$1"
	local status=$?

	SKIPPED=" $(sed -n 's/|SKIP$//p' "$OUT/expected.$1" | xargs) "
	[ "$status" -eq 0 ] && return
	show "expected.$1"
	complain "pane_dissect failed"
}

is_skipped()
{
	[[ $SKIPPED == *" $1 "* ]]
}

connection()
{
	local CM_SETTING=default_roce_mode

	if [ "$NET" = v1 ]; then
		need_configfs && cm_mode "IB/RoCE v1" ||
			complain "no RoCE v1 in the connection manager" ||
			return
		cm_mode_off
	fi
	talk cm 7174 rping -s -a "$ADDRESS" -C 1 -- \
		rping -c -a "$ADDRESS" -C 1
}

# Everything of one family, and what tshark makes of it
record()
{
	family "$1"
	capture "$NS_A" "$IF_A" "$1" "$CAPTURED or udp port $END_PORT" &&
		operations "$1" && connection
	local status=$?

	capture_end "$1" && [ "$status" -eq 0 ] && dissect "$1"
}

# ---- reading -----------------------------------------------------------

# What an operation prints, see pane_dissect_frame.c
LENGTH_FIELD=5
FIELDS=(
	infiniband.bth.destqp infiniband.bth.opcode infiniband.bth.psn
	infiniband.bth.padcnt infiniband.bth.se udp.length
	infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen
	infiniband.atomiceth.swapdt infiniband.atomiceth.cmpdt
	infiniband.aeth.syndrome infiniband.aeth.msn
	infiniband.atomicacketh.origremdt
	infiniband.immdt infiniband.ieth
	infiniband.deth.q_key infiniband.deth.srcqp
)
# What is asked beyond that
MORE_FIELDS=(
	infiniband.mad.attributeid udp.dstport ip.src ipv6.src
	udp.checksum.status ip.checksum.status _ws.malformed
	_ws.expert.severity eth.type infiniband.grh.ipver
	infiniband.grh.nxthdr infiniband.grh.sgid
)

# Payload is a pattern, and not what some dissectors take it for.
dissect()
{
	local field
	local -a options=()

	for field in "${FIELDS[@]}" "${MORE_FIELDS[@]}"; do
		options+=(-e "$field")
	done
	if ! tshark -n -r "$OUT/$1.pcap" -o udp.check_checksum:TRUE \
		-o ip.check_checksum:TRUE --disable-protocol rpcordma \
		-Y "$SHOWN" -T fields -E separator='|' \
		-E occurrence=f "${options[@]}" \
		>"$OUT/frames.$1" 2>"$OUT/tshark"; then
		show tshark
		complain "tshark failed"
		return
	fi
	./pane_dissect headers "$OUT/$1.pcap" >"$OUT/headers.$1"
}

by_queue_pair()
{
	sort -s -t '|' -k 1,1
}

# as_expected FAMILY NAME SEEN: lines of that name are those in the file of what
# was seen, in that order
as_expected()
{
	sed -n "s/^$2|//p" "$OUT/expected.$1" | by_queue_pair >"$OUT/want"
	# the number of the QP tells whose they are
	cut -d '|' -f 1 "$OUT/queue-pairs" | sort -u | grep -F -f - "$OUT/$3" |
		cut -d '|' -f "1-${#FIELDS[@]}" | by_queue_pair >"$OUT/got"
	cmp -s "$OUT/want" "$OUT/got" && return
	sed 's/^/# want: /' "$OUT/want"
	sed 's/^/# got:  /' "$OUT/got"
	return 1
}

# operation FAMILY NAME: the frames, and the headers that tshark does not read
operation()
{
	sed -n "s/^$2|//p" "$OUT/expected.$1" >"$OUT/queue-pairs"
	[ -s "$OUT/queue-pairs" ] || complain "no frames are expected" || return
	as_expected "$1" "$2" "frames.$1" &&
		as_expected "$1" "$2:headers" "headers.$1"
}

# column NAME FAMILY: that of every frame
column()
{
	local i=1 field

	for field in "${FIELDS[@]}" "${MORE_FIELDS[@]}"; do
		[ "$field" != "$1" ] || break
		i=$((i + 1))
	done
	cut -d '|' -f "$i" "$OUT/frames.$2"
}

# all_have FAMILY FIELD VALUE
all_have()
{
	local others

	others=$(column "$2" "$1" | grep -vxe "$3" | sort | uniq -c)
	[ -z "$others" ] || complain "$2: $others"
}

nothing_malformed()
{
	[ -s "$OUT/frames.$1" ] && all_have "$1" _ws.malformed ''
}

# 1 is what tshark says of a good checksum
outer_headers_are_right()
{
	case $1 in
	ip4)
		all_have "$1" ip.checksum.status 1 &&
			all_have "$1" ip.src '10\.77\.0\.[12]' ;;
	ip6)
		all_have "$1" ipv6.src 'fd77::[12]' ;;
	v1)
		all_have "$1" eth.type 0x8915 &&
			all_have "$1" infiniband.grh.ipver 6 &&
			all_have "$1" infiniband.grh.nxthdr 27 &&
			all_have "$1" infiniband.grh.sgid \
				'::ffff:10\.77\.0\.[12]'
		return ;;
	esac && all_have "$1" udp.dstport 4791 &&
		all_have "$1" udp.checksum.status 1
}

icrc_is_right()
{
	./pane_dissect icrc "$OUT/$1.pcap" | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# Request, reply, ready to use; who disconnects is not foreseen
connection_mads()
{
	local seen

	seen=$(grep '^0x000001|' "$OUT/frames.$1" |
		cut -d '|' -f "2,$((${#FIELDS[@]} - 1)),$((${#FIELDS[@]} + 1))" |
		awk '!seen[$0]++' | xargs)
	[[ $seen == "100|0x0000000080010000|0x0010 \
100|0x0000000080010000|0x0013 100|0x0000000080010000|0x0014 \
100|0x0000000080010000|0x0015"* ]] && return
	complain "$seen"
}

# Those of RC, which XRC has as well, of UC, of UD, and the notification of
# congestion
opcodes_wanted()
{
	{
		seq 0 20
		seq 160 180
		echo 22 23 182 183
		is_skipped rc_flush || echo 28
		is_skipped rc_atomic_write || echo 29
		is_skipped xrc_flush || echo 188
		is_skipped xrc_atomic_write || echo 189
		seq 32 43
		echo 100 101 129
	} | tr ' ' '\n' | sort -n | xargs
}

every_opcode_is_seen()
{
	local seen wanted

	seen=$(column infiniband.bth.opcode "$1" | sort -nu | xargs)
	wanted=$(opcodes_wanted)
	ktap_print_msg "opcodes: $seen"
	[ "$seen" = "$wanted" ] || complain "wanted: $wanted"
}

# ---- running -----------------------------------------------------------

FAMILIES="ip4 ip6 v1"
CHECKS=(
	connection_mads "the MADs of a connection"
	nothing_malformed "nothing is malformed"
	outer_headers_are_right "addresses and checksums are right"
	icrc_is_right "ICRC, padding and lengths are right"
	every_opcode_is_seen "every opcode was seen"
)

# operation_result FAMILY NAME
operation_result()
{
	local description="$1: ${2//_/ }"

	if is_skipped "$2"; then
		ktap_test_skip "$description"
	else
		ktap_test_result "$description" operation "$1" "$2"
	fi
}

run_family()
{
	local name i

	ktap_test_result "$1: operations are captured" record "$1"
	for name in $NAMES; do
		operation_result "$1" "$name"
	done
	for ((i = 0; i < ${#CHECKS[@]}; i += 2)); do
		ktap_test_result "$1: ${CHECKS[i + 1]}" "${CHECKS[i]}" "$1"
	done
}

ktap_print_header
need_pane
need tshark tcpdump rping
NAMES=$(./pane_dissect list)
cleanup_at_exit
ktap_set_plan $(($(wc -w <<<"$FAMILIES") *
	($(wc -w <<<"$NAMES") + ${#CHECKS[@]} / 2 + 1) + 2))
{ stage_up && single_frames; } || ktap_exit_fail_msg "no devices"
for name in $FAMILIES; do
	run_family "$name"
done
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
