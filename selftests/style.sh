#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Static checks of everything in the tree, reported in KTAP. What a check needs
# and the machine lacks makes it skip.
#
#   KDIR  build tree of the kernel to compile for

set -u
. "$(dirname "${BASH_SOURCE[0]}")/setup/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/kselftest/ktap_helpers.sh"

COPY=$PANE_TOP/build/style
MODULE=drivers/infiniband/sw/pane

# Tracepoints are written in a layout of their own.
kernel_files()
{
	find drivers include -name '*.[ch]' ! -name '*.mod.c' \
		! -name trace.h ! -name features.h | sort
}

# The shims define what checkpatch would have everybody use.
user_files()
{
	find user-provider selftests -name '*.[ch]' \
		! -path 'selftests/unit/shim/*' | sort
}

shell_files()
{
	{
		find selftests .ci -name '*.sh'
		grep -rlE '^#!/bin/(ba|busybox )?sh' selftests .ci
	} | sort -u
}

text_files()
{
	kernel_files
	user_files
	shell_files
	find Documentation README.md Makefile Kbuild selftests -type f \
		! -name '*.pyc' 2>/dev/null
}

# checkpatch is in no package but the kernel's whole source: use one that is
# unpacked or installed already, and do not fetch one for it.
find_checkpatch()
{
	local tree tar

	for tree in "$PANE_CACHE"/linux-source/*/tree; do
		if [ -e "$tree/scripts/checkpatch.pl" ]; then
			echo "$tree/scripts/checkpatch.pl"
			return
		fi
	done
	for tar in /usr/src/linux-source-*.tar.xz; do
		[ -e "$tar" ] || continue
		unpack_checkpatch "$tar"
		return
	done
}

unpack_checkpatch()
{
	local dir=$PANE_CACHE/checkpatch/${1##*/}

	if [ ! -e "$dir/scripts/checkpatch.pl" ]; then
		mkdir -p "$dir"
		tar -xf "$1" -C "$dir" --strip-components=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch'
	fi
	echo "$dir/scripts/checkpatch.pl"
}

# report NAME OUTPUT: an empty output is a pass
report()
{
	if [ -z "$2" ]; then
		ktap_test_pass "$1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		ktap_test_fail "$1"
	fi
}

# run_checkpatch NAME LISTER [OPTION...]: of the files that LISTER prints
run_checkpatch()
{
	local name=$1 lister=$2 checkpatch output

	shift 2
	checkpatch=$(find_checkpatch)
	if [ -z "$checkpatch" ]; then
		ktap_test_skip "$name"
		return
	fi
	output=$("$lister" | xargs perl "$checkpatch" --terse --no-summary "$@" \
		-f 2>/dev/null) || output=${output:-checkpatch did not run}
	report "$name" "$output"
}

check_checkpatch()
{
	run_checkpatch "checkpatch, kernel" kernel_files
	# errno values are positive there, types those of C, and memory that
	# a peer writes is volatile
	run_checkpatch "checkpatch, user space" user_files --ignore \
		PREFER_KERNEL_TYPES,USE_NEGATIVE_ERRNO,PREFER_DEFINED_ATTRIBUTE_MACRO,VOLATILE,STRCPY,EMBEDDED_FUNCTION_NAME
	# its own cache, left where it ran
	rm -f .checkpatch-camelcase.*
}

check_codespell()
{
	if ! command -v codespell >/dev/null; then
		ktap_test_skip "codespell"
		return
	fi
	report "codespell" "$(text_files | sort -u | xargs codespell -L iif 2>&1)"
}

check_shellcheck()
{
	if ! command -v shellcheck >/dev/null; then
		ktap_test_skip "shellcheck"
		return
	fi
	report "shellcheck" "$(shell_files | xargs shellcheck -f gcc 2>&1)"
}

# Prints the lines about our own files; the kernel's headers have warnings of
# their own. Of a build that fails, all lines count.
build_in_copy()
{
	local log=$COPY/log

	if ! make -C "$KDIR" M="$COPY" -j"$(nproc)" "$@" modules \
			>"$log" 2>&1; then
		tail -n 20 "$log"
		return
	fi
	grep -E "(warning|error|WARNING|ERROR):? " "$log" |
		grep -F "$MODULE" | sed "s|$COPY/||"
}

check_warnings()
{
	report "no warnings from the compiler with W=1" "$(build_in_copy W=1)"
}

check_sparse()
{
	if ! command -v sparse >/dev/null; then
		ktap_test_skip "sparse"
		return
	fi
	# newer kernels have no annotations of locks for sparse any more
	report "sparse" "$(build_in_copy C=2 \
		CF="-D__CHECK_ENDIAN__ -Wno-context")"
}

cd "$PANE_TOP" || exit 1
: "${KDIR:?}"
ktap_print_header
ktap_set_plan 6
check_checkpatch
check_codespell
check_shellcheck
# objects of the checks stay out of the tree
rm -rf "$COPY"
copy_sources "$COPY" Kbuild drivers include
check_warnings
check_sparse
rm -rf "$COPY"
ktap_finished
