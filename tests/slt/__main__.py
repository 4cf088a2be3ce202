"""Runs sqllogictest over the wire: the files beside this, and statements of the public corpus's grammar.

    python tests/slt [--count N] [--seed S] [--server BINARY]

The public corpus itself (select1 to select5, random/*) is in no package registry that could be asked, so that
statements of the same shapes are made here (see `corpus.py`) and SQLite says what they answer. Exit code 1 if
a file fails or an answer differs.
"""

from __future__ import annotations

import argparse
import decimal
import os
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "differential"))
sys.path.insert(0, str(HERE))
import corpus  # noqa: E402
from engines import Clearway, TooSlow, plain  # noqa: E402


def records(text: str):
    """Cuts a file into records: (line, head, statement, expected values or None)."""
    line = 1
    for block in text.split("\n\n"):
        lines = [x for x in block.split("\n") if not x.startswith("#")]
        skipped = len(block.split("\n")) - len(lines)
        while lines and not lines[0].strip():
            lines.pop(0)
            skipped += 1
        if lines:
            at = lines.index("----") if "----" in lines else len(lines)
            expected = [x for x in lines[at + 1 :] if x != ""] if at < len(lines) else None
            yield line + skipped, lines[0].split(), "\n".join(lines[1:at]), expected
        line += block.count("\n") + 2


def shown(value) -> str:
    """A value as these files write it."""
    value = plain(value)
    if value is None:
        return "NULL"
    if isinstance(value, (float, decimal.Decimal)):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value) if value != "" else "(empty)"


def run_file(engine: Clearway, path: Path) -> tuple[int, list[str]]:
    done, failures = 0, []
    engine.use([])
    for line, head, sql, expected in records(path.read_text(encoding="utf-8")):
        done += 1
        outcome = engine.run(sql)
        where = f"{path.name}:{line}"
        if head[0] == "statement":
            wanted = int(head[2]) if head[1] == "error" else None
            if outcome.number != wanted:
                failures.append(f"{where}: wanted {wanted or 'no error'}, got {outcome}")
            continue
        if outcome.error:
            failures.append(f"{where}: {outcome}")
            continue
        rows = [[shown(v) for v in row] for row in outcome.rows]
        if "rowsort" in head:
            rows.sort()
        values = [v for row in rows for v in row]
        if values != expected:
            failures.append(f"{where}: wanted {expected}, got {values}")
    return done, failures


def run_corpus(engine: Clearway, count: int, seed: int) -> tuple[int, dict, list[str]]:
    done, failures, by_kind = 0, [], {}
    for kind, make in corpus.KINDS.items():
        rng = random.Random(f"{seed}:{kind}")
        script = make(rng)
        peer = sqlite3.connect(":memory:")
        definitions = list(script.definitions())
        engine.use(definitions)
        for text in definitions:
            peer.execute(text)
        good = 0
        for _ in range(count):
            ours_text, peer_text, ordered = script.query()
            try:
                ours = engine.run(ours_text)
            except TooSlow:
                failures.append(f"{kind}: too slow\n  {ours_text}")
                continue
            rows = peer.execute(peer_text).fetchall()
            same = not ours.error and equal(ours.rows, rows, ordered)
            good += same
            if not same:
                failures.append(f"{kind}\n  T-SQL    {ours_text}\n  Clearway {ours}\n  SQLite   {len(rows)} rows: {rows[:8]}")
        by_kind[kind] = (good, count)
        done += count
    return done, by_kind, failures


def equal(a, b, ordered: bool) -> bool:
    def key(row):
        return [(v is not None, round(float(v), 6) if isinstance(v, (int, float)) else 0, str(v)) for v in row]

    if len(a) != len(b):
        return False
    if not ordered:
        a, b = sorted(a, key=key), sorted(b, key=key)

    def close(x, y):
        if x is None or y is None or isinstance(x, str) or isinstance(y, str):
            return x == y
        return abs(float(x) - float(y)) <= 1e-9 * max(1.0, abs(float(x)))

    return all(len(x) == len(y) and all(map(close, x, y)) for x, y in zip(a, b))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1_000, help="statements of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default=None)
    arguments = parser.parse_args()
    if arguments.server:
        os.environ["CLEARWAY_BIN"] = arguments.server
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        engine = Clearway(Path(folder))
        try:
            for path in sorted(HERE.glob("*.slt")):
                done, failed = run_file(engine, path)
                failures += failed
                print(f"{path.name}: {done - len(failed)} of {done}")
            done, by_kind, failed = run_corpus(engine, arguments.count, arguments.seed)
            failures += failed
        finally:
            engine.stop()
    for kind, (good, count) in by_kind.items():
        print(f"{kind}: {good} of {count} as SQLite")
    for failure in failures[:30]:
        print(failure)
    good = sum(g for g, _ in by_kind.values())
    print(f"corpus grammar, seed {arguments.seed}: {good} of {done} ({100 * good / max(done, 1):.2f} %)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
