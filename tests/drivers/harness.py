"""Starts the server, runs one driver program against it and reads what the program found.

A program gets its work as JSON on standard input (where the server is, which checks to run, the SQL,
the cases of every type) and prints one JSON line per check: {"check": name, "ok": bool, "detail": text}.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SPEC = tomllib.loads((HERE / "spec.toml").read_text(encoding="utf-8"))
USER, PASSWORD = "sa", "Clear-way-1!"
TYPES = {f"type-{t['name']}": t for t in SPEC["types"]}
CHECKS = list(SPEC["checks"]) + list(TYPES)
PROGRAM_SECONDS_MAX = 150


# ---- the server ------------------------------------------------------------------------------


class Server:
    """One `clearway serve` on a free port, with a certificate made for this run."""

    def __init__(self, folder: Path, *extra: str):
        self.folder = folder
        self.cert, key = make_certificate(folder)
        self.binary = os.environ.get("CLEARWAY_BIN", str(ROOT / "target/release/clearway"))
        self.log = folder / "server.log"
        command = [self.binary, "serve", "--port", "0", "--sa-password", PASSWORD]
        command += ["--tls-cert", str(self.cert), "--tls-key", str(key), *extra]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self._ready = threading.Event()
        self.port = 0
        threading.Thread(target=self._drain, daemon=True).start()
        if not self._ready.wait(20) or not self.port:
            self.process.kill()
            raise RuntimeError(f"{self.binary} printed no port: {self.lines[-20:]}")

    def _drain(self) -> None:
        """Reads the server's output for as long as it runs, so that it never blocks on a full pipe."""
        with self.log.open("w") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                self.lines.append(line)
                found = re.search(r"(?:127\.0\.0\.1|localhost|\bport)[^0-9]{1,3}(\d{2,5})\b", line)
                if found and not self.port:
                    self.port = int(found[1])
                    self._ready.set()
        self._ready.set()

    def stop(self) -> int:
        """Asks the server to finish, as a service manager would, and returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return -9


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Makes a self-signed certificate for localhost; strict encryption wants one it can check."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return cert_file, key_file


# ---- what a driver is asked ------------------------------------------------------------------


def not_applicable(driver: str) -> dict[str, str]:
    """Returns the checks that `driver` cannot run, each with its reason."""
    entry = SPEC["drivers"][driver]
    reasons = {}
    for check in CHECKS:
        only = entry.get("only")
        if only and not any(fnmatch.fnmatchcase(check, p) for p in only):
            reasons[check] = entry["reason"]
        for pattern, reason in entry["na"].items():
            if fnmatch.fnmatchcase(check, pattern):
                reasons[check] = reason
    return reasons


def applicable(driver: str) -> list[str]:
    """Returns the checks that `driver` must pass."""
    reasons = not_applicable(driver)
    return [check for check in CHECKS if check not in reasons]


def missing(driver: str) -> str | None:
    """Returns what the machine lacks for `driver`, or None if it can run."""
    for need in SPEC["drivers"][driver].get("needs", []):
        if ".so" in need:
            import ctypes.util

            if not ctypes.util.find_library(need.split(".")[0].removeprefix("lib")):
                return need
        elif "/" in need:
            if not (ROOT / need).exists() and not (HERE / need).exists():
                return need
        elif not shutil.which(need):
            return need
    return None


def cut_fraction(text: str, digits: int) -> str:
    """Cuts the fraction of a second to `digits`, and its trailing zeros."""
    found = re.match(r"(.*:\d\d)\.(\d+)(.*)$", text)
    if not found:
        return text
    fraction = found[2][:digits].rstrip("0")
    return found[1] + ("." + fraction if fraction else "") + found[3]


def cut_digits(text: str, digits: int) -> str:
    """Drops leading digits of a decimal until at most `digits` are left."""
    sign = "-" if text.startswith("-") else ""
    whole, _, scale = text.removeprefix("-").partition(".")
    keep = max(digits - len(scale), 1)
    return sign + whole[-keep:] + ("." + scale if scale else "")


def literal(name: str, base: str, text: str) -> str:
    """Writes the T-SQL expression of the same value, without any parameter."""
    if base in ("binary", "varbinary"):
        return f"cast(0x{text} as {name})"
    if base in ("datetime", "smalldatetime"):
        text = text.replace(" ", "T")
    quoted = text.replace("'", "''")
    return f"cast({'' if text.isascii() else 'N'}'{quoted}' as {name})"


def resolve(kind: dict, driver: dict) -> dict:
    """Makes the cases of one type as `driver` can hold them."""
    name = kind["name"]
    base, _, rest = name.partition("(")
    sizes = [s.strip() for s in rest.rstrip(")").split(",")] if rest else []
    cases = [{"case": "null", "text": None, "where": "v is null"}]
    without = driver.get("without", {}).get(name, {})
    for case, text in kind["cases"].items():
        if case in without:
            continue
        if isinstance(text, dict):
            unit = 2 if base == "nvarchar" else 1
            size = len(text["repeat"]) * text["times"] * unit
            size = size // 2 if base == "varbinary" else size
            cases.append({"case": case, **text, "where": f"datalength(v) = {size}"})
            continue
        if base in ("time", "datetime", "datetime2", "datetimeoffset"):
            text = cut_fraction(text, driver.get("fraction", 7))
        if base in ("decimal", "money", "smallmoney"):
            text = cut_digits(text, driver.get("digits_of", {}).get(base, driver.get("digits", 38)))
        expect = text
        if base in ("char", "nchar"):
            expect = text.ljust(int(sizes[0]))
        elif base == "binary":
            expect = text.ljust(2 * int(sizes[0]), "0")
        cases.append({"case": case, "text": text, "expect": expect, "where": f"v = {literal(name, base, text)}"})
    outputs = driver.get("outputs", False) and name not in driver.get("outputs_without", [])
    return {"name": name, "base": base, "sizes": sizes, "outputs": outputs, "cases": cases}


def work(driver: str, server: Server, checks: list[str]) -> dict:
    """Makes the JSON that a driver program reads."""
    entry = SPEC["drivers"][driver]
    mark = re.sub(r"\W", "_", driver)
    return {
        "driver": driver,
        "mark": mark,
        "host": "127.0.0.1",
        "port": server.port,
        "user": USER,
        "password": PASSWORD,
        "cert": str(server.cert),
        "folder": str(server.folder),
        "checks": checks,
        "sql": {k: v.replace("@D", mark) for k, v in SPEC["sql"].items()},
        "types": [resolve(TYPES[c], entry) for c in checks if c in TYPES],
    }


# ---- a run -----------------------------------------------------------------------------------


def run(driver: str, server: Server) -> dict[str, dict]:
    """Runs the program of `driver` over all its checks; a check without an answer is a failed one."""
    checks = applicable(driver)
    wanted = os.environ.get("DRIVER_CHECKS")
    asked = [c for c in checks if not wanted or any(fnmatch.fnmatchcase(c, w) for w in wanted.split(","))]
    entry = SPEC["drivers"][driver]
    command = [part.format(python=sys.executable, root=ROOT) for part in entry["command"]]
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(work(driver, server, asked)),
            cwd=HERE,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROGRAM_SECONDS_MAX,
        )
        status, output, errors = f"ended with {done.returncode}", done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, output, errors = "ran out of time", text_of(late.stdout), text_of(late.stderr)
    (server.folder / f"{driver}.out").write_text(f"{output}\n--- errors\n{errors}\n{status}\n")
    answers: dict[str, dict] = {}
    strays = []
    for line in output.splitlines():
        if not line.startswith('{"check"'):
            strays.append(line)
            continue
        answer = json.loads(line)
        answers[answer["check"]] = answer
    tail = " | ".join((errors.strip().splitlines() + strays)[-6:])
    for check in asked:
        answers.setdefault(check, {"ok": False, "detail": f"no answer: the program {status}: {tail}"})
    for check in checks:
        answers.setdefault(check, {"ok": False, "skip": "not asked for (DRIVER_CHECKS)"})
    answers["(program)"] = {
        "ok": status == "ended with 0" and set(answers) <= set(checks),
        "detail": f"{status} after {time.monotonic() - started:.1f} s; {tail}; unknown: {set(answers) - set(checks)}",
    }
    return answers


def text_of(stream: bytes | str | None) -> str:
    """Returns what a killed program had printed."""
    return stream.decode("utf-8", "replace") if isinstance(stream, bytes) else stream or ""
