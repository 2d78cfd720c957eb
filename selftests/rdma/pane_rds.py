#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""pane_rds.py ADDRESS messages|rdma|load [FILE ROUNDS]: two RDS sockets of one
address talk to each other by way of its RDMA device, and what arrives is
compared.

  messages  of many lengths, each way
  rdma      one end reads and writes the memory of the other by a key
  load      messages for as long as FILE is there; a line in ROUNDS for each"""

import ctypes
import os
import socket
import struct
import sys

# linux/rds.h
SOL_RDS = 276
RDS_FREE_MR = 3
SO_RDS_TRANSPORT = 8
RDS_TRANS_IB = 0
RDS_CMSG_RDMA_ARGS = 1
RDS_CMSG_RDMA_DEST = 2
RDS_CMSG_RDMA_MAP = 3
RDS_CMSG_RDMA_STATUS = 4
RDS_RDMA_READWRITE = 1
RDS_RDMA_INVALIDATE = 4
RDS_RDMA_NOTIFY_ME = 0x20
RDS_RDMA_SUCCESS = 0

PORT_A = 4001
PORT_B = 4002
SECONDS = 120
LENGTHS = (0, 1, 47, 4095, 4096, 4097, 8191, 20000, 65535, 65536, 100000)
RDMA_LENGTHS = (1, 4096, 5000, 65536, 262144)
RDMA_TIMES = 10


class End:
    """A socket, and who it talks to"""

    def __init__(self, address, port, peer_port):
        self.socket = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB)
        self.socket.bind((address, port))
        self.socket.settimeout(SECONDS)
        self.peer = (address, peer_port)

    def send(self, message, *cmsgs):
        self.socket.sendmsg([message], cmsgs, 0, self.peer)

    def receive(self):
        """A message, and what came along with it"""
        message, cmsgs, _, _ = self.socket.recvmsg(1 << 20, 1024)
        return message, cmsgs

    def expect(self, message, what):
        if self.receive()[0] != message:
            raise SystemExit(f"{what}: {len(message)} bytes differ")

    def receive_cmsg(self, wanted):
        """What came along with a message, of this kind"""
        for level, kind, data in self.receive()[1]:
            if (level, kind) == (SOL_RDS, wanted):
                return data
        raise SystemExit(f"nothing of kind {wanted}")

    def wait_for_rdma(self, token):
        """The status of what was asked for with this token"""
        found, status = struct.unpack_from(
            "=Qi", self.receive_cmsg(RDS_CMSG_RDMA_STATUS))
        if (found, status) != (token, RDS_RDMA_SUCCESS):
            raise SystemExit(f"RDMA {found}: status {status}")

    def send_key(self, memory, length):
        """Of this memory, along with a message: keys that are asked for by
        RDS_GET_MR have no connection, which memory is registered by"""
        self.send(b"key", (SOL_RDS, RDS_CMSG_RDMA_MAP, struct.pack(
            "=QQQQ", ctypes.addressof(memory), length, 0,
            RDS_RDMA_READWRITE)))

    def receive_key(self):
        return struct.unpack("=Q", self.receive_cmsg(RDS_CMSG_RDMA_DEST))[0]

    def free_key(self, cookie):
        self.socket.setsockopt(SOL_RDS, RDS_FREE_MR, struct.pack(
            "=QQ", cookie, RDS_RDMA_INVALIDATE))

    def rdma(self, cookie, memory, length, flags, token):
        """Between local memory and all of what the key stands for"""
        vector = (ctypes.c_uint64 * 2)(ctypes.addressof(memory), length)
        arguments = struct.pack(
            "=QQQQQQQ", cookie, 0, length, ctypes.addressof(vector), 1,
            flags | RDS_RDMA_NOTIFY_ME, token)
        self.send(b"done", (SOL_RDS, RDS_CMSG_RDMA_ARGS, arguments))
        self.wait_for_rdma(token)


def two_ends(address):
    return End(address, PORT_A, PORT_B), End(address, PORT_B, PORT_A)


def messages(address):
    left, right = two_ends(address)
    for length in LENGTHS:
        for sender, receiver in ((left, right), (right, left)):
            message = os.urandom(length)
            sender.send(message)
            receiver.expect(message, "message")


def rdma(address):
    user, owner = two_ends(address)
    # a key belongs to a connection, and there is one when something was sent
    owner.send(b"hello")
    user.expect(b"hello", "greeting")
    token = 0
    for length in RDMA_LENGTHS * RDMA_TIMES:
        there = ctypes.create_string_buffer(length)
        here = ctypes.create_string_buffer(os.urandom(length), length)
        back = ctypes.create_string_buffer(length)
        owner.send_key(there, length)
        cookie = user.receive_key()
        for memory, flags in ((here, RDS_RDMA_READWRITE), (back, 0)):
            token += 1
            user.rdma(cookie, memory, length, flags, token)
            owner.expect(b"done", "notice")
        owner.free_key(cookie)
        if not here.raw == there.raw == back.raw:
            raise SystemExit(f"RDMA: {length} bytes differ")


def load(address, file, rounds):
    left, right = two_ends(address)
    with open(rounds, "a", buffering=1, encoding="ascii") as log:
        while os.path.exists(file):
            message = os.urandom(20000)
            left.send(message)
            right.expect(message, "message")
            right.send(message)
            left.expect(message, "answer")
            log.write("round\n")


if __name__ == "__main__":
    {"messages": messages, "rdma": rdma, "load": load}[sys.argv[2]](
        sys.argv[1], *sys.argv[3:])
