# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two ways to boot a kernel with the host's file system as its root."""

import os

from . import accel, unpack

COMMON_ARGUMENTS = [
    # an oops ends the guest at once, and the guest ends for good
    "panic=-1", "oops=panic",
    # a test may write to the kernel's log as much as it wants
    "printk.devkmsg=on", "log_buf_len=4M",
    "audit=0", "random.trust_cpu=on",
]


class Qemu:
    """Full system emulation or KVM, with Debian's stock kernels."""

    name = "qemu"
    share_fs = "9p"
    tty = "/dev/ttyS0"
    modules = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]

    def __init__(self, kernel, memory, cpus):
        self.kernel = kernel
        self.memory = memory
        self.cpus = cpus
        self.accel = accel.best(kernel.image)
        self.image = unpack.unpacked(kernel.image) if self.slow \
            else kernel.image

    @property
    def slow(self):
        return self.accel == "tcg"

    def kernel_arguments(self, interactive):
        arguments = COMMON_ARGUMENTS + [
            "console=ttyS0,115200", "mitigations=off",
            "loglevel=1" if interactive else "loglevel=7",
        ]
        if self.slow:
            # one emulated CPU may wait long for the other one
            arguments += ["watchdog_thresh=40",
                          "rcupdate.rcu_cpu_stall_timeout=90",
                          "workqueue.watchdog_thresh=90",
                          "tsc=reliable", "no_timer_check"]
        return arguments

    @staticmethod
    def share(tag, path, mode):
        readonly = ",readonly=on" if mode == "ro" else ""
        return ["-fsdev", f"local,id={tag},path={comma(path)},"
                f"security_model=none,multidevs=remap{readonly}",
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]

    def console(self, path, interactive):
        if interactive:
            return ["-chardev", "stdio,id=console,signal=off,"
                    f"logfile={comma(path)}", "-serial", "chardev:console"]
        return ["-serial", f"file:{path}"]

    def command(self, guest):
        accelerator = {"kvm": "kvm", "tcg": "tcg,thread=multi"}[self.accel]
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-nic", "none",
            "-machine", "q35", "-accel", accelerator, "-cpu", "max",
            "-smp", str(self.cpus), "-m", f"{self.memory}M",
            "-kernel", self.image, "-initrd", guest.initramfs,
            "-append", " ".join(self.kernel_arguments(guest.interactive)),
        ]
        command += self.console(guest.console, guest.interactive)
        command += self.share("root", "/", "ro")
        command += self.share("results", guest.results, "rw")
        command += self.share("control", guest.control, "rw")
        return command


class Uml:
    """User-mode Linux: the kernel is a process, at nearly native speed."""

    name = "uml"
    share_fs = "hostfs"
    tty = "/dev/tty0"
    modules = []
    slow = False

    def __init__(self, kernel, memory, cpus):
        self.kernel = kernel
        self.memory = memory
        self.cpus = cpus

    def has(self, option):
        config = os.path.join(os.path.dirname(self.kernel.image), "config")
        with open(config, encoding="ascii") as file:
            return f"CONFIG_{option}=y\n" in file

    def command(self, guest):
        output = "fd:0,fd:1" if guest.interactive else "null,fd:1"
        command = [
            self.kernel.image, f"mem={self.memory}M", "noreboot",
            f"initrd={guest.initramfs}", f"uml_dir={guest.control}/",
            "con=null", "ssl=null", f"con0={output}",
            "loglevel=1" if guest.interactive else "loglevel=7",
            *COMMON_ARGUMENTS,
        ]
        if self.has("KASAN"):
            command.append("kasan_multi_shot")
        if self.has("DEBUG_KMEMLEAK"):
            # without it, the allocator's per-CPU arrays go on holding
            # pointers to what has leaked
            command.append("slab_debug=F")
        if self.has("SMP"):
            # the only mode of running user space that knows several CPUs
            command += [f"ncpus={self.cpus}", "seccomp=on"]
        return command


def comma(path):
    """qemu's own way of quoting in option lists."""
    return path.replace(",", ",,")
