#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""coverage_report.py OUT PERCENT RESULTS...: how many lines of the module were
reached in the guests whose results these directories are.

Prints a line for each file and one for all, puts the lines that were not reached
into OUT/unreached, and fails when fewer than PERCENT of them were. A line counts
as reached when it was in one guest; those of a header, when they were in one of
the files that include it."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

MODULE = "drivers/infiniband/sw/pane/"
COUNTS = "gcov"


def count_files(results):
    """The files of counts that a guest left, by the object they are for."""
    base = os.path.join(results, COUNTS)
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            # of the generated file that makes a module, nobody wrote a line
            if name.endswith(".gcda") and not name.endswith(".mod.gcda"):
                yield path, "/" + os.path.relpath(path, base)


def run_gcov(counts, built):
    """What gcov says: it wants the counts beside the compiler's notes."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(os.path.splitext(built)[0] + ".gcno", work)
        shutil.copy(counts, work)
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", os.path.basename(counts)],
            cwd=work, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def own_name(path):
    """The name that a file of the module has in its folder, else nothing."""
    _, found, name = os.path.normpath(path).partition(MODULE)
    return name if found else None


def read_counts(directories):
    """{file: {line: how often}}, and where one copy of each file is."""
    reached = collections.defaultdict(collections.Counter)
    sources = {}
    for results in directories:
        for counts, built in count_files(results):
            told = run_gcov(counts, built)
            for file in told["files"]:
                name = own_name(file["file"])
                if not name:
                    continue
                sources[name] = os.path.join(
                    told["current_working_directory"], file["file"])
                for line in file["lines"]:
                    reached[name][line["line_number"]] += line["count"]
    return reached, sources


def percent(part, whole):
    return 100 * part / whole if whole else 0


def print_row(name, lines):
    hit = sum(1 for count in lines if count)
    print(f"{name:24} {len(lines):6} {hit:8} {percent(hit, len(lines)):7.1f}")
    return percent(hit, len(lines))


def print_table(reached):
    print(f"{'file':24} {'lines':>6} {'reached':>8} {'%':>7}")
    for name in sorted(reached):
        print_row(name, reached[name].values())
    every = [count for lines in reached.values() for count in lines.values()]
    return print_row("all", every)


def write_unreached(reached, sources, path):
    with open(path, "w", encoding="utf-8") as out:
        for name in sorted(reached):
            with open(sources[name], encoding="utf-8") as file:
                text = file.read().splitlines()
            for number, count in sorted(reached[name].items()):
                if not count:
                    print(f"{name}:{number}: {text[number - 1].strip()}",
                          file=out)


def main():
    out, wanted, directories = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    reached, sources = read_counts(directories)
    if not reached:
        sys.exit("coverage: no guest left any counts")
    os.makedirs(out, exist_ok=True)
    unreached = os.path.join(out, "unreached")
    write_unreached(reached, sources, unreached)
    total = print_table(reached)
    print(f"lines that were not reached: {os.path.relpath(unreached)}",
          flush=True)
    if total < wanted:
        sys.exit(f"coverage: {total:.1f} %, which is below {wanted:g} %")


if __name__ == "__main__":
    main()
