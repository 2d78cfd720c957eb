#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The reliability matrix: each operation with messages of each length over links
# that lose, double, reorder, corrupt and delay packets and go dark, with each
# kind of addresses. PANE_ALL=1 is for all of it, which takes long; PANE_SEED
# repeats a run.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# Name, and words for PANE_NET
FAMILIES=(
	"v1 v1"
	"ip4 ip4"
	"ip6 ip6"
)

# What tells how the links were
COUNTERS=(retransmits ack_timeouts duplicate_request out_of_seq_request
	implied_nak unexpected_response rcvd_rnr_err rx_icrc)

# matrix NAME NET: the cells of one family
matrix()
{
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET=$2 \
		PANE_ENDS="$NS_A $IF_A $NS_B $IF_B" ./pane_matrix 2>&1 |
		tee "$OUT/matrix.$1"
	return "${PIPESTATUS[0]}"
}

# summed FILE...: of all runs in them
summed()
{
	awk '/^# matrix: / { cells += $3; messages += $5; bytes += $7 }
		END { printf "%d cells, %d messages, %.0f bytes",
			cells, messages, bytes }' "$@"
}

# Of both devices, since they were noted
counters_text()
{
	{ counters_diff "$DEV_A"; counters_diff "$DEV_B"; } |
		awk -v names="${COUNTERS[*]}" '{ sum[$1] += $2 }
			END { num = split(names, name)
				for (i = 1; i <= num; i++)
					printf ", %s %d", name[i], sum[name[i]]
			}'
}

# Has each device an address of this kind?
has_family()
{
	case $1 in
	v1) has_gid "$DEV_A" "$IP4_A" v1 && has_gid "$DEV_B" "$IP4_B" v1 ;;
	ip4) has_gid "$DEV_A" "$IP4_A" && has_gid "$DEV_B" "$IP4_B" ;;
	ip6) has_gid "$DEV_A" "$IP6_A" && has_gid "$DEV_B" "$IP6_B" ;;
	esac
}

# family NAME NET
family()
{
	if ! has_family "$1"; then
		ktap_test_skip "$1: no such GID"
		return
	fi
	counters_note "$DEV_A"
	counters_note "$DEV_B"
	subtest "$1" matrix "$1" "$2"
	ktap_print_msg "matrix, $1: $(summed "$OUT/matrix.$1")$(counters_text)"
}

ktap_print_header
need_pane
need tc
modprobe -q sch_netem || skip_all "no netem in this kernel"
cleanup_at_exit
ktap_set_plan $((${#FAMILIES[@]} + 2))
stage_up || ktap_exit_fail_msg "no devices"
: >"$OUT/matrix.none"
for entry in "${FAMILIES[@]}"; do
	read -r name net <<<"$entry"
	family "$name" "$net"
done
ktap_print_msg "matrix: $(summed "$OUT"/matrix.*)"
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
