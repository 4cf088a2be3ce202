#!/usr/bin/env python3
"""Prints the licences of all crates that are in the binary, for those who hand the binary on.

First a table (crate, version, licence), then each text once, with the crates whose it is. The crates are those of `cargo tree` without
tests and build scripts; the texts are from their sources, which cargo has. A crate without a text is an error, unless its licence is
one of those whose text another crate has.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

TEXTS = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)")


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def crates():
    """(name, version) of what is linked, without the workspace's own."""
    lines = run("cargo", "tree", "--locked", "-p", "clearway", "-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p}").splitlines()
    found = {tuple(line.split()[:2]) for line in lines if line and "(/" not in line}
    return {(name, version.removeprefix("v")) for name, version in found}


def texts(folder):
    for path in sorted(folder.iterdir()):
        if path.is_file() and TEXTS.match(path.name):
            yield path.read_text(errors="replace").strip()
    # Of C sources inside a crate: mimalloc, zstd.
    for inner in ("c_src/mimalloc", "c_src/mimalloc3", "zstd"):
        path = folder / inner / "LICENSE"
        if path.is_file():
            yield path.read_text(errors="replace").strip()


def main():
    linked = crates()
    host = re.search(r"^host: (.+)$", run("rustc", "-vV"), re.M)[1]
    packages = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host))["packages"]
    packages = sorted((p for p in packages if (p["name"], p["version"]) in linked and p["source"]), key=lambda p: (p["name"], p["version"]))
    owners, without = collections.OrderedDict(), []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        mine = list(texts(pathlib.Path(package["manifest_path"]).parent))
        if not mine:
            without.append(name)
        for text in mine:
            owners.setdefault(text, []).append(name)
    print("Crates that are in the binary `clearway`, and their licences. Clearway's own is in LICENSE.\n")
    for package in packages:
        print(f"{package['name']:<32} {package['version']:<14} {package['license']}")
    if without:
        print("\nWithout a text of their own (their authors are in their Cargo.toml):", ", ".join(without))
    for text, names in owners.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n{text}")
    if len(packages) < 20:
        sys.exit("licences.py: too few crates: cargo's output is not what it was")


if __name__ == "__main__":
    main()
