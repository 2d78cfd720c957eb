#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The programs that people try a device with: those of rdma-core, and perftest.
# Between two namespaces over IPv4 and IPv6, and with both ends on one device.
# A result needs success of both sides.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

TCP_PORT=18515		# all of them but those of rdma_cm exchange over this

ITERS=$(scaled 200 20)

# ---- which ends --------------------------------------------------------

# path v4|v6|loop: sets what the commands below go by
path()
{
	SERVER_NS=$NS_B SERVER_DEV=$DEV_B SERVER_IP4=$IP4_B SERVER_IP=$IP4_B
	CLIENT_IP=$IP4_A
	case $1 in
	v6)
		SERVER_IP=$IP6_B CLIENT_IP=$IP6_A
		;;
	loop)
		SERVER_NS=$NS_A SERVER_DEV=$DEV_A SERVER_IP4=$IP4_A
		SERVER_IP=$IP4_A
		;;
	esac
	SERVER_GID=$(gid_index "$SERVER_DEV" "$SERVER_IP")
	CLIENT_GID=$(gid_index "$DEV_A" "$CLIENT_IP")
}

# ---- kinds of programs -------------------------------------------------

# ibv PROGRAM OPTION...: the examples of libibverbs
ibv()
{
	talk tcp "$TCP_PORT" "$1" -d "$SERVER_DEV" -g "$SERVER_GID" "${@:2}" -- \
		"$1" -d "$DEV_A" -g "$CLIENT_GID" "${@:2}" "$SERVER_IP4"
}

# Time enough for an answer on a machine that is busy with polling
PATIENCE=(-u 20)

# perf PROGRAM OPTION...: perftest
perf()
{
	talk tcp "$TCP_PORT" "$1" -d "$SERVER_DEV" -x "$SERVER_GID" -F \
		"${PATIENCE[@]}" "${@:2}" -- "$1" -d "$DEV_A" -x "$CLIENT_GID" -F \
		"${PATIENCE[@]}" "${@:2}" "$SERVER_IP4"
}

# The connection by rdma_cm, which perftest does over IPv4 only
perf_cm()
{
	talk cm "$TCP_PORT" "$1" -d "$SERVER_DEV" -F -R "${@:2}" -- \
		"$1" -d "$DEV_A" -F -R "${@:2}" "$SERVER_IP4"
}

rping_run()
{
	talk cm 7174 rping -s -a "$SERVER_IP" -C "$ITERS" -v -V "$@" -- \
		rping -c -a "$SERVER_IP" -C "$ITERS" -V "$@"
}

# cm PORT PROGRAM OPTION...: the examples of librdmacm that have -s and -b
cm()
{
	talk cm "$1" "$2" -b "$SERVER_IP" "${@:3}" -- \
		"$2" -s "$SERVER_IP" "${@:3}"
}

rcopy_run()
{
	head -c $((1 << 20)) /dev/urandom >"$OUT/file"
	rm -f "$OUT/copy"
	server rcopy
	wait_server cm 7427 && client rcopy "$OUT/file" "$SERVER_IP:$OUT/copy"
	local status=$?

	# it serves for ever
	server_kill
	[ "$status" -eq 0 ] && cmp "$OUT/file" "$OUT/copy"
}

# ---- the list ----------------------------------------------------------

# Every line is one result; a slow machine leaves out those with a star.
list()
{
	cat <<EOT
  ibv ibv_rc_pingpong
  ibv ibv_rc_pingpong -e -n $ITERS
  ibv ibv_rc_pingpong -N
* ibv ibv_rc_pingpong -e -N -n $ITERS
  ibv ibv_rc_pingpong -c -s 1 -n $ITERS
* ibv ibv_rc_pingpong -c -s 4095 -n $ITERS
* ibv ibv_rc_pingpong -c -s 65536 -n $ITERS -m 2048
  ibv ibv_rc_pingpong -c -s 1000001 -n $((ITERS / 10)) -m 4096
  ibv ibv_ud_pingpong
* ibv ibv_ud_pingpong -e -n $ITERS
  ibv ibv_ud_pingpong -s 4000 -n $ITERS
  rping_run
* rping_run -S 65000
  cm 7471 ucmatose
* cm 7471 ucmatose -c 20 -C 20 -S 5000
  cm 7174 udaddy
* cm 7174 udaddy -c 5 -C 20 -S 500
* rcopy_run
EOT
	perftest_list
}

perftest_list()
{
	local op

	for op in send write read atomic; do
		cat <<EOT
  perf ib_${op}_bw -n $ITERS
  perf ib_${op}_lat -n $ITERS
* perf ib_${op}_bw -n $ITERS -q 8
* perf ib_${op}_bw -n $ITERS -b
* perf_cm ib_${op}_bw -n $ITERS
EOT
	done
	cat <<EOT
* perf ib_read_bw -n $ITERS -e
* perf ib_atomic_bw -n $ITERS -e
  perf ib_send_bw -c UD -n $ITERS
  perf ib_send_lat -c UD -n $ITERS
* perf ib_send_bw -c UD -n $ITERS -q 4
* perf ib_write_bw -n 320 -l 16 -t 64
* perf ib_send_bw -n 320 -l 16 -t 64 -e
* perf ib_send_lat -n $ITERS -e
* perf ib_write_bw -n $ITERS -m 256
  perf ib_write_bw -a -n $(scaled 20 5)
* perf ib_send_bw -b -s 1048576 -n 50
* perf ib_read_bw -a -n 20
  perf_cm ib_send_lat -n $ITERS
* perf_cm ib_send_bw -c UD -n $ITERS
EOT
}

# What a path runs: all of it over IPv4, the main ones elsewhere
list_for()
{
	if [ "$1" = v4 ] && ! is_slow; then
		list | sed 's/^..//'
	elif [ "$1" = v6 ]; then
		list | sed -n '/perf_cm/d; s/^  //p'
	else
		list | sed -n 's/^  //p'
	fi
}

run_list()
{
	local route=$1 line
	local -a words

	path "$route"
	while read -r -u 3 line; do
		read -ra words <<<"$line"
		ktap_test_result "$route: ${line#* }" "${words[@]}"
	done 3< <(list_for "$route")
}

ROUTES="v4 v6 loop"

count()
{
	for route in $ROUTES; do
		list_for "$route"
	done | wc -l
}

ktap_print_header
need_pane
need ibv_rc_pingpong ibv_ud_pingpong rping ucmatose udaddy ib_write_bw
cleanup_at_exit
ktap_set_plan $(($(count) + 2))
stage_up || ktap_exit_fail_msg "no devices"
for route in $ROUTES; do
	run_list "$route"
done
ktap_test_result "all objects are given back" nothing_in_use
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
