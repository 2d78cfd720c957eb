#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Users in the kernel: NFS over RDMA, server and client, on one device. The
# client registers memory with REG_MR, and the server's SEND_WITH_INV takes it
# back. No daemon takes part: what rpc.mountd would answer when it is asked is
# in the caches of the kernel from the start, so that nothing has to be
# installed that would serve files of this machine.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh
. ./ulp.sh

PORT=20049
NFSD=/proc/fs/nfsd
CACHES=/proc/net/rpc
# far away
EXPIRY=2147483647
# writable, from any port, as root, asynchronous, no check of subtrees, with a
# number of its own: NFSEXP_* of the kernel
FLAGS=$((0x2 | 0x10 | 0x400 | 0x2000))

# The settings of a server that is at work are not for a test.
serves_already()
{
	local threads=0

	read -r threads 2>/dev/null <$NFSD/threads
	[ "$threads" -gt 0 ]
}

# What is exported is the root of NFSv4, number 0.
exports()
{
	echo "nfsd $ADDR $EXPIRY pane" >$CACHES/auth.unix.ip/channel &&
		echo "pane $OUT/export $EXPIRY $FLAGS 65534 65534 0" \
			>$CACHES/nfsd.export/channel &&
		printf "%s\n" "pane 1 \\x00000000 $EXPIRY $OUT/export" \
			>$CACHES/nfsd.fh/channel
}

exports_no_more()
{
	local cache

	for cache in auth.unix.ip nfsd.export nfsd.fh; do
		date +%s >"$CACHES/$cache/flush"
	done
}

# Clients that could reclaim something do not exist: nobody waits for them.
server_up()
{
	mkdir -p "$OUT/export" "$OUT/pipes" &&
		mount -t tmpfs pane "$OUT/export" &&
		mount -t rpc_pipefs pane "$OUT/pipes" &&
		mount -t nfsd nfsd $NFSD && exports || return
	./pane_nfs_track.py "$OUT/pipes/nfsd/cld" >"$OUT/track" 2>&1 &
	wait_until grep -q waiting "$OUT/track" &&
		echo "-2 -3 +4" >$NFSD/versions &&
		echo "rdma $PORT" >$NFSD/portlist &&
		echo 2 >$NFSD/threads
}

server_down()
{
	echo 0 >"$NFSD/threads"
	exports_no_more
	umount "$NFSD" "$OUT/pipes" "$OUT/export"
} 2>/dev/null

# The helper of mount would talk to daemons.
mounts()
{
	mkdir -p "$OUT/mnt" &&
		quietly mount -i -t nfs4 -o "rdma,port=$PORT,vers=4.2,addr=$ADDR,clientaddr=$ADDR" \
			"$ADDR:/" "$OUT/mnt"
}

is_mounted()
{
	mountpoint -q "$OUT/mnt"
}

unmounts()
{
	quietly umount "$OUT/mnt"
}

users_down()
{
	umount -f -l "$OUT/mnt"
	server_down
} 2>/dev/null

copies_tree()
{
	tree_copies "$OUT/mnt" && tree_same "$OUT/tree" "$OUT/export/tree"
}

# copies_past_cache BLOCK-SIZE
copies_past_cache()
{
	head -c "$SIZE" /dev/urandom >"$OUT/wrote" &&
		quietly dd if="$OUT/wrote" of="$OUT/mnt/file" bs="$1" \
			oflag=direct &&
		quietly dd if="$OUT/mnt/file" of="$OUT/read" bs="$1" \
			iflag=direct &&
		cmp "$OUT/wrote" "$OUT/read" &&
		cmp "$OUT/wrote" "$OUT/export/file"
}

unmounts_under_load()
{
	load_begin tree_rounds "$OUT/mnt" || return
	refused busy umount "$OUT/mnt" || return
	load_goes_on || return
	umount -f -l "$OUT/mnt" || complain "umount failed"
	! is_mounted || complain "still mounted" || return
	load_end
	wait_until no_client
}

no_client()
{
	[ "$(wc -l </proc/fs/nfsfs/servers)" -le 1 ]
}

mounts_again()
{
	mounts && copies_tree
}

# A mount that is hard waits until the device is there again.
device_goes_under_load()
{
	load_begin tree_rounds "$OUT/mnt" && device_goes && device_comes ||
		return
	load_goes_on
	load_end && tree_same "$OUT/tree" "$OUT/mnt/tree"
}

all_steps()
{
	counters_note "$DEV_A"
	step "the client mounts" mounts
	step "a tree is copied" copies_tree
	step "blocks of 1 MiB" copies_past_cache 1048576
	step "SEND_WITH_INV is used" sends_with_inv copies_past_cache 131072
	step "keys are taken back" keys_were_taken_back 100
	step "unmounted under load" unmounts_under_load
	step "the client mounts again" mounts_again
	step "the device goes and returns under load" device_goes_under_load
	step "unmounted" unmounts
}

ktap_print_header
need_pane
need dd cmp diff python3 tcpdump
need_modules "NFS over RDMA" rpcrdma nfsd nfsv4
! serves_already || skip_all "this machine serves files"
begin_here 9
server_up || ktap_exit_fail_msg "no server"
run_here
