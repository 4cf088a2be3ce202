"""MARS through Microsoft's ODBC driver and .NET's SqlClient: several results over one connection."""

import shutil
import subprocess
from pathlib import Path

import harness
import pytest
from test_wire import odbc  # noqa: F401  the fixture that configures the driver

MANY = "select value * {0}, replicate('x', 100) from generate_series(1, 30000)"


@pytest.fixture(params=["Encrypt=no", "Encrypt=yes"])
def mars(odbc, server, request):  # noqa: F811
    """Opens connections with MARS; `odbc` has configured the driver."""
    import pyodbc

    text = (
        f"DRIVER={{ODBC Driver 18 for SQL Server}};SERVER=127.0.0.1,{server.port};UID={harness.USER};"
        f"PWD={{{harness.PASSWORD}}};TrustServerCertificate=yes;MARS_Connection=yes;{request.param};"
    )
    opened = []

    def connect(**how):
        opened.append(pyodbc.connect(text, **how))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def number_of(raised):
    """Returns the server's error number in a diagnostic text."""
    return int(str(raised.value.args[1]).split("(")[-2].split(")")[0])


def test_odbc_reads_two_results_in_turn(mars):
    connection = mars(autocommit=True)
    one, other = connection.cursor(), connection.cursor()
    one.execute(MANY.format(1))
    other.execute(MANY.format(2))
    for n in range(1, 30001):
        assert (one.fetchone()[0], other.fetchone()[0]) == (n, 2 * n)
    assert one.fetchone() is None and other.fetchone() is None
    assert one.execute("select @@spid").fetchval() == other.execute("select @@spid").fetchval()


def test_odbc_cancels_one_result(mars):
    connection = mars(autocommit=True)
    one, other = connection.cursor(), connection.cursor()
    one.execute(MANY.format(1))
    other.execute(MANY.format(2))
    assert one.fetchone()[0] == 1
    one.cancel()
    one.close()
    assert len(other.fetchall()) == 30000


def test_odbc_has_one_transaction_across_its_cursors(mars):
    connection = mars(autocommit=False)
    one, other = connection.cursor(), connection.cursor()
    one.execute("create table #m (a int)")
    other.execute("insert #m values (1)")
    one.execute("insert #m values (2)")
    assert other.execute("select count(*) + 10 * @@trancount from #m").fetchval() == 12
    connection.commit()
    one.execute("delete #m")
    connection.rollback()
    assert other.execute("select count(*) from #m").fetchval() == 2


def test_odbc_gets_the_errors_of_transactions_in_batches(mars):
    import pyodbc

    connection = mars(autocommit=True)
    one, other = connection.cursor(), connection.cursor()
    one.execute(MANY.format(1))
    with pytest.raises(pyodbc.Error) as raised:
        other.execute("begin tran")
    assert number_of(raised) == 3988
    assert len(one.fetchall()) == 30000
    with pytest.raises(pyodbc.Error) as raised:
        other.execute("begin tran")
    assert number_of(raised) == 3997


def test_odbc_keeps_many_results_open(mars):
    connection = mars(autocommit=True)
    cursors = [connection.cursor() for _ in range(100)]
    for i, cursor in enumerate(cursors):
        cursor.execute(f"select value + {i} from generate_series(1, 3000)")
    for n in range(1, 3001):
        assert [cursor.fetchone()[0] for cursor in cursors] == [n + i for i in range(100)]


@pytest.mark.parametrize("encrypt", ["false", "true"])
def test_sqlclient_uses_mars(server, tmp_path, encrypt):
    if not (shutil.which("mcs") and shutil.which("mono")):
        pytest.skip("Mono is not on this machine")
    program = tmp_path / "mars.exe"
    source = Path(__file__).parent / "mars/Mars.cs"
    subprocess.run(["mcs", "-nologo", "-r:System.Data.dll", f"-out:{program}", str(source)], check=True)
    text = (
        f"Server=127.0.0.1,{server.port};User ID={harness.USER};Password={harness.PASSWORD};"
        f"MultipleActiveResultSets=true;Encrypt={encrypt};TrustServerCertificate=true"
    )
    run = subprocess.run(["mono", str(program), text, f"mars_{encrypt}"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.splitlines() == [
        "interleaved 30000 0",
        "begin 3988",
        "rest 4500",
        "changed 500",
        "commit 3981",
        "read 4999",
        "left 10",
        "back 5000",
        "kept 30000",
        "datefirst 7 ",
        "datefirst 7 ",
        "datefirst 7 ",
    ]
