"""Answers the same queries with DuckDB on one thread, over the same files, and says what CPU they took.

    peer.py FOLDER_OF_TBL_FILES FOLDER_OF_QUERIES

loads the files, prints `L`, and then runs each query that a line of its input names, so that whoever asks can run the
other side in alternation. It prints a line `Q<TAB>name<TAB>cpu_ns`, a line per row: `R`, then a field per column, each
`n` (NULL), `d<number>` or `t<text>`, cut by tabs; and `E`.
"""

import datetime
import decimal
import re
import sys
import time
from pathlib import Path

import duckdb


def as_duckdb(text: str) -> str:
    """Turns the T-SQL of these queries into DuckDB's dialect: TOP, DATEADD and COLLATE are all there is."""
    text = re.sub(r"--[^\n]*", "", text)
    text = re.sub(r" COLLATE \w+", "", text)
    text = re.sub(r"DATEADD\((\w+), (-?\d+), (CAST\('[\d-]+' AS date\))\)", r"CAST(\3 + INTERVAL (\2) \1 AS date)", text)
    top = re.search(r"SELECT TOP \((\d+)\)", text)
    if top:
        text = text.replace(top[0], "SELECT").rstrip().rstrip(";") + f"\nLIMIT {top[1]}"
    return text


def field(value) -> str:
    if value is None:
        return "n"
    if isinstance(value, (int, float, decimal.Decimal)):
        return f"d{value}"
    if isinstance(value, datetime.date):
        return f"t{value.isoformat()}"
    return f"t{value}"


def main(data: Path, queries: Path) -> None:
    peer = duckdb.connect(config={"threads": 1})
    peer.execute(as_duckdb((queries / "schema.sql").read_text()))
    for (table,) in peer.execute("SELECT table_name FROM information_schema.tables").fetchall():
        # A line ends with a separator, which makes an empty column that is dropped here.
        columns = [c[0] for c in peer.execute(f"DESCRIBE {table}").fetchall()]
        names = ", ".join(f"'{c}': 'VARCHAR'" for c in [*columns, "nothing"])
        source = f"read_csv('{data / table}.tbl', delim='|', header=false, quote='', escape='', columns={{{names}}})"
        peer.execute(f"INSERT INTO {table} SELECT * EXCLUDE nothing FROM {source}")
    print("L", flush=True)
    for name in map(str.strip, sys.stdin):
        text = as_duckdb((queries / f"{name}.sql").read_text())
        began = time.process_time_ns()
        rows = peer.execute(text).fetchall()
        print("Q", name, time.process_time_ns() - began, sep="\t")
        for row in rows:
            print("R", *(field(value) for value in row), sep="\t")
        print("E", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
