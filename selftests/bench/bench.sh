#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bench.sh [VM-OPTION...]: TCP, rdma_rxe and pane by turns, on each machine:
#
#   uml     User-mode Linux, at native speed
#   stock   Debian's kernel, emulated where it cannot be helped
#   newest  the newest one that Debian has
#
# Prints tables, and writes them to Documentation/benchmarks.md with a chart. The
# figures of each round are kept in build/bench/figures.txt.
#
#   PANE_BENCH_MACHINES  these machines only
#   PANE_BENCH_ROUNDS    rounds; default 3
#   PANE_BENCH_LINKS     these links only
#   PANE_BENCH_ROWS      these rows only; nothing is written to Documentation

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../setup/lib.sh"

OUT=$PANE_TOP/build/bench
GUEST_SECONDS=3600

newest_kernel()
{
	"$PANE_TOP/selftests/setup/debian-kernel.sh" --latest trixie-backports
}

# options_of MACHINE: of the runner
options_of()
{
	case $1 in
	uml)
		printf '%s\n' --backend uml --env PANE_BENCH_NAMESPACES=yes
		;;
	stock)
		printf '%s\n' --backend qemu
		;;
	newest)
		printf '%s\n' --backend qemu --kernel "$(newest_kernel)" \
			--env PANE_BENCH_NAMESPACES=yes
		;;
	*) die "no such machine: $1" ;;
	esac
}

# Passes figures on, and says how far it is
watch()
{
	local machine=$1 line done=0 all=0

	while read -r line; do
		case $line in
		"plan "*) all=${line#plan } ;;
		cost*) echo "$machine $line" ;;
		*)
			echo "$machine $line"
			done=$((done + 1))
			printf '\rbench: %s: %d of %d figures' "$machine" \
				"$done" "$all" >&2
			;;
		esac
	done
	echo >&2
}

measure()
{
	local machine=$1
	local -a options

	shift
	mapfile -t options < <(options_of "$machine")
	"$PANE_TOP/selftests/vm/run" "${options[@]}" \
		--timeout "$GUEST_SECONDS" --results "$OUT/$machine" "$@" -- \
		"$PANE_TOP/build/selftests/bench/guest.sh" | watch "$machine"
}

mkdir -p "$OUT"
say "bench: TCP, rdma_rxe and pane by turns; this takes long"
for machine in ${PANE_BENCH_MACHINES:-uml stock newest}; do
	measure "$machine" "$@"
done >"$OUT/figures.txt"

docs=$PANE_TOP/Documentation
[ -z "${PANE_BENCH_ROWS:-}" ] || docs=$OUT
python3 "$here/report.py" "$OUT/figures.txt" "$docs/benchmarks.md" \
	"$docs/benchmarks.svg" | tee "$OUT/table.txt"
