#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A listener who knows nothing of the driver: tshark reads the frames of each
# operation, and finds in every field what was asked for. This dissector shows
# the ICRC and does not check it; pane_dissect computes it anew.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# Frame by frame, with all checksums in them
single_frames()
{
	local pair

	for pair in "$NS_A $IF_A" "$NS_B $IF_B"; do
		ip netns exec "${pair% *}" ethtool -K "${pair#* }" \
			tx-udp-segmentation off tx-checksum-ip-generic off
	done
} >/dev/null

# ---- capturing ---------------------------------------------------------

# A datagram that is none of RoCE, and the last one
END=pane-end-of-capture
END_PORT=9

TCPDUMP_PID=

# capture FAMILY: into a file, from now on
capture()
{
	ip netns exec "$NS_A" tcpdump -i "$IF_A" -Z root -U \
		--immediate-mode -B 16384 -w "$OUT/$1.pcap" \
		"udp port 4791 or udp port $END_PORT" >"$OUT/tcpdump" 2>&1 &
	TCPDUMP_PID=$!
	wait_until grep -q "listening on" "$OUT/tcpdump"
}

has_end()
{
	grep -aq "$END" "$1"
}

# All that was sent before this is in the file
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

# ---- operations --------------------------------------------------------

# family ip4|ip6: sets what the commands below go by
family()
{
	NET='' ADDRESS=$IP4_B SERVER_ADDRESS=$IP4_A
	[ "$1" = ip4 ] || NET=ip6 ADDRESS=$IP6_B SERVER_ADDRESS=$IP6_A
}

operations()
{
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET="$NET" ./pane_dissect run \
		>"$OUT/expected.$1" && return
	show "expected.$1"
	complain "pane_dissect failed"
}

# Three packets a message
xrc()
{
	local a b
	local -a xrc=(ib_send_bw -c XRC --use-srq -F -s 2053 -m 1024 -n 10)

	a=$(gid_index "$DEV_A" "$SERVER_ADDRESS")
	b=$(gid_index "$DEV_B" "$ADDRESS")
	talk tcp 18515 "${xrc[@]}" -d "$DEV_B" -x "$b" -- \
		"${xrc[@]}" -d "$DEV_A" -x "$a" "$IP4_B"
}

connection()
{
	talk cm 7174 rping -s -a "$ADDRESS" -C 1 -- \
		rping -c -a "$ADDRESS" -C 1
}

# Everything of one family, and what tshark makes of it
record()
{
	family "$1"
	capture "$1" && operations "$1" && xrc && connection
	local status=$?

	capture_end "$1" && [ "$status" -eq 0 ] && dissect "$1"
}

# ---- reading -----------------------------------------------------------

# What an operation prints, see pane_dissect.c
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
	_ws.expert.severity
)

# Payload is a pattern, and not what some dissectors take it for.
dissect()
{
	local field
	local -a options=()

	for field in "${FIELDS[@]}" "${MORE_FIELDS[@]}"; do
		options+=(-e "$field")
	done
	tshark -n -r "$OUT/$1.pcap" -o udp.check_checksum:TRUE \
		-o ip.check_checksum:TRUE --disable-protocol rpcordma \
		-Y 'udp.port == 4791' -T fields -E separator='|' \
		-E occurrence=f "${options[@]}" \
		>"$OUT/frames.$1" 2>"$OUT/tshark" && return
	show tshark
	complain "tshark failed"
}

by_queue_pair()
{
	sort -s -t '|' -k 1,1
}

# operation FAMILY NAME: the frames are those expected, in that order
operation()
{
	sed -n "s/^$2|//p" "$OUT/expected.$1" | by_queue_pair >"$OUT/want"
	# the number of the QP tells whose they are
	cut -d '|' -f 1 "$OUT/want" | sort -u |
		grep -F -f - "$OUT/frames.$1" |
		cut -d '|' -f "1-${#FIELDS[@]}" | by_queue_pair >"$OUT/got"
	[ -s "$OUT/want" ] && cmp -s "$OUT/want" "$OUT/got" && return
	sed 's/^/# want: /' "$OUT/want"
	sed 's/^/# got:  /' "$OUT/got"
	return 1
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
	[ -s "$OUT/frames.$1" ] && all_have "$1" _ws.malformed '' &&
		all_have "$1" udp.dstport 4791
}

# 1 is what tshark says of a good one
checksums_are_right()
{
	all_have "$1" udp.checksum.status 1 || return
	if [ "$1" = ip4 ]; then
		all_have "$1" ip.checksum.status 1 &&
			all_have "$1" ip.src '10\.77\.0\.[12]'
	else
		all_have "$1" ipv6.src 'fd77::[12]'
	fi
}

icrc_is_right()
{
	./pane_dissect icrc "$OUT/$1.pcap" | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# SEND of three packets each, and what comes back
xrc_opcodes()
{
	local seen

	seen=$(column infiniband.bth.opcode "$1" | sort -n | uniq -c |
		awk '$2 >= 160 { print $2, $1 }')
	grep -qx '160 10' <<<"$seen" && grep -qx '161 10' <<<"$seen" &&
		grep -qx '162 10' <<<"$seen" && grep -q '^177 ' <<<"$seen" &&
		[ "$(wc -l <<<"$seen")" -eq 4 ] && return
	complain "opcodes and how often:" "$seen"
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

# ---- running -----------------------------------------------------------

FAMILIES="ip4 ip6"
CHECKS=(
	xrc_opcodes "XRC opcodes"
	connection_mads "the MADs of a connection"
	nothing_malformed "nothing is malformed"
	checksums_are_right "UDP and IP checksums are right"
	icrc_is_right "ICRC, padding and lengths are right"
)

run_family()
{
	local name i

	ktap_test_result "$1: operations are captured" record "$1"
	for name in $NAMES; do
		ktap_test_result "$1: ${name//_/ }" operation "$1" "$name"
	done
	for ((i = 0; i < ${#CHECKS[@]}; i += 2)); do
		ktap_test_result "$1: ${CHECKS[i + 1]}" "${CHECKS[i]}" "$1"
	done
}

ktap_print_header
need_pane
need tshark tcpdump rping ib_send_bw
NAMES=$(./pane_dissect list)
cleanup_at_exit
ktap_set_plan $((2 * ($(wc -w <<<"$NAMES") + ${#CHECKS[@]} / 2 + 1) + 2))
{ stage_up && single_frames; } || ktap_exit_fail_msg "no devices"
for name in $FAMILIES; do
	run_family "$name"
done
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
