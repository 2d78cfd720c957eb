#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# selfcheck.sh [OPTION-OF-THE-RUNNER...]: does the runner keep its promises?
# Boots a guest for each of them, for example with --backend uml.
#
# shellcheck disable=SC2016 # the guest's shell expands them

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../kselftest/ktap_helpers.sh"

options=(--no-module "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

guest()
{
	"$here/run" "${options[@]}" --results "$work/results" "$@" \
		>"$work/out" 2>"$work/err" </dev/null
}

# status_is WANTED [OPTION...] -- COMMAND...
status_is()
{
	local wanted=$1

	shift
	guest "$@"
	[ $? -eq "$wanted" ]
}

five_megabytes_arrive()
{
	guest -- sh -c 'head -c 5000000 /dev/zero | tr "\0" x' &&
		[ "$(wc -c <"$work/out")" -eq 5000000 ]
}

reopened_outputs_arrive()
{
	guest -- sh -c 'echo a; echo b >/dev/stderr; echo c >/dev/stdout' &&
		[ "$(tr -d '\n' <"$work/out")" = abc ]
}

results_stay()
{
	guest -- sh -c 'echo kept >"$PANE_RESULTS/file"' &&
		[ "$(cat "$work/results/file")" = kept ] &&
		[ -s "$work/results/dmesg" ]
}

tree_is_not_written()
{
	guest -- sh -c 'echo lost >"$PANE_TOP/lost-in-the-guest"' &&
		[ ! -e "$here/../../lost-in-the-guest" ]
}

death_shows_the_console()
{
	status_is 125 -- sh -c 'busybox reboot -f; sleep 10' &&
		grep -q "console's last lines" "$work/err"
}

# orphans: guests whose command line names the directory of a dead runner
nothing_outlives_the_runner()
{
	local runner

	"$here/run" "${options[@]}" --results "$work/results" \
		-- sleep 600 >/dev/null 2>&1 </dev/null &
	runner=$!
	sleep 10
	pgrep -f "/build/vm/run\.$runner\." >/dev/null || return
	kill -KILL "$runner"
	sleep 2
	! pgrep -f "/build/vm/run\.$runner\." >/dev/null
}

# status_of_race STATUS FRAME: when KCSAN reports an access made there
status_of_race()
{
	status_is "$1" -- sh -c 'for line; do echo "$line" >/dev/kmsg; done' sh \
		"BUG: KCSAN: data-race in one / another" \
		"write to 0x1 of 8 bytes by task 1 on cpu 0:" " $2" "======"
}

ktap_print_header
ktap_set_plan 13
ktap_test_result "success comes back" status_is 0 -- true
ktap_test_result "failure comes back" status_is 3 -- sh -c 'exit 3'
ktap_test_result "a hanging command is ended" \
	status_is 124 --timeout 20 -- sleep 600
ktap_test_result "a bad line in the log is found" \
	status_is 126 -- sh -c 'echo "WARNING: CPU: 0 PID: 1" >/dev/kmsg'
ktap_test_result "a data race of the driver is found" \
	status_of_race 126 "one+0x1/0x2 [rdma_pane]"
ktap_test_result "a data race elsewhere is not" status_of_race 0 "one+0x1/0x2"
ktap_test_result "a missing command is an error" status_is 127 -- /nonexistent
ktap_test_result "5 MB of output arrive" five_megabytes_arrive
ktap_test_result "outputs that are opened again arrive" reopened_outputs_arrive
ktap_test_result "results stay" results_stay
ktap_test_result "the tree is not written to" tree_is_not_written
ktap_test_result "a dead guest is an error" death_shows_the_console
ktap_test_result "nothing outlives the runner" nothing_outlives_the_runner
ktap_finished
