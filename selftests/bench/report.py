#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""report.py FIGURES MARKDOWN CHART: what `make bench` has measured.

FIGURES has "MACHINE LINK DRIVER ROW VALUE" lines, one for each round, and
"MACHINE cost WHAT VALUE" lines. Prints tables, writes them as Markdown beside a
chart, and fails where a wanted ratio is not reached. Ratios are those of the
medians; in brackets are the least and the greatest of single rounds. More than
one is always in favour of pane.
"""

import collections
import math
import os
import statistics
import subprocess
import sys

Row = collections.namedtuple("Row", "name title less uml tcg")

# name, what it is, is less better?, wanted on User-mode Linux and elsewhere
ROWS = [Row(*row) for row in (
    ("write64k", "ib_write_bw 64 KiB", False, 8, 3),
    ("write1m", "ib_write_bw 1 MiB", False, 8, 3),
    ("read64k", "ib_read_bw 64 KiB", False, 6, 3),
    ("write64b", "ib_write_bw 64 B", False, 20, 3),
    ("send64b", "ib_send_bw 64 B", False, 20, 3),
    ("list64b", "ib_write_bw 64 B, lists of 16", False, 30, 3),
    ("sendlat", "ib_send_lat 2 B", True, 3, 2),
    ("writelat", "ib_write_lat 2 B", True, 3, 2),
    ("atomiclat", "ib_atomic_lat", True, 3, 2),
    ("pairs1", "BIND + LOCAL_INV, one at a time", False, 5, 3),
    ("pairs16", "BIND + LOCAL_INV, 16 at a time", False, 5, 3),
    ("storage", "BIND, BIND, fenced SEND / SEND_WITH_INV", False, 5, 3),
    ("register", "ibv_reg_mr + ibv_dereg_mr, 1 MiB", False, 0, 0),
    ("cpu", "processor time for a GiB, both sides", True, 4, 3),
)]
# rows that should stay the same however many there are
FLAT = (
    ("qps", "WRITE 64 KiB, total", "QPs", False, (1, 16, 256, 1024)),
    ("windows", "LOCAL_INV + BIND", "windows", False, (1, 1000, 1000000)),
    ("latency", "WRITE through one", "windows", True, (1, 1000, 1000000)),
)
FLAT_WITHIN = 0.15
MACHINES = {
    "uml": "User-mode Linux, native",
    "stock": "Debian's kernel, emulated",
    "newest": "newest Debian kernel, emulated",
}


class Figures:
    """What was measured, by machine, link, driver and row: a value a round"""

    def __init__(self, path):
        self.values = collections.defaultdict(list)
        self.cost = {}
        with open(path, encoding="ascii") as lines:
            for line in lines:
                words = line.split()
                if len(words) == 4 and words[1] == "cost":
                    self.cost[words[0], words[2]] = float(words[3])
                elif len(words) == 5:
                    self.values[tuple(words[:4])].append(float(words[4]))

    def machines(self):
        """In the order they were measured"""
        return list(dict.fromkeys(key[0] for key in self.values))

    def links(self, machine):
        """Likewise"""
        return list(dict.fromkeys(key[1] for key in self.values
                                  if key[0] == machine))

    def median(self, *key):
        """Of the rounds that came to something, or None"""
        good = [value for value in self.values.get(key, [])
                if 0 < value < math.inf]
        return statistics.median(good) if good else None

    def rounds(self, *key):
        """All of them"""
        return self.values.get(key, [])


class Ratio:
    """Of two rows; None is unknown"""

    def __init__(self, figures, ours, theirs, less=False):
        ours_median, theirs_median = figures.median(*ours), \
            figures.median(*theirs)
        self.value = self.least = self.greatest = None
        if not ours_median or not theirs_median:
            return
        self.value = self.of(ours_median, theirs_median, less)
        each = [self.of(a, b, less) for a, b in
                zip(figures.rounds(*ours), figures.rounds(*theirs))
                if 0 < a < math.inf and 0 < b < math.inf]
        self.least, self.greatest = min(each), max(each)

    @staticmethod
    def of(ours, theirs, less):
        """More than one is in our favour"""
        return theirs / ours if less else ours / theirs

    def __str__(self):
        if self.value is None:
            return "no figure"
        return f"{self.value:.1f}x ({self.least:.1f}-{self.greatest:.1f})"


def against_rxe(figures, machine, link, row):
    """pane by rdma_rxe"""
    return Ratio(figures, (machine, link, "pane", row.name),
                 (machine, link, "rxe", row.name), row.less)


def wanted(machine, row):
    """The ratio it should reach"""
    return row.uml if machine == "uml" else row.tcg


def table(heads, lines):
    """Of Markdown, that reads well as text, too"""
    widths = [max(len(line[i]) for line in [heads] + lines)
              for i in range(len(heads))]

    def show(cells):
        return "| " + " | ".join(cell.ljust(width) for cell, width in
                                 zip(cells, widths)) + " |"

    return "\n".join([show(heads),
                      show(["-" * width for width in widths])] +
                     [show(line) for line in lines]) + "\n"


def rxe_table(figures, machine, failures):
    """Every row, on every link"""
    links = figures.links(machine)
    lines = []
    for row in ROWS:
        line = [row.title]
        for number, link in enumerate(links):
            if not figures.rounds(machine, link, "pane", row.name):
                line.append("")
                continue
            ratio = against_rxe(figures, machine, link, row)
            line.append(str(ratio))
            if number == 0 and (ratio.value or 0) < wanted(machine, row):
                failures.append(f"{machine}: {row.title}: {ratio}, "
                                f"wanted {wanted(machine, row)}x")
        goal = wanted(machine, row)
        lines.append(line + [f"{goal}x" if goal else ""])
    return table(["against rdma_rxe"] + links +
                 [f"wanted on {links[0]}"], lines)


def tcp_table(figures, machine):
    """What iperf3 does on the same link"""
    lines = []
    for name in ("write64k", "write1m", "read64k"):
        title = next(row.title for row in ROWS if row.name == name)
        lines.append([title] + [
            str(Ratio(figures, (machine, link, "pane", name),
                      (machine, link, "tcp", "tcp")))
            for link in figures.links(machine)])
    return table(["against TCP (iperf3)"] + figures.links(machine), lines)


def flat_table(figures, machine, failures):
    """How it grows"""
    link = figures.links(machine)[0]
    lines = []
    for prefix, title, what, less, numbers in FLAT:
        first = (machine, link, "pane", f"{prefix}{numbers[0]}")
        for number in numbers[1:]:
            if not figures.rounds(machine, link, "pane", f"{prefix}{number}"):
                continue
            ratio = Ratio(figures, (machine, link, "pane",
                                    f"{prefix}{number}"), first, less)
            lines.append([title, f"{number} {what}", str(ratio)])
            if (ratio.value or 0) < 1 - FLAT_WITHIN:
                failures.append(f"{machine}: {title}, {number} {what}: "
                                f"{ratio}, wanted 0.85x of one's")
    return table(["against one", "", ""], lines) if lines else ""


def share_of_cost(figures, machine):
    """The bytes' way by what it cannot do without"""
    link = figures.links(machine)[0]
    mbps = figures.median(machine, link, "pane", "write1m")
    copy = figures.cost.get((machine, "memcpy"))
    crc = figures.cost.get((machine, "crc"))
    if not (mbps and copy and crc):
        return ""
    # perftest's MB are MiB
    times = (1 / (mbps * 1.048576)) / (1 / copy + 2 / crc)
    return (f"A byte of a 1 MiB WRITE takes {times:.1f} times as long as one "
            "memcpy() and two\npasses of CRC-32 of it alone on the same "
            "machine.\n")


def share_of_call(figures, machine):
    """One at a time means a system call each"""
    call = figures.cost.get((machine, "syscall"))
    lat = figures.median(machine, figures.links(machine)[0], "pane",
                         "atomiclat")
    if not (call and lat):
        return ""
    return (f"\nA system call that does nothing takes {100 * call / lat:.0f} % "
            "as long as an atomic\noperation, which is posted by one, there and "
            "back.\n")


def others(figures, machine):
    """What is said in words"""
    link = figures.links(machine)[0]
    text = share_of_cost(figures, machine) + share_of_call(figures, machine)
    pairs = Ratio(figures, (machine, link, "pane", "pairs16"),
                  (machine, link, "pane", "register"))
    if pairs.value:
        text += (f"\nA window is bound and invalidated {pairs.value:.0f} times "
                 "as often as 1 MiB is\nregistered and deregistered, both by "
                 "pane.\n")
    memory = figures.median(machine, link, "pane", "qpmem")
    if memory:
        text += (f"\nAn idle RC QP takes {memory / 1024:.1f} KiB of memory, "
                 "its two rings included.\n")
    return text


def chapter(figures, machine, failures):
    """All of one machine"""
    link = figures.links(machine)[0]
    rounds = len(figures.rounds(machine, link, "tcp", "tcp"))
    return "\n".join(part for part in (
        f"## {MACHINES.get(machine, machine)}\n\nRounds: {rounds}.\n",
        rxe_table(figures, machine, failures),
        tcp_table(figures, machine),
        flat_table(figures, machine, failures),
        others(figures, machine)) if part)


HEAD = """<!-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB -->
<!-- written by make bench -->
# Benchmarks

`make bench` boots guests, lays links in them, and gives their ends to rdma_rxe
and to pane by turns, with TCP (iperf3) in between, in several rounds. Each
figure is a ratio of the medians of one run, more than one in favour of pane; in
brackets are the least and the greatest ratio of a single round. Nothing else
means anything on another machine. User-mode Linux runs at native speed, but a
system call and a switch of threads are dear there, which flatters whoever
avoids them; under emulation everything but that is dear. So both are shown.

Links: veth pairs between two network namespaces with the MTU in their name, two
pairs joined by a bridge, and the loopback interface. Where rdma_rxe does not know
namespaces, as in 6.1, both ends are in one, with routes that lead over the wire.

![pane against rdma_rxe](benchmarks.svg)
"""

TAIL = """
## Where the time goes

Of an atomic operation by pane in User-mode Linux the system call that posts it is
the larger part (above), so 1/3 of rdma_rxe's time is out of reach there. `perf record` of the User-mode Linux process during `ib_write_lat` had 44 % of
its samples in switching interrupts off and on, each a system call of the host where
the guest has several processors: a quarter of those in the return from system calls,
the rest in the IP stack's counters, process_backlog() and the entry to softirqs,
which rdma_rxe passes, too. Under emulation, `ib_write_bw` of 1 MiB by pane on 7.3,
the copy with CRC of the sender has the largest share of the kernel's samples.

## Memory of windows

A window is an object of 96 bytes, and its binding one of 72. Of 1,048,576 windows
each took 307 to 321 bytes all told in three runs, with what the RDMA core, uverbs and
the library keep for it: by the memory that the machine had left, which varies. `pane_mw_many` prints these figures, and asserts that object and
binding together are not over 256 bytes.
"""

PLOT = """set terminal svg noenhanced size 860,640 font "sans,12"
set output "{chart}"
set title "pane against rdma_rxe, in one run, {link}"
set logscale x 2
set xrange [0.5:*]
set xlabel "times (more is better; latency: times less)"
set yrange [-0.7:{last}]
set ytics ({tics})
set grid xtics
set key below
set style fill solid
set lmargin 40
set arrow from 1,-0.7 to 1,{last} nohead dt 2
plot {plots}
{data}
"""


def draw(figures, chart):
    """Bars of all machines, on the link that has all rows"""
    machines = figures.machines()
    height = 0.8 / len(machines)
    rows = [row for row in ROWS if any(
        against_rxe(figures, m, figures.links(m)[0], row).value
        for m in machines)][::-1]
    tics = ", ".join(f'"{row.title}" {i}' for i, row in enumerate(rows))
    plots, data = [], []
    for number, machine in enumerate(machines):
        plots.append("'-' using (($1+0.5)/2):2:(0.5):1:3:4 with boxxyerror "
                     f"title \"{MACHINES.get(machine, machine)}\"")
        for i, row in enumerate(rows):
            value = against_rxe(figures, machine, figures.links(machine)[0],
                                row).value
            middle = i + 0.4 - height * (number + 0.5)
            if value:
                data.append(f"{value} {middle} {middle - height / 2} "
                            f"{middle + height / 2}")
        data.append("e")
    script = PLOT.format(chart=chart, last=len(rows) - 0.3, tics=tics,
                         link=figures.links(machines[0])[0],
                         plots=", ".join(plots), data="\n".join(data))
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    """Returns 1 where a wanted ratio is not reached"""
    figures = Figures(sys.argv[1])
    failures = []
    text = "\n".join(chapter(figures, machine, failures)
                     for machine in figures.machines())
    print("\n" + text)
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write(HEAD + "\n" + text + TAIL)
    draw(figures, os.path.abspath(sys.argv[3]))
    for failure in failures:
        print("bench: not reached:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
