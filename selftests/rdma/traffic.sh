# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Traffic between the devices of lib.sh that goes on until it is ended, and how
# it ends. Source it after that.

COUNTERS=ports/1/hw_counters

# A timeout, as a code: seven retries are over in seconds
IMPATIENT=$(scaled 14 16)

# kind NAME: the program of both ends, what it listens on
kind()
{
	local -a perf=(-D 3600 -F -u "$IMPATIENT")

	LISTENS=(tcp 18515)
	case $1 in
	write) PROGRAM=(ib_write_bw "${perf[@]}") ;;
	send) PROGRAM=(ib_send_bw -b -q 4 "${perf[@]}") ;;
	read) PROGRAM=(ib_read_bw "${perf[@]}") ;;
	atomic) PROGRAM=(ib_atomic_bw -q 4 "${perf[@]}") ;;
	datagram) PROGRAM=(ib_send_bw -c UD "${perf[@]}") ;;
	unreliable) PROGRAM=(ib_write_bw -c UC "${perf[@]}") ;;
	shared) PROGRAM=(ib_send_bw --use-srq -q 4 "${perf[@]}") ;;
	xrc) PROGRAM=(ib_send_bw -c XRC --use-srq "${perf[@]}") ;;
	connected)
		PROGRAM=(ib_write_bw -R --retry_count=1 "${perf[@]}")
		LISTENS=(cm 18515)
		;;
	windows)
		PROGRAM=(./pane_lend)
		LISTENS=(cm 7473)
		;;
	esac
}

# arguments KIND server|client: to the program
arguments()
{
	local device=$DEV_B address=$IP4_B

	if [ "$1" = windows ]; then
		ARGUMENTS=("$IP4_B")
		[ "$2" = server ] || ARGUMENTS+=(client)
		return
	fi
	[ "$2" = server ] || device=$DEV_A address=$IP4_A
	ARGUMENTS=(-d "$device" -x "$(gid_index "$device" "$address")")
	[ "$2" = server ] || ARGUMENTS+=("$TCP_ADDRESS")
}

# Where the programs are, which need not be where the devices are
PLACE_A=$NS_A
PLACE_B=$NS_B
TCP_ADDRESS=$IP4_B

CLIENT_PID=

# No timeout(1) in between: the process that is killed is the program.
run_server()
{
	arguments "$1" server
	# shellcheck disable=SC2034 # for wait_server()
	SERVER_NS=$PLACE_B
	ip netns exec "$PLACE_B" "${PROGRAM[@]}" "${ARGUMENTS[@]}" \
		>"$OUT/server" 2>&1 &
	SERVER_PID=$!
}

run_client()
{
	arguments "$1" client
	ip netns exec "$PLACE_A" "${PROGRAM[@]}" "${ARGUMENTS[@]}" \
		>"$OUT/client" 2>&1 &
	CLIENT_PID=$!
}

received_here()
{
	local value=0

	read -r value 2>/dev/null \
		<"/sys/class/infiniband/$1/$COUNTERS/rcvd_pkts"
	echo "$value"
}

export COUNTERS
export -f received_here

# Packets that both devices received. A file is read faster than netlink is
# asked by rdma, which counts on a machine that is busy.
received()
{
	local device sum=0

	for device in "$DEV_A" "$DEV_B"; do
		sum=$((sum + $(in_sight_call received_here "$device")))
	done
	echo "$sum"
}

more_than()
{
	[ "$(received)" -gt "$1" ]
}

# More than what a connection needs to come about
flows()
{
	wait_until more_than $(($(received) + 200)) ||
		complain "no traffic"
}

# start KIND: both ends are at work
start()
{
	kind "$1"
	run_server "$1"
	if ! wait_server "${LISTENS[@]}"; then
		complain "server does not listen: ${PROGRAM[*]}"
	else
		run_client "$1"
		flows && return
	fi
	show client server
	stop
	return 1
}

alive()
{
	kill -0 "$1" 2>/dev/null
}

both_alive()
{
	alive "$CLIENT_PID" && alive "$SERVER_PID" && return
	show client server
	complain "an end is gone"
}

# status_of PID: how it ended; what does not end by itself is killed
status_of()
{
	wait_until not alive "$1" || kill -9 "$1"
	wait "$1" 2>/dev/null
}

# Asked to, both end, or have ended before; false if one has to be killed.
stop()
{
	local pid status=0

	for pid in ${CLIENT_PID:-} ${SERVER_PID:-}; do
		kill "$pid" 2>/dev/null
		wait_until not alive "$pid" || complain "does not end" ||
			status=1
		kill_hard "$pid"
	done
	CLIENT_PID='' SERVER_PID=''
	return "$status"
}

# ended_badly WHO PID: by itself, and it says so
ended_badly()
{
	local status

	status_of "$2"
	status=$?
	[ "$status" -gt 0 ] && [ "$status" -lt 128 ] && return
	show client server
	complain "$1 ended with status $status"
}

# after STATUS: the end of each test, false if it has gone wrong before
after()
{
	stop && [ "$1" -eq 0 ]
}

# kill_hard PID...: those that are left, at the same time
kill_hard()
{
	kill -9 "$@"
	wait "$@"
	return 0
} 2>/dev/null

# Packets to an end that is gone are not answered: the client sees that, if the
# transport is a reliable one, and waits for ever otherwise.
hears_nothing()
{
	case $1 in
	write | send | read | atomic) ended_badly client "$CLIENT_PID" ;;
	esac
}

new_traffic_works()
{
	# shellcheck disable=SC2034 # for talk()
	SERVER_NS=$NS_B
	wait_until gids_ready && wait_until answers "$IP4_B" && pingpong
}
