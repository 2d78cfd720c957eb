#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# perftest: each of its programs, over each transport, with each option that it
# takes there.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./routes.sh

# Its rdma_cm speaks IPv4 only, and has no say in the version of RoCE.
NOT_OVER_V6=perf_cm
NOT_OVER_V1=perf_cm

# ---- kinds of connections ----------------------------------------------

# Time enough for an answer on a machine that is busy with polling
PATIENCE=(-u 20)

# perf PROGRAM OPTION...
perf()
{
	talk tcp "$TCP_PORT" "$1" -d "$SERVER_DEV" -x "$SERVER_GID" -F \
		"${PATIENCE[@]}" "${@:2}" -- "$1" -d "$DEV_A" -x "$CLIENT_GID" -F \
		"${PATIENCE[@]}" "${@:2}" "$SERVER_IP4"
}

# perf_cm PROGRAM -R OPTION...: the same, connected by rdma_cm
perf_cm()
{
	talk cm "$TCP_PORT" "$1" -d "$SERVER_DEV" -F "${@:2}" -- \
		"$1" -d "$DEV_A" -F "${@:2}" "$SERVER_IP4"
}

# ---- what perftest refuses ---------------------------------------------

transports()
{
	case $1 in
	# "UD connection only possible in SEND verb"
	ib_send_*) echo RC UC UD XRC ;;
	ib_write_*) echo RC UC XRC ;;
	# "UC connection not possible in READ/ATOMIC verbs"
	*) echo RC XRC ;;
	esac
}

# "UC is not supported in librdmacm", "XRC does not support RDMA_CM"
connections()
{
	case $1 in
	RC | UD) echo perf perf_cm ;;
	*) echo perf ;;
	esac
}

# one_option PROGRAM OPTION...: is it one of those that it takes?
one_option()
{
	case $* in
	# "Events feature not available on WRITE verb"
	ib_write_*" -e") return 1 ;;
	# "Bidirectional is only available in BW test", "Multiple QPs only
	# available on bw tests"
	*_lat" -b" | *_lat" -q "*) return 1 ;;
	# "Inline feature not available on READ/Atomic verbs". Of other devices
	# than those it knows by number it says that it does without.
	ib_read_*" --inline_size="* | ib_atomic_*" --inline_size="*) return 1 ;;
	# "Message size cannot be changed for Atomic tests"
	ib_atomic_*" -a") return 1 ;;
	# "Using SRQ only available in SEND tests"
	ib_send_*" --use-srq") ;;
	*" --use-srq") return 1 ;;
	esac
}

# ---- the list ----------------------------------------------------------

# line CONNECTION PROGRAM TRANSPORT OPTION...: its level
line_level()
{
	case $* in
	"perf ib_write_bw RC" | "perf ib_send_lat RC") echo 1 ;;
	"perf_cm ib_send_bw RC") echo 1 ;;
	perf\ *" RC" | "perf ib_send_"*" UD" | "perf_cm ib_send_lat RC") echo 2 ;;
	"perf ib_write_bw RC -a") echo 2 ;;
	perf\ *_bw" RC -b" | perf\ *_bw" RC -q 8" | perf_cm\ *_bw" RC") echo 3 ;;
	perf\ *" RC -e" | "perf ib_send_"*" UD"*) echo 3 ;;
	"perf ib_read_bw RC -a" | perf\ *_bw" XRC" | perf\ *_bw" UC") echo 3 ;;
	*) echo 4 ;;
	esac
}

# iterations OPTION: all lengths, up to eight megabytes, take long
iterations()
{
	if [ "$1" = -a ]; then echo 5; else echo "$ITERS"; fi
}

# lines CONNECTION PROGRAM TRANSPORT: one for each option
lines()
{
	local option manager=

	[ "$1" = perf ] || manager=" -R"
	for option in "" -e -b "-q 8" "--inline_size=64" -a --use-srq; do
		one_option "$2" "$option" || continue
		# the server posts the message that it is told addresses by to
		# a queue that perftest has filled already
		[ "$* $option" = "perf_cm ib_send_lat UD --use-srq" ] && continue
		echo "$(line_level "$@" ${option:+"$option"}) $1 $2$manager -c $3" \
			"-n $(iterations "$option") $option"
	done
}

list()
{
	local operation program transport connection

	for operation in send write read atomic; do
		for program in "ib_${operation}_bw" "ib_${operation}_lat"; do
			for transport in $(transports "$program"); do
				for connection in $(connections "$transport"); do
					lines "$connection" "$program" \
						"$transport"
				done
			done
		done
	done
	more
}

# Lists of requests, lengths, MTUs, two options at a time. Not -b with -e: after
# an event perftest takes 16 completions of what it sent, and when there are more
# it waits for an event that has been.
more()
{
	cat <<EOT
3 perf ib_write_bw -n 320 -l 16 -t 64
3 perf ib_send_bw -n 320 -l 16 -t 64 -e
3 perf ib_write_bw -n $ITERS -m 256
3 perf ib_send_bw -b -s 1048576 -n 50
4 perf ib_send_bw -c UD -n $ITERS -q 8 -b
4 perf ib_send_bw -c UD -n $ITERS -q 8 -e
4 perf ib_send_bw -c XRC -n $ITERS -q 8 -b --use-srq
4 perf_cm ib_send_bw -R -n $ITERS -q 8 -b
4 perf_cm ib_send_bw -R -n $ITERS -q 8 -e
4 perf_cm ib_write_bw -R -n $ITERS -q 8 -b --inline_size=64 -s 32
4 perf_cm ib_send_bw -R -c UD -n $ITERS -q 4 -e
EOT
}

ktap_print_header
need_pane
need ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat \
	ib_atomic_bw ib_atomic_lat
cleanup_at_exit
run_modes
