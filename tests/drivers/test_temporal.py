"""System-versioned tables as an application uses them: transactions, the past by parameter, a schema that grows."""

import harness
import pytest

TABLE = """
CREATE TABLE dbo.account (
    id int NOT NULL PRIMARY KEY, owner nvarchar(40) NOT NULL, balance decimal(12, 2) NOT NULL,
    valid_from datetime2 GENERATED ALWAYS AS ROW START HIDDEN NOT NULL,
    valid_to datetime2 GENERATED ALWAYS AS ROW END HIDDEN NOT NULL,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to)
) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.account_history))
"""
AS_OF = (
    "EXEC sp_executesql N'SELECT id, balance FROM dbo.account FOR SYSTEM_TIME AS OF @at ORDER BY id', "
    "N'@at datetime2', @at = %s"
)


@pytest.fixture(scope="module")
def database(server):
    with connect(server, "master") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE temporal_tables")
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(TABLE)
    yield server
    with connect(server, "master") as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE temporal_tables")


def connect(server, database="temporal_tables", autocommit=True):
    pymssql = pytest.importorskip("pymssql")
    return pymssql.connect(
        "127.0.0.1", harness.USER, harness.PASSWORD, database, port=str(server.port), autocommit=autocommit
    )


def rows(connection, sql, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [tuple(row) for row in cursor.fetchall()]


def run(connection, sql, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def moment(connection):
    return rows(connection, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)")[0][0]


def test_the_past_is_what_it_was(database):
    with connect(database) as connection:
        # Not the driver's own transactions: it begins the next one with each commit, and that is the time they have.
        run(connection, "BEGIN TRANSACTION")
        run(connection, "INSERT dbo.account VALUES (%d, %s, %d)", (1, "Ada", 100))
        run(connection, "INSERT dbo.account VALUES (%d, %s, %d)", (2, "Bob", 50))
        run(connection, "COMMIT")
        opened = moment(connection)
        run(connection, "BEGIN TRANSACTION")
        run(connection, "UPDATE dbo.account SET balance = balance - 30 WHERE id = 1")
        run(connection, "UPDATE dbo.account SET balance = balance + 30 WHERE id = 2")
        run(connection, "COMMIT")
        moved = moment(connection)
        run(connection, "BEGIN TRANSACTION; DELETE dbo.account; ROLLBACK")
        run(connection, "DELETE dbo.account WHERE id = 2")
        assert rows(connection, AS_OF, (opened,)) == [(1, 100), (2, 50)]
        assert rows(connection, AS_OF, (moved,)) == [(1, 70), (2, 80)]
        assert rows(connection, AS_OF, (moment(connection),)) == [(1, 70)]
        # Both rows of a transaction have its time.
        versions = "SELECT COUNT(*), COUNT(DISTINCT valid_from) FROM dbo.account FOR SYSTEM_TIME ALL"
        assert rows(connection, versions) == [(4, 2)]


def test_a_transaction_that_is_older_than_the_row_is_refused(database):
    pymssql = pytest.importorskip("pymssql")
    with connect(database) as first, connect(database, autocommit=False) as late:
        run(first, "INSERT dbo.account VALUES (10, N'Cy', 1)")
        run(late, "SELECT COUNT(*) FROM dbo.account")
        run(first, "UPDATE dbo.account SET balance = 2 WHERE id = 10")
        with pytest.raises(pymssql.Error) as caught:
            run(late, "UPDATE dbo.account SET balance = 3 WHERE id = 10")
        assert caught.value.args[0] == 13535
        late.rollback()
        assert rows(first, "SELECT balance FROM dbo.account WHERE id = 10") == [(2,)]


def test_the_history_follows_a_new_column_and_is_guarded(database):
    pymssql = pytest.importorskip("pymssql")
    with connect(database) as connection:
        run(connection, "ALTER TABLE dbo.account ADD note nvarchar(20) NOT NULL CONSTRAINT df_note DEFAULT N'-'")
        assert rows(connection, "SELECT DISTINCT note FROM dbo.account_history") == [("-",)]
        for sql, number in [
            ("DELETE dbo.account_history", 13560),
            ("INSERT dbo.account_history SELECT * FROM dbo.account_history", 13559),
            ("TRUNCATE TABLE dbo.account", 13545),
            ("DROP TABLE dbo.account", 13552),
        ]:
            with pytest.raises(pymssql.Error) as caught:
                run(connection, sql)
            assert caught.value.args[0] == number, sql
