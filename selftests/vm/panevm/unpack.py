# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Unpacks a kernel image once on the host: under emulation, the kernel's own
decompressor takes longer than all the rest of its start."""

import hashlib
import lzma
import os
import tempfile
import zlib

from . import paths

FORMATS = (
    (b"\xfd7zXZ\0", lzma.LZMADecompressor),
    (b"\x1f\x8b\x08", lambda: zlib.decompressobj(wbits=31)),
)
ELF = b"\x7fELF"


def payload(image):
    """The ELF file inside a bzImage, or None."""
    for magic, decompressor in FORMATS:
        start = image.find(magic)
        while start >= 0:
            try:
                data = decompressor().decompress(image[start:])
            except (lzma.LZMAError, zlib.error):
                data = b""
            if data.startswith(ELF):
                return data
            start = image.find(magic, start + 1)
    return None


def unpacked(path):
    """Path of the unpacked kernel in the cache; the given path when it is of
    a kind that Python cannot unpack."""
    with open(path, "rb") as file:
        image = file.read()
    if image.startswith(ELF):
        return path
    name = hashlib.sha256(image).hexdigest()[:12]
    cached = os.path.join(paths.cache_dir(), "vmlinux", name)
    if os.path.exists(cached):
        return cached
    data = payload(image)
    if not data:
        return path
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(cached),
                                     delete=False) as file:
        file.write(data)
    os.replace(file.name, cached)
    return cached
