# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Where things are."""

import os

VM_DIR = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TOP = os.path.dirname(os.path.dirname(VM_DIR))
SETUP_DIR = os.path.join(TOP, "selftests", "setup")
BUILD_DIR = os.path.join(TOP, "build")
MODULE = "drivers/infiniband/sw/pane/rdma_pane.ko"


def setup_script(name):
    return os.path.join(SETUP_DIR, name)


def cache_dir():
    """Same place as in selftests/setup/lib.sh."""
    base = os.environ.get("XDG_CACHE_HOME") or \
        os.path.join(os.environ.get("HOME") or "/root", ".cache")
    return os.environ.get("PANE_CACHE") or os.path.join(base, "pane")
