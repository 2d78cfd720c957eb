#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# check-rdma-core.sh [OPTION-OF-THE-RUNNER...]: the tests that rdma-core ships,
# with each of several of its versions on each of several of Debian's kernels,
# one guest for each pair. Ends with a table of how many passed, failed and were
# skipped, and with status 1 when anything failed. pane_pyverbs.sh has the tests.
#
# In the same guests, with versions that are not the machine's own, pane_rxe.sh
# runs what of its tests the machine's own version is too old for.
#
#   PANE_CHECK_KERNELS  versions of kernels (default: the machine's own, the
#                       newest of trixie and of trixie-backports)
#   PANE_CHECK_SUITES   suites whose rdma-core it is (default: the machine's
#                       own, trixie, sid)

set -u
. "$(dirname "${BASH_SOURCE[0]}")/setup/lib.sh"

SETUP=$PANE_TOP/selftests/setup
OUT=$PANE_TOP/build/check-rdma-core
# where the guest's processor is emulated
CELL_SECONDS=1500
PEER_SECONDS=600

kernels()
{
	"$SETUP/kver.sh"
	"$SETUP/debian-kernel.sh" --latest trixie
	"$SETUP/debian-kernel.sh" --latest trixie-backports
}

suites()
{
	printf '%s\n' "$("$SETUP/suite-apt.sh" own)" trixie sid
}

# once LINE...: each line in its first place only
once()
{
	awk '!seen[$0]++'
}

# root_of SUITE: nothing for the machine's own, which is in place
root_of()
{
	[ "$1" = "$("$SETUP/suite-apt.sh" own)" ] || "$SETUP/suite-root.sh" "$1"
}

core_version()
{
	# shellcheck disable=SC2016 # dpkg-query expands it
	dpkg-query --root="$1/" -W -f '${source:Upstream-Version}\n' rdma-core
}

# make_peer ROOT DIRECTORY: pane_peer, for the rdma-core below that root
make_peer()
{
	make -s -C "$PANE_TOP/selftests/rdma" OUTPUT="$2" \
		CC="$SETUP/in-root.sh $1 gcc" \
		LDLIBS="-libverbs -lpthread -lm" "$2/pane_peer"
}

# run_tests KERNEL ROOT PROVIDER RESULTS: the status of the guest
run_tests()
{
	local kernel=$1 root=$2 provider=$3 results=$4
	local -a tests=(-t rdma:pane_pyverbs.sh)

	[ -z "$root" ] || tests+=(-t rdma:pane_rxe.sh)
	PANE_CORE_ROOT=$root PANE_CORE_PROVIDER=$provider/libpane \
	PANE_CORE_PEER=$provider/pane_peer \
	kselftest_override_timeout=$CELL_SECONDS \
		"$PANE_TOP/selftests/vm/run" "${options[@]}" \
		--kernel "$kernel" --results "$results" \
		--timeout $((CELL_SECONDS + PEER_SECONDS)) -- \
		"$PANE_TOP/build/selftests/run_kselftest.sh" \
		"${tests[@]}" >"$results/tap"
}

# counts FILE: "passed/failed/skipped", or nothing if it did not come to that
counts()
{
	sed -n 's/.*of all tests \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1\/\2\/\3/p' "$1"
}

# Beside the tests there is what they leave behind, and the kernel's log.
show_failure()
{
	local name=$1 status=$2 results=$3

	say "check: FAILED with status $status: $name; see $results"
	grep -aE '^[# ]*not ok|: (fail|skip|not there)' "$results/tap" |
		head -n 40 >&2
}

# run_cell KERNEL SUITE ROOT VERSION: appends a line to the table's file
run_cell()
{
	local kernel=$1 suite=$2 root=$3 version=$4 status=0 results cell

	results=$OUT/$kernel-$version
	mkdir -p "$results"
	say "check: Linux $kernel, rdma-core $version"
	run_tests "$kernel" "$root" "$PANE_TOP/build/provider-$suite" \
		"$results" || status=$?
	cell=$(counts "$results/tap")
	if [ "$status" -ne 0 ] || [ -z "$cell" ]; then
		show_failure "Linux $kernel, rdma-core $version" "$status" \
			"$results"
		failed=1
		cell="${cell:-no result} FAILED"
	fi
	printf '%s|%s|%s\n' "$kernel" "$version" "$cell" >>"$OUT/cells"
}

run_suite()
{
	local suite=$1 provider=$PANE_TOP/build/provider-$1
	local root version kernel

	if ! root=$(root_of "$suite") ||
	   ! "$SETUP/provider.sh" "$PANE_TOP/user-provider" "$provider" \
			"$root" ||
	   { [ -n "$root" ] && ! make_peer "$root" "$provider"; }; then
		say "check: FAILED: nothing to run of $suite"
		failed=1
		return
	fi
	version=$(core_version "$root")
	for kernel in "${kernels[@]}"; do
		run_cell "$kernel" "$suite" "$root" "$version"
	done
}

print_table()
{
	echo "rdma-core's tests on pane, passed/failed/skipped:"
	awk -F'|' '
		!($1 in row) { row[$1]; kernel[++rows] = $1 }
		!($2 in column) { column[$2]; version[++columns] = $2 }
		{ cell[$1, $2] = $3 }
		END {
			printf "%-28s", "Linux"
			for (c = 1; c <= columns; c++)
				printf " %-18s", "rdma-core " version[c]
			print ""
			for (r = 1; r <= rows; r++) {
				printf "%-28s", kernel[r]
				for (c = 1; c <= columns; c++)
					printf " %-18s", \
						cell[kernel[r], version[c]]
				print ""
			}
		}' "$OUT/cells"
}

options=("$@")
failed=0
rm -rf "$OUT"
mkdir -p "$OUT"
read -r -d '' -a kernels < <(echo "${PANE_CHECK_KERNELS:-$(kernels)}")
read -r -d '' -a suites < <(echo "${PANE_CHECK_SUITES:-$(suites)}")
mapfile -t kernels < <(printf '%s\n' "${kernels[@]}" | once)
mapfile -t suites < <(printf '%s\n' "${suites[@]}" | once)
[ "${#kernels[@]}" -gt 0 ] || die "no kernels"
for suite in "${suites[@]}"; do
	run_suite "$suite"
done
[ -s "$OUT/cells" ] || die "nothing was run"
print_table
exit "$failed"
