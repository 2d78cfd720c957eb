#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma_rxe at the other end of the wire: each operation of the one is understood
# by the other, in both directions. Up to Linux 7.0 rdma_rxe is in the first
# network namespace only.
#
# FLUSH needs a younger library than that of Debian 12. With the rdma-core of
# another root directory only pane_peer is run, by what these name:
#
#   PANE_CORE_ROOT      the root directory
#   PANE_CORE_PROVIDER  our provider for it, in the way of RDMAV_DRIVERS
#   PANE_CORE_PEER      pane_peer, compiled for it

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

ITERS=$(scaled 1000 100)
ROOT=${PANE_CORE_ROOT:-}
PEER=(./pane_peer)
[ -z "$ROOT" ] || PEER=("$PANE_TOP/selftests/setup/in-root.sh" "$ROOT"
	"$PANE_CORE_PEER")

# Loaded, it has its socket there already, if that is where it is.
rxe_is_first()
{
	[ -n "$(ss -Huan 'sport = :4791')" ]
}

first_up()
{
	NS_B=pane-first.$$
	ip netns add "$NS_A" && ip netns attach "$NS_B" 1 || return
	ip link add "$IF_B" mtu "$MTU" type veth \
		peer name "$IF_A" mtu "$MTU" netns "$NS_A" || return
	add_address "$NS_A" "$IF_A" "$IP4_A/24" "$IP6_A/64"
	add_address "$NS_B" "$IF_B" "$IP4_B/24" "$IP6_B/64"
}

rxe_up()
{
	if rxe_is_first; then first_up; else net_up; fi || return
	link_add "$NS_A" "$DEV_A" "$IF_A" &&
		in_b rdma link add "$DEV_B" type rxe netdev "$IF_B" &&
		wait_until gids_ready && wait_until answers "$IP4_B" &&
		wait_until answers "$IP6_B"
}

# Who asks is the client: the device in the first namespace, or the other one
pane_asks()
{
	CLIENT_NS=$NS_A SERVER_NS=$NS_B
	CLIENT_DEV=$DEV_A SERVER_DEV=$DEV_B
	CLIENT_IP=$IP4_A SERVER_IP=$IP4_B
}

rxe_asks()
{
	CLIENT_NS=$NS_B SERVER_NS=$NS_A
	CLIENT_DEV=$DEV_B SERVER_DEV=$DEV_A
	CLIENT_IP=$IP4_B SERVER_IP=$IP4_A
}

# talk() has its client in the first of two namespaces
client()
{
	ip netns exec "$CLIENT_NS" timeout -k 5 "$TOOL_SECONDS" "$@" \
		>"$OUT/client" 2>&1
}

# by_gid OPTION PORT COMMAND...: programs that take a device and a GID
by_gid()
{
	local option=$1 port=$2 server client

	shift 2
	server=$(gid_index "$SERVER_DEV" "$SERVER_IP") &&
		client=$(gid_index "$CLIENT_DEV" "$CLIENT_IP") || return
	talk tcp "$port" "$@" -d "$SERVER_DEV" "$option" "$server" -- \
		"$@" -d "$CLIENT_DEV" "$option" "$client" "$SERVER_IP"
}

pingpong_of()
{
	by_gid -g 18515 "$@"
}

# Patient: on a busy machine half a second without an answer is not long.
perf()
{
	local tool=$1

	shift
	by_gid -x 18515 "$tool" -F -u 18 "$@"
}

cm()
{
	local port=$1 tool=$2

	shift 2
	talk cm "$port" "$tool" -b "$SERVER_IP" "$@" -- \
		"$tool" -s "$SERVER_IP" "$@"
}

# group mckey OPTION...
#
# The sender destroys its address handle at once, and rdma_rxe loses what it has
# not sent by then.
group()
{
	multicast "$SERVER_IP" "$CLIENT_IP" "${@:2}" && return
	[ "$CLIENT_DEV" != "$DEV_A" ] &&
		multicast "$SERVER_IP" "$CLIENT_IP" "${@:2}"
}

rping_of()
{
	talk cm 7174 rping -s -a "$SERVER_IP" -p 7174 -C 50 -S 5000 -V -- \
		rping -c -a "$SERVER_IP" -p 7174 -C 50 -S 5000 -V
}

# The client, which has the windows, is pane: the peer writes, is refused, and
# invalidates.
window_of()
{
	talk cm 7471 ./pane_window_example "$SERVER_IP" -- \
		./pane_window_example "$SERVER_IP" client
}

nothing_left_here()
{
	rdma link delete "$DEV_B"
	link_del "$DEV_A"
	wait_until port_is_free "$NS_A" || complain "left: UDP port" || return
	wait_until refcount_is_zero || complain "left: module in use" || return
	wait_until module_goes || complain "left: the module" ||
		return
	wait_until rxe_away || complain "left: rdma_rxe"
}

# Loaded, rdma_rxe has the port though there is no device.
rxe_away()
{
	modprobe -r -q rdma_rxe
}

cleanup_here()
{
	cleanup
	ip link delete "$IF_B"
	rxe_away
} 2>/dev/null

# Programs, all of them the machine's own
list()
{
	[ -z "$ROOT" ] || return 0
	cat <<EOT
pingpong_of ibv_rc_pingpong -c -s 100000 -m 4096 -n $((ITERS / 10))
pingpong_of ibv_rc_pingpong -e -n $ITERS
pingpong_of ibv_ud_pingpong -n $ITERS
perf ib_send_bw -n $ITERS
perf ib_write_bw -n $ITERS
perf ib_read_bw -o 16 -n $ITERS
perf ib_atomic_bw -o 16 -n $ITERS
perf ib_send_lat -n $ITERS
perf ib_write_bw -c UC -n $ITERS
perf ib_send_bw -b -n $ITERS -m 1024
perf ib_send_bw -c UD -n $ITERS
perf ib_send_bw --use-srq -q 4 -n $ITERS
pingpong_of ibv_uc_pingpong -n $ITERS
pingpong_of ibv_srq_pingpong -n $ITERS
rping_of
cm 7471 ucmatose -c 5 -C 20 -S 5000
cm 7174 udaddy -c 5 -C 20 -S 500
group mckey -C 20 -S 1000
EOT
}

# Versions of IP that each operation is tried over, byte for byte
peer_nets()
{
	if is_slow && [ -z "${PANE_ALL:-}" ]; then
		echo ip4
	else
		echo ip4 ip6
	fi
}

peer_tests()
{
	local net

	for net in $(peer_nets); do
		subtest "${1/_/ }, $net: each operation" peer_run "$net"
		subtest "${1/_/ }, $net: FLUSH" flush_run "$net"
	done
}

# peer_run NET [NAME]: with another root a machine that is slow runs what only
# this can run.
peer_run()
{
	local name=${2:-}

	[ -n "$name" ] || [ -z "$ROOT" ] || ! is_slow || name=placement:
	RDMAV_DRIVERS=${PANE_CORE_PROVIDER:-$RDMAV_DRIVERS} \
	PANE_DEVICES="$CLIENT_DEV $SERVER_DEV" PANE_ANY_DEVICE=yes \
		PANE_NET=$1 "${PEER[@]}" ${name:+"$name"}
}

MEND_PID=

is_mending()
{
	grep -q mending "$OUT/mend"
}

# A FLUSH that rdma_rxe is to understand has to be mended, frame by frame.
flush_run()
{
	local status

	single_frames
	./pane_mend "/run/netns/$NS_A" "$IF_A" "/run/netns/$NS_B" "$IF_B" \
		>"$OUT/mend" 2>&1 &
	MEND_PID=$!
	wait_until is_mending || show mend
	PANE_MENDED=yes peer_run "$1" "placement: FLUSH"
	status=$?
	kill "$MEND_PID"
	wait "$MEND_PID"
	[ $? -eq 143 ] || show mend
	return "$status"
}

run_list()
{
	local who=$1 line
	local -a words

	"$who"
	while read -r -u 3 line; do
		read -ra words <<<"$line"
		ktap_test_result "${who/_/ }: ${line#* }" "${words[@]}"
	done 3< <(list)
	peer_tests "$who"
}

ktap_print_header
need_pane
need ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong rping \
	ucmatose udaddy mckey ib_write_bw stdbuf
modprobe -q rdma_rxe || skip_all "no rdma_rxe in this kernel"
cleanup_at_exit
trap cleanup_here EXIT
ktap_set_plan $((2 * $(list | wc -l) + 4 * $(peer_nets | wc -w) + 2))
rxe_up || ktap_exit_fail_msg "no devices"
run_list pane_asks
ktap_test_result "windows of pane" window_of
run_list rxe_asks
ktap_test_result "nothing is left behind" nothing_left_here
ktap_finished
