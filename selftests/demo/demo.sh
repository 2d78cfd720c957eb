#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What `make demo` runs in the guest.

set -eu
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../rdma/gid.sh"

# Show a command as a user would type it, then do it.
run()
{
	printf '\n# %s\n' "$*"
	"$@"
}

# wait_gid DEVICE ADDRESS: the number of the GID, once it is there
wait_gid()
{
	local i

	for ((i = 0; i < 100; i++)); do
		gid_index_here "$1" "$2" && return
		sleep 0.1
	done
	echo "demo: $1 has no GID" >&2
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
gid0=$(wait_gid pane0 192.0.2.1)
gid1=$(wait_gid pane1 192.0.2.2)

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
