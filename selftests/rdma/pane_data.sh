#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# pane_data over links of several kinds: all of it where nothing is lost, the
# mixed traffic on those that lose, double, reorder, delay and corrupt packets.
# Each kind has counters that show that it was what it should be.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

both_links()
{
	ip netns exec "$NS_A" "$@" "$IF_A" && ip netns exec "$NS_B" "$@" "$IF_B"
}

# offload FEATURE on|off: at both ends
offload()
{
	in_a ethtool -K "$IF_A" "$1" "$2" && in_b ethtool -K "$IF_B" "$1" "$2"
} >/dev/null 2>&1

netem()
{
	in_a tc qdisc replace dev "$IF_A" root netem limit 20000 "$@" &&
		in_b tc qdisc replace dev "$IF_B" root netem limit 20000 "$@"
}

plain_again()
{
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
	offload tx-udp-segmentation on
	offload tx-checksum-ip-generic on
	offload generic-receive-offload off
} >/dev/null 2>&1

# ---- kinds of links ----------------------------------------------------

kind_trains()	{ :; }
# RoCE v1 has no trains, and no checksum below the ICRC
kind_plain()	{ :; }
kind_packets()	{ offload tx-udp-segmentation off; }
# With the checksum filled in a frame is no longer one that never left memory.
kind_checked()	{ offload tx-checksum-ip-generic off; }
# Trains that the receiver joined, of packets that came one by one
kind_joined()
{
	offload tx-checksum-ip-generic off && offload generic-receive-offload on
}
kind_loss()	{ netem loss 3%; }
kind_double()	{ netem duplicate 5%; }
kind_reorder()	{ netem delay 1ms reorder 50%; }
kind_delay()	{ netem delay 3ms; }
kind_corrupt()	{ netem corrupt 2%; }
kind_all()	{ netem delay 1ms loss 1% duplicate 1% reorder 90% corrupt 1%; }

# moved COUNTER...: at least one of them, on either device
moved()
{
	local name

	for name in "$@"; do
		[ "$(counter_moved "$DEV_A" "$name")" -gt 0 ] && return
		[ "$(counter_moved "$DEV_B" "$name")" -gt 0 ] && return
	done
	complain "none of these moved: $*"
}

# still COUNTER...: none of them, on either device
still()
{
	local name

	for name in "$@"; do
		[ "$(counter_moved "$DEV_A" "$name")" -eq 0 ] &&
			[ "$(counter_moved "$DEV_B" "$name")" -eq 0 ] ||
			complain "moved: $name" || return
	done
}

proof_trains()	{ moved rx_icrc_skipped && still rx_icrc; }
proof_plain()	{ still rx_icrc; }
proof_packets()	{ moved rx_icrc_skipped && still rx_icrc; }
proof_checked()	{ still rx_icrc_skipped rx_icrc; }
proof_joined()	{ still rx_icrc_skipped rx_icrc; }
proof_loss()	{ moved out_of_seq_request && moved retransmits; }
proof_double()	{ moved duplicate_request; }
proof_reorder()	{ moved out_of_seq_request; }
proof_delay()	{ :; }
proof_corrupt()	{ moved rx_icrc; }
proof_all()	{ moved rx_icrc && moved duplicate_request; }

# ---- running -----------------------------------------------------------

# run_on KIND [TESTS]
run_on()
{
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET="$NET" PANE_NETNS=$NS_B \
		./pane_data "${@:2}"
}

# link KIND NET [TESTS]: two results, that of the tests and that of the proof
link()
{
	local kind=$1

	NET=$2
	counters_note "$DEV_A"
	counters_note "$DEV_B"
	if ! "kind_$kind"; then
		ktap_test_skip "$kind: the link cannot do it"
		ktap_test_skip "$kind: proof"
		return
	fi
	subtest "$kind${3:+: $3}" run_on "$kind" "${@:3}"
	ktap_test_result "$kind: proof" "proof_$kind"
	plain_again
}

# Kind, words for PANE_NET, which tests if not all
LINKS=(
	"trains ip4"
	"packets ip6,short"
	"plain v1,short"
	"checked ip4 mixed"
	"joined ip4 mixed"
	"loss ip4,lossy mixed"
	"double ip4 mixed"
	"reorder ip4,slow mixed"
	"delay ip4,slow mixed"
	"corrupt ip4,lossy mixed"
	"all ip6,lossy,slow mixed"
)

ktap_print_header
need_pane
need tc
modprobe -q sch_netem
cleanup_at_exit
ktap_set_plan $((2 * ${#LINKS[@]} + 2))
stage_up || ktap_exit_fail_msg "no devices"
for entry in "${LINKS[@]}"; do
	read -r kind net tests <<<"$entry"
	link "$kind" "${net//,/ }" ${tests:+"$tests"}
done
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
