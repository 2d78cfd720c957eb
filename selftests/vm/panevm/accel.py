# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Finds out whether KVM works here. That /dev/kvm opens proves nothing:
there are machines where it opens and every guest hangs."""

import os
import signal
import subprocess
import tempfile

from . import paths

PROBE_SECONDS = 20
GREETING = b"Linux version"


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def cache_file():
    return os.path.join(paths.BUILD_DIR, "vm", "accel")


def cached():
    """The answer holds until the machine boots anew."""
    try:
        with open(cache_file(), encoding="ascii") as file:
            boot, answer = file.read().split()
    except (OSError, ValueError):
        return None
    return answer if boot == boot_id() else None


def remember(answer):
    os.makedirs(os.path.dirname(cache_file()), exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(cache_file()),
                                     delete=False) as file:
        file.write(f"{boot_id()} {answer}\n")
    os.replace(file.name, cache_file())


def kvm_boots(image):
    """Let the kernel boot until it panics for want of a root file system."""
    command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config",
               "-display", "none", "-no-reboot", "-nic", "none",
               "-machine", "q35", "-accel", "kvm", "-cpu", "host",
               "-m", "512M", "-kernel", image, "-serial", "stdio",
               "-append", "console=ttyS0 panic=-1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          start_new_session=True) as qemu:
        try:
            output, _ = qemu.communicate(timeout=PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(qemu.pid, signal.SIGKILL)
            return False
    return qemu.returncode == 0 and GREETING in output


def best(image):
    """"kvm" or "tcg"; PANE_ACCEL overrides."""
    answer = os.environ.get("PANE_ACCEL") or cached()
    if answer in ("kvm", "tcg"):
        return answer
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    answer = "kvm" if usable and kvm_boots(image) else "tcg"
    remember(answer)
    return answer
