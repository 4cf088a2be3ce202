"""The batches that are compared, and their mutants.

The batches are those of this repository: scripts of the engine's tests and of sqllogictest, examples of each
construct, the parser's table of productions, generated statements, and texts in tests written in Rust.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "crates" / "engine" / "tests"
# Longer batches say nothing new when a token changes.
MUTATED_CHARS_MAX = 400

TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |N?'(?:[^']|'')*'|"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\]
    |0x[0-9A-Fa-f]*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+
    |[@#$\w][@#$\w]*
    |\|\|=|<=|>=|<>|!=|!<|!>|::|\|\||[-+*/%&|^]=|.""",
    re.VERBOSE | re.DOTALL,
)
WORD = re.compile(r"[A-Za-z_]+\Z")


def corners() -> list[str]:
    """Texts written for this test."""
    lines = (Path(__file__).parent / "texts.txt").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def scripts() -> list[str]:
    """Batches of the engine's scripts: blocks between blank lines, with a head and an answer that are not SQL."""
    texts = []
    for path in sorted((SCRIPTS / "scripts").glob("*.test")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = block.strip("\n").split("\n")
            while lines and (lines[0].startswith(("--", "feature:")) or not lines[0]):
                lines.pop(0)
            if not lines or lines[0].split(" ")[0] not in ("run", "query", "count", "messages", "error", "answer", "tokens", "commands"):
                continue
            lines = lines[1:]
            if "----" in lines:
                lines = lines[: lines.index("----")]
            texts.append("\n".join("" if line == "~" else line for line in lines))
    return texts


def examples() -> list[str]:
    """The examples of each construct that is accepted."""
    lines = [line for path in sorted((SCRIPTS / "grammar").glob("*.txt")) for line in path.read_text(encoding="utf-8").split("\n")]
    return [line[2:] for line in lines if line.startswith("+ ")] + [line.split(" | ", 1)[1] for line in lines if line.startswith("- ")]


def sqllogictest() -> list[str]:
    texts = []
    for path in sorted((ROOT / "tests" / "slt").glob("*.slt")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.split("\n") if line and not line.startswith("#")]
            if lines and lines[0].startswith(("query", "statement")):
                lines = lines[1:]
                texts.append("\n".join(lines[: lines.index("----")] if "----" in lines else lines))
    return texts


def generated(seed: int, count: int) -> list[str]:
    """Statements of the generator that compares this server with DuckDB."""
    sys.path.insert(0, str(ROOT / "tests" / "differential"))
    from generate import Rows, Statements
    from tree import TSQL, Change

    rows = Rows(random.Random(seed), 1)
    texts = []
    for number in range(count):
        statement = Statements(rows, random.Random(f"{seed}:{number}")).statement()
        texts += statement.statements(TSQL) if isinstance(statement, Change) else [statement.render(TSQL)]
    return texts


def in_rust() -> list[str]:
    """Texts in the tests of the server's crates: string literals that begin as a statement does."""
    literal = re.compile(r'r#"(.*?)"#|"((?:[^"\\]|\\.)*)"', re.DOTALL)
    begins = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|CREATE|ALTER|DROP|DECLARE|SET|EXEC|BEGIN|IF|WHILE|GRANT|DENY|REVOKE|BACKUP|RESTORE|TRUNCATE) [^{}]*\Z")
    texts = []
    for path in sorted((ROOT / "crates").rglob("*.rs")) + sorted((ROOT / "tests" / "it").rglob("*.rs")):
        if "tests" not in path.parts:
            continue
        for raw, plain in literal.findall(path.read_text(encoding="utf-8")):
            text = raw or re.sub(r"\\\n\s*", "", plain).replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
            if begins.match(text) and " " in text.strip() and "\\" not in text:
                texts.append(text)
    return texts


def tokens(text: str) -> list[tuple[str, str]]:
    """Cuts a text into tokens, each with the blanks before it."""
    found, blank = [], ""
    for match in TOKEN.finditer(text):
        if match.group("blank"):
            blank += match.group()
        else:
            found.append((blank, match.group()))
            blank = ""
    return found


def text_of(parts: list[tuple[str, str]]) -> str:
    """Joins tokens; two that were moved get a blank if they would become one."""
    text = ""
    for blank, token in parts:
        joined = text[-1:] + token[:1]
        text += (blank or (" " if JOINS.match(joined) else "")) + token
    return text


JOINS = re.compile(r"[\w@#$\].'\"][\w@#$\[.'\"]|[-+*/%&|^=<>!:][-+*/%&|^=<>!:]")


def mutants(text: str, words: list[str], rng: random.Random, count: int):
    """Yields mutants of a text, each with what was done: one token, item or clause deleted, doubled, swapped or replaced."""
    parts = tokens(text)
    if len(parts) < 2:
        return
    changes = [delete, double, swap, replace, insert, double_run, swap_runs, delete_run]
    for _ in range(count):
        change = rng.choice(changes)
        changed = change(list(parts), words, rng)
        if changed is not None and [t for _, t in changed] != [t for _, t in parts]:
            yield change.__name__, text_of(changed)


def delete(parts, _words, rng):
    del parts[rng.randrange(len(parts))]
    return parts


def double(parts, _words, rng):
    at = rng.randrange(len(parts))
    return parts[: at + 1] + parts[at:]


def swap(parts, _words, rng):
    at = rng.randrange(len(parts) - 1)
    parts[at], parts[at + 1] = parts[at + 1], parts[at]
    return parts


def replace(parts, words, rng):
    at = [number for number, (_, token) in enumerate(parts) if WORD.match(token)]
    if not at:
        return None
    at = rng.choice(at)
    parts[at] = (parts[at][0], rng.choice(words))
    return parts


def insert(parts, words, rng):
    parts.insert(rng.randrange(len(parts) + 1), (" ", rng.choice(words)))
    return parts


def runs(parts) -> list[tuple[int, int]]:
    """The runs of tokens between commas, parentheses and the words that begin a clause: items, options, clauses."""
    cuts, depth_open, found = [0], [], []
    for number, (_, token) in enumerate(parts):
        if token == "(":
            depth_open.append(number)
        elif token == ")" and depth_open:
            found.append((depth_open.pop(), number + 1))
        if token in (",", "(", ")") or token.upper() in CLAUSES:
            cuts += [number, number + 1] if token in (",", "(", ")") else [number]
    cuts = sorted(set([*cuts, len(parts)]))
    found += [(a, b) for a, b in zip(cuts, cuts[1:]) if b > a]
    return found


CLAUSES = frozenset(
    "SELECT FROM WHERE GROUP ORDER HAVING UNION OPTION WITH ON FOR INTO VALUES SET OUTPUT AS WHEN TOP NOT NULL PRIMARY UNIQUE "
    "DEFAULT CHECK REFERENCES CONSTRAINT IDENTITY COLLATE OFFSET FETCH OVER WITHIN PARTITION ROWS JOIN LEFT RETURNS BEGIN END "
    "ADD DROP ALTER CREATE EXEC ELSE THEN USING TO IN BY".split()
)


def double_run(parts, _words, rng):
    start, end = rng.choice(runs(parts))
    comma = [("", ",")] if rng.random() < 0.5 else []
    return parts[:end] + comma + parts[start:end] + parts[end:]


def delete_run(parts, _words, rng):
    start, end = rng.choice(runs(parts))
    return parts[:start] + parts[end:]


def swap_runs(parts, _words, rng):
    found = sorted(run for run in runs(parts))
    (a, b), (c, d) = rng.choice(found), rng.choice(found)
    if a > c:
        (a, b), (c, d) = (c, d), (a, b)
    if b > c:
        return None
    return parts[:a] + parts[c:d] + parts[b:c] + parts[a:b] + parts[d:]
