# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The links that are measured on, between the ends A and B: link_up NAME,
# link_down. A command runs at an end by at_a and at_b.
#
# Where rdma_rxe knows network namespaces each end is in one of its own. That of
# older kernels lives in the first namespace only, so both ends are there, and
# routing rules send what goes from one to the other over the wire instead of
# around it.

# what is set here is for those that source it
# shellcheck disable=SC2034

ADDR_A=192.0.2.1
ADDR_B=192.0.2.2
NS_A=bench-a
NS_B=bench-b
# name of the one that is up
LINK=

has_namespaces()
{
	[ "${PANE_BENCH_NAMESPACES:-}" = yes ]
}

# at NAMESPACE COMMAND...: at the end that is there
at()
{
	local namespace=$1

	shift
	if has_namespaces && [ "$LINK" != lo ]; then
		ip netns exec "$namespace" "$@"
	else
		"$@"
	fi
}

at_a()
{
	at $NS_A "$@"
}

at_b()
{
	at $NS_B "$@"
}

mac_of()
{
	"$1" cat "/sys/class/net/$2/address"
}

# wire MTU: end0 and end1, joined by a pair
wire()
{
	ip link add end0 mtu "$1" type veth peer name end1 mtu "$1"
}

# wire_bridge MTU: end0 and end1, each on a port of a bridge
wire_bridge()
{
	local i

	ip link add br0 mtu "$1" type bridge
	ip link set br0 up
	for i in 0 1; do
		ip link add end$i mtu "$1" type veth peer name port$i mtu "$1"
		ip link set port$i master br0 up
	done
}

# end_up AT NETDEV ADDRESS PEER-ADDRESS PEER-MAC TABLE
end_up()
{
	"$1" ip link set lo up
	"$1" ip link set "$2" up
	"$1" ip addr add "$3/32" dev "$2"
	if has_namespaces; then
		"$1" ip route add "$4" dev "$2" src "$3"
	else
		ip route add "$4" dev "$2" src "$3" table "$6"
		ip rule add pref "$6" oif "$2" lookup "$6"
		ip rule add pref 200 from "$3" to "$4" iif lo lookup "$6"
		sysctl -qw "net.ipv4.conf.$2.accept_local=1" \
			"net.ipv4.conf.$2.rp_filter=0"
	fi
	"$1" ip neigh add "$4" lladdr "$5" dev "$2" nud permanent
}

ends_up()
{
	local mac0 mac1

	mac0=$(mac_of at_a end0)
	mac1=$(mac_of at_b end1)
	end_up at_a end0 $ADDR_A $ADDR_B "$mac1" 100
	end_up at_b end1 $ADDR_B $ADDR_A "$mac0" 101
}

# In one namespace: what is for an own address goes out all the same
rules_up()
{
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	ip rule add pref 300 lookup local
	ip rule del pref 0
}

rules_down()
{
	local pref

	ip rule add pref 0 lookup local
	for pref in 100 101 200 200 300; do
		ip rule del pref $pref
	done
}

link_up()
{
	LINK=$1
	case $1 in
	lo)
		ip link set lo up
		ip addr add $ADDR_A/32 dev lo
		return
		;;
	veth*) wire "${1#veth}" ;;
	bridge) wire_bridge 1500 ;;
	esac
	if has_namespaces; then
		ip netns add $NS_A
		ip netns add $NS_B
		ip link set end0 netns $NS_A
		ip link set end1 netns $NS_B
		ends_up
	else
		ends_up
		rules_up
	fi
}

link_down()
{
	if [ "$LINK" = lo ]; then
		ip addr del $ADDR_A/32 dev lo
	elif has_namespaces; then
		at_a ip link del end0
		[ "$LINK" != bridge ] || at_b ip link del end1
		ip netns del $NS_A
		ip netns del $NS_B
	else
		rules_down
		ip link del end0
		[ "$LINK" != bridge ] || ip link del end1
	fi
	[ "$LINK" != bridge ] || ip link del br0
}

# wait_gid AT DEVICE ADDRESS: its number
wait_gid()
{
	local i

	for ((i = 0; i < 100; i++)); do
		"$1" bash -c 'gid_index_here "$@"' bash "$2" "$3" && return
		sleep 0.1
	done
	return 1
}

# The peer's address, as programs at A call it
peer_address()
{
	if [ "$LINK" = lo ]; then echo $ADDR_A; else echo $ADDR_B; fi
}

driver_up()
{
	if [ "$LINK" = lo ]; then
		rdma link add rdma0 type "$1" netdev lo
		DEV_A=rdma0 DEV_B=rdma0
		GID_A=$(wait_gid at_a rdma0 $ADDR_A)
		GID_B=$GID_A
		return
	fi
	at_a rdma link add rdma0 type "$1" netdev end0
	at_b rdma link add rdma1 type "$1" netdev end1
	DEV_A=rdma0 DEV_B=rdma1
	GID_A=$(wait_gid at_a rdma0 $ADDR_A)
	GID_B=$(wait_gid at_b rdma1 $ADDR_B)
}

# driver_down DRIVER
driver_down()
{
	at_a rdma link del rdma0
	[ "$LINK" = lo ] || at_b rdma link del rdma1
	modprobe -r "rdma_$1"
}
