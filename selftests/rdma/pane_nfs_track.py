#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""pane_nfs_track.py PIPE: in place of nfsdcld, tell the NFS server that no
client was there before. It then has no grace period, in which files cannot be
opened. Says when it waits for the pipe, which has to be opened within a second
of its coming, and ends with it."""

import os
import select
import struct
import sys
import time

# struct cld_msg of linux/nfsd/cld.h
HEADER = struct.Struct("=BBhI")
LENGTH = HEADER.size + 2 + 1024
CLD_CHECK = 2
CLD_GET_VERSION = 5
VERSION = 1
# as errno, negated
UNKNOWN_CLIENT = -2


def reply(message):
    version, command, _, xid = HEADER.unpack_from(message)
    status = UNKNOWN_CLIENT if command == CLD_CHECK else 0
    answer = bytearray(message)
    HEADER.pack_into(answer, 0, version, command, status, xid)
    if command == CLD_GET_VERSION:
        answer[HEADER.size] = VERSION
    return answer


def main():
    print("waiting", flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    pipe = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
    readable = select.poll()
    readable.register(pipe, select.POLLIN)
    while not readable.poll()[0][1] & (select.POLLERR | select.POLLHUP):
        message = os.read(pipe, LENGTH)
        if message:
            os.write(pipe, reply(message))


if __name__ == "__main__":
    main()
