"""Files that the server writes are read by DuckDB, which has a Parquet reader of its own: equal by value and by type."""

import datetime
import decimal
import uuid

import harness
import pytest

# A column of each type: its name in T-SQL, what DuckDB calls it in the file, and values as literals of T-SQL.
COLUMNS = [
    ("bit", "BOOLEAN", ["0", "1"]),
    ("tinyint", "UTINYINT", ["0", "255"]),
    ("smallint", "SMALLINT", ["-32768", "32767"]),
    ("int", "INTEGER", ["-2147483648", "2147483647"]),
    ("bigint", "BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("decimal(9, 3)", "DECIMAL(9,3)", ["-999999.999", "999999.999"]),
    ("decimal(18, 0)", "DECIMAL(18,0)", ["-999999999999999999", "999999999999999999"]),
    ("decimal(38, 10)", "DECIMAL(38,10)", ["-" + "9" * 28 + "." + "9" * 10, "9" * 28 + "." + "9" * 10]),
    ("money", "DECIMAL(19,4)", ["-922337203685477.5808", "922337203685477.5807"]),
    ("smallmoney", "DECIMAL(10,4)", ["-214748.3648", "214748.3647"]),
    ("real", "FLOAT", ["-3.25E+38", "1.5"]),
    ("float", "DOUBLE", ["-1.79E+308", "0.1"]),
    ("date", "DATE", ["'0001-01-01'", "'9999-12-31'"]),
    ("time(6)", "TIME", ["'00:00:00'", "'23:59:59.999999'"]),
    ("datetime", "TIMESTAMP", ["'1753-01-01'", "'9999-12-31 23:59:59.997'"]),
    ("smalldatetime", "TIMESTAMP", ["'1900-01-01'", "'2079-06-06 23:59'"]),
    ("datetime2(6)", "TIMESTAMP", ["'0001-01-01'", "'9999-12-31 23:59:59.999999'"]),
    ("datetime2(3)", "TIMESTAMP", ["'2026-01-02 03:04:05.678'", "'1969-12-31 23:59:59.999'"]),
    ("varchar(20)", "VARCHAR", ["'a, é'", "''"]),
    ("nvarchar(30)", "VARCHAR", ["N'日本語 😀'", "N''"]),
    ("nvarchar(max)", "VARCHAR", ["REPLICATE(CAST(N'日' AS nvarchar(max)), 5000)", "N'x'"]),
    ("varbinary(9)", "BLOB", ["0x00FF", "0x"]),
    ("uniqueidentifier", "UUID", ["'01234567-89AB-CDEF-0123-456789ABCDEF'", "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'"]),
]

CODECS = ["SnappyCodec", "GzipCodec", "ZStandardCodec", "Lz4Codec"]

# Rows of the long table: several row groups, dictionaries that are full and columns that have none.
LONG_ROWS = 600_000


def connect(server):
    pymssql = pytest.importorskip("pymssql")
    return pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, "tempdb", port=str(server.port), autocommit=True)


def run(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else None


@pytest.fixture(scope="module")
def session(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    connection = connect(server)
    run(connection, "CREATE DATABASE files")
    run(connection, "USE files")
    run(connection, "EXEC sp_configure 'allow polybase export', 1")
    run(connection, "RECONFIGURE")
    run(connection, f"CREATE EXTERNAL DATA SOURCE out WITH (LOCATION = 'file://{folder}')")
    for codec in CODECS:
        name = f"org.apache.hadoop.io.compress.{codec}"
        run(connection, f"CREATE EXTERNAL FILE FORMAT {codec} WITH (FORMAT_TYPE = PARQUET, DATA_COMPRESSION = '{name}')")
    yield connection, folder
    run(connection, "USE tempdb")
    run(connection, "DROP DATABASE files")
    connection.close()


def export(session, name, codec, query):
    """Exports a query and returns the path of the file."""
    connection, folder = session
    options = f"LOCATION = '{name}/', DATA_SOURCE = out, FILE_FORMAT = {codec}"
    run(connection, f"CREATE EXTERNAL TABLE {name} WITH ({options}) AS {query}")
    files = list((folder / name).iterdir())
    assert len(files) == 1 and files[0].suffix == ".parquet"
    return files[0]


def comparable(value):
    """What the driver gives as DuckDB gives it: numbers of both kinds of money and bits, and GUIDs."""
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return value.normalize()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return value


@pytest.mark.parametrize("codec", CODECS)
def test_duckdb_reads_every_type_as_it_is_in_the_table(session, codec):
    duckdb = pytest.importorskip("duckdb")
    connection, _ = session
    table = f"types_{codec}"
    columns = ", ".join(f"c{i} {kind} NULL" for i, (kind, _, _) in enumerate(COLUMNS))
    run(connection, f"CREATE TABLE {table} (id int PRIMARY KEY, {columns})")
    for row in range(2):
        run(connection, f"INSERT {table} VALUES ({row}, {', '.join(values[row] for _, _, values in COLUMNS)})")
    run(connection, f"INSERT {table} (id) VALUES (2)")
    path = export(session, f"e_{codec}", codec, f"SELECT * FROM {table}")
    kinds = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    found = [kind.replace("TIMESTAMP_MS", "TIMESTAMP") for _, kind, *_ in kinds]
    assert found == ["INTEGER"] + [kind for _, kind, _ in COLUMNS]
    read = duckdb.sql(f"SELECT * FROM read_parquet('{path}') ORDER BY id").fetchall()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY id")
        wanted = cursor.fetchall()
    for ours, theirs in zip(wanted, read, strict=True):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert comparable(one) == comparable(other), kinds[place]


def test_duckdb_reads_moments_in_nanoseconds_and_in_utc(session):
    duckdb = pytest.importorskip("duckdb")
    query = (
        "SELECT CAST('2026-01-02 03:04:05.1234567' AS datetime2(7)) AS ts, CAST('12:34:56.1234567' AS time(7)) AS t, "
        "CAST('2026-01-02 03:04:05 +05:30' AS datetimeoffset(0)) AS z"
    )
    path = export(session, "moments", "SnappyCodec", query)
    kinds = [kind for _, kind, *_ in duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    assert kinds == ["TIMESTAMP_NS", "TIME_NS", "TIMESTAMP WITH TIME ZONE"]
    read = duckdb.sql(f"SELECT ts::varchar, t::varchar, epoch_us(z) FROM '{path}'").fetchall()[0]
    moment = datetime.datetime(2026, 1, 1, 21, 34, 5, tzinfo=datetime.timezone.utc)
    assert read == ("2026-01-02 03:04:05.1234567", "12:34:56.1234567", int(moment.timestamp()) * 1_000_000)


@pytest.mark.parametrize("codec", CODECS)
def test_duckdb_reads_many_row_groups_with_true_bounds(session, codec):
    duckdb = pytest.importorskip("duckdb")
    query = (
        "SELECT value AS id, value % 7 AS few, CASE WHEN value % 5 > 0 THEN CONCAT('text ', value % 90000) END AS s, "
        f"CAST(value AS decimal(20, 2)) / 4 AS d, value / 3.0e0 AS f FROM GENERATE_SERIES(1, {LONG_ROWS})"
    )
    path = export(session, f"long_{codec}", codec, query)
    sums = "count(*), sum(id), sum(few), count(s), sum(length(s)), sum(d), min(s), max(s)"
    wanted = duckdb.sql(
        f"SELECT {sums} FROM (SELECT i AS id, i % 7 AS few, CASE WHEN i % 5 > 0 THEN 'text ' || (i % 90000) END AS s, "
        f"i::decimal(20, 2) / 4 AS d FROM range(1, {LONG_ROWS + 1}) AS r(i))"
    ).fetchall()[0]
    read = duckdb.sql(f"SELECT {sums} FROM read_parquet('{path}')").fetchall()[0]
    assert [float(v) if isinstance(v, decimal.Decimal) else v for v in read] == [
        float(v) if isinstance(v, decimal.Decimal) else v for v in wanted
    ]
    bounds = duckdb.sql(
        f"SELECT row_group_id, path_in_schema, stats_min_value, stats_max_value, stats_null_count, row_group_num_rows "
        f"FROM parquet_metadata('{path}') WHERE path_in_schema IN ('id', 's') ORDER BY 1, 2"
    ).fetchall()
    assert len(bounds) == 2 * 3
    first = 1
    for (_, _, low, high, nulls, rows), (_, _, _, _, text_nulls, _) in zip(bounds[::2], bounds[1::2], strict=True):
        last = first + rows - 1
        assert (int(low), int(high), nulls) == (first, last, 0)
        assert text_nulls == last // 5 - (first - 1) // 5
        first = last + 1


def test_files_are_waited_for_by_name(session):
    connection, _ = session
    waits = "SELECT waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats WHERE wait_type = '%s'"
    before = {name: run(connection, waits % name)[0][0] for name in ("IMPPROV_IOWAIT", "IO_COMPLETION")}
    export(session, "waited", "SnappyCodec", "SELECT value FROM GENERATE_SERIES(1, 1000)")
    assert run(connection, "SELECT COUNT(*) FROM waited") == [(1000,)]
    for name, count in before.items():
        assert run(connection, waits % name)[0][0] > count, name
