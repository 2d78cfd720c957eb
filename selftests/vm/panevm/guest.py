# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One guest: its files on the host, and its life from start to end."""

import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import initramfs, paths

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.05
# from the command's end to the process's end
POWER_OFF_SECONDS = 60


class TimedOut(Exception):
    """The time allowed is over."""


class Died(Exception):
    """The guest ended, or hangs, before the command did."""


def die_with_parent():
    """Runs in the child: nothing outlives the runner, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def host_cpu_mhz():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("cpu MHz"):
                return line.split(":")[1].strip()
    return "1000.000"


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def remove_orphans(base):
    """Directories of runners that were killed before they could tidy up."""
    for name in os.listdir(base):
        match = re.match(r"run\.(\d+)\.", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


class Guest:
    """Files in a directory of its own, shared with the guest as control."""

    def __init__(self, results, interactive):
        base = os.path.join(paths.BUILD_DIR, "vm")
        os.makedirs(base, exist_ok=True)
        remove_orphans(base)
        self.base = tempfile.mkdtemp(prefix=f"run.{os.getpid()}.", dir=base)
        self.control = os.path.join(self.base, "control")
        self.staged = os.path.join(self.base, "root")
        os.mkdir(self.control)
        self.initramfs = os.path.join(self.base, "initramfs")
        self.console = os.path.join(self.base, "console")
        self.results = results
        self.interactive = interactive
        self.process = None

    def path(self, name):
        return os.path.join(self.control, name)

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)

    # what the guest reads

    def write_control(self, command, cwd, env):
        with open(self.path("command"), "w", encoding="utf-8") as file:
            file.write(f"cd {shlex.quote(cwd)} || exit 1\n"
                       f"exec {shlex.join(command)}\n")
        with open(self.path("env"), "w", encoding="utf-8") as file:
            for key, value in env.items():
                file.write(f"export {key}={shlex.quote(value)}\n")
        for name in ("output", "dmesg"):
            with open(self.path(name), "wb"):
                pass

    def write_initramfs(self, backend, driver):
        kernel = backend.kernel
        staged = kernel.stage_modules(self.staged, driver)
        order = kernel.load_order(self.staged, backend.modules)
        config = {
            "SHARE_FS": backend.share_fs,
            "CONTROL_DIR": self.control,
            "RESULTS_DIR": self.results,
            "MODULE_DIRS": f"{staged} {kernel.modules}",
            "MAIN": os.path.join(paths.VM_DIR, "guest", "main"),
        }
        initramfs.write(self.initramfs,
                        os.path.join(paths.VM_DIR, "guest", "init"),
                        config, order)
        # the link was for the tools of the host; in the guest, overlayfs
        # brings the directory itself
        os.unlink(os.path.join(staged, "kernel"))

    # life

    def start(self, command):
        terminal = None if self.interactive else subprocess.DEVNULL
        with open(self.console + ".out", "wb") as out:
            # pylint: disable-next=subprocess-popen-preexec-fn
            self.process = subprocess.Popen(
                command, stdin=terminal,
                stdout=None if self.interactive else out,
                stderr=None if self.interactive else subprocess.STDOUT,
                start_new_session=not self.interactive,
                preexec_fn=die_with_parent)

    def kill(self):
        if not self.process:
            return
        if not self.interactive:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()

    def finished(self):
        return os.path.exists(self.path("status"))

    def follow(self, deadline, boot_deadline):
        """Copy the command's output to stdout until the command has ended."""
        with open(self.path("output"), "rb") as output:
            while True:
                ended = self.process.poll() is not None
                finished = self.finished()
                copy_all(output)
                if finished:
                    return
                if ended:
                    raise Died("the guest ended before the command did")
                self.check_clock(deadline, boot_deadline)
                time.sleep(POLL_SECONDS)

    def check_clock(self, deadline, boot_deadline):
        now = time.monotonic()
        if now > deadline:
            raise TimedOut()
        if now > boot_deadline and not os.path.exists(self.path("started")):
            raise Died("the guest did not boot in time")

    def wait_for_power_off(self):
        try:
            self.process.wait(POWER_OFF_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Died("the guest did not power off") from error

    # what the guest left

    def status(self):
        return int(read_text(self.path("status")))

    def kernel_log(self):
        """The snapshot made at the end, else what the follower had written
        when the guest died."""
        return read_text(self.path("dmesg.all")) or \
            read_text(self.path("dmesg"))

    def console_text(self):
        return read_text(self.console) + read_text(self.console + ".out")


def copy_all(file):
    while chunk := file.read(1 << 16):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
