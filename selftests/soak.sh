#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# soak.sh [OPTION-OF-THE-RUNNER...]: pane_soak.sh for long, on the kernel with
# sanitizers, and one line "N passed, N failed, N skipped" at the end. The later
# of two options counts: "--kernel fast" takes the kernel with several processors.
#
#   PANE_SOAK_SECONDS  of races (default 1800)
#   PANE_SOAK_CYCLES   connections made and ended by rdma_cm (default 100000)
#   PANE_SOAK_TURNS    windows, regions, QPs that are changed while they are used,
#                      by each of three threads (default 20000)
#   PANE_SEED          repeats a run, as far as processes can

set -u
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/setup/lib.sh"

export PANE_SOAK_SECONDS=${PANE_SOAK_SECONDS:-1800}
export PANE_SOAK_CYCLES=${PANE_SOAK_CYCLES:-100000}
export PANE_SOAK_TURNS=${PANE_SOAK_TURNS:-20000}
export PANE_CHECK_TESTS=rdma:pane_soak.sh

# The races, and what the long runs take where each step is looked at
LIMIT=$((PANE_SOAK_SECONDS * 3 + 1200 +
	(PANE_SOAK_CYCLES + PANE_SOAK_TURNS) / 10))
export PANE_CHECK_SECONDS=${PANE_CHECK_SECONDS:-$LIMIT}
export kselftest_override_timeout=${kselftest_override_timeout:-$LIMIT}

exec "$here/check.sh" debug "$@"
