"""The checks as every Python driver runs them; a driver module says only how it differs.

A driver module makes a subclass of `Driver`, and calls `main(TheDriver())`.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
import threading
import time
import traceback
import uuid

WORK = json.load(sys.stdin)
SQL = WORK["sql"]
MARK = WORK["mark"]
CANCEL_SECONDS_MAX = 1.0
CHECK_SECONDS_MAX = 30


class Failed(Exception):
    """A check did not hold."""


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: got {short(got)}, expected {short(want)}")


def short(value):
    text = repr(value)
    return text if len(text) < 160 else f"{text[:80]}... ({len(value) if hasattr(value, '__len__') else '?'})"


# ---- values ----------------------------------------------------------------------------------


def case_text(case):
    """The whole text of a case; big ones are sent to us as a repeat."""
    return case["repeat"] * case["times"] if "repeat" in case else case["text"]


def native(kind, text):
    """The Python value of a case, as a program would hold it."""
    base = kind["base"]
    if text is None:
        return None
    if base == "bit":
        return text == "1"
    if base in ("tinyint", "smallint", "int", "bigint"):
        return int(text)
    if base in ("decimal", "money", "smallmoney"):
        return decimal.Decimal(text)
    if base in ("real", "float"):
        return float(text)
    if base == "date":
        return datetime.date.fromisoformat(text)
    if base == "time":
        return datetime.time.fromisoformat(pad(text))
    if base in ("datetime", "datetime2", "smalldatetime"):
        return datetime.datetime.fromisoformat(pad(text))
    if base == "datetimeoffset":
        stamp, _, offset = text.rpartition(" ")
        return datetime.datetime.fromisoformat(pad(stamp) + offset)
    if base in ("binary", "varbinary"):
        return bytes.fromhex(text)
    if base == "uniqueidentifier":
        return uuid.UUID(text)
    return text


def pad(text):
    """Fills the fraction of a second up to six digits, which fromisoformat wants."""
    if "." not in text:
        return text
    head, _, fraction = text.rpartition(".")
    return f"{head}.{fraction:0<6}"


def canonical(kind, value):
    """The text of a value that came back, in the spelling of spec.toml."""
    base = kind["base"]
    if value is None:
        return None
    if base == "bit":
        return str(int(value))
    if base in ("decimal", "money", "smallmoney"):
        scale = int(kind["sizes"][1]) if base == "decimal" else 4
        with decimal.localcontext(prec=60):
            return f"{decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-scale)):f}"
    if base in ("real", "float"):
        return float(value)
    if base == "datetime":
        value = round_to_ms(value)
    if base in ("date", "time", "datetime", "datetime2", "smalldatetime", "datetimeoffset"):
        return canonical_time(base, value)
    if base in ("binary", "varbinary"):
        return bytes(value).hex().upper()
    if base == "uniqueidentifier":
        return str(value).upper()
    return str(value)


def round_to_ms(value):
    ms = (value.microsecond + 500) // 1000
    return value.replace(microsecond=min(ms, 999) * 1000)


def canonical_time(base, value):
    if base == "date":
        return value.isoformat() if not isinstance(value, datetime.datetime) else value.date().isoformat()
    offset = ""
    if base == "datetimeoffset":
        minutes = int(value.utcoffset().total_seconds() // 60)
        offset = f" {'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        value = value.replace(tzinfo=None)
    text = value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value.isoformat()
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + offset


def same(kind, value, case):
    """Says whether what came back is the case's value."""
    if "repeat" in case:
        return canonical(kind, value) == case_text(case)
    want = case["text"] if case["text"] is None else case["expect"]
    if want is not None and kind["base"] == "real":
        import struct

        return struct.pack("f", float(want)) == struct.pack("f", value)
    if want is not None and kind["base"] == "float":
        return float(want) == value
    return canonical(kind, value) == want


# ---- the driver ------------------------------------------------------------------------------


class Driver:
    """What a driver does its own way. The defaults are DB-API with `?` markers."""

    mark = "?"
    # Whether OUTPUT parameters can be read after rows.
    procedure_rows = True
    trancount_after_reset = 0
    isolation_after_reset = 3
    # What a login to a database that is not there may say: the server sends 4060, and then 18456.
    unknown_database = (4060,)

    def connect(self, password=None, database=None, autocommit=True, strict=False):
        raise NotImplementedError

    def error(self, raised):
        """Returns (list of numbers, line or None, message, state or None) of a driver's exception."""
        raise NotImplementedError

    def bind(self, kind, text):
        """Returns what to hand to execute for a case of a type."""
        return native(kind, text)

    def execute(self, cursor, sql, params, kinds):
        """Runs `sql`, whose markers are `{}`, with parameters of the given types."""
        cursor.execute(sql.replace("{}", self.mark), tuple(params))

    def fetch_value(self, kind, value):
        """Turns a fetched value into the one that `canonical` knows."""
        return value

    def plain(self, cursor, sql):
        cursor.execute(sql)

    def output(self, connection, kind, case):
        """Sends a case through an OUTPUT parameter and returns what came back."""
        raise NotImplementedError

    def call(self, connection):
        """Calls the procedure; returns (rows, b, c, status)."""
        raise NotImplementedError

    def messages(self, connection, sql):
        """Runs `sql` and returns the texts of its messages."""
        raise NotImplementedError

    def cancel(self, connection, sql):
        """Starts `sql`, cancels it after 0.3 s, and returns the seconds from cancel to answer."""
        cursor = connection.cursor()
        return timed_cancel(cursor.cancel, lambda: self.plain(cursor, sql))

    def pool(self):
        """Returns a function that takes a connection from the pool."""
        raise NotImplementedError

    def prepare(self, connection):
        """Returns a function from a number to what `select {} + 1` gives for it, prepared once."""
        cursor = connection.cursor()
        sql = f"select cast({self.mark} as int) + 1"

        def run(number):
            cursor.execute(sql, (number,))
            return cursor.fetchone()[0]

        return run

    def bulk(self, connection, table, rows):
        raise NotImplementedError


def timed_cancel(cancel, run):
    """Runs `run`, calls `cancel` from another thread after 0.3 s, and measures from there."""
    called = []

    def later():
        time.sleep(0.3)
        called.append(time.monotonic())
        cancel()

    thread = threading.Thread(target=later)
    thread.start()
    try:
        run()
    except Exception:  # the driver's own exception for a cancelled statement
        pass
    ended = time.monotonic()
    thread.join()
    if ended < called[0]:
        raise Failed("the statement ended before it was cancelled")
    return ended - called[0]


def scalar(connection, driver, sql):
    cursor = connection.cursor()
    driver.plain(cursor, sql)
    row = cursor.fetchone()
    cursor.close()
    return row[0]


# ---- the checks ------------------------------------------------------------------------------


class Checks:
    def __init__(self, driver):
        self.driver = driver

    def connect(self, cn):
        equal(scalar(cn, self.driver, "select 1"), 1, "select 1")
        version = scalar(cn, self.driver, "select @@version")
        if not version.startswith("Microsoft SQL Server"):
            raise Failed(f"@@version is {version!r}")

    def connect_strict(self, _):
        cn = self.driver.connect(strict=True)
        equal(scalar(cn, self.driver, "select N'strict'"), "strict", "select")
        cn.close()

    def refused(self, wanted, **how):
        try:
            cn = self.driver.connect(**how)
        except Exception as raised:
            numbers, _, message, _ = self.driver.error(raised)
            if not set(wanted) & set(numbers):
                raise Failed(f"errors {numbers}, expected {wanted}: {message}") from raised
            return
        cn.close()
        raise Failed("the login was accepted")

    def wrong_password(self, _):
        self.refused((18456,), password="not it")

    def unknown_database(self, _):
        self.refused(self.driver.unknown_database, database="no_such_database")

    def procedure(self, cn):
        cursor = cn.cursor()
        text = SQL["procedure-create"]
        text = text if self.driver.procedure_rows else text.replace("select @a as a ", "")
        self.driver.plain(cursor, text)
        cursor.close()
        try:
            rows = [21] if self.driver.procedure_rows else []
            equal(self.driver.call(cn), (rows, "in!", 42, 7), "rows, @b, @c, status")
        finally:
            cursor = cn.cursor()
            self.driver.plain(cursor, SQL["procedure-drop"])

    def two_results(self, cn):
        cursor = cn.cursor()
        self.driver.plain(cursor, SQL["two-results"])
        equal([tuple(r) for r in cursor.fetchall()], [(1,)], "first result")
        equal([d[0] for d in cursor.description], ["a"], "first columns")
        if not cursor.nextset():
            raise Failed("no second result")
        equal([d[0] for d in cursor.description], ["b", "c"], "second columns")
        equal([tuple(r) for r in cursor.fetchall()], [("two", 3)], "second result")
        if cursor.nextset():
            raise Failed("a third result")

    def transaction(self, verb, count):
        setup = self.driver.connect()
        cursor = setup.cursor()
        self.driver.plain(cursor, f"create table tx_{MARK} (k int not null primary key)")
        try:
            cn = self.driver.connect(autocommit=False)
            cursor = cn.cursor()
            self.driver.plain(cursor, f"insert into tx_{MARK} values (1)")
            self.driver.plain(cursor, f"insert into tx_{MARK} values (2)")
            equal(scalar(cn, self.driver, "select @@trancount"), 1, "@@trancount inside")
            getattr(cn, verb)()
            cn.close()
            equal(scalar(setup, self.driver, f"select count(*) from tx_{MARK}"), count, f"rows after {verb}")
        finally:
            self.driver.plain(setup.cursor(), f"drop table tx_{MARK}")
            setup.close()

    def commit(self, _):
        self.transaction("commit", 2)

    def rollback(self, _):
        self.transaction("rollback", 0)

    def failing(self, cn, sql, number, line=None, text=None, state=None):
        """Runs `sql`, which must fail so; the connection must go on afterwards."""
        cursor = cn.cursor()
        try:
            self.driver.plain(cursor, sql)
            while True:
                if cursor.description:
                    cursor.fetchall()
                if not cursor.nextset():
                    break
        except Failed:
            raise
        except Exception as raised:
            numbers, at, message, got_state = self.driver.error(raised)
            if number not in numbers:
                raise Failed(f"errors {numbers}, expected {number}: {message}") from raised
            if line is not None and at is not None:
                equal(at, line, "line")
            if text and text not in message:
                raise Failed(f"message {message!r} lacks {text!r}") from raised
            if state is not None and got_state is not None:
                equal(got_state, state, "state")
            equal(scalar(cn, self.driver, "select 5"), 5, "after the error")
            return
        raise Failed("no error came")

    def error_divide(self, cn):
        self.failing(cn, SQL["error-divide"], 8134, 3)

    def error_duplicate(self, cn):
        cursor = cn.cursor()
        self.driver.plain(cursor, "create table #d (k int not null primary key)")
        self.driver.plain(cursor, "insert into #d values (1)")
        cursor.close()
        self.failing(cn, "insert into #d values (1)", 2627, 1)

    def error_object(self, cn):
        self.failing(cn, SQL["error-object"], 208, 1, "no_such_table")

    def error_syntax(self, cn):
        self.failing(cn, SQL["error-syntax"], 102, 2, "')'")

    def error_raise(self, cn):
        self.failing(cn, SQL["error-raise"], 50000, 1, "bad luck 13", 3)

    def messages(self, cn):
        texts = self.driver.messages(cn, SQL["messages"])
        for want in ("hello print", "hello info 42"):
            if not any(want in t for t in texts):
                raise Failed(f"{want!r} is not among {texts}")

    def cancelled(self, cn, sql):
        took = self.driver.cancel(cn, sql)
        if took > CANCEL_SECONDS_MAX:
            raise Failed(f"the answer came {took:.2f} s after the cancel")
        equal(scalar(cn, self.driver, "select 6"), 6, "after the cancel")

    def cancel_wait(self, cn):
        self.cancelled(cn, SQL["cancel-wait"])

    def cancel_loop(self, cn):
        self.cancelled(cn, SQL["cancel-loop"])

    def pool_reset(self, _):
        take = self.driver.pool()
        cn = take()
        spid = scalar(cn, self.driver, "select @@spid")
        for sql in (
            "create table #pooled (a int)",
            "set lock_timeout 1234",
            "set transaction isolation level repeatable read",
            "begin transaction",
        ):
            self.driver.plain(cn.cursor(), sql)
        cn.close()
        cn = take()
        equal(scalar(cn, self.driver, "select @@spid"), spid, "@@spid: the pool made a new connection")
        equal(scalar(cn, self.driver, "select @@trancount"), self.driver.trancount_after_reset, "@@trancount")
        equal(scalar(cn, self.driver, "select object_id('tempdb..#pooled')"), None, "the temp table")
        equal(scalar(cn, self.driver, "select @@lock_timeout"), -1, "@@lock_timeout")
        sql = "select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid"
        equal(scalar(cn, self.driver, sql), self.driver.isolation_after_reset, "isolation level")
        cn.close()

    def thousand(self, cn):
        for n in range(1000):
            cursor = cn.cursor()
            if n % 2:
                self.driver.plain(cursor, f"select {n}")
            else:
                kind = {"name": "int", "base": "int", "sizes": []}
                self.driver.execute(cursor, "select cast({} as int)", [n], [kind])
            equal(cursor.fetchone()[0], n, "statement")
            cursor.close()

    def prepared(self, cn):
        run = self.driver.prepare(cn)
        for n in (1, -5, 2147483646, 0, 7, 8, 9):
            equal(run(n), n + 1, "prepared")

    def bulk(self, cn):
        self.driver.plain(cn.cursor(), SQL["bulk-create"])
        table = f"bulk_{MARK}"
        try:
            day = datetime.datetime(2024, 2, 29, 12, 34, 56, 123000)
            rows = [
                (n, None if n % 7 == 0 else f"name {n} é", decimal.Decimal(n) / 4, day, bytes([n % 256, 0, 255]))
                for n in range(1, 501)
            ]
            self.driver.bulk(cn, table, rows)
            equal(scalar(cn, self.driver, f"select count(*) from {table}"), 500, "rows")
            cursor = cn.cursor()
            self.driver.plain(cursor, f"select id, name, amount, stamp, data from {table} order by id")
            got = [(r[0], r[1], r[2], r[3], bytes(r[4])) for r in cursor.fetchall()]
            for have, want in zip(got, rows, strict=True):
                equal(have, want, "row")
        finally:
            self.driver.plain(cn.cursor(), f"drop table {table}")

    def of_type(self, cn, kind):
        cursor = cn.cursor()
        self.driver.plain(cursor, f"create table #t (id int not null primary key, v {kind['name']} null)")
        cursor.close()
        number = {"name": "int", "base": "int", "sizes": []}
        for n, case in enumerate(kind["cases"]):
            label = f"case {case['case']}"
            value = self.driver.bind(kind, case_text(case))
            cursor = cn.cursor()
            try:
                self.driver.execute(cursor, "insert into #t (id, v) values ({}, {})", [n, value], [number, kind])
            except Exception as raised:
                raise Failed(f"{label}: insert: {raised}") from raised
            cursor = cn.cursor()
            self.driver.execute(cursor, "select v from #t where id = {}", [n], [number])
            got = self.driver.fetch_value(kind, cursor.fetchone()[0])
            cursor.close()
            if not same(kind, got, case):
                raise Failed(f"{label}: column came back as {short(got)}, expected {short(case.get('expect'))}")
            seen = scalar(cn, self.driver, f"select count(*) from #t where id = {n} and {case['where']}")
            equal(seen, 1, f"{label}: rows where {case['where'][:80]}")
            if kind["outputs"]:
                try:
                    got = self.driver.fetch_value(kind, self.driver.output(cn, kind, case))
                except Exception as raised:
                    raise Failed(f"{label}: output: {raised}") from raised
                if not same(kind, got, case):
                    raise Failed(f"{label}: OUTPUT came back as {short(got)}, expected {short(case.get('expect'))}")


def main(driver):
    """Runs every check asked for, each on a connection of its own, and prints its answer."""
    for name in WORK["checks"]:
        answer = {"check": name, "ok": False, "detail": f"it took more than {CHECK_SECONDS_MAX} s"}
        # A check that hangs must not take the others with it.
        thread = threading.Thread(target=one_check, args=(driver, name, answer), daemon=True)
        thread.start()
        thread.join(CHECK_SECONDS_MAX)
        print(json.dumps(answer), flush=True)
    os._exit(0)  # not through the interpreter's end, which waits for what hangs


def one_check(driver, name, answer):
    checks = Checks(driver)
    kinds = {f"type-{k['name']}": k for k in WORK["types"]}
    own = {"connect-strict", "wrong-password", "unknown-database", "commit", "rollback", "pool-reset"}
    detail = ""
    cn = None
    try:
        cn = None if name in own else driver.connect()
        if name in kinds:
            checks.of_type(cn, kinds[name])
        else:
            getattr(checks, name.replace("-", "_"))(cn)
    except Failed as failed:
        detail = str(failed)
    except Exception as raised:
        where = traceback.extract_tb(raised.__traceback__)[-1]
        detail = f"{type(raised).__name__}: {raised} ({where.name}:{where.lineno})"
    finally:
        try:
            if cn:
                cn.close()
        except Exception:  # a broken connection may refuse to close; the check has failed already
            pass
    answer.update(ok=not detail, detail=detail[:600])
