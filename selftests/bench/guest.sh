#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of `make bench` that runs in the guest: the drivers by turns on one
# veth pair. Prints "DRIVER TEST VALUE" lines.
#
# rdma_rxe of older kernels lives in the first network namespace only, so both
# ends of the pair are there, and routing rules send what goes from one to the
# other over the wire instead of around it.

set -eu
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../rdma/gid.sh"
rounds=${PANE_BENCH_ROUNDS:-3}
A=192.0.2.1
B=192.0.2.2

# end NETDEV ADDRESS PEER-NETDEV PEER-ADDRESS TABLE
end()
{
	ip addr add "$2/32" dev "$1"
	ip route add "$4" dev "$1" src "$2" table "$5"
	ip rule add pref "$5" oif "$1" lookup "$5"
	ip rule add pref 200 from "$2" to "$4" iif lo lookup "$5"
	ip neigh add "$4" lladdr "$(cat "/sys/class/net/$3/address")" \
		dev "$1" nud permanent
	sysctl -qw "net.ipv4.conf.$1.accept_local=1" \
		"net.ipv4.conf.$1.rp_filter=0"
}

wire()
{
	ip link add eth0 type veth peer name eth1
	ip link set lo up
	ip link set eth0 mtu 4200 up
	ip link set eth1 mtu 4200 up
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	end eth0 $A eth1 $B 100
	end eth1 $B eth0 $A 101
	ip rule add pref 300 lookup local
	ip rule del pref 0
}

# wait_gid DEVICE ADDRESS: its number
wait_gid()
{
	local i

	for ((i = 0; i < 100; i++)); do
		gid_index_here "$1" "$2" && return
		sleep 0.1
	done
	return 1
}

driver_up()
{
	rdma link add end0 type "$1" netdev eth0
	rdma link add end1 type "$1" netdev eth1
	gid0=$(wait_gid end0 $A)
	gid1=$(wait_gid end1 $B)
}

driver_down()
{
	rdma link del end0
	rdma link del end1
	modprobe -r "rdma_$1"
}

# perftest COMMAND OPTION...: the line of figures
perftest()
{
	local tool=$1 server
	shift

	"$tool" -F -d end0 -x "$gid0" "$@" >/dev/null 2>&1 &
	server=$!
	until ss -Htnl 'sport = :18515' | grep -q .; do
		kill -0 "$server"
		sleep 0.1
	done
	"$tool" -F -d end1 -x "$gid1" "$@" $A 2>/dev/null | grep -A1 '#bytes' |
		tail -n 1
	wait "$server"
}

turn()
{
	local driver=$1

	driver_up "$driver"
	echo "$driver write64k $(perftest ib_write_bw -s 65536 -n 2000 |
		awk '{print $4}')"
	echo "$driver write64b $(perftest ib_write_bw -s 64 -n 50000 |
		awk '{print $5 * 1e6}')"
	echo "$driver list64b $(perftest ib_write_bw -s 64 -n 50000 -l 16 |
		awk '{print $5 * 1e6}')"
	echo "$driver read64k $(perftest ib_read_bw -s 65536 -n 2000 |
		awk '{print $4}')"
	echo "$driver send2b $(perftest ib_send_lat -s 2 -n 20000 |
		awk '{print $5}')"
	echo "$driver bindinv $("$here/bench_mw" pairs end0 "$gid0" 100000)"
	echo "$driver register $("$here/bench_mw" register end0 "$gid0" 10000)"
	echo "$driver storage $("$here/bench_mw" storage end0 "$gid0" 10000 \
		end1 "$gid1")"
	driver_down "$driver"
}

tcp()
{
	iperf3 -s -1 -B $A%eth0 >/dev/null &
	until ss -Htnl 'sport = :5201' | grep -q .; do
		sleep 0.1
	done
	iperf3 -c $A -B $B%eth1 -t 3 -f M |
		awk '/receiver/ {print "tcp write64k", $7}'
	wait
}

wire
modprobe -a rdma_rxe
modprobe -r rdma_rxe
for ((i = 0; i < rounds; i++)); do
	tcp
	for driver in rxe pane; do
		turn $driver
	done
done
