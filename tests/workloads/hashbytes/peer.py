"""Hashes the same bytes with DuckDB on one thread, and says what CPU it took.

    peer.py ROWS RUNS

prints the CPU time of one run in ns, the median of all, and the largest hash in hex.
"""

import statistics
import sys
import time

import duckdb


def main(rows: int, runs: int) -> None:
    peer = duckdb.connect(config={"threads": 1})
    # The bytes of a bigint, highest first, as CAST(id AS varbinary(8)) gives them.
    peer.execute(f"CREATE TABLE hb AS SELECT unhex(printf('%016x', range)) AS id FROM range({rows})")
    taken, largest = [], ""
    for _ in range(runs):
        began = time.process_time_ns()
        [(largest,)] = peer.execute("SELECT MAX(sha256(id)) FROM hb").fetchall()
        taken.append(time.process_time_ns() - began)
    print(int(statistics.median(taken)), largest)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
