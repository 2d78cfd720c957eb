#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two processes exchange messages of many lengths, reduce, and write into and
read from each other's memory; every byte is compared."""

from mpi4py import MPI

SIZES = (1, 100, 5000, 70001, 1 << 20)

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
peer = 1 - rank


def pattern(size, owner):
    return bytes((i * 7 + owner * 13) & 0xff for i in range(256)) * \
        (size // 256 + 1)


def exchange():
    for size in SIZES:
        received = bytearray(size)
        comm.Sendrecv(bytearray(pattern(size, rank)[:size]), peer,
                      recvbuf=received, source=peer)
        assert received == pattern(size, peer)[:size], f"{size} bytes"


def reduce():
    for i in range(20):
        assert comm.allreduce(rank + i) == 2 * i + 1


def one_sided():
    size = SIZES[-1]
    memory = bytearray(size)
    origin = bytearray(pattern(size, rank)[:size])
    window = MPI.Win.Create(memory, comm=comm)
    window.Fence()
    window.Put(origin, peer)
    window.Fence()
    assert memory == pattern(size, peer)[:size], "put"
    read = bytearray(size)
    window.Get(read, peer)
    window.Fence()
    assert read == pattern(size, rank)[:size], "get"
    window.Free()


assert comm.Get_size() == 2
exchange()
reduce()
one_sided()
if rank == 0:
    print("all is right")
