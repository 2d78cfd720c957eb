#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Spoilt frames at random, beside honest traffic: pane_wirefuzz sends them from
# the second namespace, over IPv4, IPv6 and RoCE v1.
#
#   PANE_OPERATIONS=N  frames over each
#   PANE_SEED=N        repeats a run

cd "$(dirname "$0")" || exit 1
. ../kselftest/ktap_helpers.sh
. ./lib.sh

strange_frames ./pane_wirefuzz
