#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# in-root.sh ROOT COMMAND...: run a command in the same directory, as root, with
# another root directory. The tree, the cache and /tmp have the paths there that
# they have outside. Mounts are seen by the command only; what stays is an empty
# directory for each.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What is mounted below them comes along: /dev/shm, the sysfs of a namespace.
show_inside()
{
	local dir

	for dir in "$PANE_TOP" "$PANE_CACHE" /tmp /dev /proc /sys; do
		[ -d "$dir" ] || continue
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
}

[ $# -ge 2 ] || die "usage: in-root.sh ROOT COMMAND..."
if [ "${PANE_IN_ROOT:-}" != "$1" ]; then
	PANE_IN_ROOT=$1 exec unshare --mount "$0" "$@"
fi
unset PANE_IN_ROOT
root=$1
shift
show_inside
PATH=/usr/sbin:/usr/bin exec chroot "$root" env -C "$PWD" "$@"
