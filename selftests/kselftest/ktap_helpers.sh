# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for tests written in shell that report in KTAP. The names are those
# of the kernel's helpers of the same file name. A test prints a header, sets
# its plan, reports each result, and ends with ktap_finished.

KTAP_TESTNO=1
KTAP_CNT_PASS=0
KTAP_CNT_FAIL=0
KTAP_CNT_SKIP=0
KTAP_CNT_XFAIL=0

KSFT_PASS=0
KSFT_FAIL=1
# shellcheck disable=SC2034 # for those who skip
KSFT_SKIP=4

KSFT_NUM_TESTS=0

ktap_print_header()
{
	echo "TAP version 13"
}

ktap_print_msg()
{
	echo "# $*"
}

ktap_set_plan()
{
	KSFT_NUM_TESTS=$1
	echo "1..$KSFT_NUM_TESTS"
}

# ktap_skip_all REASON...: instead of a plan, when nothing can be tested. The
# caller goes on to exit, as with the kernel's.
ktap_skip_all()
{
	echo "1..0 # SKIP $*"
}

# __ktap_result RESULT DESCRIPTION [DIRECTIVE]
__ktap_result()
{
	echo "$1 $KTAP_TESTNO $2${3:+ # $3}"
	KTAP_TESTNO=$((KTAP_TESTNO + 1))
}

ktap_test_pass()
{
	__ktap_result "ok" "$*"
	KTAP_CNT_PASS=$((KTAP_CNT_PASS + 1))
}

ktap_test_fail()
{
	__ktap_result "not ok" "$*"
	KTAP_CNT_FAIL=$((KTAP_CNT_FAIL + 1))
}

ktap_test_skip()
{
	__ktap_result "ok" "$*" SKIP
	KTAP_CNT_SKIP=$((KTAP_CNT_SKIP + 1))
}

ktap_test_xfail()
{
	__ktap_result "ok" "$*" XFAIL
	KTAP_CNT_XFAIL=$((KTAP_CNT_XFAIL + 1))
}

# ktap_test_result DESCRIPTION COMMAND...: passes when the command succeeds
ktap_test_result()
{
	local description=$1

	shift
	if "$@"; then
		ktap_test_pass "$description"
	else
		ktap_test_fail "$description"
	fi
}

# ktap_exit_fail_msg REASON...: when going on makes no sense
ktap_exit_fail_msg()
{
	echo "Bail out! $*"
	ktap_print_totals
	exit "$KSFT_FAIL"
}

ktap_print_totals()
{
	echo "# Totals: pass:$KTAP_CNT_PASS fail:$KTAP_CNT_FAIL" \
	     "xfail:$KTAP_CNT_XFAIL xpass:0 skip:$KTAP_CNT_SKIP error:0"
}

ktap_finished()
{
	local all=$((KTAP_CNT_PASS + KTAP_CNT_SKIP + KTAP_CNT_XFAIL))

	ktap_print_totals
	if [ "$KTAP_CNT_FAIL" -gt 0 ] || [ "$all" -ne "$KSFT_NUM_TESTS" ]; then
		exit "$KSFT_FAIL"
	fi
	exit "$KSFT_PASS"
}
