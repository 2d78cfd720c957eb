#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# check.sh stock|all|debug|kcsan|coverage [OPTION-OF-THE-RUNNER...]: run all tests
# and end with one line "N passed, N failed, N skipped". `stock` runs on Debian's
# own kernel and adds what needs no kernel, and a few tests on the kernel with
# sanitizers where that is in the cache; `all` does the same, with the whole of
# those tests that `stock` runs a part of; `debug` runs on the kernel with
# sanitizers; `kcsan` runs some on one that watches for data races; `coverage` on
# one that counts lines, see coverage.sh.
#
# A test that takes the guest down fails; the tests after it get a new guest.
#
#   PANE_CHECK_SECONDS  time limit for all guests together
#   PANE_CHECK_TESTS    run these only: "rdma:a.sh rdma:b.sh"

set -u
. "$(dirname "${BASH_SOURCE[0]}")/setup/lib.sh"

# A machine that emulates the guest's processor is this many times slower than
# what the time limits of the tests are made for.
SLOW_TEST_SECONDS=600
# The whole of a test takes longer, and there is no hurry.
WHOLE_TEST_SECONDS=3600
# Likewise where the kernel watches itself
WATCHED_TEST_SECONDS=1800
# All tests together, and where there is no hurry
STOCK_SECONDS=3000
WHOLE_SECONDS=18000
# More deaths than this say nothing new.
MAX_BOOTS=8

# Where most happens at once
RACING_TESTS=(pane_mw_race pane_mw_stress pane_mw_storm pane_mw_ring
	      pane_mw_order pane_data.sh pane_cq pane_stress.sh pane_reload.sh)

# Quick, and through most of the driver: what `stock` runs with sanitizers
QUICK_TESTS=(pane_frames.sh pane_mw_access pane_mw_inval)
QUICK_SECONDS=900

INSTALLED=$PANE_TOP/build/selftests
OUT=$PANE_TOP/build/check

run_unit_tests()
{
	say "check: unit tests"
	make --no-print-directory -s -C "$PANE_TOP" unit >"$OUT/unit.tap" 2>&1
	cat "$OUT/unit.tap"
}

run_lint()
{
	say "check: lint"
	make --no-print-directory -s -C "$PANE_TOP" lint >"$OUT/lint.tap" 2>&1
	cat "$OUT/lint.tap"
}

# tests_named NAME...: as the harness wants them
tests_named()
{
	"$INSTALLED/run_kselftest.sh" -l "${@/#/-trdma:}"
}

tests_to_run()
{
	if [ -n "${PANE_CHECK_TESTS:-}" ]; then
		tr ' ' '\n' <<<"$PANE_CHECK_TESTS"
	elif [ "$mode" = kcsan ]; then
		tests_named "${RACING_TESTS[@]}"
	else
		"$INSTALLED/run_kselftest.sh" -l -c rdma
	fi
}

# How many of a guest's tests have come to a result.
finished_tests()
{
	grep -cE '^(not )?ok [0-9]+ selftests: ' "$1"
}

remaining_seconds()
{
	echo $((deadline - SECONDS))
}

# boot_and_run NUMBER TEST...: one guest; the runner's status
boot_and_run()
{
	local boot=$1 test
	local -a select=()

	shift
	for test in "$@"; do
		select+=(-t "$test")
	done
	say "check: guest $boot, $# tests"
	"$PANE_TOP/selftests/vm/run" "${runner[@]}" \
		--results "$OUT/guest-$boot" --timeout "$(remaining_seconds)" \
		-- "${wrapper[@]}" "$INSTALLED/run_kselftest.sh" "${select[@]}" |
		tee "$OUT/guest-$boot.tap"
	return "${PIPESTATUS[0]}"
}

# The guest as a whole is a test too: it must end well, with a clean log.
print_guest_result()
{
	local boot=$1 status=$2 name

	name="guest $boot ended well, with nothing bad in the kernel's log"
	printf 'TAP version 13\n1..1\n'
	case $status in
	0 | 1) echo "ok 1 $name" ;;
	124) echo "not ok 1 $name # time-out" ;;
	*) echo "not ok 1 $name # status $status" ;;
	esac
}

# Where nothing was watched, nothing was found.
print_watched()
{
	local counts=$OUT/guest-$1/kcsan name="KCSAN has watched in guest $1"

	printf 'TAP version 13\n1..1\n'
	if grep -qs '^enabled: 1' "$counts" &&
	   grep -qs '^setup_watchpoints: [1-9]' "$counts"; then
		echo "ok 1 $name"
	else
		echo "not ok 1 $name"
	fi
}

# mend_stream FILE FINISHED TEST: a guest died in TEST, and those after it are
# for the next guest: complete the stream so far.
mend_stream()
{
	local file=$1 number=$(($2 + 1)) test=$3

	sed -i "0,/^1\.\.[0-9]*\$/s//1..$number/" "$file"
	echo "not ok $number selftests: ${test/:/: } # the guest died" |
		tee -a "$file"
}

# Another guest is of use when this one started to test at all.
worth_going_on()
{
	if ! grep -q '^1\.\.' "$2"; then
		say "check: the guest did not come up"
		return 1
	fi
	if [ "$1" -ge "$MAX_BOOTS" ] || [ "$(remaining_seconds)" -lt 60 ]; then
		say "check: no more guests; the tests left are not run"
		return 1
	fi
}

# Guests so far
boot=0

# run_in_guests TEST...: as many guests as it takes. Where no other guest follows
# one that died, the stream stays short of its plan, which fails by itself.
run_in_guests()
{
	local status tap finished
	local -a left=("$@")

	while [ "${#left[@]}" -gt 0 ]; do
		boot=$((boot + 1))
		tap=$OUT/guest-$boot.tap
		status=0
		boot_and_run "$boot" "${left[@]}" || status=$?
		finished=$(finished_tests "$tap")
		left=("${left[@]:finished}")
		if [ "${#left[@]}" -gt 0 ]; then
			worth_going_on "$boot" "$tap" || break
			mend_stream "$tap" "$finished" "${left[0]}"
			left=("${left[@]:1}")
		fi
		print_guest_result "$boot" "$status" | tee -a "$tap"
		[ "$mode" != kcsan ] || print_watched "$boot" | tee -a "$tap"
	done
}

# Nobody waits for that kernel's build.
run_quick_debug()
{
	local deadline=$((SECONDS + QUICK_SECONDS))
	local -a tests runner=(--backend uml --kernel debug)

	if ! "$PANE_TOP/selftests/setup/uml-kernel.sh" --cached debug >/dev/null
	then
		say "check: no kernel with sanitizers in the cache: make check-debug"
		return
	fi
	mapfile -t tests < <(tests_named "${QUICK_TESTS[@]}")
	run_in_guests "${tests[@]}"
}

wrapper=()
case ${1:-} in
stock | all) runner=(--backend qemu) ;;
debug) runner=(--backend uml --kernel debug) ;;
kcsan) runner=(--backend qemu --kernel kcsan) ;;
coverage)
	runner=(--backend uml --kernel coverage)
	wrapper=("$PANE_TOP/selftests/vm/guest/gcov")
	;;
*) die "usage: check.sh stock|all|debug|kcsan|coverage [OPTION...]" ;;
esac
mode=$1
shift
runner+=("$@")

test_seconds=$WATCHED_TEST_SECONDS seconds=$WHOLE_SECONDS
case $mode in
stock) test_seconds=$SLOW_TEST_SECONDS seconds=$STOCK_SECONDS ;;
all)
	test_seconds=$WHOLE_TEST_SECONDS
	export PANE_ALL=1
	;;
esac
rm -rf "$OUT"
mkdir -p "$OUT"
deadline=$((SECONDS + ${PANE_CHECK_SECONDS:-$seconds}))
export kselftest_override_timeout=${kselftest_override_timeout:-$test_seconds}

if [[ $mode != @(debug|kcsan|coverage) ]] && [ -z "${PANE_CHECK_TESTS:-}" ]; then
	run_unit_tests
	run_lint
fi
mapfile -t tests < <(tests_to_run)
run_in_guests "${tests[@]}"
if [ "$mode" = stock ] && [ -z "${PANE_CHECK_TESTS:-}" ] &&
   [ "$(remaining_seconds)" -ge $QUICK_SECONDS ]; then
	run_quick_debug
fi
"$INSTALLED/kselftest/tap_summary.py" "$OUT"/*.tap
