#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bench.sh [VM-OPTION...]: pane and rdma_rxe side by side in one guest. Prints
# a table of medians with their ratio and a chart, and keeps the raw figures.

set -eu
here=$(dirname "${BASH_SOURCE[0]}")
top=$(realpath "$here/../..")
out=$top/build/bench

mkdir -p "$out"
echo "bench: rdma_rxe and pane by turns; this takes some minutes"
"$top/selftests/vm/run" --timeout 1800 --results "$out" "$@" -- \
	"$top/build/selftests/bench/guest.sh" | tee "$out/figures.txt" |
	sed 's/^/  /'
python3 "$here/table.py" "$out/figures.txt" | tee "$out/table.txt"
