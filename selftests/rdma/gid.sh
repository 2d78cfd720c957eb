# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The GIDs that a device has for its addresses: two for each address of a device
# that speaks both versions of RoCE, in no certain order.

# The eight groups of an IPv6 address, four digits each
expand_ip6()
{
	local head=${1%%::*} tail='' zeros=8 group
	local -a left right

	[[ $1 == *::* ]] && tail=${1#*::}
	IFS=: read -ra left <<<"$head"
	IFS=: read -ra right <<<"$tail"
	zeros=$((8 - ${#left[@]} - ${#right[@]}))
	for group in "${left[@]}"; do printf ':%04x' "0x$group"; done
	for ((; zeros > 0; zeros--)); do printf ':0000'; done
	for group in "${right[@]}"; do printf ':%04x' "0x$group"; done
}

# gid_of ADDRESS: as sysfs writes it
gid_of()
{
	local gid
	local -a bytes

	if [[ $1 == *:* ]]; then
		gid=$(expand_ip6 "$1")
		echo "${gid#:}"
	else
		IFS=. read -ra bytes <<<"$1"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' \
			"${bytes[@]}"
	fi
}

# gid_index_here DEVICE ADDRESS [v1|v2 [INTERFACE]]: number of the RoCE v2 GID, or
# of the one of RoCE v1, and of the one that is on an interface; false if there is
# none
gid_index_here()
{
	local port=/sys/class/infiniband/$1/ports/1 wanted gid='' type='' i
	local wanted_type="RoCE v2" interface=''

	[ "${3:-}" = v1 ] && wanted_type="IB/RoCE v1"
	wanted=$(gid_of "$2")
	for ((i = 0; i < 32; i++)); do
		read -r gid <"$port/gids/$i" || return
		[ "$gid" = "$wanted" ] || continue
		read -r type <"$port/gid_attrs/types/$i" || continue
		read -r interface <"$port/gid_attrs/ndevs/$i" || continue
		if [ "$type" = "$wanted_type" ] &&
			[ "${4:-$interface}" = "$interface" ]; then
			echo "$i"
			return
		fi
	done 2>/dev/null
	return 1
}

# for shells in other namespaces
export -f expand_ip6 gid_of gid_index_here
