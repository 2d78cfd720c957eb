#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What `make demo` runs in the guest.

set -eu
here=$(dirname "${BASH_SOURCE[0]}")

# Show a command as a user would type it, then do it.
run()
{
	printf '\n# %s\n' "$*"
	"$@"
}

# gid DEVICE: number of its GID of RoCE v2 over IPv4, once it is there
gid()
{
	local port=/sys/class/infiniband/$1/ports/1 i n

	for ((i = 0; i < 100; i++)); do
		for n in 0 1 2 3 4 5 6 7; do
			grep -q ':ffff:c000' "$port/gids/$n" &&
				grep -qx 'RoCE v2' "$port/gid_attrs/types/$n" &&
				echo "$n" && return
		done 2>/dev/null
		sleep 0.1
	done
	echo "$1 has no GID" >&2
	return 1
}

# Two hosts, as far as networking goes, with a cable between them.
ip link add eth0 type veth peer name eth1
for side in left:eth0:1 right:eth1:2; do
	IFS=: read -r ns dev n <<<"$side"
	ip netns add "$ns"
	ip -n "$ns" link set lo up
	ip link set "$dev" netns "$ns"
	ip -n "$ns" addr add "192.0.2.$n/24" dev "$dev"
	ip -n "$ns" link set "$dev" mtu 4200 up
done

echo "Two network namespaces, left and right, with a veth pair between them."
run modprobe rdma_pane
run ip netns exec left rdma link add pane0 type pane netdev eth0
run ip netns exec right rdma link add pane1 type pane netdev eth1
run rdma link
gid0=$(gid pane0)
gid1=$(gid pane1)

printf '\nMemory windows: pane0 owns a buffer, pane1 is the peer.\n'
PANE_DEVICES="pane0 pane1" "$here/pane_demo"

printf '\n# ib_write_bw -s 65536, pane1 to pane0\n'
ip netns exec left ib_write_bw -F -d pane0 -x "$gid0" -s 65536 -n 1000 \
	>/dev/null 2>&1 &
server=$!
until ip netns exec left ss -Htnl 'sport = :18515' | grep -q .; do
	kill -0 "$server"
	sleep 0.1
done
ip netns exec right ib_write_bw -F -d pane1 -x "$gid1" -s 65536 -n 1000 192.0.2.1 |
	grep -A1 '#bytes'
wait "$server"
