"""Microsoft's own parser of T-SQL, ScriptDom, and ours: two programs that say of many texts whether they parse.

ScriptDom and a runtime for it are in the wheel of `mssql-cli` on PyPI, which `tests/setup.sh` unpacks into
`.tools/scriptdom`; `mcs` compiles our `Verdicts.cs` in the place of the program of the wheel. Nothing of it is
kept in this repository.
"""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CLEARWAY_SCRIPTDOM", ROOT / ".tools" / "scriptdom"))
SCRIPTDOM = FOLDER / "MicrosoftSqlToolsServiceLayer"
SECONDS_MAX = 600


@dataclass(frozen=True)
class Verdict:
    """What a parser says of a text: number 0 if it parses."""

    number: int
    line: int
    message: str

    @property
    def accepted(self) -> bool:
        return self.number == 0 and not self.message


def frames(texts: list[str]) -> bytes:
    coded = (text.encode("utf-8") for text in texts)
    return b"".join(struct.pack("<I", len(text)) + text for text in coded)


def unframed(data: bytes) -> list[str]:
    texts, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + length].decode("utf-8"))
        at += 4 + length
    return texts


def verdicts(command: list[str], texts: list[str]) -> list[Verdict]:
    """Asks a program about texts; it answers with a line for each."""
    # ICU is not needed, and not always there.
    environment = os.environ | {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    run = subprocess.run(command, input=frames(texts), stdout=subprocess.PIPE, env=environment, timeout=SECONDS_MAX, check=True)
    lines = run.stdout.decode("utf-8").split("\n")[:-1]
    assert len(lines) == len(texts), f"{command[0]} answered {len(lines)} of {len(texts)}"
    return [verdict(line) for line in lines]


def verdict(line: str) -> Verdict:
    if line == "ok":
        return Verdict(0, 0, "")
    number, at, *_, message = line.split("\t")
    return Verdict(int(number), int(at), message)


def ours(texts: list[str]) -> list[Verdict]:
    return verdicts([str(program())], texts)


def theirs(texts: list[str]) -> list[Verdict]:
    return verdicts([str(SCRIPTDOM)], texts)


def productions() -> list[str]:
    """The texts of the parser's table of productions."""
    return unframed(subprocess.run([str(program()), "productions"], stdout=subprocess.PIPE, check=True).stdout)


def program() -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug" / "examples" / "verdicts"


def build() -> None:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "tsql", "--example", "verdicts"], cwd=ROOT, check=True)
