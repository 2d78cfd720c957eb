#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Read packages of any Debian suite without installing anything: a private apt
# configuration, with lists and cache of its own, that takes the address of the
# archive from the machine's own apt sources at run time.
#
#   suite-apt.sh candidates SUITE REGEX     package names that match
#   suite-apt.sh binary SUITE DIR PACKAGE.. download .deb files into DIR
#   suite-apt.sh source SUITE DIR PKG[=VER] download a source package into DIR
#   suite-apt.sh line SUITE                 its line in a sources.list
#   suite-apt.sh own                        the machine's own suite
#   suite-apt.sh suites                     own suite and newer, oldest first

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

LISTS_MAX_AGE_MIN=1440
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

own_suite()
{
	# shellcheck source=/dev/null
	. /etc/os-release
	printf '%s\n' "$VERSION_CODENAME"
}

# Debian's suites from bookworm on; what is older than the machine's own is of
# no use, and a suite that the archive does not have is skipped by the callers.
all_suites()
{
	printf '%s\n' bookworm trixie trixie-backports forky sid |
		sed -n "/^$(own_suite)\$/,\$p"
}

# The address of the main archive as apt itself understood it, which covers
# both .list and .sources files. Third-party and security entries do not carry
# the machine's own suite name.
archive_uri()
{
	local own uri

	own=$(own_suite)
	# shellcheck disable=SC2016 # apt expands these, not the shell
	uri=$(apt-get indextargets 'Created-By: Packages' \
		--format '$(RELEASE)|$(COMPONENT)|$(REPO_URI)' |
	      awk -F'|' -v own="$own" '
		$2 == "main" && ($1 == own || $1 ~ /^(old)*stable$|^testing$/) {
			print $3; exit }')
	[ -n "$uri" ] || die "no apt source for Debian $own is configured"
	printf '%s\n' "$uri"
}

# sources_line deb|deb-src URI SUITE
sources_line()
{
	printf '%s [signed-by=%s] %s %s main\n' "$1" "$KEYRING" "$2" "$3"
}

write_config()
{
	local suite=$1 dir=$2 uri=$3 kind

	mkdir -p "$dir"/{lists/partial,archives/partial,parts}
	for kind in deb deb-src; do
		sources_line "$kind" "$uri" "$suite"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-CONF
		Dir::State "$dir";
		Dir::State::lists "$dir/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$dir";
		Dir::Cache::archives "$dir/archives";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "$dir/parts";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "$dir/parts";
		APT::Sandbox::User "root";
		APT::Get::List-Cleanup "false";
		Acquire::Languages "none";
	CONF
}

update_lists()
{
	local suite=$1

	say "set-up: reading the package lists of $suite"
	log_run "apt-get update ($suite)" apt-get update
	touch "$PANE_CACHE/apt/$suite/updated"
}

# The lists carry the archive's dates, so their age is kept in a file.
lists_are_fresh()
{
	[ -n "$(find "$1" -maxdepth 1 -name updated \
		-mmin "-$LISTS_MAX_AGE_MIN")" ]
}

# enter_suite SUITE: from here on, apt in this shell works on that suite.
enter_suite()
{
	local suite=$1 dir uri

	uri=$(archive_uri)
	dir=$PANE_CACHE/apt/$suite
	write_config "$suite" "$dir" "$uri"
	export APT_CONFIG=$dir/apt.conf
	lists_are_fresh "$dir" || update_lists "$suite"
}

# Lists can be younger than a day and still name files that are gone.
retry_after_update()
{
	local suite=$1

	shift
	log_run "$1 $2 ${*: -1}" "$@" && return
	update_lists "$suite" && log_run "$1 $2 ${*: -1}" "$@"
}

candidates()
{
	enter_suite "$1"
	apt-cache pkgnames | grep -E -- "$2" | sort -V
}

binary()
{
	local suite=$1 dir=$2

	shift 2
	enter_suite "$suite"
	mkdir -p "$dir"
	(cd "$dir" && retry_after_update "$suite" apt-get download "$@")
}

source_package()
{
	local suite=$1 dir=$2

	shift 2
	enter_suite "$suite"
	mkdir -p "$dir"
	# Mirrors exist that lack one file of a source package; the caller looks
	# at what came and tries the next suite.
	(cd "$dir" && apt-get source --download-only "$@" >/dev/null 2>&1) ||
		true
}

usage()
{
	sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

[ $# -ge 1 ] || usage
action=$1
shift
case $action in
candidates) with_lock apt candidates "$@" ;;
binary) with_lock apt binary "$@" ;;
source) with_lock apt source_package "$@" ;;
line) sources_line deb "$(archive_uri)" "$1" ;;
own) own_suite ;;
suites) all_suites ;;
*) usage ;;
esac
