# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Lists of programs that are run over each route between the devices of lib.sh,
# which it needs: over IPv4 and IPv6, by RoCE v1, and with both ends on one
# device; with RDMA namespaces in shared and in exclusive mode. A result needs
# success of both sides.
#
# list() prints a line for each result: a level, and the command. Level 1 is run
# in either mode and by RoCE v1, 2 on every route, 3 where there is time for more,
# 4 is for PANE_ALL.

# what is set here is for those that source it
# shellcheck disable=SC2034

TCP_PORT=18515		# where programs that have no rdma_cm exchange addresses

ITERS=$(scaled 200 20)

# ---- which ends --------------------------------------------------------

# route v4|v6|v1|loop: sets what the commands go by; false if there is none
route()
{
	local version=v2

	SERVER_NS=$NS_B SERVER_DEV=$DEV_B SERVER_IP4=$IP4_B SERVER_IP=$IP4_B
	CLIENT_IP=$IP4_A
	case $1 in
	v1)
		version=v1
		;;
	v6)
		SERVER_IP=$IP6_B CLIENT_IP=$IP6_A
		;;
	loop)
		SERVER_NS=$NS_A SERVER_DEV=$DEV_A SERVER_IP4=$IP4_A
		SERVER_IP=$IP4_A
		;;
	esac
	SERVER_GID=$(gid_index "$SERVER_DEV" "$SERVER_IP" "$version") &&
		CLIENT_GID=$(gid_index "$DEV_A" "$CLIENT_IP" "$version")
}

# ---- which lines -------------------------------------------------------

# level MODE ROUTE: up to which lines are wanted
level()
{
	case ${PANE_ALL:+all},$1,$2 in
	all,*,v4) echo 4 ;;
	all,shared,*) echo 3 ;;
	all,*) echo 2 ;;
	,shared,v4) scaled 3 2 ;;
	,shared,v1) scaled 2 1 ;;
	,shared,*) echo 2 ;;
	,exclusive,v4) scaled 2 1 ;;
	*) echo 0 ;;
	esac
}

# not_over ROUTE: commands that have nothing to do with it
not_over()
{
	case $1 in
	v6) echo "$NOT_OVER_V6" ;;
	v1) echo "$NOT_OVER_V1" ;;
	*) echo nothing ;;
	esac
}

# list_for MODE ROUTE
list_for()
{
	list | awk -v level="$(level "$1" "$2")" -v not="^($(not_over "$2"))$" '
		$1 <= level && $2 !~ not { sub(/^[0-9] /, ""); print }'
}

# ---- running them ------------------------------------------------------

ROUTES="v4 v6 v1 loop"

run_route()
{
	local line way="$1" there=yes
	local -a words

	[ "$RDMA_NETNS" = shared ] || way="exclusive, $1"
	route "$1" || there=
	while read -r -u 3 line; do
		read -ra words <<<"$line"
		if [ "$there" ]; then
			ktap_test_result "$way: ${line#* }" "${words[@]}"
		else
			ktap_test_skip "$way: ${line#* }: no such GID"
		fi
	done 3< <(list_for "$RDMA_NETNS" "$1")
}

# The mode can be changed while there are no namespaces.
run_mode()
{
	local name

	{ netns_mode "$1" && stage_up; } ||
		ktap_exit_fail_msg "no devices, $1 mode"
	for name in $ROUTES; do
		run_route "$name"
	done
	ktap_test_result "$1: all objects are given back" nothing_in_use
	ktap_test_result "$1: nothing is left behind" nothing_left
	net_down
}

run_modes()
{
	local mode name lines

	lines=$(for mode in shared exclusive; do
		for name in $ROUTES; do
			list_for "$mode" "$name"
		done
	done | wc -l)
	ktap_set_plan $((lines + 4))
	run_mode shared
	run_mode exclusive
	ktap_finished
}
