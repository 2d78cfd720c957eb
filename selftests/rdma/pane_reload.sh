#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Numbers that the driver hands out are others when it is loaded again, and those
# that connections begin with do not tell the next.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

# numbers NAME: all that pane_numbers prints
numbers()
{
	in_a timeout "$TOOL_SECONDS" ./pane_numbers "$DEV_A" "$IP4_A" \
		>"$OUT/$1" || complain "no numbers"
}

# numbers_of KIND NAME
numbers_of()
{
	awk -v kind="$1" '$1 == kind { print $2 }' "$OUT/$2"
}

begin()
{
	stage_up && numbers before
}

reload()
{
	wait_until refcount_is_zero && modprobe -r rdma_pane &&
		! [ -d /sys/module/rdma_pane ] && devices_up && numbers after
}

# Of 256 each, chance makes two the same once in 256 times, and three hardly ever.
others_after_reload()
{
	local same

	[ "$(numbers_of "$1" before | sort -u | wc -l)" -gt 0 ] || return
	same=$(comm -12 <(numbers_of "$1" before | sort -u) \
		<(numbers_of "$1" after | sort -u) | wc -l)
	[ "$same" -lt 3 ] || complain "$same of them are the same"
}

# All different, and no step between them is there twice
psns_unpredictable()
{
	local psns i

	mapfile -t psns < <(numbers_of psn before)
	[ "${#psns[@]}" -ge 64 ] || return
	{
		for ((i = 2; i < ${#psns[@]}; i++)); do
			echo "step $(((0x${psns[i]} - 0x${psns[i - 2]}) & 0xffffff))"
			echo "step $(((0x${psns[i]} - 0x${psns[i - 1]}) & 0xffffff))"
			echo "psn ${psns[i]}"
		done
	} >"$OUT/steps"
	[ "$(sort -u "$OUT/steps" | wc -l)" -gt $(($(wc -l <"$OUT/steps") - 3)) ] ||
		complain "PSNs or their steps are the same: ${psns[*]}"
}

ktap_print_header
need_pane
! is_built_in || skip_all "the driver is built in"
cleanup_at_exit
ktap_set_plan 6
begin || ktap_exit_fail_msg "no devices"
ktap_test_result "first PSNs of rdma_cm: all different, no constant stride" \
	psns_unpredictable
reload || ktap_exit_fail_msg "no devices after the reload"
ktap_test_result "keys of type 1 windows: others after a reload" \
	others_after_reload mw1
ktap_test_result "keys of type 2 windows: others after a reload" \
	others_after_reload mw2
ktap_test_result "keys of regions: others after a reload" others_after_reload mr
ktap_test_result "QP numbers: others after a reload" others_after_reload qp
ktap_test_result "nothing is left behind" nothing_left
ktap_finished
