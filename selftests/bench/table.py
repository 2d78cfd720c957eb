#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The figures of bench.sh as a table and a chart.

Each figure is the median of the rounds. A ratio says how many times better
pane is than rdma_rxe: more of a rate, less of a latency.
"""

import collections
import statistics
import sys

# test, what it is, unit, divisor, is less better?
ROWS = [
    ("write64k", "WRITE 64 KiB", "MB/s", 1, False),
    ("read64k", "READ 64 KiB", "MB/s", 1, False),
    ("write64b", "WRITE 64 bytes", "1000/s", 1e3, False),
    ("list64b", "WRITE 64 bytes, lists of 16", "1000/s", 1e3, False),
    ("send2b", "SEND 2 bytes, latency", "us", 1, True),
    ("bindinv", "BIND + LOCAL_INV pairs", "1000/s", 1e3, False),
    ("storage", "BIND, BIND, SEND; SEND_WITH_INV", "1000/s", 1e3, False),
    ("register", "ibv_reg_mr + ibv_dereg_mr", "1000/s", 1e3, False),
]
BAR = 8  # columns of a chart for each 1x


def read_figures(path):
    """Medians by (driver, test)"""
    values = collections.defaultdict(list)
    with open(path, encoding="ascii") as lines:
        for line in lines:
            driver, test, value = line.split()
            values[driver, test].append(float(value))
    return {key: statistics.median(found) for key, found in values.items()}


def ratio(figures, test, less):
    """pane against rdma_rxe, more than 1 where pane is ahead"""
    rxe, pane = figures["rxe", test], figures["pane", test]
    return rxe / pane if less else pane / rxe


def print_table(figures):
    """One line a row, and what TCP does on the same link"""
    print(f"\n{'':32}{'rdma_rxe':>10}{'pane':>10}  {'':8}{'ratio':>6}")
    for test, name, unit, divisor, less in ROWS:
        rxe = figures["rxe", test] / divisor
        pane = figures["pane", test] / divisor
        print(f"{name:32}{rxe:10.2f}{pane:10.2f}  {unit:8}"
              f"{ratio(figures, test, less):5.1f}x")
    tcp = figures["tcp", "write64k"]
    share = figures["pane", "write64k"] / tcp
    print(f"{'TCP, iperf3':32}{tcp:20.2f}  {'MB/s':8}"
          f"pane's WRITE is {share:.2f} of it")
    times = figures["pane", "bindinv"] / figures["pane", "register"]
    print(f"\nA window is bound and invalidated {times:.0f} times as often as "
          "memory is registered\nand deregistered, both by pane.")


def print_chart(figures):
    """A bar a row, rdma_rxe's being one unit long"""
    print(f"\nrdma_rxe {'#' * BAR} = 1x")
    for test, name, _, _, less in ROWS:
        times = ratio(figures, test, less)
        print(f"{name:32}{'#' * round(times * BAR)} {times:.1f}x")


def main():
    """Returns 1 where pane is behind"""
    figures = read_figures(sys.argv[1])
    print_table(figures)
    print_chart(figures)
    behind = [name for test, name, _, _, less in ROWS
              if ratio(figures, test, less) <= 1]
    for name in behind:
        print(f"\nbench: pane is not ahead in: {name}")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
