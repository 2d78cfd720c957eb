# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The guest's kernel: its image, its modules, and this driver built for it."""

import os
import re
import shutil
import subprocess

from . import paths

# kernels of this project that qemu boots
QEMU_VARIANTS = ("kcsan",)


class KernelError(Exception):
    """Something that the guest needs is not there."""


def script_output(*command):
    """Last line that one of the set-up scripts printed; it talks on stderr."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise KernelError(f"{os.path.basename(command[0])} failed")
    return lines[-1]


class Kernel:
    """A bootable kernel with its tree of modules."""

    def __init__(self, version, image, modules, build=""):
        self.version = version
        self.image = image
        self.modules = os.path.realpath(modules)
        self.build = build

    def built_in_tree(self):
        """The module that `make modules` left, if it is for this kernel."""
        module = os.path.join(paths.TOP, paths.MODULE)
        if not os.path.exists(module):
            return None
        magic = subprocess.run(["modinfo", "-F", "vermagic", module],
                               stdout=subprocess.PIPE, text=True, check=True)
        return module if magic.stdout.split()[0] == self.version else None

    def built_beside_tree(self):
        return script_output(paths.setup_script("module.sh"), self.version,
                             self.build_dir(), *self.make_arguments())

    def build_dir(self):
        if not os.path.exists(self.build):
            raise KernelError(
                f"modules for {self.version} cannot be built here; give "
                "--no-module to go without")
        return self.build

    def make_arguments(self):
        return []

    def driver(self):
        return self.built_in_tree() or self.built_beside_tree()

    def stage_modules(self, base, driver):
        """Make base/lib/modules/VERSION with fresh indexes that know the
        driver, and the kernel's own modules behind a link."""
        staged = os.path.join(base, "lib", "modules", self.version)
        os.makedirs(os.path.join(staged, "updates"))
        os.symlink(os.path.join(self.modules, "kernel"),
                   os.path.join(staged, "kernel"))
        for name in ("modules.order", "modules.builtin",
                     "modules.builtin.modinfo"):
            shutil.copy(os.path.join(self.modules, name), staged)
        if driver:
            shutil.copy(driver, os.path.join(staged, "updates"))
        subprocess.run(["depmod", "-b", base, self.version], check=True)
        return staged

    def load_order(self, base, names):
        """Files to load, dependencies first, for some modules."""
        order = []
        for name in names:
            shown = subprocess.run(
                ["modprobe", "-d", base, "-S", self.version,
                 "--show-depends", name],
                stdout=subprocess.PIPE, text=True, check=False)
            if shown.returncode:
                raise KernelError(f"{self.version} has no module {name}")
            order += re.findall(r"^insmod (\S+)", shown.stdout, re.M)
        return list(dict.fromkeys(order))


class DebianKernel(Kernel):
    """What to build modules with may have to be fetched first."""

    def build_dir(self):
        return script_output(paths.setup_script("debian-headers.sh"),
                             self.version)


class UmlKernel(Kernel):
    """User-mode Linux builds modules with its own architecture. Its variants
    have the same version, so a module is never taken from the tree."""

    def driver(self):
        return self.built_beside_tree()

    def make_arguments(self):
        # what a kernel without gcov does not heed
        return ["ARCH=um", "GCOV_PROFILE=y"]


def debian_kernel(version):
    """A kernel of Debian's, installed or unpacked in the cache."""
    if not version:
        version = script_output(paths.setup_script("kver.sh"))
    root = script_output(paths.setup_script("debian-kernel.sh"), version)
    modules = os.path.join(root, "lib", "modules", version)
    image = os.path.join(root, "boot", f"vmlinuz-{version}")
    return DebianKernel(version, image, modules)


def own_kernel(make, script, variant, image):
    """A kernel of this project, built into the cache when missing."""
    root = script_output(paths.setup_script(script), variant)
    with open(os.path.join(root, "release"), encoding="ascii") as file:
        version = file.read().strip()
    return make(version, os.path.join(root, image),
                os.path.join(root, "lib", "modules", version),
                os.path.join(root, "build"))


def uml_kernel(variant):
    """User-mode Linux"""
    return own_kernel(UmlKernel, "uml-kernel.sh", variant, "linux")


def qemu_kernel(variant):
    """A kernel for the machine that qemu emulates"""
    return own_kernel(Kernel, "qemu-kernel.sh", variant, "vmlinux")


def given_image(image, modules):
    """An image of the caller's, with a tree of modules that fits it."""
    version = os.path.basename(os.path.realpath(modules))
    return Kernel(version, image, modules, os.path.join(modules, "build"))
