#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The programs that people try a device with: those of libibverbs and of
# librdmacm.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./routes.sh

# A name that ends in an IPv6 address, a server without one, and a kernel that
# joins groups of IPv4 only
NOT_OVER_V6="copy|xrc|group"
# They do not say which version of RoCE they want.
NOT_OVER_V1="cm|cm_pair|ping_cm|endless|forks|copy|xrc|group"

# ---- kinds of programs -------------------------------------------------

# ibv PROGRAM OPTION...: the examples of libibverbs
ibv()
{
	talk tcp "$TCP_PORT" "$1" -d "$SERVER_DEV" -g "$SERVER_GID" "${@:2}" -- \
		"$1" -d "$DEV_A" -g "$CLIENT_GID" "${@:2}" "$SERVER_IP4"
}

# ping_cm rping OPTION...
ping_cm()
{
	talk cm 7174 "$1" -s -a "$SERVER_IP" -C "$ITERS" -v -V "${@:2}" -- \
		"$1" -c -a "$SERVER_IP" -C "$ITERS" -V "${@:2}"
}

# cm PORT PROGRAM OPTION...: the examples of librdmacm that have -s and -b
cm()
{
	talk cm "$1" "$2" -b "$SERVER_IP" "${@:3}" -- \
		"$2" -s "$SERVER_IP" "${@:3}"
}

# endless PORT PROGRAM OPTION...: likewise, the server serves for ever
endless()
{
	ENDLESS=yes cm "$@"
}

# forks PORT PROGRAM OPTION...: likewise, with a child for each TCP connection
forks()
{
	ENDLESS=yes talk tcp "$1" "$2" -b "$SERVER_IP" "${@:3}" -- \
		"$2" -s "$SERVER_IP" "${@:3}"
}

# copy rcopy
copy()
{
	head -c $((1 << 20)) /dev/urandom >"$OUT/file"
	rm -f "$OUT/copy"
	ENDLESS=yes talk cm 7427 "$1" -- \
		"$1" "$OUT/file" "$SERVER_IP:$OUT/copy" &&
		cmp "$OUT/file" "$OUT/copy"
}

# cm_pair PORT SERVER CLIENT
cm_pair()
{
	talk cm "$1" "$2" -s "$SERVER_IP" -- "$3" -s "$SERVER_IP"
}

# xrc rdma_xclient OPTION...: whose server takes no address
xrc()
{
	talk cm 7471 rdma_xserver "${@:2}" -- "$1" -s "$SERVER_IP" "${@:2}"
}

# group mckey OPTION...
group()
{
	multicast "$SERVER_IP" "$CLIENT_IP" "${@:2}"
}

# ---- the list ----------------------------------------------------------

# Not rstream -T a, whose client fails when the server is sooner done with the
# last message and hangs up.
list()
{
	cat <<EOT
1 ibv ibv_rc_pingpong
2 ibv ibv_rc_pingpong -e -n $ITERS
2 ibv ibv_rc_pingpong -N
3 ibv ibv_rc_pingpong -e -N -n $ITERS
2 ibv ibv_rc_pingpong -c -s 1 -n $ITERS
3 ibv ibv_rc_pingpong -c -s 4095 -n $ITERS
3 ibv ibv_rc_pingpong -c -s 65536 -n $ITERS -m 2048
2 ibv ibv_rc_pingpong -c -s 1000001 -n $((ITERS / 10)) -m 4096
3 ibv ibv_uc_pingpong -c -n $ITERS
4 ibv ibv_uc_pingpong -e -s 65536 -n $ITERS -m 4096
1 ibv ibv_ud_pingpong
3 ibv ibv_ud_pingpong -e -n $ITERS
2 ibv ibv_ud_pingpong -s 4000 -n $ITERS
3 ibv ibv_srq_pingpong -c -n $ITERS
4 ibv ibv_srq_pingpong -e -q 4 -n $ITERS
3 ibv ibv_xsrq_pingpong
4 ibv ibv_xsrq_pingpong -e
1 ping_cm rping
3 ping_cm rping -S 65000
4 ping_cm rping -q
1 cm 7471 ucmatose
3 cm 7471 ucmatose -c 20 -C 20 -S 5000
1 cm 7174 udaddy
3 cm 7174 udaddy -c 5 -C 20 -S 500
3 endless 7471 cmtime -c 20
4 endless 7471 cmtime -c 200
2 cm 7471 rstream -S all -C 20 -I 1 -T v
4 cm 7471 rstream -S 5000 -C 100 -I 10 -T b
4 cm 7471 rstream -S 5000 -C 100 -I 10 -T n
4 forks 7471 rstream -S 5000 -C 100 -I 10 -T f
3 cm 7471 riostream -S 5000 -C 20 -I 10 -T v
4 cm 7471 riostream -S 5000 -C 100 -I 10 -T b
4 cm 7471 riostream -S 5000 -C 100 -I 10 -T n
4 cm 7471 riostream -S 5000 -C 100 -I 10 -T a
3 copy rcopy
2 group mckey
3 group mckey -c 3 -C 50 -S 1000
3 cm_pair 7471 rdma_server rdma_client
4 xrc rdma_xclient -c r
4 xrc rdma_xclient -c x
EOT
}

ktap_print_header
need_pane
need ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong \
	ibv_xsrq_pingpong rping ucmatose udaddy cmtime rstream riostream rcopy \
	mckey rdma_server rdma_xserver stdbuf
cleanup_at_exit
run_modes
