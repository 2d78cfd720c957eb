#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run installed tests. Usage: run_kselftest.sh [OPTIONS]
#   -c COLLECTION       all tests of a collection (may be repeated)
#   -t COLLECTION:TEST  one test (may be repeated)
#   -S COLLECTION:TEST  leave one out (may be repeated)
#   -l                  list the tests and do nothing
#   -o SECONDS          time limit, instead of the collection's own
#   -p DIR              keep a copy of each test's output there
#   -h                  this text
# Without -c and -t all tests are run. Exit status 1 when a test has failed.

set -u
BASE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LIST=$BASE_DIR/kselftest-list.txt
export per_test_logs=

usage()
{
	sed -n '4,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

# matches TEST PATTERN...: PATTERN is COLLECTION or COLLECTION:TEST
matches()
{
	local test=$1 pattern

	shift
	for pattern in "$@"; do
		[[ $test == "$pattern" || ${test%%:*} == "$pattern" ]] && return
	done
	return 1
}

# Tests named explicitly must exist: a misspelt name must not look like success.
check_names()
{
	local name

	for name in "$@"; do
		grep -q -e "^$name\$" -e "^$name:" "$LIST" && continue
		echo "run_kselftest.sh: no such test: $name" >&2
		exit 2
	done
}

selected()
{
	local test

	while read -r test; do
		if [ "${#wanted[@]}" -gt 0 ]; then
			matches "$test" "${wanted[@]}" || continue
		fi
		if [ "${#skipped[@]}" -gt 0 ]; then
			matches "$test" "${skipped[@]}" && continue
		fi
		printf '%s\n' "$test"
	done <"$LIST"
}

run_collection()
{
	local collection=$1
	local -a paths

	mapfile -t paths < <(selected | sed -n "s|^$collection:|$BASE_DIR/$collection/|p")
	"$BASE_DIR/kselftest/runner.sh" "$collection" "$BASE_DIR/$collection" \
		"${paths[@]}"
}

wanted=()
skipped=()
list_only=
while getopts c:t:S:lo:p:h option; do
	case $option in
	c | t) wanted+=("$OPTARG") ;;
	S) skipped+=("$OPTARG") ;;
	l) list_only=yes ;;
	o) export kselftest_override_timeout=$OPTARG ;;
	p) per_test_logs=$OPTARG ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done

[ "${#wanted[@]}" -eq 0 ] || check_names "${wanted[@]}"
if [ -n "$list_only" ]; then
	selected
	exit 0
fi

status=0
for collection in $(selected | cut -d: -f1 | uniq); do
	run_collection "$collection" || status=1
done
exit "$status"
