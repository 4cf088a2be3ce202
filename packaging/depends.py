#!/usr/bin/env python3
"""Prints the Depends field of a binary: the shared libraries that it needs, each in the version that its symbols need.

glibc and libgcc give each symbol the version in which it came (`GLIBC_2.34`), so the newest one that a binary names is the oldest
library that it runs with. Read from the binary itself by readelf of binutils. A library that is not known here is an error.
"""

import re
import subprocess
import sys

# The Debian package of each library, and what its symbols' versions begin with.
PACKAGES = {
    "libc.so.6": ("libc6", "GLIBC_"),
    "libm.so.6": ("libc6", "GLIBC_"),
    "libpthread.so.0": ("libc6", "GLIBC_"),
    "libdl.so.2": ("libc6", "GLIBC_"),
    "librt.so.1": ("libc6", "GLIBC_"),
    "ld-linux-x86-64.so.2": ("libc6", "GLIBC_"),
    "ld-linux-aarch64.so.1": ("libc6", "GLIBC_"),
    "libgcc_s.so.1": ("libgcc-s1", "GCC_"),
}
# Packed relocations are no symbol's version: glibc reads them from 2.36 on.
ABI_VERSIONS = {"GLIBC_ABI_DT_RELR": "2.36"}


def readelf(option, binary):
    return subprocess.run(["readelf", "-W", option, binary], check=True, capture_output=True, text=True).stdout


def numbers(version):
    return [int(part) for part in version.split(".")]


def depends(dynamic, versions):
    """The field, from what `readelf -d` and `readelf -V` print."""
    libraries = re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic)
    unknown = [library for library in libraries if library not in PACKAGES]
    if unknown:
        raise SystemExit(f"depends.py: no package is known for {', '.join(unknown)}")
    needed = {PACKAGES[library][0]: "0" for library in libraries}
    library = None
    for line in versions.splitlines():
        if found := re.search(r"Version: \d+\s+File: (\S+)", line):
            library = found[1]
        elif (found := re.search(r"Name: (\S+)", line)) and library in PACKAGES:
            package, prefix = PACKAGES[library]
            version = ABI_VERSIONS.get(found[1])
            if version is None:
                if not re.fullmatch(re.escape(prefix) + r"[0-9.]+", found[1]):
                    raise SystemExit(f"depends.py: the version {found[1]} of {library} is not known")
                version = found[1].removeprefix(prefix)
            needed[package] = max(needed.get(package, "0"), version, key=numbers)
    return ", ".join(f"{package} (>= {version})" for package, version in sorted(needed.items()))


if __name__ == "__main__":
    binary = sys.argv[1]
    print(depends(readelf("-d", binary), readelf("-V", binary)))
