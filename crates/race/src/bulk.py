# DuckDB for a race: a statement on each line of stdin, the first row of its answer on a line of stdout.
import sys

import duckdb

database = duckdb.connect(":memory:")
database.execute("SET threads = 1")
print(duckdb.__version__, flush=True)
for statement in sys.stdin:
    try:
        row = database.execute(statement).fetchone()
        print("ok", *(row or ()), flush=True)
    except duckdb.Error as error:
        print("error", str(error).replace("\n", " "), flush=True)
