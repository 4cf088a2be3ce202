"""Copies a table of ten BIGINT columns and sums one of them with DuckDB on one thread.

    peer.py ROWS RUNS FOLDER

prints the CPU time of one copy and of one sum in ns, the medians of all; the sum; and the bytes of the same
table as a Parquet file with zstd, which is written to the folder.
"""

import statistics
import sys
import time
from pathlib import Path

import duckdb


def main(rows: int, runs: int, folder: Path) -> None:
    peer = duckdb.connect(config={"threads": 1})
    columns = ", ".join(f"range % {1000 * place + 7} + {place} AS c{place}" for place in range(1, 10))
    peer.execute(f"CREATE TABLE staging AS SELECT range AS c0, {columns} FROM range({rows})")
    copies, sums, total = [], [], 0
    for _ in range(runs):
        peer.execute("DROP TABLE IF EXISTS cci")
        began = time.process_time_ns()
        peer.execute("CREATE TABLE cci AS SELECT * FROM staging")
        copied = time.process_time_ns()
        [(total,)] = peer.execute("SELECT SUM(c9) FROM cci").fetchall()
        copies.append(copied - began)
        sums.append(time.process_time_ns() - copied)
    path = folder / "columnstore.parquet"
    peer.execute(f"COPY staging TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    print(int(statistics.median(copies)), int(statistics.median(sums)), total, path.stat().st_size)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
