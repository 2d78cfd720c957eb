#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# coverage.sh [OPTION-OF-THE-RUNNER...]: which lines of the module do the tests
# reach? All tests run on a User-mode Linux that counts (check.sh), and
# coverage_report.py tells what came of it. What a test says of the driver is for
# `make check`; here it is only shown.
#
#   PANE_COVERAGE_PERCENT  fail below this (default 90)
#   PANE_CHECK_TESTS       as for check.sh

set -u
set -o pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/setup/lib.sh"

OUT=$PANE_TOP/build/coverage

rm -rf "$OUT"
mkdir -p "$OUT"
"$here/check.sh" coverage "$@" || say "coverage: there were failures"
"$here/coverage_report.py" "$OUT" "${PANE_COVERAGE_PERCENT:-90}" \
	"$PANE_TOP"/build/check/guest-*/ | tee "$OUT/table"
