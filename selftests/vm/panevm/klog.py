# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Looks for lines in a kernel log that must not be there."""

import os
import re

from . import kcsan, paths

STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[[ TC]*\d+\])? ?")
# no report of several lines is longer
REPORT_LINES = 200
MARKER = re.compile(r"^kselftest: (?:Running tests in|running) (.*)$")


def patterns(name):
    """One regular expression a line; # starts a comment."""
    found = []
    path = os.path.join(paths.VM_DIR, name)
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                found.append(line)
    return re.compile("|".join(f"(?:{line})" for line in found) or r"(?!)")


class Scanner:
    """Deny list minus allow list, and of KCSAN's reports the driver's."""

    def __init__(self):
        self.deny = patterns("deny.list")
        self.allow = patterns("allow.list")

    def is_bad(self, lines, number):
        """Is this one of the lines bad?"""
        line = lines[number]
        if not self.deny.search(line) or self.allow.search(line):
            return False
        return not kcsan.is_title(line) or \
            kcsan.is_ours(lines[number:number + REPORT_LINES])

    def bad_lines(self, text):
        """(number, what ran, line) for each bad line, without its time
        stamp."""
        running = None
        lines = [STAMP.sub("", raw.rstrip()) for raw in text.splitlines()]
        for number, line in enumerate(lines):
            marker = MARKER.match(line)
            if marker:
                running = marker.group(1)
            elif self.is_bad(lines, number):
                yield number, running, line

    def excerpt(self, text, count):
        """The first bad line and what follows it."""
        for number, _, _ in self.bad_lines(text):
            return text.splitlines()[number:number + count]
        return []

    def scan(self, *texts):
        """Bad lines of several logs of the same guest, each once. The same
        line may be in both the log and the console."""
        found = {}
        for text in texts:
            for _, running, line in self.bad_lines(text):
                if found.get(line) is None:
                    found[line] = running
        return [(running, line) for line, running in found.items()]
