#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run rdma-core's tests and compare the outcome of each with a baseline.

usage: pane_pyverbs.py SUITE BASELINE [OPTION-OF-THE-SUITE...]

The baseline has a line "pass NAME" or "skip NAME" for each test. Results are
printed in KTAP: one for every test that the baseline has passed, which must
pass again, and one for all others together, which may be skipped and may pass,
but not fail. With PANE_PYVERBS_WRITE in the environment a new baseline goes
into the file that it names.
"""

import os
import sys
import unittest


class Outcomes(unittest.TestResult):
    """What became of each test, by name."""

    def __init__(self):
        super().__init__()
        self.by_name = {}
        self.why = {}

    def note(self, test, outcome, why=""):
        name = test.id().removeprefix("tests.")
        # a subtest that failed comes before the test that passed around it
        if self.by_name.get(name) not in ("FAIL", "ERROR"):
            self.by_name[name] = outcome
            self.why[name] = why

    def addSuccess(self, test):
        self.note(test, "pass")

    def addSkip(self, test, reason):
        self.note(test, "skip", reason)

    def addFailure(self, test, err):
        self.note(test, "FAIL", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note(test, "ERROR", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


class Report:
    """KTAP on standard output."""

    def __init__(self, plan):
        self.number = 0
        self.failed = 0
        print(f"TAP version 13\n1..{plan}")

    def result(self, passed, name, why=""):
        self.number += 1
        self.failed += not passed
        for line in why.splitlines() if not passed else ():
            print("#", line)
        print(f"{'ok' if passed else 'not ok'} {self.number} {name}")


def load_suite(directory, options):
    """All tests, found in the way of the suite's own run_tests.py."""
    sys.path[:0] = [os.path.dirname(directory), directory]
    sys.argv[1:] = options
    # pylint: disable=import-error,import-outside-toplevel
    import tests
    from args_parser import parser
    parser.parse_args()
    return unittest.TestLoader().loadTestsFromModule(tests)


def read_baseline(path):
    """Outcome by name."""
    with open(path, encoding="utf-8") as file:
        pairs = (line.split() for line in file if not line.startswith("#"))
        return {name: outcome for outcome, name in pairs}


def write_baseline(path, outcomes):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n")
        for name, outcome in sorted(outcomes.by_name.items()):
            file.write(f"{outcome} {name}\n")


def compare(outcomes, baseline):
    must_pass = sorted(name for name in baseline if baseline[name] == "pass")
    report = Report(len(must_pass) + 1)
    for name in must_pass:
        outcome = outcomes.by_name.pop(name, "not there")
        why = outcomes.why.get(name, "")
        report.result(outcome == "pass", name, f"{outcome} {why}")

    failures = ""
    for name, outcome in outcomes.by_name.items():
        if outcome in ("FAIL", "ERROR"):
            failures += f"{outcome} {name}\n{outcomes.why[name]}\n"
        elif outcome == "pass":
            print(f"# passes, and the baseline does not know: {name}")
    report.result(not failures, "no other test fails", failures)
    return report.failed


def main(directory, baseline, *options):
    outcomes = Outcomes()
    # what tests print is none of our results
    outcomes.buffer = True
    load_suite(directory, list(options)).run(outcomes)
    if "PANE_PYVERBS_WRITE" in os.environ:
        write_baseline(os.environ["PANE_PYVERBS_WRITE"], outcomes)
    return 1 if compare(outcomes, read_baseline(baseline)) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
