#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run rdma-core's tests and compare the outcome of each with a baseline.

usage: pane_pyverbs.py SUITE BASELINE [OPTION-OF-THE-SUITE...]

The baseline has one line for each test,

    pass NAME
    skip NAME REASON
    omit NAME REASON

"skip" has the reason that the test itself gives. "omit" is for what fails where
it ought to be skipped, because the kernel lacks something: it is not run, and
counts as skipped. Where the outcome depends on the kernel there are two lines,
which begin with "linux<N.N:" and "linux>=N.N:".

Results are printed in KTAP: one for every test that has to pass, and one for
all others together. It is a failure when a test fails, is skipped and was not,
is skipped for another reason, is not in the baseline, or is not there any more.
A test that passes where it was skipped is named. The last line counts them all.

What a kernel without huge pages cannot run may be skipped there.

With PANE_PYVERBS_WRITE in the environment a new baseline, for this kernel only,
goes into the file that it names.
"""

import os
import platform
import re
import sys
import unittest

HUGE_PAGES = "/sys/kernel/mm/hugepages"
NO_HUGE_PAGES = ("skip",
                 "Huge pages of size 2M is not supported in this platform")

LINE = re.compile(r"(?:linux(<|>=)(\d+)\.(\d+): )?"
                  r"(pass|skip|omit) (\S+) ?(.*)$")


def name_of(test):
    return test.id().removeprefix("tests.").replace(" ", "_")


class Outcomes(unittest.TestResult):
    """What became of each test, (outcome, why) by name."""

    def __init__(self):
        super().__init__()
        self.by_name = {}

    def note(self, test, outcome, why=""):
        name = name_of(test)
        # a subtest that failed comes before the test that passed around it
        if self.by_name.get(name, ("",))[0] != "fail":
            self.by_name[name] = (outcome, why)

    def addSuccess(self, test):
        self.note(test, "pass")

    def addSkip(self, test, reason):
        self.note(test, "skip", " ".join(reason.split()))

    def addFailure(self, test, err):
        self.note(test, "fail", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(test, err)


class Report:
    """KTAP on standard output."""

    def __init__(self, plan):
        self.number = 0
        print(f"TAP version 13\n1..{plan}")

    def result(self, name, complaint, skipped=""):
        self.number += 1
        for line in complaint.splitlines():
            print("#", line)
        print(f"{'not ok' if complaint else 'ok'} {self.number} {name}"
              f"{' # SKIP ' if skipped else ''}{skipped}")


def load_suite(directory, options):
    """All tests, found in the way of the suite's own run_tests.py."""
    sys.path[:0] = [os.path.dirname(directory), directory]
    sys.argv[1:] = options
    # pylint: disable=import-error,import-outside-toplevel
    import tests
    from args_parser import parser
    parser.parse_args()
    return unittest.TestLoader().loadTestsFromModule(tests)


def omit_tests(suite, omitted):
    """Make tests into such that say why they are skipped."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            omit_tests(test, omitted)
        elif name_of(test) in omitted:
            skip = unittest.skip(omitted[name_of(test)])
            method = test.id().rpartition(".")[2]
            setattr(test, method, skip(lambda: None))


def kernel_version():
    return tuple(map(int, re.match(r"(\d+)\.(\d+)",
                                   platform.release()).groups()))


def is_for_kernel(relation, major, minor):
    if not relation:
        return True
    older = kernel_version() < (int(major), int(minor))
    return older if relation == "<" else not older


def read_baseline(path):
    """(outcome, why) by name, for this kernel, and why by name for what is not
    to be run."""
    baseline, omitted = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line.strip())
            if match and is_for_kernel(*match.groups()[:3]):
                outcome, name, why = match.groups()[3:]
                if outcome == "omit":
                    outcome, omitted[name] = "skip", why
                baseline[name] = (outcome, why)
            elif not match and not line.startswith("#"):
                sys.exit(f"{path}: what does this mean: {line.strip()}")
    return baseline, omitted


def write_baseline(path, outcomes):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n")
        for name, (outcome, why) in sorted(outcomes.items()):
            why = f" {why}" if outcome == "skip" else ""
            file.write(f"{outcome} {name}{why}\n")


NOT_THERE = ("not there", "")


def complaint_about(name, outcomes, baseline):
    """Empty if there is nothing to complain about."""
    got = outcomes.get(name, NOT_THERE)
    wanted = baseline.get(name, NOT_THERE)
    if got[0] == "pass" or got == wanted:
        return ""
    if got == NO_HUGE_PAGES and not os.path.isdir(HUGE_PAGES):
        return ""
    return f"{name}: {' '.join(got)}\n    and not: {' '.join(wanted)}\n"


def tell_news(outcomes, baseline):
    for name, (outcome, _) in sorted(outcomes.items()):
        if outcome == "pass" and baseline.get(name, NOT_THERE)[0] != "pass":
            print(f"# passes, and did not in the baseline: {name}")


def compare(outcomes, baseline):
    """What there is to complain about, by name."""
    return {name: complaint_about(name, outcomes, baseline)
            for name in sorted(outcomes.keys() | baseline.keys())}


def print_results(complaints, outcomes, baseline):
    must_pass = [name for name in complaints
                 if baseline.get(name, NOT_THERE)[0] == "pass"]
    report = Report(len(must_pass) + 1)
    for name in must_pass:
        outcome, why = outcomes.get(name, NOT_THERE)
        report.result(name, complaints[name],
                      why if outcome == "skip" and not complaints[name] else "")
    report.result("all others are skipped, for the reasons they had",
                  "".join(complaints[name] for name in complaints
                          if name not in must_pass))


def print_count(complaints, outcomes):
    good = [outcomes[name][0] for name in complaints if not complaints[name]]
    print(f"# of all tests {good.count('pass')} passed, "
          f"{len(complaints) - len(good)} failed, "
          f"{good.count('skip')} skipped")


def main(directory, baseline_path, *options):
    baseline, omitted = read_baseline(baseline_path)
    outcomes = Outcomes()
    # what tests print is none of our results
    outcomes.buffer = True
    suite = load_suite(directory, list(options))
    omit_tests(suite, omitted)
    suite.run(outcomes)
    if "PANE_PYVERBS_WRITE" in os.environ:
        write_baseline(os.environ["PANE_PYVERBS_WRITE"], outcomes.by_name)
    complaints = compare(outcomes.by_name, baseline)
    print_results(complaints, outcomes.by_name, baseline)
    tell_news(outcomes.by_name, baseline)
    print_count(complaints, outcomes.by_name)
    return 1 if any(complaints.values()) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
