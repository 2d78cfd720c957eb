#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# runner.sh COLLECTION DIRECTORY TEST...: run tests one after the other and
# print an outer TAP stream; what a test prints itself goes below it, each line
# after "# ". The directory's `settings` may hold timeout=SECONDS. Exit status 1
# when a test has failed.
#
#   kselftest_override_timeout  seconds, instead of the collection's own
#   per_test_logs               directory for a copy of each test's output

DEFAULT_TIMEOUT=45
# what a test gets to tidy up after SIGTERM
KILL_AFTER=20

settings_timeout()
{
	local value

	value=$(sed -n 's/^timeout=\([0-9]*\)$/\1/p' "$1/settings" 2>/dev/null)
	printf '%s\n' "${value:-$DEFAULT_TIMEOUT}"
}

# So that lines of the kernel's log can be put down to a test.
mark_kernel_log()
{
	if [ -w /dev/kmsg ]; then
		echo "kselftest: running $1" >/dev/kmsg
	fi 2>/dev/null
}

tee_log()
{
	if [ -n "$per_test_logs" ]; then
		mkdir -p "$per_test_logs"
		tee "$per_test_logs/$1"
	else
		cat
	fi
}

# The outer result line, from a test's exit status.
print_result()
{
	local number=$1 name=$2 status=$3

	case $status in
	0) echo "ok $number $name" ;;
	2) echo "ok $number $name # XFAIL" ;;
	3) echo "not ok $number $name # XPASS" ;;
	4) echo "ok $number $name # SKIP" ;;
	124 | 137) echo "not ok $number $name # TIMEOUT $timeout seconds" ;;
	*) echo "not ok $number $name # exit=$status" ;;
	esac
}

# run_one NUMBER PATH: in the test's own directory
run_one()
{
	local number=$1 path=$2 base name status

	base=${path##*/}
	name="selftests: $collection: $base"
	echo "# $name"
	if [ ! -x "$path" ]; then
		echo "not ok $number $name # not executable"
		return 1
	fi
	mark_kernel_log "$collection:$base"
	(cd "${path%/*}" && exec timeout --kill-after="$KILL_AFTER" "$timeout" \
		"./$base" </dev/null 2>&1) |
		tee_log "$collection-$base" | sed -u 's/^/# /'
	status=${PIPESTATUS[0]}
	print_result "$number" "$name" "$status"
	[[ $status =~ ^[024]$ ]]
}

collection=$1
directory=$2
shift 2
timeout=${kselftest_override_timeout:-$(settings_timeout "$directory")}
failed=0
number=0

echo "TAP version 13"
echo "1..$#"
echo "# timeout set to $timeout"
for test in "$@"; do
	number=$((number + 1))
	run_one "$number" "$test" || failed=1
done
exit "$failed"
