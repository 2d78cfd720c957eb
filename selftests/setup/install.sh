#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Install what has been built: the module for KVER (built in KDIR), the provider
# and its configuration, the manual pages. DESTDIR is put before every path, for
# packages; depmod is then left to whoever unpacks them.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${KVER:?}" "${KDIR:?}"
DESTDIR=${DESTDIR:-}

install_module()
{
	make -C "$KDIR" M="$PANE_TOP" INSTALL_MOD_PATH="$DESTDIR" \
		INSTALL_MOD_DIR=updates modules_install
	[ -n "$DESTDIR" ] || depmod "$KVER"
}

install_provider()
{
	local libdir

	libdir=$DESTDIR/usr/lib/$(gcc -print-multiarch)/libibverbs
	install -D -t "$libdir" "$PANE_TOP"/build/provider/libpane-rdmav*.so
	install -D -m 644 -t "$DESTDIR/etc/libibverbs.d" \
		"$PANE_TOP/build/provider/pane.driver"
}

# pane.7 goes to man7 and so on.
install_manual_pages()
{
	local page

	for page in "$PANE_TOP"/user-provider/man/*.[1-9] \
		    "$PANE_TOP"/user-provider/*.[1-9]; do
		[ -e "$page" ] || continue
		install -D -m 644 -t "$DESTDIR/usr/share/man/man${page##*.}" \
			"$page"
	done
}

install_module
install_provider
install_manual_pages
