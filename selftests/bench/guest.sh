#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of `make bench` that runs in a guest: TCP, rdma_rxe and pane by turns
# on one link after the other. Prints "LINK DRIVER ROW VALUE" lines, and first of
# all "plan LINES".
#
#   PANE_BENCH_ROUNDS      rounds
#   PANE_BENCH_LINKS       links; the first one has all rows
#   PANE_BENCH_NAMESPACES  yes where rdma_rxe knows namespaces
#   PANE_BENCH_ROWS        these rows only

set -eu
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../rdma/gid.sh"
. "$here/../rdma/scaled.sh"
. "$here/links.sh"
rounds=${PANE_BENCH_ROUNDS:-3}
read -ra links <<<"${PANE_BENCH_LINKS:-veth9000 veth1500 bridge lo}"
# For what ends by itself unless a driver does not get on
SECONDS_A_ROW=180

# on every link; against rdma_rxe
ROWS_ALL=(write64k write1m read64k write64b send64b list64b sendlat writelat)
# on the first link only
ROWS_FIRST=(atomiclat pairs1 pairs16 storage register cpu)
# no comparison: how it grows
ROWS_PANE=(qps1 qps16 qps256 qps1024 windows1 windows1000 windows1000000
	   latency1 latency1000 latency1000000 qpmem)

# ---- programs ------------------------------------------------------------

# perftest COMMAND OPTION...: the line of figures
perftest()
{
	local tool=$1 server status=0
	shift

	at_b timeout $SECONDS_A_ROW "$tool" -F -d "$DEV_B" -x "$GID_B" "$@" \
		>/dev/null 2>&1 &
	server=$!
	until at_b ss -Htnl 'sport = :18515' | grep -q .; do
		kill -0 "$server" 2>/dev/null || return
		sleep 0.05
	done
	at_a timeout $SECONDS_A_ROW "$tool" -F -d "$DEV_A" -x "$GID_A" "$@" \
		"$(peer_address)" 2>/dev/null | grep -A1 '#bytes' | tail -n 1
	wait "$server" || status=$?
	[ "$status" = 0 ] || echo "$tool at B: status $status" >&2
}

# column N COMMAND...: of its line of figures; 0 if there is none
column()
{
	local n=$1
	shift

	"$@" | awk -v n="$n" '{ value = $n } END { print value + 0 }'
}

mw()
{
	local mode=$1
	shift

	at_a timeout $SECONDS_A_ROW "$here/bench_mw" "$mode" "$DEV_A" "$GID_A" "$@"
}

# Processor time of the whole guest, in ticks
busy_ticks()
{
	awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 }' /proc/stat
}

# Ticks for each GiB moved, both sides; who waits sleeps
cpu_per_gib()
{
	local mib from

	mib=$(scaled 2048 256)
	from=$(busy_ticks)
	perftest ib_send_bw -e -s 1048576 -r 16 -n "$mib" >/dev/null
	awk -v from="$from" -v to="$(busy_ticks)" -v mib="$mib" \
		'BEGIN { print (to - from) * 1024 / mib }'
}

# qps NUMBER: MB/s of all together
qps()
{
	local each

	each=$(($(scaled 8192 1024) / $1))
	column 4 perftest ib_write_bw -s 65536 -q "$1" -t 16 \
		-n $((each > 20 ? each : 20))
}

# ---- rows ----------------------------------------------------------------

# row NAME: its value
row()
{
	case $1 in
	write64k)
		column 4 perftest ib_write_bw -s 65536 -n "$(scaled 10000 2000)"
		;;
	write1m)
		column 4 perftest ib_write_bw -s 1048576 -n "$(scaled 500 100)"
		;;
	read64k)
		column 4 perftest ib_read_bw -s 65536 -n "$(scaled 10000 2000)"
		;;
	write64b)
		column 5 perftest ib_write_bw -s 64 -n "$(scaled 100000 30000)"
		;;
	send64b)
		column 5 perftest ib_send_bw -s 64 -n "$(scaled 100000 30000)"
		;;
	list64b)
		column 5 perftest ib_write_bw -s 64 -l 16 \
			-n "$(scaled 200000 50000)"
		;;
	sendlat) column 5 perftest ib_send_lat -s 2 -n 10000 ;;
	writelat) column 5 perftest ib_write_lat -s 2 -n 10000 ;;
	atomiclat) column 5 perftest ib_atomic_lat -n 10000 ;;
	pairs1) mw pairs "$(scaled 50000 10000)" 1 ;;
	pairs16) mw pairs "$(scaled 200000 50000)" 16 ;;
	register) mw register "$(scaled 2000 500)" ;;
	storage) mw storage "$(scaled 10000 5000)" "$DEV_B" "$GID_B" ;;
	cpu) cpu_per_gib ;;
	qps*) qps "${1#qps}" ;;
	windows*) mw windows "${1#windows}" ;;
	latency*) mw latency "${1#latency}" ;;
	qpmem) mw qpmem 1000 ;;
	esac
}

is_wanted()
{
	[ -z "${PANE_BENCH_ROWS:-}" ] || [[ " $PANE_BENCH_ROWS " == *" $1 "* ]]
}

# rows_of DRIVER LINK: in order
rows_of()
{
	local name

	for name in "${ROWS_ALL[@]}" \
		$([ "$2" != "${links[0]}" ] || echo "${ROWS_FIRST[@]}") \
		$([ "$1 $2" != "pane ${links[0]}" ] || echo "${ROWS_PANE[@]}"); do
		! is_wanted "$name" || echo "$name"
	done
}

turn()
{
	local name

	driver_up "$2"
	for name in $(rows_of "$2" "$1"); do
		echo "$1 $2 $name $(row "$name" || true)"
	done
	driver_down "$2"
}

# tcp LINK
tcp()
{
	local server

	at_b iperf3 -s -1 >/dev/null &
	server=$!
	until at_b ss -Htnl 'sport = :5201' | grep -q .; do
		sleep 0.05
	done
	at_a iperf3 -c "$(peer_address)" -t 3 -f M |
		awk -v link="$1" '/receiver/ { print link, "tcp", "tcp", $7 }'
	wait "$server"
}

plan()
{
	local link driver lines=0

	for link in "${links[@]}"; do
		for driver in rxe pane; do
			lines=$((lines + $(rows_of $driver "$link" | wc -l)))
		done
		lines=$((lines + 1))
	done
	echo "plan $((lines * rounds))"
}

plan
"$here/bench_cost"
modprobe -a rdma_rxe
modprobe -r rdma_rxe
for ((i = 0; i < rounds; i++)); do
	for link in "${links[@]}"; do
		link_up "$link"
		tcp "$link"
		for driver in rxe pane; do
			turn "$link" $driver
		done
		link_down
	done
done
