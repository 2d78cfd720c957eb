#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# setup.sh GROUP...: bring what the make targets need and the machine lacks.
# Says in one line what it is about to install, and nothing when all is there.
# Packages come from the machine's own suite only. Some are unpacked below build
# instead, for the guest.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

COMPILER=(gcc make libc6-dev)
PROVIDER=("${COMPILER[@]}" libibverbs-dev libibverbs1 python3 xz-utils)
SELFTESTS=("${COMPILER[@]}" libibverbs-dev librdmacm-dev)
# What the guest runs is what this machine has, so it goes on the machine.
GUEST=(qemu-system-x86 busybox-static kmod python3 xz-utils cpio
       iproute2 ethtool iputils-ping procps
       rdma-core ibverbs-utils rdmacm-utils ibverbs-providers perftest)
TESTS=(iperf3 nftables tshark tcpdump python3-pyverbs e2fsprogs)
STACKS=(libfabric-bin ucx-utils openmpi-bin python3-mpi4py qperf fio)
LINT=(codespell sparse perl xz-utils shellcheck clang coccinelle)
KERNEL=(bc bison flex libelf-dev libssl-dev xz-utils cpio kmod dwarves)
IN_TREE=(rsync perl python3)
BENCH=(iperf3 gnuplot-nox)
# Installed, these would start services on the machine, at the latest when it
# boots: they are unpacked for the guest only.
TOOLS=(open-iscsi libisns0 libopeniscsiusr)
TOOLS_DIR=$PANE_TOP/build/tools
ROOT=(mmdebstrap debian-archive-keyring)

packages_for()
{
	case $1 in
	modules) printf '%s\n' "${COMPILER[@]}" kmod ;;
	provider) printf '%s\n' "${PROVIDER[@]}" ;;
	selftests) printf '%s\n' "${SELFTESTS[@]}" ;;
	unit) printf '%s\n' "${COMPILER[@]}" ;;
	vm) printf '%s\n' "${GUEST[@]}" ;;
	tests) printf '%s\n' "${TESTS[@]}" ;;
	stacks) printf '%s\n' "${STACKS[@]}" ;;
	lint) printf '%s\n' "${LINT[@]}" ;;
	kernel) printf '%s\n' "${COMPILER[@]}" "${KERNEL[@]}" ;;
	in-tree) printf '%s\n' "${IN_TREE[@]}" ;;
	bench) printf '%s\n' "${BENCH[@]}" ;;
	root) printf '%s\n' "${ROOT[@]}" ;;
	*) die "no such group of packages: $1" ;;
	esac
}

is_installed()
{
	# shellcheck disable=SC2016 # dpkg-query expands it
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = \
		installed ]
}

missing_of()
{
	local package

	for package in "$@"; do
		is_installed "$package" || printf '%s\n' "$package"
	done
}

# A fresh image has no package lists at all.
have_lists()
{
	[ -n "$(apt-cache show make 2>/dev/null)" ]
}

apt_quiet()
{
	DEBIAN_FRONTEND=noninteractive log_run "apt-get $1" \
		apt-get -o DPkg::Lock::Timeout=300 -q -y "$@"
}

install_packages()
{
	local -a install=(install --no-install-recommends "$@")

	say "set-up: installing $# packages with apt: $*"
	# lists that have aged name files which the mirror no longer has
	apt_quiet "${install[@]}" 2>/dev/null && return
	apt_quiet update
	apt_quiet "${install[@]}"
}

# needs_headers TARGET...: is there no kernel yet that modules can be built for?
needs_headers()
{
	[[ " $* " == *" modules "* ]] && [ -z "${KDIR:-}" ] &&
		[ -z "$(default_kver)" ]
}

# The running kernel's headers when the archive has them, else those of the
# suite's current kernel.
headers_package()
{
	if apt-cache show "linux-headers-$(uname -r)" >/dev/null 2>&1; then
		printf 'linux-headers-%s\n' "$(uname -r)"
	else
		printf 'linux-headers-%s\n' "$(dpkg --print-architecture)"
	fi
}

install_missing()
{
	local -a wanted missing

	mapfile -t wanted < <(for t in "$@"; do packages_for "$t"; done |
		sort -u)
	mapfile -t missing < <(missing_of "${wanted[@]}")
	[ "${#missing[@]}" -gt 0 ] || needs_headers "$@" || return 0

	[ "$(id -u)" -eq 0 ] ||
		die "packages are missing, install them as root: ${missing[*]}"
	if ! have_lists; then
		say "set-up: reading the package lists with apt"
		apt_quiet update
	fi
	if needs_headers "$@"; then
		missing+=("$(headers_package)")
	fi
	install_packages "${missing[@]}"
}

have_tools()
{
	[ "$(cat "$TOOLS_DIR/packages" 2>/dev/null)" = "${TOOLS[*]}" ]
}

download_tools()
{
	(cd "$1" && log_run "apt-get download" \
		apt-get -q download "${TOOLS[@]}")
}

# The programs do not need what the packages would do when they are installed.
unpack_tools()
{
	local debs=$TOOLS_DIR.debs deb

	! have_tools || return 0
	say "set-up: unpacking ${TOOLS[*]} in build/tools"
	rm -rf "$TOOLS_DIR" "$debs"
	mkdir -p "$TOOLS_DIR" "$debs"
	if ! download_tools "$debs" 2>/dev/null; then
		apt_quiet update
		download_tools "$debs"
	fi
	for deb in "$debs"/*.deb; do
		dpkg -x "$deb" "$TOOLS_DIR"
	done
	rm -rf "$debs"
	echo "${TOOLS[*]}" >"$TOOLS_DIR/packages"
}

with_lock setup install_missing "$@"
if [[ " $* " == *" tests "* ]]; then
	with_lock setup unpack_tools
fi
