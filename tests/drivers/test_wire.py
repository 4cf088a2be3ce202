"""Bulk loads with their options, and table-valued parameters in the forms in which clients send them."""

import decimal
import json
import os
import shutil
import subprocess
from pathlib import Path

import harness
import pytest

ROWS = [(1, "x"), (2, None)]


@pytest.fixture(scope="module")
def odbc(server, tmp_path_factory):
    """Microsoft's ODBC driver, which has to be configured before it is loaded."""
    package = pytest.importorskip("mssql_python_odbc")
    libraries = Path(package.__file__).parent / "libs/linux/debian_ubuntu/x86_64/lib"
    library = next(libraries.glob("libmsodbcsql-18*"), None)
    if library is None:
        pytest.skip("the wheel has no ODBC driver for this machine")
    folder = tmp_path_factory.mktemp("odbc")
    (folder / "odbcinst.ini").write_text(f"[ODBC Driver 18 for SQL Server]\nDriver={library}\n")
    (folder / "odbc.ini").write_text("")
    os.environ["ODBCSYSINI"], os.environ["ODBCINI"] = str(folder), str(folder / "odbc.ini")
    pyodbc = pytest.importorskip("pyodbc")
    text = (
        f"DRIVER={{ODBC Driver 18 for SQL Server}};SERVER=127.0.0.1,{server.port};UID={harness.USER};"
        f"PWD={{{harness.PASSWORD}}};TrustServerCertificate=yes;"
    )
    return lambda: pyodbc.connect(text, autocommit=True)


def asked(connect, sql, *parameters):
    connection = connect()
    try:
        return [tuple(row) for row in connection.cursor().execute(sql, parameters).fetchall()]
    finally:
        connection.close()


@pytest.fixture(scope="module")
def tables(odbc):
    """Procedures with table-valued parameters: p of a type in dbo, q of one in another schema, d of decimals."""
    cursor = odbc().cursor()
    for batch in (
        "create schema wire",
        "create type odbc_t as table (a int, b nvarchar(10))",
        "create type wire.odbc_s as table (a int, b nvarchar(10))",
        "create type odbc_d as table (a int, d decimal(12, 3))",
        "create procedure odbc_p @t odbc_t readonly as select a, b from @t",
        "create procedure wire.odbc_q @x int, @t wire.odbc_s readonly as select @x + a, b from @t",
        "create procedure odbc_n @d odbc_d readonly as select a, d from @d",
    ):
        cursor.execute(batch)
    return odbc


@pytest.mark.parametrize("call", ["{call odbc_p(?)}", "{call dbo.odbc_p(?)}", "exec odbc_p ?", "exec dbo.odbc_p @t = ?", "EXECUTE odbc_p ?"])
def test_odbc_sends_a_table_in_every_form_of_a_call(tables, call):
    assert asked(tables, call, ROWS) == ROWS
    assert asked(tables, call, []) == []


def test_odbc_sends_a_table_of_another_schema(tables):
    typed = ["odbc_s", "wire", *ROWS]
    wanted = [(11, "x"), (12, None)]
    assert asked(tables, "{call wire.odbc_q(?, ?)}", 10, ROWS) == wanted
    assert asked(tables, "{call wire.odbc_q(?, ?)}", 10, typed) == wanted
    assert asked(tables, "exec wire.odbc_q ?, ?", 10, typed) == wanted


def test_odbc_sends_decimals_that_are_all_null(tables):
    nulls = [(1, None), (2, None)]
    for call in ("{call odbc_n(?)}", "exec odbc_n ?"):
        assert asked(tables, call, nulls) == nulls
        assert asked(tables, call, [(1, None), (2, decimal.Decimal("1.5"))])[1] == (2, decimal.Decimal("1.500"))


def test_tedious_loads_with_options_and_sends_tables(server):
    if not shutil.which("node") or not (harness.HERE / "node/node_modules/tedious").exists():
        pytest.skip("node and tedious are not on this machine")
    work = {"host": "127.0.0.1", "port": server.port, "user": harness.USER, "password": harness.PASSWORD}
    done = subprocess.run(
        ["node", str(harness.HERE / "node/wire.mjs")], input=json.dumps(work), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["table"] == [[1, 1.5], [2, None]]
    assert found["nulls"] == [[1, None], [2, None]]
    assert [found[name] for name in ("text", "dates", "identity", "unchecked", "kept", "filled")] == [1] * 6
    assert [found[name] for name in ("checked", "unsorted", "list")] == [547, 4819, 207]
    assert found["rows"] == [
        ["ab    |text|ntext|0x0506|", 9, None],
        ["||||2024-02-29 12:34:56.789", 9, None],
        ["||||", 9, -2],
        ["||||", None, 3],
        ["||||", 9, 4],
    ]
    assert found["trust"] == [[True]]


def test_freebcp_loads_old_types_identity_values_and_defaults(server, tmp_path):
    if not shutil.which("freebcp"):
        pytest.skip("freebcp is not on this machine")
    pymssql = pytest.importorskip("pymssql")
    connection = pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, "master", port=str(server.port), autocommit=True)
    cursor = connection.cursor()
    cursor.execute(
        "create table bcp_wire (id int identity primary key, c char(6), b binary(4), t text, n ntext, i image, "
        "s datetime2(3), f int default 9, x int check (x > 0))"
    )
    (tmp_path / "freetds.conf").write_text(f"[wire]\nhost = 127.0.0.1\nport = {server.port}\ntds version = 7.4\n")

    def load(line, *how):
        file = tmp_path / "rows.txt"
        file.write_text(line + "\n")
        command = ["freebcp", "master.dbo.bcp_wire", "in", str(file), "-S", "wire", "-U", harness.USER, "-P", harness.PASSWORD]
        command += ["-c", "-t", "|", *how]
        environment = {**os.environ, "FREETDSCONF": str(tmp_path / "freetds.conf")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        return done.stdout + done.stderr

    assert "1 rows copied" in load("1|ab|0102|text|ntext|0506|2024-02-29 12:34:56.789||-5")
    assert "1 rows copied" in load("100|||||||7|5", "-E")
    assert "1 rows copied" in load("3||||||||6", "-h", "KEEP_NULLS, TABLOCK, ORDER(id ASC), FIRE_TRIGGERS")
    load("4||||||||-6", "-h", "CHECK_CONSTRAINTS")
    cursor.execute(
        "select id, concat(c, '|', convert(varchar(10), b, 1), '|', t, '|', n, '|', "
        "convert(varchar(10), cast(i as varbinary(4)), 1), '|', s), f, x from bcp_wire order by id"
    )
    assert cursor.fetchall() == [
        (1, "ab    |0x01020000|text|ntext|0x0506|2024-02-29 12:34:56.789", 9, -5),
        (100, "|||||", 7, 5),
        (101, "|||||", None, 6),
    ]
    connection.close()


@pytest.mark.parametrize(
    ("escape", "wanted"),
    [
        ("{fn ucase('abc')}", "ABC"),
        ("{fn mod(17, 5)}", 2),
        ("{fn concat({fn left('abc', 2)}, 'z')}", "abz"),
        ("{fn timestampdiff(SQL_TSI_DAY, {d '2024-02-28'}, {ts '2024-03-01 10:00:00'})}", 2),
        ("{fn convert('12', SQL_INTEGER)}", 12),
        ("{fn extract(year from {d '2024-02-28'})}", 2024),
        ("{fn dayname({d '2024-02-29'})}", "Thursday"),
        ("{fn ifnull(null, {fn database()})}", "master"),
    ],
)
def test_odbc_escapes(odbc, escape, wanted):
    assert asked(odbc, f"select {escape}") == [(wanted,)]


def test_odbc_escapes_of_joins_and_calls(odbc):
    joined = "select a.x, b.x from {oj (values (1), (2)) a (x) left outer join (values (2)) b (x) on a.x = b.x} order by a.x"
    assert asked(odbc, joined) == [(1, None), (2, 2)]
    assert asked(odbc, "{call sp_executesql(N'select @p', N'@p int', ?)}", 7) == [(7,)]
    assert asked(odbc, "select x from (values ('a_b'), ('acb')) v (x) where x like 'a\\_b' {escape '\\'}") == [("a_b",)]
