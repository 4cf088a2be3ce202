"""Monitoring queries (tests/workloads/monitoring.sql) through two foreign clients, while others work.

Each must run, give at least the rows it names, and every value must reach the client.
"""

import re
import threading
import time

import harness
import pytest

TEXT = (harness.ROOT / "tests/workloads/monitoring.sql").read_text(encoding="utf-8")
PATTERN = re.compile(r"-- name: ([^\n]+)\n-- rows: (\d+)\n(.*?)\nGO\n", re.S)
QUERIES = [(name, int(rows), sql) for name, rows, sql in PATTERN.findall(TEXT)]


def connect_freetds(server, database="master"):
    pymssql = pytest.importorskip("pymssql")
    return pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, database, port=str(server.port), autocommit=True)


def connect_odbc(server):
    client = pytest.importorskip("mssql_python")
    parts = f"SERVER=127.0.0.1,{server.port};UID={harness.USER};PWD={{{harness.PASSWORD}}};TrustServerCertificate=yes;"
    return client.connect(parts, autocommit=True)


CLIENTS = {"freetds": connect_freetds, "odbc": connect_odbc}


@pytest.fixture(scope="module")
def busy_server(tmp_path_factory):
    """A server with a table, a session that sleeps in a transaction, and two that work."""
    server = harness.Server(tmp_path_factory.mktemp("monitoring"))
    stop = threading.Event()

    def work():
        connection = connect_freetds(server, "watched")
        cursor = connection.cursor()
        number = 0
        while not stop.is_set():
            number += 1
            cursor.execute("UPDATE dbo.t SET b = b + 1 WHERE a = %d; WAITFOR DELAY '00:00:00.002'", (number % 8,))
            cursor.execute(f"SELECT COUNT(*) FROM dbo.t WHERE b <> {number}")
            cursor.fetchall()
        connection.close()

    try:
        first = connect_freetds(server)
        cursor = first.cursor()
        cursor.execute("CREATE DATABASE watched")
        cursor.execute("CREATE TABLE watched.dbo.t (a int NOT NULL PRIMARY KEY NONCLUSTERED, b int NOT NULL)")
        cursor.execute("INSERT watched.dbo.t SELECT value, 0 FROM GENERATE_SERIES(0, 99)")
        sleeper = connect_freetds(server, "watched")
        sleeper.cursor().execute("BEGIN TRANSACTION; UPDATE dbo.t SET b = 0 WHERE a = 99")
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        time.sleep(0.3)
        yield server
        stop.set()
        for worker in workers:
            worker.join()
        sleeper.close()
    finally:
        stop.set()
        status = server.stop()
    assert status == 0, f"the server ended with {status} on SIGTERM: {server.lines[-5:]}"


def run(connection, sql):
    """Returns names and rows of the last result of a batch."""
    cursor = connection.cursor()
    cursor.execute(sql)
    while cursor.description is None and cursor.nextset():
        pass
    names = [column[0] for column in cursor.description]
    return names, [tuple(row) for row in cursor.fetchall()]


@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize(("name", "least", "sql"), QUERIES, ids=[q[0].replace(" ", "-") for q in QUERIES])
def test_query(busy_server, client, name, least, sql):
    connection = CLIENTS[client](busy_server)
    names, rows = run(connection, sql)
    connection.close()
    assert len(rows) >= least, f"{name}: {rows}"
    assert all(len(row) == len(names) for row in rows)


def test_all_queries_are_found():
    assert len(QUERIES) == TEXT.count("-- name: ") > 15


def column(connection, sql):
    return run(connection, sql)[1][0][0]


def test_waits_count_from_their_start_and_are_cleared_by_dbcc(busy_server):
    count = "SELECT waiting_tasks_count FROM sys.dm_os_wait_stats WHERE wait_type = 'WAITFOR'"
    connection = connect_freetds(busy_server)
    before = column(connection, count)
    connection.cursor().execute("WAITFOR DELAY '00:00:00.020'")
    assert column(connection, count) > before
    # Sessions have been waiting, 2 ms at a time, since the server started: fewer times since it was cleared.
    connection.cursor().execute("DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR) WITH NO_INFOMSGS")
    assert column(connection, count) < before
    connection.close()


def test_reading_the_books_is_in_the_books(busy_server):
    spent = "SELECT SUM(wall_ns) FROM sys.dm_os_time_ledger WHERE category = 'observation'"
    connection = connect_freetds(busy_server)
    first = column(connection, spent) or 0
    second = column(connection, spent)
    assert second > first
    connection.close()


def test_shares_make_up_one(busy_server):
    connection = connect_freetds(busy_server)
    share = column(connection, "SELECT SUM(share_of_non_idle) FROM sys.dm_os_time_ledger")
    assert abs(share - 1) < 1e-9
    connection.close()
