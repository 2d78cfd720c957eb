#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""tap_summary.py FILE...: read TAP or KTAP streams, name what failed, and end
with one line "N passed, N failed, N skipped".

Results that a test reports itself, in lines after "# ", count instead of the
outer line for that test. A stream without a plan, with too few or too many
results, and a file without any test are failures of their own; so is a run in
which nothing has passed. Expected failures count as skipped."""

import re
import sys

VERSION = re.compile(r"(K?TAP) version \d+")
PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*(\w+).*)?$")
RESULT = re.compile(r"(not )?ok\b(?:\s+(\d+))?\s*(?:- )?(.*)$")
DIRECTIVE = re.compile(r"(?:^|\s)#\s*(SKIP|XFAIL|XPASS|TODO|TIMEOUT|ERROR)\b.*$",
                       re.IGNORECASE)
BAIL_OUT = re.compile(r"Bail out!\s*(.*)")
LEVEL = "# "


class Totals:
    """The three numbers, and the names of what failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures = []

    def add(self, outcome, name):
        if outcome == "failed":
            self.fail(name)
        elif outcome == "skipped":
            self.skipped += 1
        else:
            self.passed += 1

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def line(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped")


def outcome_of(not_ok, text):
    """("passed" | "failed" | "skipped", description)"""
    directive = DIRECTIVE.search(text)
    word = directive.group(1).upper() if directive else ""
    name = text[:directive.start()].strip() if directive else text.strip()
    if word in ("SKIP", "XFAIL", "TODO"):
        return "skipped", name
    return ("failed" if not_ok or word == "XPASS" else "passed"), name


class Result:
    """One result line, and the streams that a test printed before it."""

    def __init__(self, match, inner):
        self.outcome, self.name = outcome_of(match.group(1), match.group(3))
        self.inner = inner


class Stream:
    """A plan and its results. What has been printed one level down waits for
    the result line that it belongs to."""

    def __init__(self):
        self.planned = None
        self.results = []
        self.waiting = []
        self.bail_out = None

    def add_result(self, match):
        self.results.append(Result(match, self.waiting))
        self.waiting = []

    def complaint(self):
        if self.bail_out is not None:
            return f"bail out: {self.bail_out}"
        if self.planned is None:
            return "no plan" if self.results else None
        if self.planned != len(self.results):
            return f"{self.planned} planned, {len(self.results)} reported"
        return None

    def count(self, name, totals):
        """Add up this stream and all below it; True when there was anything
        to add."""
        for result in self.results:
            count_result(result, totals)
        for orphan in self.waiting:
            orphan.count(f"{name}: unfinished test", totals)
        complaint = self.complaint()
        if complaint:
            totals.fail(f"{name}: {complaint}")
        return bool(self.results or complaint)


def count_result(result, totals):
    """The inner results count instead of the outer one, which matters only
    when it alone tells of a failure."""
    failed = totals.failed
    inner = [stream.count(result.name, totals) for stream in result.inner]
    if not any(inner):
        totals.add(result.outcome, result.name)
    elif result.outcome == "failed" and totals.failed == failed:
        totals.fail(result.name)


class Parser:
    """Sorts lines into streams by the number of "# " that they begin with."""

    def __init__(self):
        self.top = []
        self.open = []

    def feed(self, line):
        depth = 0
        while line.startswith(LEVEL):
            line = line[len(LEVEL):]
            depth += 1
        plan = PLAN.match(line)
        if VERSION.match(line) or plan:
            self.start(depth, plan)
        elif depth < len(self.open):
            self.continue_stream(depth, line)

    def start(self, depth, plan):
        if depth > len(self.open):
            return
        if depth == len(self.open):
            self.push()
        elif not plan or self.open[depth].planned is not None:
            # a second header or plan begins a stream of its own
            del self.open[depth:]
            self.push()
        if plan:
            self.open[depth].planned = int(plan.group(1))

    def push(self):
        stream = Stream()
        (self.open[-1].waiting if self.open else self.top).append(stream)
        self.open.append(stream)

    def continue_stream(self, depth, line):
        result = RESULT.match(line)
        bail_out = BAIL_OUT.match(line)
        if result:
            del self.open[depth + 1:]
            self.open[depth].add_result(result)
        elif bail_out:
            self.open[depth].bail_out = bail_out.group(1)


def count_file(path, totals):
    parser = Parser()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            parser.feed(line.rstrip("\r\n"))
    counted = [stream.count(path, totals) for stream in parser.top]
    if not any(counted):
        totals.fail(f"{path}: no test results")


def main(paths):
    totals = Totals()
    for path in paths:
        count_file(path, totals)
    for name in totals.failures:
        print("FAILED:", name)
    print(totals.line())
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
