#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Frames made by hand: pane_frames sends them from the second namespace, under
# an address that nobody has, over IPv4 and IPv6.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

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
		# one frame a packet, which is what is decoded here
		in_a ethtool -K "$IF_A" tx-udp-segmentation off >/dev/null
}

frames()
{
	PANE_DEVICES="$DEV_A $DEV_B" PANE_NET=$1 \
	PANE_FRAMES="/run/netns/$NS_B $IF_B $STRANGER_IP4 $STRANGER_IP6 \
		$STRANGER_MAC $(mac_of "$NS_A" "$IF_A")" ./pane_frames
}

# Packets that the driver leaves to the socket nobody reads would stay there.
nothing_in_socket()
{
	in_a ss -Huan "sport = :4791" | awk '$2 > 0 { found = 1 }
		END { exit found }'
}

ktap_print_header
need_pane
cleanup_at_exit
ktap_set_plan 5
stage_up || ktap_exit_fail_msg "no devices"
stranger_up || ktap_exit_fail_msg "no stranger"
subtest "IPv4" frames ip4
subtest "IPv6" frames ip6
ktap_test_result "no packet waits in the socket" nothing_in_socket
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
