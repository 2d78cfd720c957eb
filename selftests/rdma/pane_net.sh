#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The network as users know it: VLANs, bridges, bonds and macvlan below and above
# a device, gateways, all kinds of addresses, firewalls and neighbours; and as
# others see it on the wire: priorities, classes, marks, sources and lengths.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./traffic.sh

ITERS=$(scaled 200 20)

# capture_headers FILE: at the peer, from now on
capture_headers()
{
	capture "$NS_B" "$IF_B" "$1" -s 128
}

# ---- interfaces above the link -----------------------------------------

# What is there in both namespaces; a VLAN turns priority 3 into 5
ABOVE=pnu$$
VLAN_MAP=3:5

# That of the member, which a bridge takes by itself, would give it an address of
# the link that the member has a GID of, and rdma_cm finds that one first.
bridge_mac()
{
	if [ "$1" = "$NS_A" ]; then
		echo 02:00:00:00:00:0a
	else
		echo 02:00:00:00:00:0b
	fi
}

# above KIND NAMESPACE INTERFACE
above()
{
	local -a new=(ip -n "$2" link add "$ABOVE")

	case $1 in
	vlan) "${new[@]}" link "$3" type vlan id 7 \
		egress-qos-map "$VLAN_MAP" ;;
	macvlan) "${new[@]}" link "$3" type macvlan mode bridge ;;
	bond) "${new[@]}" type bond mode active-backup miimon 100 &&
		ip -n "$2" link set "$3" down master "$ABOVE" ;;
	bridge) "${new[@]}" address "$(bridge_mac "$2")" type bridge &&
		ip -n "$2" link set "$3" master "$ABOVE" ;;
	esac && ip -n "$2" link set "$3" up && ip -n "$2" link set "$ABOVE" up
}

above_both()
{
	above "$1" "$NS_A" "$IF_A" && above "$1" "$NS_B" "$IF_B"
}

# Addresses of the link are there at once.
no_dad()
{
	local ns

	for ns in "$NS_A" "$NS_B"; do
		ip netns exec "$ns" sysctl -qw \
			net.ipv6.conf.default.accept_dad=0
	done
}

addresses_up()
{
	add_address "$NS_A" "$AT_A" "$IP4_A/24" "$IP6_A/64"
	add_address "$NS_B" "$AT_B" "$IP4_B/24" "$IP6_B/64"
}

# link_local NAMESPACE INTERFACE: not before neighbours are told of it
link_local()
{
	ip -n "$1" -6 -o addr show dev "$2" scope link -tentative |
		awk '{ sub("/.*", "", $4); print $4; exit }'
}

# places PLACE KIND: the device's interface, and that with the addresses
places()
{
	ON_A=$IF_A ON_B=$IF_B AT_A=$IF_A AT_B=$IF_B
	[ "$2" != link ] || return 0
	case $1 in
	on) ON_A=$ABOVE ON_B=$ABOVE AT_A=$ABOVE AT_B=$ABOVE ;;
	below | later) AT_A=$ABOVE AT_B=$ABOVE ;;
	esac
}

# The name by which the kernel asks for the module
has_kind()
{
	[ "$1" = link ] || modprobe -q "rtnl-link-$1"
}

# build PLACE KIND: the device is on such an interface or below; "later" that
# comes when the device is there
build()
{
	has_kind "$2" || skip "no $2 in this kernel" || return
	places "$1" "$2"
	wire_up && no_dad || return
	[ "$1" != later ] || link_devices || return
	if [ "$2" != link ]; then
		above_both "$2" || return
	fi
	addresses_up
	[ "$1" = later ] || link_devices || return
	wait_until gids_ready && wait_until local_gids &&
		wait_until answers "$IP4_B" && wait_until answers "$IP6_B"
}

link_devices()
{
	link_add "$NS_A" "$DEV_A" "$ON_A" && link_add "$NS_B" "$DEV_B" "$ON_B"
}

local_gids()
{
	address_of local && GID_A=$(gid_index "$DEV_A" "$FROM" v2 "$AT_A") &&
		GID_B=$(gid_index "$DEV_B" "$TO" v2 "$AT_B")
}

dismantle()
{
	devices_down
	net_down
} 2>/dev/null

# ---- addresses and programs --------------------------------------------

# address_of FAMILY: addresses of both ends
address_of()
{
	case $1 in
	v4 | v1) FROM=$IP4_A TO=$IP4_B ;;
	v6) FROM=$IP6_A TO=$IP6_B ;;
	local)
		FROM=$(link_local "$NS_A" "$AT_A")
		TO=$(link_local "$NS_B" "$AT_B")
		;;
	esac
	[ -n "$FROM" ] && [ -n "$TO" ]
}

# family NAME: sets what the programs below go by; v1 is RoCE v1
family()
{
	local version=v2

	[ "$1" != v1 ] || version=v1
	address_of "$1" || complain "no address: $1" || return
	GID_A=$(gid_index "$DEV_A" "$FROM" "$version" "$AT_A") &&
		GID_B=$(gid_index "$DEV_B" "$TO" "$version" "$AT_B") && return
	[ "$1" = v1 ] || complain "no GID: $FROM, $TO" || return
	skip "no RoCE v1"
}

# ibv PROGRAM OPTION...; perf PROGRAM OPTION...
ibv()
{
	talk tcp 18515 "$1" -d "$DEV_B" -g "$GID_B" -n "$ITERS" "${@:2}" -- \
		"$1" -d "$DEV_A" -g "$GID_A" -n "$ITERS" "${@:2}" "$IP4_B"
}

perf()
{
	talk tcp 18515 "$1" -d "$DEV_B" -x "$GID_B" -F -n 5 "${@:2}" -- \
		"$1" -d "$DEV_A" -x "$GID_A" -F -n 5 "${@:2}" "$IP4_B"
}

# An address of the client's own
BIND=
COUNT=5
# of the READ and the WRITE of each
SIZE=5000

# Addresses of the link need the interface in addition.
rping_run()
{
	local at=$TO%$AT_A bind=$TO%$AT_B

	[[ $TO == fe80:* ]] || at=$TO bind=$TO
	talk cm 7174 rping -s -a "$bind" -C "$COUNT" -S "$SIZE" -V -- \
		rping -c -a "$at" -C "$COUNT" -S "$SIZE" -V ${BIND:+-I "$BIND"}
}

# traffic FAMILY: one program of each family, or all of them
traffic()
{
	family "$1" || return
	case $(is_all && echo all)$1 in
	v4) rping_run ;;
	v6 | v1) ibv ibv_rc_pingpong -c ;;
	local) ibv ibv_ud_pingpong -c ;;
	allv1) ibv ibv_rc_pingpong -c && ibv ibv_ud_pingpong -c ;;
	all*) rping_run && ibv ibv_rc_pingpong -c &&
		ibv ibv_ud_pingpong -c && perf ib_write_bw -b &&
		perf ib_read_bw ;;
	esac
}

# By the interface that has the addresses
traffic_to_group()
{
	IF_A=$AT_A IF_B=$AT_B multicast "$IP4_B" "$IP4_A" -C "$ITERS" -S 500
}

# And what is done there beyond traffic
topologies()
{
	list_for_time <<-EOT
	  below vlan priority 3 5
	  below bridge
	  on bond bond_fails_over
	* on macvlan
	* below vlan priority 0 0
	* below vlan interface_above_goes
	* on bridge
	* below bond bond_fails_over
	* below macvlan interface_above_goes
	* later vlan
	* later bridge interface_above_goes
	* later macvlan
	EOT
}

FAMILIES="v4 v6 local v1"

run_topologies()
{
	local words

	while read -r -u 3 -a words; do
		in_topology "${words[@]}"
	done 3< <(topologies)
}

in_topology()
{
	local name

	build "$1" "$2"
	BUILT=$?
	resources_note
	for name in $FAMILIES; do
		check "$1 $2: $name" if_built traffic "$name"
	done
	check "$1 $2: group" if_built traffic_to_group
	[ -z "${3:-}" ] || check "$1 $2: ${*:3}" if_built "${@:3}"
	dismantle
}

# if_built COMMAND...: else its status is that of building
if_built()
{
	[ "$BUILT" -eq 0 ] || return "$BUILT"
	"$@"
}

count_topologies()
{
	topologies | awk -v families="$(wc -w <<<"$FAMILIES")" \
		'{ n += families + 1 + (NF > 2) } END { print n }'
}

# ---- above and below, and what changes ---------------------------------

# priority SL PCP: as the VLAN's map says
priority()
{
	local -a run=(ibv ibv_rc_pingpong -l "$1")
	local all

	family v4 || return
	capture_headers vlan && "${run[@]}"
	capture_end vlan || return
	all=$(frames vlan "vlan 7 and udp port 4791")
	[ "$all" -gt "$ITERS" ] &&
		[ "$(frames vlan "ether[14] & 0xe0 = $(($2 << 5)) and
			vlan 7 and udp port 4791")" -eq "$all" ] && return
	complain "$all frames, and not all of priority $2"
}

# The other member is there before the first one fails
bond_fails_over()
{
	local status=0

	ip -n "$NS_A" link add "sa$$" mtu "$MTU" type veth \
		peer name "sb$$" mtu "$MTU" netns "$NS_B"
	ip -n "$NS_A" link set "sa$$" down master "$ABOVE"
	ip -n "$NS_B" link set "sb$$" down master "$ABOVE"
	ip -n "$NS_A" link set "sa$$" up
	ip -n "$NS_B" link set "sb$$" up
	wait_until active_is "$IF_A" || return
	IMPATIENT=20 start write && ip -n "$NS_A" link set "$IF_A" down &&
		wait_until active_is "sa$$" && flows && both_alive ||
		status=1
	after "$status" && nothing_in_use
}

active_is()
{
	in_a grep -q "^Currently Active Slave: $1\$" "/proc/net/bonding/$ABOVE"
}

# The address goes, and so does the GID; who used it is told by silence.
interface_above_goes()
{
	local status=0

	start write && timeout "$TOOL_SECONDS" \
		ip -n "$NS_A" link del "$ABOVE" &&
		ended_badly client "$CLIENT_PID" || status=1
	after "$status" && wait_until not has_gid "$DEV_A" "$IP4_A" &&
		nothing_in_use
}

# ---- on the wire -------------------------------------------------------

# all_frames FILE WHICH RULE: there are some, and the rule holds for all
all_frames()
{
	local number

	number=$(frames "$1" "$2")
	[ "$number" -gt 0 ] && [ "$(frames "$1" "($2) and ($3)")" -eq \
		"$number" ] && return
	complain "$number frames, and not all of them $3"
}

# class_is FAMILY CLASS: of all frames captured
class_is()
{
	local rule="ip[1] = $2"

	[ "$1" = v4 ] || rule="ip6[0:2] & 0xff0 = $(($2 << 4))"
	all_frames class "udp dst port 4791" "$rule"
}

# DSCP and ECN, both from the traffic class
traffic_class()
{
	family "$1" || return
	capture_headers class && perf ib_write_bw --tclass="$2"
	capture_end class && class_is "$1" "$2"
}

# path_mtu INTERFACE'S DEVICE'S FAMILY: packets are as long as that allows, but
# for the last one of a message
path_mtu()
{
	local status=0

	set_mtus "$1" && wait_until family "$3" || return
	capture_headers mtu && SIZE=20000 COUNT=1 rping_run
	capture_end mtu && full_packets "$2" "$3" || status=1
	set_mtus "$MTU"
	return "$status"
}

# Besides the payload there are 24 bytes in a datagram, and up to 16 more in that
# of the first packet.
full_packets()
{
	local length='udp[4:2]' full longer

	[ "$2" = v4 ] || length='ip6[44:2]'
	full=$(frames mtu "udp dst port 4791 and $length >= $(($1 + 24)) and
		$length <= $(($1 + 40))")
	longer=$(frames mtu "udp dst port 4791 and $length > $(($1 + 40))")
	[ "$full" -ge $((2 * (20000 / $1))) ] && [ "$longer" -eq 0 ] && return
	complain "$full frames of that MTU, $longer longer ones"
}

set_mtus()
{
	ip -n "$NS_A" link set "$IF_A" mtu "$1" &&
		ip -n "$NS_B" link set "$IF_B" mtu "$1" &&
		wait_until answers "$IP4_B" && wait_until answers "$IP6_B"
}

# chosen FAMILY ADDRESS COMMAND...: by its GID
chosen()
{
	family "$1" && FROM=$2 || return
	wait_until has_gid "$DEV_A" "$FROM" || complain "no GID" || return
	GID_A=$(gid_index "$DEV_A" "$FROM")
	"${@:3}"
}

# The source on the wire is the address that was chosen; there are others on the
# interface, from which nothing comes.
sources()
{
	local mac status=0 v4=10.77.0.11 v6=fd77::11

	ip -n "$NS_A" addr add "$v4/24" dev "$IF_A"
	ip -n "$NS_A" addr add "$v6/64" dev "$IF_A" nodad
	mac=$(in_a cat "/sys/class/net/$IF_A/address")
	capture_headers source && chosen v4 "$v4" ibv ibv_rc_pingpong &&
		BIND=$v4 chosen v4 "$v4" rping_run &&
		chosen v6 "$v6" ibv ibv_ud_pingpong || status=1
	capture_end source && [ "$status" -eq 0 ] &&
		all_frames source "ip and ether src $mac and udp dst port 4791" \
			"src host $v4" &&
		all_frames source "ip6 and ether src $mac and udp dst port 4791" \
			"src host $v6" || status=1
	ip -n "$NS_A" addr del "$v4/24" dev "$IF_A"
	ip -n "$NS_A" addr del "$v6/64" dev "$IF_A"
	return "$status"
}

# ---- congestion --------------------------------------------------------

# mark_on, mark_off: somebody on the way marks what may be marked
mark_on()
{
	local module

	for module in sch_ingress cls_matchall act_skbmod; do
		modprobe -q "$module" || skip "no $module in this kernel" ||
			return
	done
	tc -n "$NS_B" qdisc add dev "$IF_B" clsact &&
		tc -n "$NS_B" filter add dev "$IF_B" ingress matchall \
			action skbmod ecn
}

mark_off()
{
	tc -n "$NS_B" qdisc del dev "$IF_B" clsact
}

# congestion_told FAMILY: who receives marks tells the sender, but not of each
congestion_told()
{
	local status=0

	[ -n "$(counter "$DEV_B" np_cnp_sent)" ] ||
		skip "no congestion notification" || return
	family "$1" && mark_on || return
	counters_note "$DEV_A"
	counters_note "$DEV_B"
	perf ib_write_bw --tclass=2 -s 65536 -n 20 && marks_were_counted ||
		status=1
	mark_off
	return "$status"
}

marks_were_counted()
{
	local marked sent

	marked=$(counter_moved "$DEV_B" np_ecn_marked_roce_packets)
	sent=$(counter_moved "$DEV_B" np_cnp_sent)
	[ "$marked" -ge 100 ] && [ "$sent" -ge 1 ] &&
		[ "$sent" -lt "$marked" ] && wait_until told_times "$sent" &&
		return
	complain "marked $marked, told $sent," \
		"heard $(counter_moved "$DEV_A" rx_cnp)"
}

told_times()
{
	[ "$(counter_moved "$DEV_A" rx_cnp)" -eq "$1" ]
}

# Marks on packets of who does not take part mean nothing.
congestion_not_told()
{
	local status=0

	[ -n "$(counter "$DEV_B" np_cnp_sent)" ] ||
		skip "no congestion notification" || return
	family v4 && mark_on || return
	counters_note "$DEV_B"
	perf ib_write_bw --tclass=0 && [ "$(counter_moved "$DEV_B" \
		np_cnp_sent)" -eq 0 ] || status=1
	mark_off
	return "$status"
}

# with_queue NAMESPACE INTERFACE NETEM COMMAND...: it leaves through that
with_queue()
{
	local status=0

	modprobe -q sch_netem || skip "no netem in this kernel" || return
	# shellcheck disable=SC2086 # words
	tc -n "$1" qdisc add dev "$2" root netem $3 || return
	"${@:4}" || status=1
	tc -n "$1" qdisc del dev "$2" root
	return "$status"
}

# A queue on the way that takes all it gets, and gives it slowly, with losses:
# what is asked for again comes behind what is in there, much later than the
# timer allows for an answer.
long_queue()
{
	family "$1" && with_queue "$NS_B" "$IF_B" \
		"limit 200000 rate 400mbit loss 0.05" \
		perf ib_read_bw -m 4096 -s 67108864 -u 14
}

# A queue on the way that is full most of the time: little is made in vain
full_queue()
{
	local sent received

	family "$1" || return
	counters_note "$DEV_A"
	counters_note "$DEV_B"
	with_queue "$NS_A" "$IF_A" "limit 50 delay 200ms" \
		perf ib_write_bw -m 4096 -s 1048576 -u 18 || return
	sent=$(counter_moved "$DEV_A" sent_pkts)
	received=$(counter_moved "$DEV_B" rcvd_pkts)
	[ "$sent" -lt $((10 * received)) ] && return
	complain "$sent packets were made, $received came"
}

# ---- firewall ----------------------------------------------------------

# rules NAMESPACE: from standard input; kernels may lack what they are made of
rules()
{
	ip netns exec "$1" nft -f - 2>"$OUT/nft" && return
	if grep -q "No such file" "$OUT/nft"; then
		skip "no such rules in this kernel"
		return
	fi
	show nft
	return 1
}

# firewall NAMESPACE HOOK VERDICT: of what goes to the port, which is counted
firewall()
{
	rules "$1" <<-EOT
	table inet pane {
		counter seen { }
		chain watch {
			type filter hook $2 priority 0;
			udp dport 4791 counter name seen $3
		}
	}
	EOT
}

seen()
{
	ip netns exec "$1" nft list counter inet pane seen |
		sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

firewall_off()
{
	ip netns exec "$1" nft delete table inet pane
}

# What a client says when it was not answered
TOO_OFTEN="transport retry counter exceeded"

# no_answer: the client gives up, and has said why; the server waits
no_answer()
{
	server ibv_rc_pingpong -d "$DEV_B" -g "$GID_B"
	wait_server tcp 18515 && not client \
		ibv_rc_pingpong -d "$DEV_A" -g "$GID_A" "$IP4_B"
	local status=$?

	server_kill
	[ "$status" -eq 0 ] && grep -q "$TOO_OFTEN" "$OUT/client" && return
	show client
	complain "it did not end as it should"
}

# blocked FAMILY NAMESPACE HOOK VERDICT
blocked()
{
	local status=0

	family "$1" && firewall "${@:2}" || return
	counters_note "$DEV_B"
	no_answer || status=1
	[ "$(seen "$2")" -gt 1 ] || complain "the rule counted nothing" ||
		status=1
	[ "$(counter_moved "$DEV_B" rcvd_pkts)" -eq 0 ] ||
		complain "packets got through" || status=1
	firewall_off "$2"
	[ "$status" -eq 0 ] && ibv ibv_rc_pingpong
}

# counted FAMILY NAMESPACE HOOK DEVICE: each packet of the sender, once
counted()
{
	local number sent

	family "$1" && firewall "$2" "$3" accept || return
	counters_note "$4"
	ibv ibv_rc_pingpong -s 10000
	number=$(seen "$2")
	sent=$(counter_moved "$4" sent_pkts)
	firewall_off "$2"
	[ "$number" -gt "$ITERS" ] && [ "$number" -eq "$sent" ] && return
	complain "$sent sent, $number counted"
}

# ---- ways to the peer --------------------------------------------------

# A gateway between networks of their own, in a third namespace
NS_C=pane-c.$$
GATE_A=10.79.1 GATE_B=10.79.2

routed_up()
{
	places on link
	IP4_A=$GATE_A.1 IP4_B=$GATE_B.1 IP6_A=fd79:1::1 IP6_B=fd79:2::1
	TCP_ADDRESS=$IP4_B
	ip netns add "$NS_A" && ip netns add "$NS_B" && ip netns add "$NS_C" &&
		no_dad || return
	leg "$NS_A" "$IF_A" "$GATE_A" fd79:1: &&
		leg "$NS_B" "$IF_B" "$GATE_B" fd79:2: || return
	ip netns exec "$NS_C" sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
	devices_up && resources_note
}

# leg NAMESPACE INTERFACE PREFIX4 PREFIX6
leg()
{
	ip -n "$1" link add "$2" mtu "$MTU" type veth \
		peer name "g$2" mtu "$MTU" netns "$NS_C" || return
	add_address "$NS_C" "g$2" "$3.2/24" "$4:2/64"
	add_address "$1" "$2" "$3.1/24" "$4:1/64"
	ip -n "$1" route add default via "$3.2" &&
		ip -n "$1" route add default via "$4:2"
}

# routed FAMILY COMMAND...: what arrives has been through one gateway
routed()
{
	local rule="ip[8] = 63"

	[ "$1" = v4 ] || rule="ip6[7] = 63"
	family "$1" || return
	capture_headers routed && "${@:2}"
	capture_end routed &&
		all_frames routed "udp dst port 4791 and src host $FROM" "$rule"
}

# The route changes, and the packets go by the new one.
route_changes()
{
	local status=0

	ip -n "$NS_C" addr add "$GATE_A.3/24" dev "g$IF_A"
	start write && ip -n "$NS_A" route replace default via "$GATE_A.3" &&
		wait_until knows "$NS_A" "$GATE_A.3" && flows && both_alive ||
		status=1
	after "$status"
	status=$?
	ip -n "$NS_A" route replace default via "$GATE_A.2"
	return "$status"
}

# Who routes nothing sends nothing; when there is a route again it goes on.
route_is_missing()
{
	local status=0
	local -a route=(fd79:2::/64)

	[ "$1" = v6 ] || route=("$GATE_B.0/24")
	family "$1" || return
	IMPATIENT=20 IP4_A=$FROM IP4_B=$TO start write || return
	counters_note "$DEV_A"
	ip -n "$NS_A" route replace unreachable "${route[@]}"
	wait_until moved "$DEV_A" send_no_route ||
		complain "it goes out without a route" || status=1
	ip -n "$NS_A" route del unreachable "${route[@]}"
	[ "$status" -eq 0 ] && flows && both_alive || status=1
	after "$status"
}

moved()
{
	[ "$(counter_moved "$1" "$2")" -gt 0 ]
}

routed_down()
{
	dismantle
	ip netns del "$NS_C"
	IP4_A=10.77.0.1 IP4_B=10.77.0.2 IP6_A=fd77::1 IP6_B=fd77::2
}

# knows NAMESPACE ADDRESS: the neighbour's address on the link
knows()
{
	ip -n "$1" neigh show "$2" | grep -q lladdr
}

# second_of FAMILY: an address of the peer that only the device sends to
second_of()
{
	SECOND=10.77.0.12/24
	[ "$1" = v4 ] || SECOND=fd77::12/64
	ip -n "$NS_B" addr replace "$SECOND" dev "$IF_B" nodad 2>/dev/null
	TO=${SECOND%/*}
	wait_until has_gid "$DEV_B" "$TO"
}

# The first packet asks for the neighbour, and goes when it is found.
neighbours_are_found()
{
	local status=0

	family "$1" && second_of "$1" || return
	IMPATIENT=18 IP4_A=$FROM IP4_B=$TO start write &&
		ip -n "$NS_A" neigh flush dev "$IF_A" &&
		ip -n "$NS_B" neigh flush dev "$IF_B" &&
		wait_until knows "$NS_A" "$TO" && flows && both_alive ||
		status=1
	after "$status"
	status=$?
	ip -n "$NS_B" addr del "$SECOND" dev "$IF_B"
	return "$status"
}

# Nothing but the connection manager has sent to the peer before.
connects_cold()
{
	ip -n "$NS_A" neigh flush dev "$IF_A"
	ip -n "$NS_B" neigh flush dev "$IF_B"
	family "$1" && rping_run
}

# The port is taken in a namespace with a device, by both families.
port_is_shown()
{
	local ns

	for ns in "$NS_A" "$NS_B"; do
		[ "$(ip netns exec "$ns" ss -Huln4 'sport = :4791' | wc -l)" \
			-eq 1 ] &&
			[ "$(ip netns exec "$ns" ss -Huln6 'sport = :4791' |
				wc -l)" -eq 1 ] || return
	done
	[ -z "$(ss -Huln 'sport = :4791')" ] ||
		complain "it is taken elsewhere, too"
}

# ---- a peer that dies --------------------------------------------------

# peer_dies KIND RETRIES: so often it is tried again, and then it is over
peer_dies()
{
	local status=0

	# long enough that a busy machine is not a dead one
	IMPATIENT=17 start "$1" || return
	counters_note "$DEV_A"
	kill_hard "$SERVER_PID"
	ended_badly client "$CLIENT_PID" && grep -q "status 12" "$OUT/client" &&
		timed_out "$2" || status=1
	[ "$status" -eq 0 ] || counters_diff "$DEV_A" | sed 's/^/# /'
	after "$status" && nothing_in_use
}

timed_out()
{
	[ "$(counter_moved "$DEV_A" ack_timeouts)" -eq $(($1 + 1)) ] &&
		[ "$(counter_moved "$DEV_A" retransmits)" -eq "$1" ] &&
		[ "$(counter_moved "$DEV_A" retry_exceeded_err)" -eq 1 ]
}

# ---- versions of RoCE --------------------------------------------------

# Each address has a GID of each version, on the interface that it is on.
both_versions()
{
	local address

	has_gid "$DEV_A" "$IP4_A" v1 || skip "no RoCE v1" || return
	for address in "$IP4_A" "$IP6_A" "$(link_local "$NS_A" "$IF_A")"; do
		has_gid "$DEV_A" "$address" v1 "$IF_A" &&
			has_gid "$DEV_A" "$address" v2 "$IF_A" ||
			complain "$address" || return
	done
	# and no other ones
	[ "$(cat "/sys/class/infiniband/$DEV_A/ports/1/gid_attrs/types/"* \
		2>/dev/null | sort | uniq -c | xargs)" = \
		"3 IB/RoCE v1 3 RoCE v2" ]
}

# versions_are MODE V1 V2: 1 if a connection has frames of that version, else 0
versions_are()
{
	local v1 v2

	cm_mode "$1" || complain "refused: $1" || return
	capture_headers version && rping_run
	capture_end version || return
	v1=$(frames version "ether proto 0x8915")
	v2=$(frames version "udp dst port 4791")
	[ $((v1 > 0)) -eq "$2" ] && [ $((v2 > 0)) -eq "$3" ] && return
	complain "$1: $v1 of RoCE v1, $v2 of RoCE v2"
}

mode_is_followed()
{
	local CM_SETTING=default_roce_mode status=0

	has_gid "$DEV_A" "$IP4_A" v1 || skip "no RoCE v1" || return
	need_configfs || return
	family "$1" && versions_are "IB/RoCE v1" 1 0 &&
		versions_are "RoCE v2" 0 1 || status=1
	cm_mode_off
	return "$status"
}

# What rdma_cm is told to use as type of service
service_is_followed()
{
	local CM_SETTING=default_roce_tos status=0

	need_configfs || return
	family "$1" && cm_mode 104 || return
	capture_headers class && rping_run
	{ capture_end class && service_is "$1"; } || status=1
	cm_mode_off
	return "$status"
}

# The connection's own packets have none.
service_is()
{
	local rule="ip[1] = 104" opcode='udp[8]'

	[ "$1" = v4 ] || rule="ip6[0:2] & 0xff0 = $((104 << 4))" \
		opcode='ip6[48]'
	all_frames class "udp dst port 4791 and $opcode != 100" "$rule"
}

# ---- running -----------------------------------------------------------

on_the_link()
{
	list_for_time <<-EOT
	* traffic v4
	* traffic v6
	  traffic local
	  traffic v1
	  traffic_class v4 106
	* traffic_class v6 106
	* traffic_class v4 1
	* service_is_followed v6
	* service_is_followed v4
	  path_mtu 9000 4096 v4
	* path_mtu 9000 4096 v6
	* path_mtu 4200 4096 v4
	* path_mtu 2200 2048 v6
	* path_mtu 1500 1024 v6
	* path_mtu 1500 1024 v4
	  sources
	  congestion_told v4
	* congestion_told v6
	* congestion_not_told
	* long_queue v4
	* full_queue v4
	* full_queue v1
	  blocked v4 $NS_B input drop
	* blocked v6 $NS_B input drop
	* blocked v4 $NS_A output drop
	* blocked v6 $NS_A output drop
	* blocked v4 $NS_B input reject
	* blocked v4 $NS_B prerouting drop
	  counted v4 $NS_B input $DEV_A
	* counted v6 $NS_B input $DEV_A
	* counted v6 $NS_B output $DEV_B
	* counted v4 $NS_B output $DEV_B
	* neighbours_are_found v4
	  neighbours_are_found v6
	* connects_cold v4
	* connects_cold v6
	  port_is_shown
	  peer_dies write 7
	* peer_dies connected 1
	* peer_dies read 7
	  both_versions
	  mode_is_followed v4
	* mode_is_followed v6
	  nothing_in_use
	EOT
}

behind_a_gateway()
{
	list_for_time <<-EOT
	  routed v4 rping_run
	  routed v6 ibv ibv_rc_pingpong -c
	* routed v4 ibv ibv_ud_pingpong -c
	* routed v6 rping_run
	  route_changes
	  route_is_missing v4
	  route_is_missing v6
	  nothing_in_use
	EOT
}

# name_of COMMAND...: for people, without the number of this run
name_of()
{
	local name=$*

	name=${name//-a.$$/ a} name=${name//-b.$$/ b}
	name=${name//$DEV_A/by a} name=${name//$DEV_B/by b}
	echo "${name//_/ }"
}

run_list()
{
	local words

	while read -r -u 3 -a words; do
		check "$(name_of "${words[@]}")" "${words[@]}"
	done 3< <("$1")
}

cleanup_more()
{
	kill_hard "$CLIENT_PID" "$SERVER_PID"
	cm_mode_off
	cleanup
	ip netns del "$NS_C"
} 2>/dev/null

ktap_print_header
need_pane
need nft tc tcpdump sysctl rping ibv_rc_pingpong ibv_ud_pingpong ib_write_bw \
	ib_read_bw mckey
cleanup_at_exit
trap cleanup_more EXIT
ktap_set_plan $(($(count_topologies) + $(on_the_link | wc -l) +
	$(behind_a_gateway | wc -l) + 1))
run_topologies
{ build on link && resources_note && single_frames; } ||
	ktap_exit_fail_msg "no devices"
run_list on_the_link
dismantle
routed_up || ktap_exit_fail_msg "no gateway"
run_list behind_a_gateway
check "nothing is left behind" nothing_left
routed_down
ktap_finished
