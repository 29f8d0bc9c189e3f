"""Writes an index of git with a submodule `sub` behind a name that has a zero in it."""

import hashlib
import struct

FILE, SUBMODULE = 0o100644, 0o160000


def entry(mode, length, name):
    head = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0)
    whole = head + b"\x11" * 20 + struct.pack(">H", length) + name
    return whole + b"\0" * (8 - len(whole) % 8)


# Whoever stops at the zero finds two entries, `a` and `b`, and is done.
inner = entry(FILE, 1, b"b")
name = b"a\0" + inner.rstrip(b"\0")
index = b"DIRC" + struct.pack(">II", 2, 2)
index += entry(FILE, len(name), name)
index += entry(SUBMODULE, 3, b"sub")
with open(".git/index", "wb") as file:
    file.write(index + hashlib.sha1(index).digest())
