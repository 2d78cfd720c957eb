# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A small initramfs: busybox, the first script and a few modules."""

import lzma
import os
import stat

BUSYBOX = "/bin/busybox"


class Archive:
    """A cpio archive of the "newc" kind, as the kernel unpacks it."""

    def __init__(self, file):
        self.file = file
        self.inode = 0

    def entry(self, name, mode, data=b""):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
                  len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self.padded(header + encoded)
        self.padded(data)

    def padded(self, data):
        self.file.write(data + b"\0" * (-len(data) % 4))

    def directory(self, name):
        self.entry(name, stat.S_IFDIR | 0o755)

    def program(self, name, data):
        self.entry(name, stat.S_IFREG | 0o755, data)

    def data(self, name, data):
        self.entry(name, stat.S_IFREG | 0o644, data)

    def console(self):
        # the kernel opens it before any file system is mounted
        self.inode += 1
        name = b"dev/console\0"
        fields = (self.inode, stat.S_IFCHR | 0o600, 0, 0, 1, 0, 0, 0, 0, 5, 1,
                  len(name), 0)
        self.padded(b"070701" + b"".join(b"%08X" % f for f in fields) + name)

    def end(self):
        self.entry("TRAILER!!!", 0)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def module_data(path):
    """Newer Debian kernels have compressed modules; busybox's insmod may not
    know the format."""
    data = read(path)
    return lzma.decompress(data) if path.endswith(".xz") else data


def module_name(path):
    return os.path.basename(path).removesuffix(".xz")


def write(path, init, config, modules):
    """init: path of the first script; config: its variables; modules: paths
    in the order to load them."""
    lines = "".join(f"{key}='{value}'\n" for key, value in config.items())
    order = "".join(module_name(module) + "\n" for module in modules)
    with open(path, "wb") as file:
        archive = Archive(file)
        for name in ("bin", "dev", "modules"):
            archive.directory(name)
        archive.console()
        archive.program("bin/busybox", read(BUSYBOX))
        archive.program("init", read(init))
        archive.data("config", lines.encode())
        archive.data("modules/order", order.encode())
        for module in modules:
            archive.data("modules/" + module_name(module),
                         module_data(module))
        archive.end()
