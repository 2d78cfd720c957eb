# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Parts of the runner that boots a kernel and runs one command in it."""
