# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Less work for machines that emulate their processor.

is_slow()
{
	[ "${KSFT_MACHINE_SLOW:-}" = yes ]
}

# scaled FAST SLOW: the one for this machine
scaled()
{
	if is_slow; then echo "$2"; else echo "$1"; fi
}
