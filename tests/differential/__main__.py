"""Runs statements made at random on Clearway and on DuckDB and compares what they answer.

    python tests/differential [--count N] [--seed S] [--only INDEX] [--server BINARY]

A statement that is answered differently is made smaller for as long as the answers differ, and printed with
the tables it reads. Exit code 1 if there was any.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from engines import OWN_LIMITS, Clearway, Duck, NoAnswer, TooSlow, same  # noqa: E402
from generate import Rows, Statements, literal  # noqa: E402
from tree import DUCK, TSQL, Change, Query  # noqa: E402

PER_WORLD = 100
SHRINKS_MAX = 3_000
SHRINK_SECONDS_MAX = 60


class Run:
    def __init__(self, ours: Clearway, theirs: Duck):
        self.ours, self.theirs = ours, theirs
        self.done = self.slow = self.unanswered = self.empty = self.refused = 0
        self.differences = []

    def both(self, statement):
        if isinstance(statement, Change):
            return (
                self.ours.changed(statement.statements(TSQL), statement.table),
                self.theirs.changed(statement.statements(DUCK), statement.table),
            )
        ours, theirs = self.ours.run(statement.render(TSQL)), self.theirs.run(statement.render(DUCK))
        if ours.number in OWN_LIMITS:
            raise NoAnswer(statement)
        # DuckDB forgets LIMIT over some joins with LATERAL: it says itself that there are to be fewer.
        limit = getattr(statement, "top", None)
        if limit is not None and not statement.ties and len(theirs.rows or ()) > limit:
            raise NoAnswer(statement)
        return ours, theirs

    def differs(self, statement) -> bool:
        ours, theirs = self.both(statement)
        return not same(ours, theirs, in_order(statement))

    def check(self, label: str, statement, rows: Rows) -> None:
        try:
            ours, theirs = self.both(statement)
        except TooSlow:
            self.slow += 1
            return
        except NoAnswer:
            self.unanswered += 1
            return
        self.done += 1
        if same(ours, theirs, in_order(statement)):
            self.refused += ours.error is not None
            self.empty += not ours.error and not ours.rows
            return
        small = self.shrink(statement)
        text = describe(label, small, self.both(small), rows)
        self.differences.append(text)
        print(text, flush=True)

    def shrink(self, statement):
        """Takes the first smaller statement that still differs, until there is none. A statement that
        one of the engines refuses for its form is none: what is shrunk must stay a question to both."""
        original_refused = self.refusal(statement)
        tried, end = 0, time.monotonic() + SHRINK_SECONDS_MAX
        while tried < SHRINKS_MAX and time.monotonic() < end:
            for less in statement.smaller():
                tried += 1
                if tried >= SHRINKS_MAX or time.monotonic() > end:
                    break
                try:
                    if self.differs(less) and self.refusal(less) == original_refused:
                        statement = less
                        break
                except (TooSlow, NoAnswer, IndexError, RecursionError):
                    continue
            else:
                return statement
        return statement

    def refusal(self, statement):
        """Which side refuses, and how."""
        ours, theirs = self.both(statement)
        return ours.number, bool(theirs.error), (theirs.error or "").split(":")[0]


def in_order(statement) -> bool:
    """Tells whether a statement says which row comes when: WITH TIES and less than all columns do not."""
    return isinstance(statement, Query) and len(statement.order or []) >= len(statement.items)


def describe(label: str, statement, outcomes, rows: Rows) -> str:
    ours, theirs = outcomes
    if isinstance(statement, Change):
        tsql, duck = "; ".join(statement.statements(TSQL)), "; ".join(statement.statements(DUCK))
    else:
        tsql, duck = statement.render(TSQL), statement.render(DUCK)
    lines = [f"--- {label}", f"T-SQL    {tsql}", f"DuckDB   {duck}", f"Clearway {ours}", f"DuckDB   {theirs}"]
    for name, columns, content, keyed, indexes in rows.tables:
        if f"{name} " in tsql + " ":
            shape = ", ".join(f"{c} {k}" for c, k in columns)
            lines.append(f"  {name} ({shape}), key {keyed}, indexes {indexes}, {len(content)} rows")
            lines += ["    " + ", ".join(literal(v) for v in row) for row in content[:5]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--server", default=None)
    parser.add_argument("--stop-after", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.server:
        os.environ["CLEARWAY_BIN"] = arguments.server
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Clearway(Path(folder)), Duck()
        run = Run(ours, theirs)
        try:
            compare(run, seed, arguments)
        finally:
            ours.stop()
    print(
        f"seed {seed}: {run.done} statements compared, {len(run.differences)} differences; of the same: "
        f"{run.empty} without rows, {run.refused} refused by both; {run.slow} too slow to compare, "
        f"{run.unanswered} on which DuckDB broke or only one has a limit"
    )
    return 1 if run.differences else 0


def compare(run: Run, seed: int, arguments) -> None:
    indexes = range(arguments.count) if arguments.only is None else [arguments.only]
    world, rows = None, None
    for index in indexes:
        if world != index // PER_WORLD:
            world = index // PER_WORLD
            rows = Rows(random.Random(f"{seed}:{world}"), world)
            run.ours.use(rows.definitions(TSQL))
            run.theirs.use(rows.definitions(DUCK))
        statement = Statements(rows, random.Random(f"{seed}:{world}:{index}")).statement()
        run.check(f"seed {seed}, --only {index}", statement, rows)
        if len(run.differences) >= arguments.stop_after:
            break


if __name__ == "__main__":
    sys.exit(main())
