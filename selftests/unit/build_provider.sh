#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build_provider.sh PROGRAM SOURCE...: compile a test of the provider together
# with the provider, as `make provider` compiles it. CC, CFLAGS and LDLIBS come
# from the environment. Without the packages that `make provider` needs, the
# program is one that says so and skips.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../setup/lib.sh"

program=$1
shift
provider=$PANE_TOP/user-provider
uapi=$PANE_TOP/include/uapi
abi=$program.include
read -ra compiler <<<"${CC:-cc}"

have_verbs()
{
	"${compiler[@]}" -E -x c - </dev/null -include infiniband/verbs.h \
		>/dev/null 2>&1
}

# Old, so that make tries again next time
write_skip()
{
	printf '#!/bin/sh\necho "1..0 # SKIP %s"\nexit 4\n' "$1" >"$program"
	chmod +x "$program"
	touch -d @0 "$program"
	exit 0
}

have_verbs || write_skip "no headers of libibverbs"
core=$("$here/../setup/rdma-core-headers.sh" 2>/dev/null) ||
	write_skip "no private headers of rdma-core"

# As provider.sh does
have_flush()
{
	"${compiler[@]}" -E -x c - </dev/null -include infiniband/verbs.h |
		grep IBV_QP_EX_WITH_FLUSH >/dev/null
}

flush=
have_flush && flush=-DHAVE_IBV_WR_FLUSH
mkdir -p "$abi/kernel-abi"
python3 "$core/make_abi_structs.py" "$uapi/rdma/pane-abi.h" \
	"$abi/kernel-abi/pane-abi.h"
# shellcheck disable=SC2086 # lists of options
"${compiler[@]}" ${CFLAGS:-} $flush -I "$provider" -I "$abi" -I "$uapi" \
	-isystem "$core/include" -o "$program" "$@" "$provider"/*.c \
	-libverbs ${LDLIBS:-}
