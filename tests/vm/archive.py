#!/usr/bin/env python3
"""Writes a directory to standard output as the archive (cpio, newc) that a Linux kernel unpacks when it starts."""

import os
import stat
import sys


def entry(out, name, mode, data=b""):
    encoded = name.encode() + b"\0"
    entry.number += 1
    fields = [entry.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    out.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))


entry.number = 0


def main(top, out):
    for directory, names, files in os.walk(top):
        for name in sorted(names + files):
            path = os.path.join(directory, name)
            found = os.lstat(path)
            inside = os.path.relpath(path, top)
            if stat.S_ISDIR(found.st_mode):
                entry(out, inside, 0o40755)
            elif stat.S_ISLNK(found.st_mode):
                entry(out, inside, 0o120777, os.readlink(path).encode())
            else:
                with open(path, "rb") as file:
                    entry(out, inside, 0o100755, file.read())
    entry(out, "TRAILER!!!", 0)


main(sys.argv[1], sys.stdout.buffer)
