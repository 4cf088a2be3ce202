"""Answers the queries of TPC-H with DuckDB on one thread, over the files that Clearway loads too: see duckdb_side.py.

    peer.py FOLDER_OF_TBL_FILES FOLDER_OF_QUERIES
"""

import re
import sys
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import duckdb_side


def as_duckdb(text: str) -> str:
    """Turns the T-SQL of these queries into DuckDB's dialect: DATEADD and COLLATE are all there is, beside TOP."""
    text = re.sub(r"--[^\n]*", "", text)
    text = re.sub(r" COLLATE \w+", "", text)
    return re.sub(r"DATEADD\((\w+), (-?\d+), (CAST\('[\d-]+' AS date\))\)", r"CAST(\3 + INTERVAL (\2) \1 AS date)", text)


def main(data: Path, queries: Path) -> None:
    peer = duckdb.connect(config={"threads": 1})
    peer.execute(as_duckdb((queries / "schema.sql").read_text()))
    for (table,) in peer.execute("SELECT table_name FROM information_schema.tables").fetchall():
        # A line ends with a separator, which makes an empty column that is dropped here.
        columns = [c[0] for c in peer.execute(f"DESCRIBE {table}").fetchall()]
        names = ", ".join(f"'{c}': 'VARCHAR'" for c in [*columns, "nothing"])
        source = f"read_csv('{data / table}.tbl', delim='|', header=false, quote='', escape='', columns={{{names}}})"
        peer.execute(f"INSERT INTO {table} SELECT * EXCLUDE nothing FROM {source}")
    duckdb_side.serve(peer, lambda name: as_duckdb((queries / f"{name}.sql").read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
