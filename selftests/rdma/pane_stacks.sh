#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Other user-space stacks on top of libibverbs and librdmacm, as Debian packages
# them: libfabric, UCX, Open MPI, qperf, fio. Documentation/clients.rst has what
# does not work, too.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# They poll, with a thread or two of their own.
TOOL_SECONDS=$(scaled 60 300)
MPI=./pane_stacks_mpi.py

# with PROGRAM COMMAND...: it is not on every machine
with()
{
	command -v "$1" >/dev/null || skip "no $1 on this machine" || return
	"${@:2}"
}

# What a stack does by itself, by TCP say, proves nothing.
packets()
{
	in_sight "$DEV_A" \
		cat "/sys/class/infiniband/$DEV_A/ports/1/hw_counters/rcvd_pkts"
}

# by_device COMMAND...
by_device()
{
	local before

	before=$(packets)
	"$@" || return
	[ "$(packets)" -ge $((before + 20)) ] || complain "not by the device"
}

# libfabric PROVIDER ENDPOINT MODE
libfabric()
{
	local -a options=(-p "$1" -e "$2" -m "$3" -c)

	talk tcp 47592 fi_pingpong "${options[@]}" -- \
		fi_pingpong "${options[@]}" "$IP4_B"
}

# uct TRANSPORT TEST OPTION...: the server is told the device by the client, so
# that it is the same at both ends
uct()
{
	local gid

	gid=$(gid_index "$DEV_A" "$IP6_A") || return
	SERVER_NS=$NS_A UCX_IB_GID_INDEX=$gid talk tcp 13337 ucx_perftest -- \
		ucx_perftest -d "$DEV_A:1" -x "$1" -t "$2" -n 300 -w 10 \
		"${@:3}" "$IP4_A"
}

# UCX 1.13 looks at the service level of a datagram for the kind of its header,
# where some adapters have it, and drops those of IPv4.
ucx_at()
{
	local gid

	gid=$(gid_index "$1" "$2") || return
	UCX=(env "UCX_NET_DEVICES=$1:1,$3" "UCX_IB_GID_INDEX=$gid" "UCX_TLS=$4")
}

# ucp TRANSPORTS TEST OPTION...
ucp()
{
	local -a at_server

	ucx_at "$DEV_B" "$IP6_B" "$IF_B" "$1" || return
	at_server=("${UCX[@]}")
	ucx_at "$DEV_A" "$IP6_A" "$IF_A" "$1" || return
	talk tcp 13337 "${at_server[@]}" ucx_perftest -- \
		"${UCX[@]}" ucx_perftest -t "$2" -n 300 -w 10 "${@:3}" "$IP4_B"
}

# Connected by rdma_cm
ucx_demo()
{
	local -a at_server

	ucx_at "$DEV_B" "$IP6_B" "$IF_B" rc || return
	at_server=("${UCX[@]}")
	ucx_at "$DEV_A" "$IP6_A" "$IF_A" rc || return
	ENDLESS=yes talk cm 1337 "${at_server[@]}" io_demo -- \
		"${UCX[@]}" io_demo -i 100 -o read,write "$IP4_B"
}

# mpi OPTION...: two processes on one host
mpi()
{
	ucx_at "$DEV_A" "$IP6_A" "$IF_A" rc,self || return
	/usr/bin/python3 -c 'import mpi4py' 2>/dev/null ||
		skip "no python3-mpi4py on this machine" || return
	client env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		"${UCX[@]}" mpirun.openmpi -np 2 --oversubscribe "$@" "$MPI" &&
		grep -q "all is right" "$OUT/client" && return
	show client
	return 1
}

# qperf TEST: without its -cm 1 it knows no GIDs
qperf_cm()
{
	ENDLESS=yes talk tcp 19765 qperf -- \
		qperf -t 1 "$IP4_B" -cm 1 "$1"
}

# fio_rdma VERB: of the client
fio_rdma()
{
	local -a options=(--ioengine=rdma --port=8888 --bs=64k --size=4m
			  --iodepth=4)

	talk cm 8888 fio --name=server --rw=read "${options[@]}" -- \
		fio --name=client --rw=write "${options[@]}" \
		--hostname="$IP4_B" --verb="$1"
}

# program that it takes, command
list()
{
	cat <<-'EOT'
	fi_pingpong libfabric verbs msg msg
	fi_pingpong libfabric verbs dgram msg
	fi_pingpong libfabric verbs;ofi_rxm rdm msg
	fi_pingpong libfabric verbs;ofi_rxm rdm tagged
	fi_pingpong libfabric verbs;ofi_rxd rdm msg
	ucx_perftest uct rc_verbs am_lat
	ucx_perftest uct rc_verbs am_bw -D zcopy -s 4000
	ucx_perftest uct rc_verbs put_bw
	ucx_perftest uct rc_verbs put_lat -D zcopy -s 8192
	ucx_perftest uct rc_verbs get -D zcopy -s 4096
	ucx_perftest uct ud_verbs am_lat
	ucx_perftest uct ud_verbs am_bw -D bcopy -s 1000
	ucx_perftest ucp rc tag_lat
	ucx_perftest ucp rc tag_bw -s 100000
	ucx_perftest ucp rc stream_bw -s 5000
	ucx_perftest ucp rc ucp_put_bw -s 5000
	ucx_perftest ucp rc ucp_get -s 5000
	ucx_perftest ucp rc ucp_fadd
	ucx_perftest ucp ud tag_lat
	ucx_perftest ucp ud tag_bw -s 100000
	io_demo ucx_demo
	mpirun.openmpi mpi --mca pml ucx --mca osc ucx --mca btl ^openib
	mpirun.openmpi mpi --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs;ofi_rxm --mca btl self,vader
	qperf qperf_cm rc_bw
	qperf qperf_cm rc_lat
	qperf qperf_cm rc_rdma_read_bw
	qperf qperf_cm rc_rdma_write_bw
	qperf qperf_cm rc_compare_swap_mr
	qperf qperf_cm ver_rc_fetch_add
	fio fio_rdma write
	fio fio_rdma read
	EOT
}

# PANE_STACKS, a regular expression, selects some
wanted_lines()
{
	list | grep -e "${PANE_STACKS:-}"
}

ktap_print_header
need_pane
is_all || skip_all "takes minutes: make check-all has it"
cleanup_at_exit
ktap_set_plan $(($(wanted_lines | wc -l) + 2))
# Each end is to see its own device only.
{ netns_mode exclusive && stage_up; } || ktap_exit_fail_msg "no devices"
while read -r -u 3 line; do
	read -ra words <<<"$line"
	check "${line#* }" with "${words[0]}" by_device "${words[@]:1}"
done 3< <(wanted_lines)
check "all objects are given back" nothing_in_use
check "nothing is left behind" nothing_left
ktap_finished
