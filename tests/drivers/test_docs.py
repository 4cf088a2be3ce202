"""The pages of docs/ and the README say what is so: their SQL runs, their commands parse, the names in them exist.

Each block marked ```sql is sent to one server as it is written, page by page. NEEDS has what a page takes for granted (a
database, a file) and what stands in its text for something of this run. On a page of measured results, the head of the table
behind a block must be the columns of the block's last result. Decisions are not pages: they say what was so.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass

import harness
import pytest

PAGES = [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```sql\n(.*?)^ *```\n(?:\n *(\|[^\n]*)\n)?", re.S | re.M)


@dataclass
class Needs:
    """`before` is SQL that runs first, `instead` pairs of texts to replace; {folder} is this run's folder."""

    before: str = ""
    instead: tuple = ()
    results: bool = False
    database: str = "docs"


NEEDS = {
    "backup.md": Needs(
        "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (a int NOT NULL PRIMARY KEY); INSERT shop.dbo.t VALUES (1)",
        # A moment of this run, which the log reaches.
        (
            ("/backup", "{folder}"),
            ("BACKUP LOG", "DECLARE @moment datetime2 = SYSUTCDATETIME(); UPDATE shop.dbo.t SET a = 2; BACKUP LOG"),
            ("'2026-11-28T14:05:00'", "@moment"),
        ),
        database="master",
    ),
    "files.md": Needs(
        "CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, placed date NOT NULL);"
        " INSERT dbo.orders SELECT value, DATEADD(day, value, '2025-12-30') FROM GENERATE_SERIES(1, 50);"
        " CREATE TABLE dbo.t (id int, name nvarchar(50));"
        " EXEC sp_configure 'allow polybase export', 1; RECONFIGURE;"
        " CREATE EXTERNAL DATA SOURCE first WITH (LOCATION = 'file://{folder}/lake');"
        " CREATE EXTERNAL FILE FORMAT first WITH (FORMAT_TYPE = PARQUET);"
        " CREATE EXTERNAL TABLE a WITH (LOCATION = 'a/', DATA_SOURCE = first, FILE_FORMAT = first) AS"
        " SELECT CAST(value AS int) AS id, CAST(N'n' AS nvarchar(50)) AS name FROM GENERATE_SERIES(900, 1100);"
        " DROP EXTERNAL TABLE a",
        (("/srv", "{folder}"),),
    ),
    "investigate.md": Needs(
        instead=(
            ("WAITFOR DELAY '00:00:05'", "WAITFOR DELAY '00:00:00.1'"),
            # The page has the clause alone.
            (
                "ADD TARGET package0.event_file (SET filename = N'/var/tmp/",
                "CREATE EVENT SESSION calls ON SERVER ADD EVENT sqlserver.rpc_completed"
                " ADD TARGET package0.event_file (SET filename = N'{folder}/",
            ),
        ),
    ),
    "ledger.md": Needs(
        instead=(("@start", "DATEADD(second, -2, SYSDATETIME())"), ("@session", "@@SPID")), results=True
    ),
    "query-store.md": Needs("IF DB_ID(N'shop') IS NULL CREATE DATABASE shop"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with all that a page may ask for: a folder of data and the console."""
    folder = tmp_path_factory.mktemp("docs")
    server = harness.Server(folder, "--data", str(folder / "data"), "--console", "0")
    try:
        for name in ("lake", "in"):
            (folder / name).mkdir()
        (folder / "in/rows.csv").write_text("id,name\n1,one\n2,two\n", encoding="utf-8")
        run(server, "CREATE DATABASE docs")
        yield server
    finally:
        server.stop()


def run(server, sql, database="master"):
    """Sends a text; returns the columns of its last result. An error of any statement is raised."""
    pymssql = pytest.importorskip("pymssql")
    user = {"user": harness.USER, "password": harness.PASSWORD, "database": database}
    connection = pymssql.connect("127.0.0.1", port=str(server.port), autocommit=True, timeout=60, **user)
    columns = []
    try:
        cursor = connection.cursor()
        cursor.execute(sql)
        while True:
            if cursor.description:
                columns = [column[0] for column in cursor.description]
                cursor.fetchall()
            if not cursor.nextset():
                return columns
    finally:
        connection.close()


def blocks(page):
    """Yields the SQL blocks of a page, each with its line and the head of the table that follows it, or None."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        indent, sql, head = found.groups()
        sql = "\n".join(line.removeprefix(indent) for line in sql.split("\n"))
        columns = [cell.strip() for cell in head.strip("| ").split("|")] if head else None
        yield text.count("\n", 0, found.start()) + 1, sql, columns


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=lambda page: page.name)
def test_sql_of_a_page_runs_as_it_is_written(server, page):
    needs = NEEDS.get(page.name, Needs())
    folder = str(server.folder)
    if needs.before:
        run(server, needs.before.replace("{folder}", folder), needs.database)
    for made in server.folder.glob("lake/a/*.parquet"):
        shutil.copy(made, server.folder / "lake/a.parquet")
    unused = {text for text, _ in needs.instead}
    failures = []
    for line, sql, head in blocks(page):
        for text, instead in needs.instead:
            unused -= {text} if text in sql else set()
            sql = sql.replace(text, instead.replace("{folder}", folder))
        try:
            columns = run(server, sql, needs.database)
        except Exception as error:  # Any failure of the block is what is looked for.
            failures.append(f"{page.name}:{line}: {error}")
            continue
        if needs.results and columns != head:
            failures.append(f"{page.name}:{line}: the result has {columns}, the page {head}")
    assert not failures, "\n".join(failures)
    assert not unused, f"NEEDS replaces what the page does not have: {unused}"


def command_lines(page):
    """Yields the words of each `clearway ...` command of a code block, with its line."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        found = re.match(r"(?:.*?\$ |.*\| )?clearway (?!top  )(.*)", line if fenced else line.removeprefix("    "))
        if found and (fenced or line.startswith("    ")):
            # Two blanks end a command: what follows says what it does.
            yield number, re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", re.split(r"  +|; ", found[1])[0]).split()


def test_commands_of_pages_have_only_options_that_the_program_has(server):
    helps = {}
    failures = []
    for page in PAGES:
        for line, words in command_lines(page):
            verb = words[0]
            if verb not in helps:
                shown = subprocess.run([server.binary, verb, "--help"], capture_output=True, text=True, timeout=20)
                helps[verb] = shown.stdout if shown.returncode == 0 else ""
            # A short option may have its value behind it without a blank, as ostress allows.
            options = [word if word.startswith("--") else word[:2] for word in words[1:] if word.startswith("-")]
            known = re.findall(r"(?<![\w-])--?[\w-]+", helps[verb])
            unknown = [option for option in options if option not in known]
            if not helps[verb] or unknown:
                failures.append(f"{page.name}:{line}: clearway {verb} {unknown}")
    assert len(helps) >= 8, f"the pages show only {sorted(helps)}"
    assert not failures, "\n".join(failures)


def test_system_objects_that_pages_name_exist(server):
    named = {}
    for page in PAGES:
        for name in re.findall(r"`(?:[^`|]*\s)?(sys\.\w+|msdb\.dbo\.\w+)\b(?!\*)", page.read_text(encoding="utf-8")):
            named.setdefault(name, page.name)
    assert len(named) > 60, sorted(named)
    failures = [f"{page}: {name}" for name, page in named.items() if not exists(server, name)]
    assert not failures, "\n".join(failures)


def exists(server, name):
    """Whether this is an object of msdb, which has all that other databases have of the system, or a function that can be asked."""
    try:
        run(server, f"IF NOT EXISTS (SELECT * FROM sys.all_objects WHERE name = N'{name.split('.')[-1]}')"
            f" EXEC (N'SELECT TOP (0) * FROM {name}()')", "msdb")
    except Exception:
        return False
    return True


def test_session_of_the_readme_shows_what_it_says(server):
    if not shutil.which("bsqldb"):
        pytest.skip("bsqldb is not installed: tests/setup.sh")
    text = (harness.ROOT / "README.md").read_text(encoding="utf-8")
    script, shown = re.search(r"\$ bsqldb -q [^\n]*<<'SQL'\n(.*?)\nSQL\n(.*?)\n```", text, re.S).groups()
    command = ["bsqldb", "-q", "-S", f"127.0.0.1:{server.port}", "-U", harness.USER, "-P", harness.PASSWORD, "-D", "docs"]
    ran = subprocess.run(command, input=script + "\n", capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == shown.split(), ran.stdout + ran.stderr
