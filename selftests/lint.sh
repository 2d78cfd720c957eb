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

COPY=$PANE_TOP/build/lint
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

# checkpatch and the semantic patches are in no package but the kernel's whole
# source: use the newest that is unpacked, or one that is installed, and do not
# fetch one for them. Prints the directory that has `scripts`.
find_scripts()
{
	local tree tar

	tree=$(printf '%s\n' "$PANE_CACHE"/linux-source/*/tree | sort -V |
		tail -n 1)
	if [ -e "$tree/scripts/checkpatch.pl" ]; then
		echo "$tree"
		return
	fi
	for tar in /usr/src/linux-source-*.tar.xz; do
		[ -e "$tar" ] || continue
		unpack_scripts "$tar"
		return
	done
}

unpack_scripts()
{
	local dir=$PANE_CACHE/scripts/${1##*/}

	if [ ! -e "$dir/complete" ]; then
		mkdir -p "$dir"
		tar -xf "$1" -C "$dir" --strip-components=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch' \
			'*/scripts/coccinelle/*' && touch "$dir/complete"
	fi
	echo "$dir"
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
	local name=$1 lister=$2 output

	shift 2
	if [ -z "$scripts" ]; then
		ktap_test_skip "$name"
		return
	fi
	output=$("$lister" | xargs perl "$scripts/scripts/checkpatch.pl" \
		--terse --no-summary "$@" -f 2>/dev/null) ||
		output=${output:-checkpatch did not run}
	report "$name" "$output"
}

check_checkpatch()
{
	# --strict, and what is ignored, is in .checkpatch.conf
	run_checkpatch "checkpatch --strict, kernel" kernel_files
	# errno values are positive there, types those of C, and memory that
	# a peer writes is volatile
	run_checkpatch "checkpatch --strict, user space" user_files --ignore \
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

# The one that the kernel at hand is documented with. From 6.7 on warnings have
# options; before, -v asks for those about what a function returns, and the text
# of a function without parameters is taken for something misplaced.
check_kernel_doc()
{
	local tool=$KDIR/scripts/kernel-doc option=-v output

	if [ ! -x "$tool" ]; then
		ktap_test_skip "kernel-doc"
		return
	fi
	if "$tool" -h 2>&1 | grep -q -e -Wall; then
		option=-Wall
	fi
	output=$(kernel_files | xargs "$tool" -none "$option" 2>&1) ||
		output+=$'\nkernel-doc did not run'
	report "kernel-doc" "$(grep -v -e '^[^ ]*: info: ' \
		-e ': contents before sections$' -e '^[0-9]* warnings$' \
		<<<"$output")"
}

# Semantic patches that report; one calls a compiler of OCaml, which is not
# worth its size.
semantic_patches()
{
	find "$scripts/scripts/coccinelle" -name '*.cocci' -print0 |
		xargs -0 grep -lE 'virtual[[:space:]]+report' |
		xargs grep -LE '^@(script|initialize):ocaml' | sort
}

# As the kernel's scripts/coccicheck does it, which wants a configured tree
run_semantic_patch()
{
	local option

	read -r -a option < <(sed -n 's/.*Options: *//p' "$1")
	spatch -D report --no-show-diff --very-quiet --cocci-file "$1" \
		"${option[@]}" -I "$COPY/include/uapi" --dir "$COPY/$MODULE" \
		--jobs "$(nproc)" --chunksize 1 2>&1 |
		grep -v '^warning: line [0-9]*: should .* be a metavariable' |
		sed "s|$COPY/||"
}

check_coccinelle()
{
	local patch

	if [ -z "$scripts" ] || ! command -v spatch >/dev/null; then
		ktap_test_skip "coccicheck"
		return
	fi
	report "coccicheck" "$(semantic_patches | while read -r patch; do
		run_semantic_patch "$patch"
	done)"
}

# Prints the lines about our own files; the kernel's headers have warnings of
# their own. Of a build that fails, all lines count.
build_in_copy()
{
	local log=$COPY/log

	if ! make -C "$KDIR" M="$COPY" -j"$(nproc)" W=1 "$@" modules \
			>"$log" 2>&1; then
		tail -n 20 "$log"
		return
	fi
	grep -E "(warning|error|WARNING|ERROR):? " "$log" |
		grep -F "$MODULE" | sed "s|$COPY/||"
}

check_warnings()
{
	report "no warnings from gcc with W=1" "$(build_in_copy)"
}

# C=2 checks what is compiled already, so compiles nothing again.
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

# Debian's kernel is configured for gcc. These options are for the Makefiles
# only and take out what clang has not; objtool then must not look for it.
CLANG=(CC=clang CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y
       CONFIG_RETHUNK= CONFIG_MITIGATION_RETHUNK=
       CONFIG_SLS= CONFIG_MITIGATION_SLS=
       CONFIG_FTRACE_MCOUNT_USE_CC= CONFIG_INIT_STACK_ALL_ZERO=
       CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
       KCFLAGS=-Wno-unknown-warning-option)

check_clang()
{
	if ! command -v clang >/dev/null; then
		ktap_test_skip "no warnings from clang with W=1"
		ktap_test_skip "clang analyzer"
		return
	fi
	report "no warnings from clang with W=1" \
		"$(build_in_copy "${CLANG[@]}")"
	report "clang analyzer" "$(build_in_copy "${CLANG[@]}" C=2 \
		CHECK="clang --analyze --analyzer-output text" CHECKFLAGS=)"
}

cd "$PANE_TOP" || exit 1
: "${KDIR:?}"
scripts=$(find_scripts)
ktap_print_header
ktap_set_plan 10
check_checkpatch
check_codespell
check_shellcheck
check_kernel_doc
# objects of the checks stay out of the tree
rm -rf "$COPY"
copy_sources "$COPY" Kbuild drivers include
check_coccinelle
check_warnings
check_sparse
check_clang
rm -rf "$COPY"
ktap_finished
