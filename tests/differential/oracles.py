"""Asks Clearway the same question in ways whose answers must agree, over schemas and queries at random.

    python tests/differential/oracles.py [--count N] [--seed S] [--only WORLD] [--server BINARY] [--self-test]

`checks.py` says which ways. A check that fails is made smaller for as long as it fails, and printed as a script
that shows it in an empty database. An error that no check expects is a failure too. Exit code 1 if there was any.

`--self-test` plants mistakes of the kinds that optimizers make in the statements on their way to the server; each
must be found.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import Check, Checks  # noqa: E402
from engines import Clearway, TooSlow  # noqa: E402
from predicates import Predicates, Scope  # noqa: E402
from worlds import World  # noqa: E402

CHECKS_PER_WORLD = 150
CHECKS_PER_CHANGE = 6
SHRINK_SECONDS_MAX = 40
SELF_TEST_CHECKS_MAX = 3_000
# Arithmetic overflow and division by zero: which row is computed is open.
EXPECTED = {8115, 8134, 220, 232}
# No plan under these hints.
NO_PLAN = 8622


class Server(Clearway):
    """The engine, with every result set of a batch."""

    mistake = None

    def use_empty(self) -> None:
        """Makes an empty database, and drops the one before it."""
        if not self.connection:
            self.connect("master")
        self.must("USE master")
        if self.databases:
            self.must(f"DROP DATABASE {self.database}")
        self.databases += 1
        self.database = f"d{self.databases}"
        self.must(f"CREATE DATABASE {self.database}")
        self.must(f"ALTER DATABASE {self.database} SET MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON")
        self.must(f"USE {self.database}")

    def answers(self, texts: list[str]):
        """Returns the result sets of some statements, or the number and text of the first error."""
        import pytds

        if self.mistake:
            texts = [self.mistake(at, text) for at, text in enumerate(texts)]
        try:
            with self.connection.cursor() as cursor:
                # Only what a query returns is an answer.
                cursor.execute(";\n".join(["SET NOCOUNT ON", *texts]))
                sets = []
                while True:
                    if cursor.description:
                        sets.append(cursor.fetchall())
                    if not cursor.nextset():
                        return sets, None
        except pytds.tds_base.TimeoutError:
            self.connect(self.database)
            raise TooSlow() from None
        except pytds.Error as error:
            number = getattr(error, "number", None)
            if self.server.process.poll() is not None or number is None:
                raise RuntimeError(f"the server is gone or broke the protocol: {error!r}\n" + "\n".join(texts)) from error
            self.run("IF @@TRANCOUNT > 0 ROLLBACK")
            return None, (number, str(error))


class Run:
    def __init__(self, server: Server):
        self.server = server
        self.done = self.refused = self.slow = self.changes = 0
        self.by_oracle: dict[str, int] = {}
        self.failures: list[str] = []

    def verdict(self, check: Check) -> str | None:
        """Says what is wrong with the answers to a check; None if nothing is."""
        answers, error = self.server.answers(check.texts())
        if error is None:
            return check.judge(answers)
        if error[0] == NO_PLAN and check.hinted:
            return self.without_hints(check)
        return None if error[0] in EXPECTED else f"error {error[0]}: {error[1]}"

    def without_hints(self, check: Check) -> str | None:
        """Where a hint leaves no plan, the statements that have one are compared."""
        sets = []
        for text in check.texts():
            answers, error = self.server.answers([text])
            if error is None:
                sets += answers
            elif error[0] not in EXPECTED | {NO_PLAN}:
                return f"error {error[0]}: {error[1]}"
        return check.judge(sets) if sets else None

    def check(self, label: str, check: Check, world: World) -> None:
        try:
            wrong = self.verdict(check)
        except TooSlow:
            self.slow += 1
            return
        self.done += 1
        self.by_oracle[check.oracle] = self.by_oracle.get(check.oracle, 0) + 1
        if wrong is None:
            return
        end = time.monotonic() + SHRINK_SECONDS_MAX
        check, wrong = self.shrink(check, wrong, end)
        batches = self.shrink_world(check, wrong, list(world.batches), end)
        text = script(label, check, wrong, batches)
        self.failures.append(text)
        print(text, flush=True)

    def shrink(self, check: Check, wrong: str, end: float) -> tuple[Check, str]:
        """Takes the first smaller check that is wrong in the same way, until there is none."""
        kind = wrong.split(":")[0][:9]
        while time.monotonic() < end:
            for less in check.smaller():
                try:
                    found = self.verdict(less)
                except TooSlow:
                    continue
                if found and found.split(":")[0][:9] == kind:
                    check, wrong = less, found
                    break
                if time.monotonic() > end:
                    break
            else:
                break
        return check, wrong

    def shrink_world(self, check: Check, wrong: str, batches: list[str], end: float) -> list[str]:
        """Leaves out batches, and rows of INSERT, for as long as the check is wrong in a new database."""
        kind = wrong.split(":")[0][:9]

        def is_wrong(fewer: list[str]) -> bool:
            self.server.use_empty()
            for batch in fewer:
                if self.server.run(batch).error and batch.startswith("CREATE"):
                    return False
            try:
                found = self.verdict(check)
            except TooSlow:
                return False
            return found is not None and found.split(":")[0][:9] == kind

        all_batches = batches
        if not is_wrong(batches):
            return ["-- It does not happen again in a new database.", *batches]
        size = max(len(batches) // 2, 1)
        while time.monotonic() < end:
            at = 0
            while at < len(batches) and time.monotonic() < end:
                fewer = batches[:at] + batches[at + size :]
                if is_wrong(fewer):
                    batches = fewer
                else:
                    at += size
            if size == 1:
                break
            size = max(size // 2, 1)
        # The run goes on with the world as it was.
        self.server.use_empty()
        for batch in all_batches:
            self.server.run(batch)
        return batches


def script(label: str, check: Check, wrong: str, batches: list[str]) -> str:
    lines = [f"-- {label}: {check.oracle}: {wrong}"]
    for batch in batches:
        lines += [batch, "GO"]
    return "\n".join([*lines, "SET NOCOUNT ON;", *(f"{text};" for text in check.texts()), "GO"])


# ---- mistakes that are planted --------------------------------------------------------------------


def by_others(change):
    """The first statement of a check looks at every row: the mistake is in the others."""
    return lambda at, text: text if at == 0 else change(text)


def without_null(text: str) -> str:
    """NOT IN of a subquery, as if no NULL came out of it."""

    def change(found) -> str:
        return f"{found[1]} WHERE {found[2]} IS NOT NULL{')' if found[3] == ')' else ' AND '}"

    return re.sub(r"(NOT IN \(SELECT (\S+) FROM \w+ AS \w+)(\)| WHERE )", change, text)


# Each by what an engine would do wrong.
MISTAKES = {
    "an upper bound of a range is left out": by_others(lambda text: re.sub(r" <= (?=[-'@\dN0])", " < ", text)),
    "BETWEEN does not take its ends": by_others(
        lambda text: re.sub(r"(\S+) BETWEEN (\S+) AND (\S+?)(?=[)\s;]|$)", r"(\1 > \2 AND \1 < \3)", text)
    ),
    "NOT IN forgets NULL": by_others(without_null),
    "an outer join becomes an inner one": by_others(lambda text: text.replace(" LEFT JOIN ", " INNER JOIN ")),
    "IS NULL finds nothing": by_others(lambda text: re.sub(r"(\w+\.\w+) IS NULL(?! THEN)", r"(\1 IS NULL AND 1 = 0)", text)),
    "a scan leaves rows out": by_others(lambda text: text.replace(" FROM t0 AS a", " FROM (SELECT * FROM t0 WHERE id <> 3) AS a")),
    "UNION keeps doubles": by_others(lambda text: text.replace(" UNION SELECT", " UNION ALL SELECT")),
    "a DELETE leaves rows": lambda at, text: text.replace("DELETE FROM t0 WHERE ", "DELETE FROM t0 WHERE id % 3 <> 0 AND ", 1),
    "an UPDATE misses rows": lambda at, text: re.sub(r"(UPDATE t\d SET .* WHERE )", r"\1 id % 3 <> 0 AND ", text),
}


def self_test(server: Server, seed: int) -> int:
    missed = []
    for name, mistake in MISTAKES.items():
        server.mistake = mistake
        found, asked = None, 0
        try:
            for label, check, _ in checks(server, seed, range(SELF_TEST_CHECKS_MAX // CHECKS_PER_WORLD)):
                asked += 1
                try:
                    answers, error = server.answers(check.texts())
                except TooSlow:
                    continue
                found = check.judge(answers) if error is None else None
                if found:
                    break
        finally:
            server.mistake = None
        print(f"{name}: {f'found by check {asked} ({check.oracle})' if found else 'NOT FOUND'}", flush=True)
        if not found:
            missed.append(name)
    return 1 if missed else 0


# ---- running --------------------------------------------------------------------------------------


def checks(server: Server, seed: int, worlds, run: Run | None = None):
    """Yields checks, and changes the tables between them."""
    for number in worlds:
        rng = random.Random(f"{seed}:{number}")
        world = World(rng, number)
        server.use_empty()
        for batch in world.batches:
            server.must(batch)
        maker = Checks(rng, world)
        predicates = Predicates(rng, world.tables)
        for index in range(CHECKS_PER_WORLD):
            if index % CHECKS_PER_CHANGE == CHECKS_PER_CHANGE - 1:
                before = len(world.batches)
                world.change(lambda table: str(predicates.predicate(Scope.of((table.name, table)), 1)))
                for batch in world.batches[before:]:
                    outcome = server.run(batch)
                    if outcome.error and outcome.number not in EXPECTED:
                        raise RuntimeError(f"seed {seed}, world {number}: {outcome}\n{batch}")
                if run:
                    run.changes += 1
            yield f"seed {seed}, --only {number}, check {index}", maker.check(), world


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--server", default=None)
    parser.add_argument("--stop-after", type=int, default=10)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.server:
        os.environ["CLEARWAY_BIN"] = arguments.server
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            if arguments.self_test:
                return self_test(server, seed)
            run = Run(server)
            start = time.monotonic()
            compare(run, seed, arguments)
        finally:
            server.stop()
    by_oracle = ", ".join(f"{name} {count}" for name, count in sorted(run.by_oracle.items()))
    print(
        f"seed {seed}: {run.done} checks ({by_oracle}) and {run.changes} changes in {time.monotonic() - start:.0f} s, "
        f"{len(run.failures)} failures, {run.slow} too slow to compare"
    )
    return 1 if run.failures else 0


def compare(run: Run, seed: int, arguments) -> None:
    worlds = range(10**9) if arguments.only is None else [arguments.only]
    for label, check, world in checks(run.server, seed, worlds, run):
        run.check(label, check, world)
        if run.done >= arguments.count or len(run.failures) >= arguments.stop_after:
            return


if __name__ == "__main__":
    sys.exit(main())
