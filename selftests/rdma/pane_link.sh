#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A device's life beside that of its interface: rdma link add and delete, up and
# down, carrier, MTU, names, addresses, namespaces, and what of that is told to
# those who have the device open.

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

PORTS=/sys/class/infiniband

stage_works()
{
	wait_until gids_ready && pingpong
}

# ---- adding and deleting -----------------------------------------------

alias_loads_module()
{
	if is_built_in; then
		devices_up && need_module
		return
	fi
	modprobe -r rdma_pane && ! [ -d /sys/module/rdma_pane ] &&
		devices_up && [ -d /sys/module/rdma_pane ]
}

# Anything the core allows, and whatever other drivers are called
names_are_free()
{
	local name

	devices_down
	for name in 0 pane siw0 hfi1_0 a.b-c_D,e "a b" \
		"$(printf 'n%.0s' {1..63})"; do
		link_add "$NS_A" "$name" "$IF_A" && dev_exists "$name" &&
			ibv_devinfo -d "$name" >"$OUT/info" &&
			grep -q 'transport:.*InfiniBand' "$OUT/info" &&
			link_del "$name" && wait_until not dev_exists "$name" &&
			continue
		complain "name: $name"
		return
	done
	devices_up
}

second_add_is_refused()
{
	refused "exists" link_add "$NS_A" other "$IF_A" &&
		not dev_exists other && pingpong
}

used_name_is_refused()
{
	ip -n "$NS_A" link add "dm$$" type dummy
	refused "error" link_add "$NS_A" "$DEV_A" "dm$$"
	local status=$?

	ip -n "$NS_A" link del "dm$$"
	return "$status"
}

bad_names_are_refused()
{
	ip -n "$NS_A" link add "dm$$" type dummy
	refused "invalid" link_add "$NS_A" 'x%d' "dm$$" &&
		refused "" link_add "$NS_A" "" "dm$$"
	local status=$?

	ip -n "$NS_A" link del "dm$$"
	return "$status"
}

vlan_is_refused()
{
	ip -n "$NS_A" link add "vl$$" link "$IF_A" type vlan id 7
	refused "permitted" link_add "$NS_A" other "vl$$"
	local status=$?

	ip -n "$NS_A" link del "vl$$"
	return "$status" && not dev_exists other
}

# Interfaces that are no Ethernet, or have no address of their own
other_interfaces()
{
	local guid=

	tun_node
	ip -n "$NS_A" tuntap add "tu$$" mode tun
	link_add "$NS_A" other "tu$$" && guid=$(cat "$PORTS/other/node_guid")
	link_del other
	wait_until not dev_exists other
	ip -n "$NS_A" link del "tu$$"
	[ -n "$guid" ] && [ "$guid" != 0000:0000:0000:0000 ]
}

# A machine without udev has no node before the module is loaded.
tun_node()
{
	modprobe -q tun
	mkdir -p /dev/net
	[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
}

add_with_interface_gone()
{
	refused "" link_add "$NS_A" other nowhere && not dev_exists other
}

delete_and_add_again()
{
	devices_down && port_is_free "$NS_A" && port_is_free "$NS_B" &&
		refcount_is_zero && devices_up && pingpong
}

# What matters is who comes second, and that he leaves nothing.
rxe_has_the_port()
{
	local status=0

	devices_down
	{
		rxe_take_port &&
			refused "in use" link_add "$RXE_NS" other "$RXE_IF" &&
			not dev_exists other && refcount_is_zero
	} || status=1
	rxe_give_back
	[ "$status" -eq 0 ] && wait_until port_is_free "$NS_A" &&
		devices_up && pingpong
}

# ---- the port ----------------------------------------------------------

watch_start()
{
	stdbuf -oL ibv_asyncwatch -d "$DEV_A" >"$OUT/events" 2>&1 &
	WATCH=$!
	wait_until grep -q "event FD" "$OUT/events"
}

# times NUMBER EVENT: so often it was told
times()
{
	[ "$(grep -c "event_type.*$2\b" "$OUT/events")" -eq "$1" ]
}

watch_stop()
{
	kill "$WATCH"
	wait "$WATCH" 2>/dev/null
	sed 's/^/# event: /' "$OUT/events"
}

physical_is()
{
	local state=''

	read -r state <"$PORTS/$DEV_A/ports/1/phys_state"
	[ "${state#*: }" = "$1" ]
}

# Up and down of its own, and of the carrier. Each is told once.
port_follows_interface()
{
	local status=0

	watch_start || return
	counters_note "$DEV_A"
	ip -n "$NS_A" link set "$IF_A" down
	wait_until port_is "$DEV_A" DOWN && physical_is Disabled &&
		wait_until times 1 PORT_ERR || status=1
	ip -n "$NS_A" link set "$IF_A" up
	wait_until port_is "$DEV_A" ACTIVE && physical_is LinkUp &&
		wait_until times 1 PORT_ACTIVE || status=1
	ip -n "$NS_B" link set "$IF_B" down
	wait_until port_is "$DEV_A" DOWN && physical_is Polling &&
		wait_until times 2 PORT_ERR || status=1
	ip -n "$NS_B" link set "$IF_B" up
	wait_until port_is "$DEV_A" ACTIVE &&
		wait_until times 2 PORT_ACTIVE || status=1
	[ "$(counter_moved "$DEV_A" link_downed)" -eq 2 ] || status=1
	watch_stop
	restore_addresses
	[ "$status" -eq 0 ] && times 2 PORT_ERR && times 2 PORT_ACTIVE &&
		stage_works
}

# An interface that goes down loses its IPv6 addresses.
restore_addresses()
{
	ip -n "$NS_A" addr replace "$IP6_A/64" dev "$IF_A" nodad
	ip -n "$NS_B" addr replace "$IP6_B/64" dev "$IF_B" nodad
}

mtu_is()
{
	ibv_devinfo -d "$DEV_A" | grep -q "active_mtu:[[:space:]]*$1 "
}

# mtus INTERFACE:DEVICE...: set the one, expect the other
mtus()
{
	local pair status=0

	for pair in "$@"; do
		ip -n "$NS_A" link set "$IF_A" mtu "${pair%:*}"
		wait_until mtu_is "${pair#*:}" || complain "$pair" || status=1
	done
	ip -n "$NS_A" link set "$IF_A" mtu "$MTU"
	restore_addresses
	[ "$status" -eq 0 ] && stage_works
}

# The largest RDMA MTU that fits with its headers. Below 1280 IPv6 ends.
mtu_follows_interface()
{
	mtus 1280:1024 2143:1024 2144:2048 4191:2048 4192:4096 9000:4096 \
		400:256 607:256 608:512 1119:512 1120:1024
}

# Where people and programs look for it
netdev_is()
{
	in_a rdma link show "$DEV_A/1" | grep -q "netdev $1 " &&
		[ "$(in_a cat "$PORTS/$DEV_A/parent")" = "$1" ] &&
		[ "$(in_a cat "$PORTS/$DEV_A/ports/1/gid_attrs/ndevs/0")" = "$1" ]
}

interface_is_renamed()
{
	local status=0

	ip -n "$NS_A" link set "$IF_A" down
	ip -n "$NS_A" link set "$IF_A" name "re$$" &&
		ip -n "$NS_A" link set "re$$" up && restore_renamed &&
		wait_until netdev_is "re$$" && stage_works || status=1
	ip -n "$NS_A" link set "re$$" down
	ip -n "$NS_A" link set "re$$" name "$IF_A"
	ip -n "$NS_A" link set "$IF_A" up
	restore_addresses
	[ "$status" -eq 0 ] && wait_until netdev_is "$IF_A" && stage_works
}

restore_renamed()
{
	ip -n "$NS_A" addr replace "$IP6_A/64" dev "re$$" nodad
}

# ---- addresses ---------------------------------------------------------

addresses_are_gids()
{
	local address status=0

	for address in 10.77.9.1 fd77:9::1; do
		ip -n "$NS_A" addr add "$address/32" dev "$IF_A"
		wait_until has_gid "$DEV_A" "$address" ||
			complain "no GID: $address" || status=1
		ip -n "$NS_A" addr del "$address/32" dev "$IF_A"
		wait_until not has_gid "$DEV_A" "$address" ||
			complain "GID stays: $address" || status=1
	done
	[ "$status" -eq 0 ] && stage_works
}

# A VLAN's addresses are GIDs of the device below it, and carry traffic.
vlan_addresses_work()
{
	local status=0

	vlan_up "$NS_A" "$IF_A" 10.78.0.1 && vlan_up "$NS_B" "$IF_B" 10.78.0.2
	wait_until has_gid "$DEV_A" 10.78.0.1 &&
		wait_until has_gid "$DEV_B" 10.78.0.2 &&
		IP4_A=10.78.0.1 IP4_B=10.78.0.2 pingpong || status=1
	ip -n "$NS_A" link del "vl$$"
	ip -n "$NS_B" link del "vl$$"
	wait_until not has_gid "$DEV_A" 10.78.0.1 && [ "$status" -eq 0 ] &&
		stage_works
}

vlan_up()
{
	ip -n "$1" link add "vl$$" link "$2" type vlan id 7 &&
		ip -n "$1" addr add "$3/24" dev "vl$$" &&
		ip -n "$1" link set "vl$$" up
}

# ---- what the device says of itself ------------------------------------

# field NAME: of ibv_devinfo -v
field()
{
	sed -n "s/^[[:space:]]*$1:[[:space:]]*//p" "$OUT/info" | head -n 1
}

# Each is what the driver keeps to, and other tests try
values_wanted()
{
	cat <<EOT
transport InfiniBand (0)
vendor_id 0xffffff
phys_port_cnt 1
max_mr_size 0xffffffffffffffff
max_qp 65536
max_qp_wr 32768
max_sge 32
max_sge_rd 32
max_cq 65536
max_cqe 1048576
max_mr 1048576
max_mw 1048576
max_pd 65536
max_ah 65536
max_srq 65536
max_srq_wr 32768
max_srq_sge 32
max_qp_rd_atom 64
max_qp_init_rd_atom 64
max_res_rd_atom 4194304
atomic_cap ATOMIC_GLOB (2)
max_mcast_grp 8192
max_mcast_qp_attach 128
max_total_mcast_qp_attach 1048576
max_pkeys 1
local_ca_ack_delay 15
completion timestamp_mask 0xffffffffffffffff
hca_core_clock 1000000kHZ
max_cq_count 65535
max_cq_period 65535 us
num_comp_vectors $(getconf _NPROCESSORS_ONLN)
state PORT_ACTIVE (4)
max_mtu 4096 (5)
link_layer Ethernet
max_msg_sz 0x80000000
port_lid 0
port_lmc 0x00
pkey_tbl_len 1
gid_tbl_len 1024
max_vl_num 1 (1)
active_width 1X (1)
phys_state LINK_UP (5)
EOT
}

values_are_right()
{
	ibv_devinfo -v -d "$DEV_A" >"$OUT/info" || return
	sed 's/:[[:space:]]\+/ /; s/^[[:space:]]*//' "$OUT/info" >"$OUT/told"
	values_wanted | not grep -vxFf "$OUT/told" >"$OUT/missing" && return
	sed 's/^/# /' "$OUT/missing" "$OUT/info"
	return 1
}

# words_below NAME: of a value that is a list, a line each
words_below()
{
	sed -n "/^[[:space:]]*$1:/,/^[[:space:]]*[a-z_ ]*:/p" "$OUT/info" |
		grep -o '^[[:space:]]*[A-Z0-9_]*$' | tr -d '[:blank:]'
}

# pages_for TRANSPORT OPERATION...: what it can do with memory on demand, and no
# more. FLUSH and ATOMIC WRITE have names in later libraries only.
pages_for()
{
	local words

	words=$(words_below "$1_odp_caps" | sed 's/^SUPPORT_//' |
		grep -v -e FLUSH -e ATOMIC_WRITE | xargs)
	[ "$words" = "${*:2}" ] || complain "$1: $words"
}

pages_are_for_what_there_is()
{
	ibv_devinfo -v -d "$DEV_A" >"$OUT/info" || return
	if [ -z "$(words_below general_odp_caps)" ]; then
		skip "a kernel without on-demand paging"
		return
	fi
	pages_for rc SEND RECV WRITE READ ATOMIC SRQ &&
		pages_for xrc SEND RECV WRITE READ ATOMIC SRQ &&
		pages_for uc SEND RECV WRITE SRQ && pages_for ud SEND RECV SRQ
}

# A Q_Key, a GUID, or two answers that differ
values_are_consistent()
{
	local name guid status=0

	ibv_devinfo -v -d "$DEV_A" >"$OUT/info" || return
	guid=$(field node_guid)
	rdma -d dev show "$DEV_A" | tr -d ' >' | grep -o '<.*' |
		tr -d '<' | tr , '\n' >"$OUT/caps"
	for name in $(words_below device_cap_flags); do
		grep -qx "$name" "$OUT/caps" ||
			complain "rdma dev: no $name" || status=1
	done
	[ "$(cat "$PORTS/$DEV_A/node_guid")" = "$guid" ] &&
		[ "$(field sys_image_guid)" = "$guid" ] &&
		[ "$guid" != 0000:0000:0000:0000 ] &&
		[ "$(field node_guid)" != "$(cat "$PORTS/$DEV_B/node_guid")" ] &&
		rdma dev show "$DEV_A" | grep -q "node_guid $guid " &&
		speed_is_the_interfaces &&
		[ "$(cat "$PORTS/$DEV_A/ports/1/pkeys/0")" = 0xffff ] &&
		[ ! -e "$PORTS/$DEV_A/ports/1/pkeys/1" ] &&
		grep -q 'MEM_WINDOW' "$OUT/info" && one_window_type || status=1
	[ "$status" -eq 0 ] || sed 's/^/# /' "$OUT/info"
	return "$status"
}

# 10.0 Gbps, 10 Gb/sec (1X FDR10), 10000Mb/s
speed_is_the_interfaces()
{
	local speed

	speed=$(in_a cat "/sys/class/net/$IF_A/speed")
	[ "$(field active_speed | sed 's/\.0 Gbps.*//')000" = "$speed" ] &&
		[ "$(sed 's/ Gb.*//' "$PORTS/$DEV_A/ports/1/rate")000" = \
			"$speed" ] && return
	complain "speed: $speed"
}

# 2A and 2B exclude each other
one_window_type()
{
	[ "$(grep -c 'MEM_WINDOW_TYPE_2[AB]' "$OUT/info")" -eq 1 ]
}

netlink_agrees()
{
	rdma -d link show "$DEV_A/1" | grep -q "state ACTIVE" &&
		rdma dev show "$DEV_A" | grep -q "node_type ca" &&
		netdev_is "$IF_A" &&
		[ "$(counters "$DEV_A" | wc -l)" -ge 30 ]
}

# ---- going away --------------------------------------------------------

interface_is_removed()
{
	ip -n "$NS_A" link del "$IF_A"
	wait_until not dev_exists "$DEV_A" &&
		wait_until not dev_exists "$DEV_B" &&
		wait_until port_is_free "$NS_A" && refcount_is_zero &&
		again_from_interface
}

again_from_interface()
{
	net_down 2>/dev/null
	net_up && devices_up && pingpong
}

# Both ends of the link go with either namespace.
namespace_is_deleted()
{
	ip netns del "$NS_B"
	wait_until not dev_exists "$DEV_B" &&
		wait_until not dev_exists "$DEV_A" && refcount_is_zero &&
		again_from_interface
}

interface_is_moved()
{
	ip netns add "$NS_C"
	ip -n "$NS_A" link set "$IF_A" netns "$NS_C"
	wait_until not dev_exists "$DEV_A" && wait_until port_is_free "$NS_A" &&
		link_add "$NS_C" "$DEV_A" "$IF_A" && dev_exists "$DEV_A" &&
		not port_is_free "$NS_C"
	local status=$?

	ip netns del "$NS_C"
	wait_until not dev_exists "$DEV_A" && [ "$status" -eq 0 ] &&
		again_from_interface
}

device_is_renamed()
{
	rdma dev set "$DEV_A" name "ren$$" && dev_exists "ren$$" &&
		DEV_A=ren$$ stage_works && rdma dev set "ren$$" name "$DEV_A" &&
		stage_works
}

module_stays_while_in_use()
{
	need_module || return
	watch_start && refused "in use" modprobe -r rdma_pane &&
		dev_exists "$DEV_A"
	local status=$?

	watch_stop
	[ "$status" -eq 0 ] && wait_until refcount_is_zero && pingpong
}

# Nobody has them open: the devices go with the module.
module_takes_devices_along()
{
	need_module || return
	wait_until refcount_is_zero && modprobe -r rdma_pane &&
		not dev_exists "$DEV_A" && not dev_exists "$DEV_B" &&
		port_is_free "$NS_A" && port_is_free "$NS_B" &&
		devices_up && pingpong
}

exclusive_mode()
{
	local status=0

	devices_down
	net_down
	netns_mode exclusive || return
	net_up && devices_up && pingpong && not_seen_from_elsewhere || status=1
	devices_down
	wait_until port_is_free "$NS_A" && wait_until port_is_free "$NS_B" ||
		status=1
	net_down
	netns_mode shared || status=1
	net_up && devices_up && [ "$status" -eq 0 ] && pingpong
}

not_seen_from_elsewhere()
{
	[ ! -e "$PORTS/$DEV_A" ] && ! in_b rdma dev show | grep -q " $DEV_A:" &&
		! in_b ibv_devinfo -d "$DEV_A" >/dev/null 2>&1
}

NS_C=pane-c.$$

tests=(
	alias_loads_module "the alias loads the module"
	names_are_free "a device can have any name"
	bad_names_are_refused "names that the core does not know are refused"
	used_name_is_refused "a name that is taken is refused"
	second_add_is_refused "a second device on an interface is refused"
	add_with_interface_gone "no interface, no device"
	vlan_is_refused "a VLAN is refused"
	other_interfaces "an interface without address gives a GUID"
	delete_and_add_again "delete gives all back, add works again"
	rxe_has_the_port "the port is rdma_rxe's: refused, nothing left"
	port_follows_interface "port state and events follow the interface"
	mtu_follows_interface "the MTU follows the interface"
	interface_is_renamed "the interface gets another name"
	device_is_renamed "the device gets another name"
	addresses_are_gids "addresses come and go as GIDs"
	vlan_addresses_work "addresses of a VLAN work"
	values_are_right "what ibv_devinfo shows is so"
	values_are_consistent "what ibv_devinfo shows is shown by others"
	pages_are_for_what_there_is "memory on demand, for what a transport has"
	netlink_agrees "netlink shows the same"
	interface_is_removed "the interface is removed"
	interface_is_moved "the interface moves to another namespace"
	namespace_is_deleted "the namespace is deleted"
	module_stays_while_in_use "the module stays while a process has it open"
	module_takes_devices_along "the module takes idle devices along"
	exclusive_mode "RDMA namespaces in exclusive mode"
	nothing_left "nothing is left behind"
)

ktap_print_header
need_pane
need ibv_rc_pingpong ibv_asyncwatch ibv_devinfo stdbuf
cleanup_at_exit
ktap_set_plan $((${#tests[@]} / 2))
net_up || ktap_exit_fail_msg "no namespaces"
for ((i = 0; i < ${#tests[@]}; i += 2)); do
	check "${tests[i + 1]}" "${tests[i]}"
done
ktap_finished
