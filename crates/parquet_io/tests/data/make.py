"""Writes the Parquet files of this folder with pyarrow and DuckDB, and their rows as DuckDB reads them.

Run it again only to add files: python make.py FOLDER. A line of a .rows file is a row: values as DuckDB's CAST
to VARCHAR has them (bytes as hex digits), a tab between two, \\N for NULL.
"""

import datetime as dt
import decimal
import sys
import uuid
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(sys.argv[1])
ROWS = 1100


def some(i, value):
    """Every seventh value is missing."""
    return None if i % 7 == 3 else value


def types():
    day, moment = dt.date(1969, 12, 1), dt.datetime(1960, 2, 29, 23, 59, 59, 999999)
    columns = {
        "b": (pa.bool_(), lambda i: i % 3 == 0),
        "i8": (pa.int8(), lambda i: i % 256 - 128),
        "u8": (pa.uint8(), lambda i: i % 256),
        "i16": (pa.int16(), lambda i: i * 13 - 32768),
        "u16": (pa.uint16(), lambda i: 65535 - i),
        "i32": (pa.int32(), lambda i: i * 1717986 - 2**31),
        "u32": (pa.uint32(), lambda i: 2**32 - 1 - i),
        "i64": (pa.int64(), lambda i: i * 7378697629483820 - 2**63),
        "u64": (pa.uint64(), lambda i: 2**64 - 1 - i),
        "f32": (pa.float32(), lambda i: i * 0.5),
        "f64": (pa.float64(), lambda i: i / 8 - 3),
        "s": (pa.string(), lambda i: "" if i % 11 == 0 else f"wert {i % 40} é€𝄞"),
        "long": (pa.string(), lambda i: f"{i}" * (i % 17)),
        "bin": (pa.binary(), lambda i: bytes([i % 256, 0, 255])),
        "fix": (pa.binary(5), lambda i: bytes([i % 256, 1, 2, 3, 4])),
        "d": (pa.date32(), lambda i: day + dt.timedelta(days=i)),
        "t32": (pa.time32("ms"), lambda i: dt.time(i % 24, i % 60, i % 59, i % 1000 * 1000)),
        "t64": (pa.time64("us"), lambda i: dt.time(i % 24, i % 60, i % 59, i)),
        "ms": (pa.timestamp("ms"), lambda i: moment.replace(microsecond=1000) + dt.timedelta(hours=i)),
        "us": (pa.timestamp("us"), lambda i: moment + dt.timedelta(minutes=i)),
        "d5": (pa.decimal128(5, 2), lambda i: decimal.Decimal(i - 1000).scaleb(-2)),
        "d18": (pa.decimal128(18, 4), lambda i: decimal.Decimal(i * 10**13 - 10**16).scaleb(-4)),
        "d38": (pa.decimal128(38, 9), lambda i: decimal.Decimal((i - 1200) * 10**34 + i).scaleb(-9)),
    }
    names = list(columns)
    arrays = [pa.array([some(i, make(i)) for i in range(ROWS)], kind) for kind, make in columns.values()]
    return pa.table(arrays, names=names)


def keys():
    """Columns without a missing value."""
    arrays = [
        pa.array(range(ROWS), pa.int32()),
        pa.array([i * 1000003 for i in range(ROWS)], pa.int64()),
        pa.array([f"name {i}" for i in range(ROWS)], pa.string()),
        pa.array([f"{i % 3}" for i in range(ROWS)], pa.string()),
        pa.array([1.5 * i for i in range(ROWS)], pa.float64()),
    ]
    fields = zip(["id", "big", "name", "kind", "x"], arrays)
    fields = list(fields)
    schema = pa.schema([pa.field(n, a.type, nullable=False) for n, a in fields])
    return pa.Table.from_arrays([a for _, a in fields], schema=schema)


def write_all():
    table, plain = types(), keys()
    small = table.slice(0, 60)
    for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
        pq.write_table(small, FOLDER / f"types_{codec}.parquet", compression=codec)
    pq.write_table(
        table, FOLDER / "types_v2.parquet", compression="zstd", data_page_version="2.0",
        row_group_size=450, data_page_size=1024, store_decimal_as_integer=True,
    )
    encodings = {"id": "DELTA_BINARY_PACKED", "big": "DELTA_BINARY_PACKED", "name": "DELTA_BYTE_ARRAY",
                 "kind": "DELTA_LENGTH_BYTE_ARRAY", "x": "BYTE_STREAM_SPLIT"}
    pq.write_table(plain, FOLDER / "keys_delta.parquet", use_dictionary=False, column_encoding=encodings,
                   data_page_size=2048)
    pq.write_table(plain, FOLDER / "keys_plain.parquet", use_dictionary=False, compression="snappy")
    pq.write_table(plain.slice(0, 0), FOLDER / "empty.parquet")
    pq.write_table(table.select(["us"]).slice(0, 300), FOLDER / "int96.parquet", use_deprecated_int96_timestamps=True)
    nested = pa.table({"id": pa.array([1, 2, 3]), "list": pa.array([[1], [], [2, 3]]),
                       "s": pa.array([{"a": 1}, None, {"a": 3}]), "name": pa.array(["x", "y", "z"])})
    pq.write_table(nested, FOLDER / "nested.parquet")
    by_duckdb = ("SELECT i::INTEGER AS i, (i * 31)::BIGINT AS b, CASE WHEN i % 5 <> 0 THEN 'v' || (i % 100) END AS v, "
                 "uuid '00112233-4455-6677-8899-aabbccddeeff' AS u, i::HUGEINT::DECIMAL(30, 3) AS d, "
                 "TIMESTAMP '2024-02-29 12:34:56.789' + to_seconds(i) AS t, TIMESTAMPTZ '2024-02-29 12:00:00+00' AS z, "
                 f"(i % 2)::BOOLEAN AS o, TIME '12:34:56.5' AS c FROM range({ROWS}) r(i)")
    for version, codec in [("V1", "snappy"), ("V2", "zstd")]:
        duckdb.sql(f"SET TimeZone = 'UTC'; COPY ({by_duckdb}) TO '{FOLDER}/duckdb_{version.lower()}.parquet' "
                   f"(FORMAT parquet, CODEC '{codec}', PARQUET_VERSION {version})")


def text(column, kind):
    """How a value is written in a .rows file."""
    return f"lower(hex({column}))" if kind == "BLOB" else f"CAST({column} AS VARCHAR)"


def write_rows():
    duckdb.sql("SET TimeZone = 'UTC'")
    for path in sorted(FOLDER.glob("*.parquet")):
        if path.stem == "nested":
            continue
        relation = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
        exprs = [text(f'"{name}"', str(kind)) for name, kind in zip(relation.columns, relation.types)]
        # Files of the same rows in other forms share what is expected of them.
        stem = path.stem if path.stem == "types_v2" else path.stem.split("_")[0]
        rows = duckdb.sql(f"SELECT {', '.join(exprs)} FROM read_parquet('{path}')").fetchall()
        lines = ("\t".join("\\N" if v is None else v for v in row) + "\n" for row in rows)
        (FOLDER / f"{stem}.rows").write_text("".join(lines), encoding="utf-8")


write_all()
write_rows()
