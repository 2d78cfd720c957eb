# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Looks for lines in a kernel log that must not be there."""

import os
import re

from . import paths

STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[[ TC]*\d+\])? ?")
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
    """Deny list minus allow list."""

    def __init__(self):
        self.deny = patterns("deny.list")
        self.allow = patterns("allow.list")

    def bad_lines(self, text):
        """(what ran, line) for each bad line, without its time stamp."""
        running = None
        for raw in text.splitlines():
            line = STAMP.sub("", raw.rstrip())
            marker = MARKER.match(line)
            if marker:
                running = marker.group(1)
            elif self.deny.search(line) and not self.allow.search(line):
                yield running, line

    def excerpt(self, text, count):
        """The first bad line and what follows it."""
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if next(self.bad_lines(line), None):
                return lines[number:number + count]
        return []

    def scan(self, *texts):
        """Bad lines of several logs of the same guest, each once. The same
        line may be in both the log and the console."""
        found = {}
        for text in texts:
            for running, line in self.bad_lines(text):
                if found.get(line) is None:
                    found[line] = running
        return [(running, line) for line, running in found.items()]
