#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Bad frames in great numbers: pane_badframes sends them from the second
# namespace, under an address that nobody has, over IPv4, IPv6 and RoCE v1.
#
#   PANE_ALL=1  every length and more rounds, which takes minutes; without,
#               the lengths where something changes

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

strange_frames ./pane_badframes
