#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# in-tree-source.sh: put the driver, its header and its tests into a kernel's
# sources, as a patch would, and print a directory:
#   tree        the sources; all that is not ours are links to the files of
#               linux-source, and nothing there is ever edited in place
# Whoever builds from it puts what is made beside `tree`, where it serves the
# next time, and holds the lock `in-tree` meanwhile.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

SERIES=${PANE_IN_TREE_SERIES:-7.3}
SW=drivers/infiniband/sw
TESTS=tools/testing/selftests/rdma

link_tree()
{
	[ ! -e "$entry/complete" ] || return 0
	say "in-tree: linking the sources of linux-source-$SERIES"
	rm -rf "$entry"
	mkdir -p "$entry"
	cp -al "$source" "$entry/tree"
	touch "$entry/complete"
}

# replace FILE: by standard input, as a file of its own, unless it is the same
replace()
{
	local file=$entry/tree/$1

	cat >"$file.new"
	if cmp -s "$file.new" "$file"; then
		rm "$file.new"
	else
		mv "$file.new" "$file"
	fi
}

# The lines that a patch would add, behind those of rdma_rxe
add_driver()
{
	copy_sources "$entry/tree" drivers include
	sed "\\|^source .*$SW/rxe/Kconfig|i source \"$SW/pane/Kconfig\"" \
		"$source/drivers/infiniband/Kconfig" |
		replace drivers/infiniband/Kconfig
	# shellcheck disable=SC2016 # make expands it
	sed '/rxe\//i obj-$(CONFIG_INFINIBAND_PANE)	+= pane/' \
		"$source/$SW/Makefile" | replace "$SW/Makefile"
}

# Our collection and the kernel's own are one there.
add_tests()
{
	copy_sources "$entry/tree/tools/testing" selftests/rdma
	{
		sed '/^include /,$d' "$PANE_TOP/selftests/rdma/Makefile"
		sed -e '/^#/d' -e '/^include /d' -e 's/:=/+=/' \
			"$source/$TESTS/Makefile"
		sed -n '/^include /,$p' "$PANE_TOP/selftests/rdma/Makefile"
	} | replace "$TESTS/Makefile"
	sort -u "$PANE_TOP/selftests/rdma/config" "$source/$TESTS/config" |
		replace "$TESTS/config"
}

source=$("$here/linux-source.sh" "$SERIES")
entry=$PANE_CACHE/in-tree/$SERIES-$(hash_of "$source/Makefile")
link_tree
add_driver
add_tests
printf '%s\n' "$entry"
