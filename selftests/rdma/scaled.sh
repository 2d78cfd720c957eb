# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Less work, and more time for it, on machines that emulate their processor and
# kernels that check all that they do.

is_slow()
{
	[ "${KSFT_MACHINE_SLOW:-}" = yes ] || [ -e /sys/kernel/debug/kmemleak ]
}

# scaled FAST SLOW: the one for this machine
scaled()
{
	if is_slow; then echo "$2"; else echo "$1"; fi
}
