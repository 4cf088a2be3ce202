"""Makes the rows of ClickBench's table, and answers its queries with DuckDB on one thread: see duckdb_side.py.

    peer.py make FILE.parquet FOLDER ROWS SEED
    peer.py serve FILE.parquet FOLDER

FOLDER is the one of schema.sql, hits.sql and queries.sql.
"""

import re
import sys
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import duckdb_side

# T-SQL's CHARINDEX with a place to begin at.
CHARINDEX = """CREATE MACRO charindex(part, whole, place) AS CASE WHEN strpos(substring(whole, place), part) > 0
    THEN strpos(substring(whole, place), part) + place - 1 ELSE 0 END"""


def schema(folder: Path) -> str:
    text = (folder / "schema.sql").read_text()
    text = re.sub(r"(var)?char\(\d+\) COLLATE \w+", "varchar", text).replace("datetime2(0)", "timestamp")
    return re.sub(r",\s*INDEX columns CLUSTERED COLUMNSTORE", "", text)


def queries(folder: Path) -> dict[str, str]:
    """The queries by name, in DuckDB's dialect but for TOP."""
    parts = re.split(r"^-- (q\d+).*$", (folder / "queries.sql").read_text(), flags=re.M)[1:]
    return {name: as_duckdb(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def as_duckdb(text: str) -> str:
    text = re.sub(r"AVG\(CAST\((.+?) AS float\)\)", r"AVG(\1)", text)
    text = re.sub(r"\bLEN\(", "length(", text)
    text = re.sub(r"DATEPART\((\w+),", r"date_part('\1',", text)
    return re.sub(r"DATETRUNC\((\w+),", r"date_trunc('\1',", text)


def make(file: Path, folder: Path, rows: str, seed: str) -> None:
    made = duckdb.connect(config={"threads": 1})
    made.execute((folder / "hits.sql").read_text().replace("$ROWS", rows).replace("$SEED", seed))
    made.execute(schema(folder))
    made.execute("INSERT INTO hits SELECT * FROM made")
    # Under another name until it is whole.
    part = file.with_suffix(".part")
    made.execute(f"COPY hits TO '{part}' (FORMAT parquet, COMPRESSION snappy)")
    part.rename(file)


def serve(file: Path, folder: Path) -> None:
    peer = duckdb.connect(config={"threads": 1})
    peer.execute(CHARINDEX)
    peer.execute(schema(folder))
    peer.execute(f"INSERT INTO hits SELECT * FROM read_parquet('{file}')")
    duckdb_side.serve(peer, queries(folder).__getitem__)


if __name__ == "__main__":
    {"make": make, "serve": serve}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
