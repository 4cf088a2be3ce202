"""The two engines: Clearway over the wire, DuckDB in this process. Each runs a statement to an `Outcome`."""

from __future__ import annotations

import datetime
import decimal
import sys
import threading
from pathlib import Path

import duckdb
import pytds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "drivers"))
import harness  # noqa: E402

SECONDS_MAX = 20
# SQL Server's numbers for what both engines may refuse: overflow (8115), division by zero (8134), more
# than one row in a scalar subquery (512), a string that is too long (2628), a duplicate key (2627).
REFUSALS = {
    8115: ("out of range", "overflow", "out_of_range"),
    8134: ("division by zero",),
    512: ("more than one row",),
    2627: ("duplicate key",),
    2601: ("duplicate key",),
    220: ("out of range", "overflow"),
    517: ("out of range", "overflow"),
}


class TooSlow(Exception):
    """A statement took longer than it may: says nothing about its answer."""


# DuckDB 2.0 breaks on a few statements of its own dialect, and takes every part of WITH RECURSIVE for a
# recursive one: that says nothing about ours.
OWN_TROUBLE = ("BindBuiltinScalarFunction did not return", "INTERNAL Error", "in a recursive query is not allowed")


# SQL Server's numbers for limits that only one engine has: STRING_AGG of short strings ends at 8,000 bytes.
OWN_LIMITS = (9829,)


class NoAnswer(Exception):
    """One engine broke, or has a limit that the other has not."""


class Outcome:
    """Rows, or an error."""

    def __init__(self, rows=None, error=None, number=None):
        self.rows, self.error, self.number = rows, error, number

    def __str__(self) -> str:
        if self.error:
            return f"error {self.number or ''}: {self.error}"
        return f"{len(self.rows)} rows: {self.rows[:8]}"


class Clearway:
    def __init__(self, folder: Path, *arguments: str):
        self.server = harness.Server(folder, *arguments)
        self.databases = 0
        self.connection = None

    def use(self, definitions) -> None:
        """Makes a database of its own for these tables."""
        self.databases += 1
        self.database = f"d{self.databases}"
        self.connect("master")
        if self.databases > 1:
            self.run(f"DROP DATABASE d{self.databases - 1}")
        self.must(f"CREATE DATABASE {self.database} COLLATE Latin1_General_BIN2")
        self.connect(self.database)
        for text in definitions:
            self.must(text)

    def connect(self, database: str) -> None:
        if self.connection:
            self.connection.close()
        self.connection = pytds.connect(
            "127.0.0.1", database, harness.USER, harness.PASSWORD, port=self.server.port, autocommit=True,
            timeout=SECONDS_MAX, login_timeout=10,
        )

    def must(self, text: str) -> None:
        outcome = self.run(text)
        if outcome.error:
            raise RuntimeError(f"{outcome}\n{text}")

    def run(self, text: str) -> Outcome:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(text)
                rows = cursor.fetchall() if cursor.description else []
                while cursor.nextset():
                    rows = cursor.fetchall() if cursor.description else rows
                return Outcome([tuple(row) for row in rows])
        except pytds.tds_base.TimeoutError:
            self.connect(self.database)
            raise TooSlow(text) from None
        except pytds.Error as error:
            number = getattr(error, "number", None)
            if self.server.process.poll() is not None or number is None:
                raise RuntimeError(f"the server is gone or broke the protocol: {error!r}\n{text}") from error
            return Outcome(error=str(error), number=number)

    def changed(self, statements: list[str], table: str) -> Outcome:
        """Runs changes and returns the table after them, then undoes them."""
        self.run("BEGIN TRANSACTION")
        try:
            for text in statements:
                outcome = self.run(text)
                if outcome.error:
                    return outcome
            return self.run(f"SELECT * FROM {table}")
        finally:
            self.run("IF @@TRANCOUNT > 0 ROLLBACK")

    def stop(self) -> int:
        self.connection.close()
        return self.server.stop()


class Duck:
    def use(self, definitions) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        self.connection.execute("SET order_by_non_integer_literal = true")
        for text in definitions:
            self.connection.execute(text)

    def run(self, text: str) -> Outcome:
        timer = threading.Timer(SECONDS_MAX, self.connection.interrupt)
        timer.start()
        try:
            answer = self.connection.execute(text)
            return Outcome(answer.fetchall() if answer.description else [])
        except duckdb.InterruptException:
            raise TooSlow(text) from None
        except duckdb.Error as error:
            if any(words in str(error) for words in OWN_TROUBLE):
                raise NoAnswer(text) from error
            return Outcome(error=str(error))
        finally:
            timer.cancel()

    def changed(self, statements: list[str], table: str) -> Outcome:
        self.connection.execute("BEGIN TRANSACTION")
        try:
            for text in statements:
                outcome = self.run(text)
                if outcome.error:
                    return outcome
            return self.run(f"SELECT * FROM {table}")
        finally:
            self.connection.execute("ROLLBACK")


def same(ours: Outcome, theirs: Outcome, in_order: bool) -> bool:
    if ours.error or theirs.error:
        if not (ours.error and theirs.error):
            return False
        words = REFUSALS.get(ours.number, ())
        return any(word in theirs.error.lower() for word in words)
    if len(ours.rows) != len(theirs.rows):
        return False
    a, b = [[plain(v) for v in r] for r in ours.rows], [[plain(v) for v in r] for r in theirs.rows]
    if not in_order:
        a.sort(key=sort_key)
        b.sort(key=sort_key)
    return all(len(x) == len(y) and all(map(equal, x, y)) for x, y in zip(a, b))


def plain(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime.datetime):
        return value.date() if value.time() == datetime.time() else value
    return value


def sort_key(row):
    keys = []
    for value in row:
        if value is None:
            keys.append((0, 0))
        elif isinstance(value, (int, decimal.Decimal)):
            keys.append((1, float(value)))
        elif isinstance(value, float):
            # Neighbours that differ in the last digits must not change places.
            keys.append((1, float(f"{value:.7g}") + 0.0))
        else:
            keys.append((2, str(value)))
    return keys


def equal(a, b) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return a == b or abs(float(a) - float(b)) <= 1e-9 + 1e-9 * max(abs(float(a)), abs(float(b)))
    return a == b
