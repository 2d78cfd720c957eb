#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# suite-root.sh SUITE: print a directory with a small system of that Debian
# suite: its rdma-core, the tests that rdma-core ships, and a compiler. It is
# made in the cache from the archive that the machine's own apt uses; nothing is
# installed on the machine. in-root.sh runs commands there.
#
# It stays as it is until it is removed from the cache, whatever newer versions
# the suite gets.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

PACKAGES=(gcc libc6-dev libibverbs-dev
	  python3 python3-pyverbs rdma-core ibverbs-providers librdmacm1
	  ibverbs-utils rdmacm-utils perftest iproute2)

join()
{
	local IFS=,

	printf '%s\n' "$*"
}

# How the machine's own apt gets at the archive: by a proxy, however old it is.
fetch_options()
{
	apt-config dump | grep -iE '^Acquire::(Check-|https?::|Retries)' || true
}

make_root()
{
	local entry=$1 line

	[ ! -e "$entry.complete" ] || return 0
	"$here/setup.sh" root
	line=$("$here/suite-apt.sh" line "$suite")
	say "set-up: making a root directory of $suite, with rdma-core"
	mkdir -p "$(dirname "$entry")"
	rm -rf "$entry"
	fetch_options >"$entry.apt.conf"
	log_run "mmdebstrap ($suite)" mmdebstrap --mode=root \
		--variant=essential --include="$(join "${PACKAGES[@]}")" \
		--aptopt="$entry.apt.conf" "$suite" "$entry" "$line"
	rm -f "$entry.apt.conf"
	touch "$entry.complete"
}

[ $# -eq 1 ] || die "usage: suite-root.sh SUITE"
suite=$1
entry=$PANE_CACHE/root/$suite-$(hash_of "${BASH_SOURCE[0]}")

with_lock "root-$suite" make_root "$entry"
printf '%s\n' "$entry"
