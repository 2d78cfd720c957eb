# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# A kernel's configuration, made of fragments. Source it after lib.sh.

# kconfig_options FRAGMENT...: all options of the fragments; where two of them
# disagree, the later one is right.
kconfig_options()
{
	awk -F= '/^CONFIG_[A-Za-z0-9_]*=/ { line[$1] = $0 }
		END { for (name in line) print line[name] }' "$@" | sort
}

# kconfig_newest_options FRAGMENT...: the fragments are also for older series, which
# had an option more.
kconfig_newest_options()
{
	kconfig_options "$@" | grep -v '^CONFIG_PROC_SYSCTL='
}

# kconfig_make BUILD-DIR OPTIONS-FILE MAKE-COMMAND...: nothing but these options
# and what they select. Those with unmet dependencies vanish silently, so what is
# left is compared with what was wanted.
kconfig_make()
{
	local dir=$1 wanted=$2 lost

	shift 2
	log_run configuration "$@" KCONFIG_ALLCONFIG="$wanted" allnoconfig
	lost=$(grep -vxF -f "$dir/.config" "$wanted" || true)
	[ -z "$lost" ] || die "options that did not survive: ${lost//$'\n'/ }"
}
