"""The side of DuckDB in a comparison: answers queries that are named on its input, and says what CPU they took.

It prints `L` once its tables are loaded. Then each line of its input is a command, so that the caller can run both sides in
alternation: the name of a query, or `whole NAME` for the query without its TOP or OFFSET. The answer is a line
`Q<TAB>name<TAB>cpu_ns`, a line per row: `R`, then a field per column, each `n` (NULL), `d<number>` or `t<text>`, cut by
tabs; and `E`.
"""

import decimal
import re
import sys
import time
from collections.abc import Callable

LIMIT = re.compile(r"SELECT TOP \((\d+)\)")
PAGE = re.compile(r"OFFSET (\d+) ROWS FETCH NEXT (\d+) ROWS ONLY")


def with_limit(text: str) -> str:
    """Turns TOP, or OFFSET and FETCH, into LIMIT."""
    top, page = LIMIT.search(text), PAGE.search(text)
    if top:
        text = text.replace(top[0], "SELECT").rstrip().rstrip(";") + f"\nLIMIT {top[1]}"
    return text.replace(page[0], f"LIMIT {page[2]} OFFSET {page[1]}") if page else text


def without_limit(text: str) -> str:
    return PAGE.sub("", LIMIT.sub("SELECT", text))


def field(value) -> str:
    if value is None:
        return "n"
    if isinstance(value, (int, float, decimal.Decimal)):
        return f"d{value}"
    return f"t{value}"


def serve(peer, text_of: Callable[[str], str]) -> None:
    """Answers until the input ends; `text_of` returns a query's text with TOP still in it."""
    print("L", flush=True)
    for line in map(str.strip, sys.stdin):
        name = line.removeprefix("whole ")
        text = text_of(name)
        text = without_limit(text) if name != line else with_limit(text)
        began = time.process_time_ns()
        rows = peer.execute(text).fetchall()
        print("Q", name, time.process_time_ns() - began, sep="\t")
        for row in rows:
            print("R", *(field(value) for value in row), sep="\t")
        print("E", flush=True)
