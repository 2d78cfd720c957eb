#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# provider.sh [SOURCE-DIR [OUT-DIR [ROOT]]]: compile the user-space provider into
# a library that libibverbs can load without installing it. With ROOT it is for
# the rdma-core below that directory, by the compiler there (suite-root.sh).

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

src=${1:-$PANE_TOP/user-provider}
out=${2:-$PANE_TOP/build/provider}
root=${3:-}
read -r -a compiler <<<"${CC:-gcc}"
[ -z "$root" ] || compiler=("$here/in-root.sh" "$root" gcc)

CFLAGS=(-O2 -g -fPIC -fvisibility=hidden -std=gnu11
	-Wall -Wextra -Werror -Wno-sign-compare -Wno-unused-parameter
	-Wmissing-prototypes -Wmissing-declarations -Wstrict-prototypes
	-Wwrite-strings -Wformat=2 -Wshadow)

# rdma-core's build turns the structs of a uapi header into macros, so that a
# provider can embed them; the same is done for this driver's header.
make_abi_wrapper()
{
	local uapi=$PANE_TOP/include/uapi/rdma/pane-abi.h

	mkdir -p "$out/include/kernel-abi"
	[ -e "$uapi" ] || return 0
	python3 "$core/make_abi_structs.py" "$uapi" \
		"$out/include/kernel-abi/pane-abi.h"
}

pabi_of()
{
	sed -n 's/^#define IBVERBS_PABI_VERSION //p' "$core/include/config.h"
}

# Younger libraries have a FLUSH. Without -q, which would end the compiler and
# the pipe with it.
flush_exists()
{
	echo '#include <infiniband/verbs.h>' | "${compiler[@]}" -E - |
		grep IBV_QP_EX_WITH_FLUSH >/dev/null
}

# The library gets its final name only when whole: a running program may have
# the old one mapped.
link_library()
{
	local lib=$1

	if flush_exists; then
		CFLAGS+=(-DHAVE_IBV_WR_FLUSH)
	fi
	printf '{ local: *; };\n' >"$out/provider.map"
	"${compiler[@]}" "${CFLAGS[@]}" ${EXTRA_CFLAGS:+$EXTRA_CFLAGS} -shared \
		-I "$src" -I "$out/include" -I "$PANE_TOP/include/uapi" \
		-isystem "$core/include" \
		-Wl,--no-undefined -Wl,--as-needed \
		-Wl,--version-script,"$out/provider.map" \
		-o "$lib.tmp" "$src"/*.c -libverbs -lpthread
	mv "$lib.tmp" "$lib"
}

# up_to_date FILE: is it younger than everything it is made from?
up_to_date()
{
	[ -e "$1" ] && [ -z "$(find "$src" "$PANE_TOP/include/uapi" "$core" \
		${root:+"$root/var/lib/dpkg/status"} "${BASH_SOURCE[0]}" \
		-type f -newer "$1" -print -quit 2>/dev/null)" ]
}

ls "$src"/*.c >/dev/null 2>&1 || die "no sources in $src"
core=$("$here/rdma-core-headers.sh" "$root")
lib=$out/libpane-rdmav$(pabi_of).so
mkdir -p "$out"
if ! up_to_date "$lib"; then
	make_abi_wrapper
	link_library "$lib"
fi
if [ -e "$src/pane.driver" ]; then
	cp "$src/pane.driver" "$out/"
else
	printf 'driver pane\n' >"$out/pane.driver"
fi
say "provider: $lib"
