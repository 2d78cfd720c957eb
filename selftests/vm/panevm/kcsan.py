# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tells whose a report of KCSAN's is. By its strict rules the kernel at large may
have data races, too."""

import re

MODULE = "[rdma_pane]"
TITLE = re.compile(r"^BUG: KCSAN: ")
END = re.compile(r"^=+$")
FRAME = re.compile(r"^ *\S+\+0x[0-9a-f]+/0x[0-9a-f]+(?: (\[\w+\]))?$")
# The function that made the access, and those that called it when it is one of
# the kernel's small helpers, for lists, counters or copies.
NEAR = 3


def stacks(lines):
    """Modules ("" for the kernel) of the frames of each stack of a report"""
    frames = []
    for line in lines:
        match = FRAME.match(line)
        if match:
            frames.append(match.group(1) or "")
        elif frames:
            yield frames
            frames = []
    if frames:
        yield frames


def is_title(line):
    return TITLE.match(line) is not None


def is_ours(lines):
    """Is one of the accesses that a report tells of the driver's? The report
    is at the beginning of the lines."""
    report = []
    for line in lines[1:]:
        if END.match(line):
            break
        report.append(line)
    return any(MODULE in frames[:NEAR] for frames in stacks(report))
