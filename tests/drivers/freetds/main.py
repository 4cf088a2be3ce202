"""FreeTDS's own programs: tsql, bsqldb and freebcp, run as a user runs them.

Reads its work as JSON on standard input and prints one JSON line per check.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

WORK = json.load(sys.stdin)
TOOL = sys.argv[1]
SQL = WORK["sql"]
MARK = WORK["mark"]
FOLDER = Path(WORK["folder"])
SERVER = f"{WORK['host']}:{WORK['port']}"


class Failed(Exception):
    """A check did not hold."""


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: got {got!r:.300}, expected {want!r:.200}")


def program(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout, done.stderr


def tsql(sql, password=None, database=None):
    """Runs a script in tsql; a line `go` ends a batch."""
    command = ["tsql", "-H", WORK["host"], "-p", str(WORK["port"]), "-U", WORK["user"], "-P", password or WORK["password"]]
    command += ["-D", database] if database else []
    return program(command, f"{sql}\ngo\nexit\n")


def bsqldb(sql, password=None, database=None):
    """Runs a script in bsqldb, which separates fields by a bar."""
    command = ["bsqldb", "-S", SERVER, "-U", WORK["user"], "-P", password or WORK["password"], "-t", "|"]
    command += ["-D", database] if database else []
    return program(command, f"{sql}\ngo\n")


def freebcp(table, direction, file, *how, password=None, database="master"):
    command = ["freebcp", f"{database}.dbo.{table}", direction, str(file), *how, "-D", database]
    command += ["-T", "16777216"]  # it asks for a text size of 4,096 bytes otherwise
    command += ["-S", SERVER, "-U", WORK["user"], "-P", password or WORK["password"]]
    return program(command)


def run(sql, **how):
    """Runs a script in the tool under test and returns everything it printed."""
    _, out, err = (tsql if TOOL == "tsql" else bsqldb)(sql, **how)
    return out + err


def sql(text):
    """Runs a script that must succeed, through bsqldb, and returns its last row's fields."""
    _, out, err = bsqldb(text)
    if "Msg " in err or "error" in err.lower():
        raise Failed(f"{text[:120]}: {err.strip()[:300]}")
    return out


def count(text):
    found = re.findall(r"^\s*(\d+)\s*$", sql(text), re.M)
    if not found:
        raise Failed(f"no number came of {text[:120]}")
    return int(found[-1])


def squeezed(text):
    """The end of a tool's output, without its rulers."""
    return re.sub(r"[- ]{3,}", " ", text.strip())[-300:]


def errors(text):
    """The server's errors in a tool's output: (number, line) in the order they came."""
    found = []
    for match in re.finditer(r"Msg (\d+).*?Line (\d+)", text, re.S):
        found.append((int(match[1]), int(match[2])))
    return found


# ---- checks of the terminals -----------------------------------------------------------------


def connect():
    if TOOL == "freebcp":
        round_trip("connect_" + MARK, "int", ["cast(5 as int)"])
        return
    out = run("select 40 + 2 as answer\ngo\nselect @@version")
    if "42" not in out or "Microsoft SQL Server" not in out:
        raise Failed(out.strip()[-300:])


def refused(number, **how):
    if TOOL == "freebcp":
        _, out, err = freebcp("t", "out", FOLDER / "refused", "-c", **how)
        text = out + err
    else:
        text = run("select 1", **how)
    if f"Msg {number}" not in text and not (number == 18456 and "Login failed" in text):
        raise Failed(f"no {number} in: {text.strip()[-300:]}")


def wrong_password():
    refused(18456, password="not it")


def unknown_database():
    refused(4060, database="no_such_database")


def procedure():
    run(SQL["procedure-create"])
    text = run(
        f"declare @b nvarchar(50) = N'in', @c int exec p_{MARK} 21, @b output, @c output select @b as b, @c as c"
    )
    run(SQL["procedure-drop"])
    for want in (r"\b21\b", r"in!\s*\|\s*42", r"(?i)(return|status)\D*\b7\b"):
        if not re.search(want, text):
            raise Failed(f"no {want} in: {squeezed(text)}")


def two_results():
    text = run(SQL["two-results"])
    # bsqldb prints headings to one stream and rows to the other.
    headings = r"\ba\b.*?\bb\b.*?\bc\b"
    rows = r"^\s*1\s*$.*?\btwo\b.*?\b3\b"
    if not re.search(headings, text, re.S) or not re.search(rows, text, re.S | re.M):
        raise Failed(squeezed(text))


def failing(script, number, line, words=""):
    """The error comes with its number and line, and the next batch runs (bsqldb ends at an error)."""
    text = run(script + "\ngo\nselect 4000 + 5 as later")
    if (number, line) not in errors(text) or words not in text:
        raise Failed(f"no ({number}, line {line}) {words} among {errors(text)}: {text.strip()[-300:]}")
    if TOOL == "tsql" and "4005" not in text:
        raise Failed("the batch after the error did not run")


def error_divide():
    failing(SQL["error-divide"], 8134, 3)


def error_duplicate():
    failing("create table #d (k int not null primary key)\ngo\ninsert into #d values (1)\ngo\ninsert into #d values (1)", 2627, 1)


def error_object():
    failing(SQL["error-object"], 208, 1, "no_such_table")


def error_syntax():
    failing(SQL["error-syntax"], 102, 2, "')'")


def error_raise():
    failing(SQL["error-raise"], 50000, 1, "bad luck 13")


def messages():
    text = run(SQL["messages"])
    for want in ("hello print", "hello info 42"):
        if want not in text:
            raise Failed(f"{want!r} is not in {text.strip()[-300:]}")


def thousand():
    script = "\ngo\n".join(f"select {n} + 100000 as n" for n in range(1000))
    found = [int(n) for n in re.findall(r"^\s*(10\d{4})\s*$", run(script), re.M)]
    equal(len(found), 1000, "answers")
    equal(found, [n + 100000 for n in range(1000)], "answers")


# ---- checks of freebcp -----------------------------------------------------------------------


def copied(status, out, err, rows):
    """freebcp says how many rows it copied."""
    if status != 0 or not re.search(rf"\b{rows} rows copied", out + err):
        raise Failed(f"freebcp ended with {status}: {(out + err).strip()[-300:]}")


def bulk():
    """Character mode in and out again: the same lines, NULLs among them."""
    table = f"bulk_{MARK}"
    sql(SQL["bulk-create"])
    try:
        lines = [
            f"{n}|{'' if n % 7 == 0 else f'name {n}'}|{n / 4:.4f}|2024-02-29 12:34:56.123|{n % 256:02X}00FF"
            for n in range(1, 501)
        ]
        source = FOLDER / "bulk.txt"
        source.write_text("".join(line + "\n" for line in lines))
        copied(*freebcp(table, "in", source, "-c", "-t", "|"), 500)
        equal(count(f"select count(*) from {table}"), 500, "rows")
        equal(count(f"select count(*) from {table} where name is null"), 71, "NULLs")
        equal(count(f"select count(*) from {table} where amount = cast(id as decimal(18, 4)) / 4"), 500, "amounts")
        equal(count(f"select count(*) from {table} where stamp = cast('2024-02-29 12:34:56.123' as datetime2(3))"), 500, "stamps")
        equal(count(f"select count(*) from {table} where id = 255 and data = 0xFF00FF"), 1, "data")
        target = FOLDER / "bulk.out"
        copied(*freebcp(table, "out", target, "-c", "-t", "|"), 500)
        got = [line.split("|")[:3] for line in target.read_text().splitlines()]
        equal(got, [line.split("|")[:3] for line in lines], "lines")
    finally:
        sql(f"drop table {table}")


def round_trip(table, kind, values):
    """Copies rows out and into a second table, as text, and compares both on the server."""
    for name in (table, f"{table}_2"):
        sql(f"create table {name} (id int not null primary key, v {kind} null)")
    try:
        for n, value in enumerate(values):
            sql(f"insert into {table} (id, v) values ({n}, {value})")
        file = FOLDER / f"{table}.bcp"
        copied(*freebcp(table, "out", file, "-c"), len(values))
        copied(*freebcp(f"{table}_2", "in", file, "-c"), len(values))
        file.unlink()
        same = "a.v = b.v or a.v is null and b.v is null"
        joined = f"select count(*) from {table} a join {table}_2 b on a.id = b.id where {same}"
        equal(count(joined), len(values), "rows that came back the same")
        return 0, "", ""
    finally:
        for name in (table, f"{table}_2"):
            sql(f"drop table {name}")


def of_type(kind):
    values = []
    for case in kind["cases"]:
        if "repeat" in case:
            prefix = "0x" if kind["base"] == "varbinary" else "'"
            end = "" if kind["base"] == "varbinary" else "'"
            values.append(f"cast({prefix}{case['repeat'] * min(case['times'], 2000)}{end} as {kind['name']})")
        elif case["text"] is None:
            values.append("null")
        else:
            values.append(case["where"].removeprefix("v = "))
    round_trip(f"bcp_{MARK}", kind["name"], values)


def main():
    kinds = {f"type-{k['name']}": k for k in WORK["types"]}
    for name in WORK["checks"]:
        answer = {"check": name, "ok": True, "detail": ""}
        try:
            if name in kinds:
                of_type(kinds[name])
            else:
                globals()[name.replace("-", "_")]()
        except Exception as raised:
            kind = "" if isinstance(raised, Failed) else f"{type(raised).__name__}: "
            answer.update(ok=False, detail=f"{kind}{raised}"[:600])
        print(json.dumps(answer), flush=True)


main()
