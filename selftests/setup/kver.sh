#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Print the version of the kernel that `make modules` builds for by default.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

default_kver
