"""pandas: frames written by to_sql, row by row, in arrays of parameters and in one INSERT, and read again."""

import datetime

import common
from common import WORK, equal

common.configure_odbc()

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import sqlalchemy as sa  # noqa: E402

DATABASE = "library_pandas"
URL = sa.URL.create(
    "mssql+pyodbc",
    username=WORK["user"],
    password=WORK["password"],
    host=WORK["host"],
    port=WORK["port"],
    database=DATABASE,
    query={"driver": common.DRIVER, "TrustServerCertificate": "yes"},
)
ROWS = 2_000


def frame():
    numbers = np.arange(ROWS)
    return pd.DataFrame(
        {
            "id": numbers,
            "name": [f"näme {n}" if n % 5 else None for n in numbers],
            "weight": np.where(numbers % 7, numbers / 8, np.nan),
            "flag": numbers % 2 == 0,
            "day": pd.to_datetime("2024-02-29 10:00:00") + pd.to_timedelta(numbers, unit="s"),
        }
    )


def written(engine, table, **options):
    """Writes a frame, and reads back what it should be."""
    original = frame()
    original.to_sql(table, engine, index=False, if_exists="replace", **options)
    read = pd.read_sql_table(table, engine).sort_values("id", ignore_index=True)
    equal(list(read.columns), list(original.columns), "columns")
    for column in original.columns:
        want, got = original[column], read[column]
        if not got.isna().equals(want.isna()) or not (got.dropna().tolist() == want.dropna().tolist()):
            raise common.Failed(f"{table}.{column} came back another: {got[:3].tolist()}, not {want[:3].tolist()}")
    return read


def row_by_row():
    common.new_database(DATABASE)
    read = written(sa.create_engine(URL), "plain")
    equal([str(t) for t in read.dtypes][0], "int64", "the type of a column of numbers")


def arrays_of_parameters():
    written(sa.create_engine(URL, fast_executemany=True), "fast")


def one_insert():
    written(sa.create_engine(URL), "multi", method="multi", chunksize=100)


def types_of_its_columns():
    dtype = {"id": sa.BigInteger(), "name": sa.NVARCHAR(40), "weight": sa.Float(53), "flag": sa.Boolean(), "day": sa.dialects.mssql.DATETIME2(3)}
    written(sa.create_engine(URL, fast_executemany=True), "typed", dtype=dtype)
    found = {c["name"]: str(c["type"]) for c in sa.inspect(sa.create_engine(URL)).get_columns("typed")}
    equal((found["day"], found["name"][:12]), ("DATETIME2", "NVARCHAR(40)"), "types")


def queries():
    engine = sa.create_engine(URL)
    sums = pd.read_sql_query(
        sa.text("SELECT flag, COUNT(*) AS n, SUM(weight) AS weight, MAX(day) AS last FROM fast WHERE id < :most GROUP BY flag ORDER BY flag"),
        engine,
        params={"most": 100},
    )
    equal(sums["n"].tolist(), [50, 50], "groups")
    equal(sums["last"].tolist()[1], pd.Timestamp("2024-02-29 10:01:38"), "a date")
    chunks = list(pd.read_sql_query("SELECT * FROM fast ORDER BY id", engine, index_col="id", chunksize=600))
    equal([len(c) for c in chunks], [600, 600, 600, 200], "chunks")
    rows = pd.read_sql_query("SELECT TOP (3) name, day FROM typed WHERE name IS NULL ORDER BY id", engine, parse_dates=["day"])
    equal(rows["day"].tolist()[1], pd.Timestamp(datetime.datetime(2024, 2, 29, 10, 0, 5)), "a parsed date")


def appending():
    engine = sa.create_engine(URL, fast_executemany=True)
    frame().to_sql("fast", engine, index=False, if_exists="append")
    with engine.begin() as connection:
        equal(connection.scalar(sa.text("SELECT COUNT(*) FROM fast")), 2 * ROWS, "rows")
    try:
        frame().to_sql("fast", engine, index=False, if_exists="fail")
        raise common.Failed("if_exists='fail' did not")
    except ValueError:
        pass


if __name__ == "__main__":
    common.main([row_by_row, arrays_of_parameters, one_insert, types_of_its_columns, queries, appending])
