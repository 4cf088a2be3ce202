"""Oracles that need no other engine: the same question put in ways whose answers must agree.

- NoREC (Rigger and Su, ESEC/FSE 2020): how many rows a WHERE keeps, and for how many rows the same predicate is
  true where it is only computed. The first may use indexes, other joins and other operators; the second looks at
  every row. Each is asked several times, with hints that force other plans.
- TLP (Rigger and Su, OOPSLA 2020): a predicate is true, false or unknown for each row, so the three parts of a
  query together are the whole: of WHERE, HAVING, aggregates, DISTINCT and joins.
- Plans: TOP with a total order, under every hint.
- Changes: an UPDATE and a DELETE change as many rows as a SELECT finds, and a ROLLBACK brings all back.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass

from predicates import Predicates, Scope, Tree, is_null
from worlds import Column, Table, World, literal

# Rows that a join may give if its condition holds for all of them.
ROWS_MAX = 40_000
# Rows that are sent; of more than that, a checksum.
ROWS_SENT_MAX = 200
BINARY = "COLLATE Latin1_General_BIN2"
HINTS = ["HASH JOIN", "LOOP JOIN", "MERGE JOIN", "FORCE ORDER", "MAXDOP 1", "RECOMPILE", "USE HINT ('DISALLOW_BATCH_MODE')"]


class Check:
    """Statements whose answers must agree: `statements(predicate)` makes them, `judge(answers)` says how they differ."""

    def __init__(self, oracle: str, predicate: Tree, statements, judge, hinted: bool = False):
        self.oracle, self.predicate, self.statements, self.judge, self.hinted = oracle, predicate, statements, judge, hinted

    def texts(self) -> list[str]:
        return self.statements(self.predicate)

    def smaller(self):
        for less in [Tree("1 = 1"), Tree("1 = 0"), *self.predicate.smaller()]:
            if str(less) != str(self.predicate) and len(str(less)) < len(str(self.predicate)):
                yield Check(self.oracle, less, self.statements, self.judge, self.hinted)


@dataclass
class Source:
    """A FROM clause: its tables, and the joins between them."""

    tables: list[tuple[str, Table]]
    joins: list[tuple[str, str]]  # kind and condition, one less than tables
    rows_max: int

    def text(self, hints: dict[str, str] | None = None) -> str:
        def one(at: int) -> str:
            alias, table = self.tables[at]
            hint = (hints or {}).get(alias)
            return f"{table.name} AS {alias}" + (f" WITH ({hint})" if hint else "")

        text = one(0)
        for at, (kind, on) in enumerate(self.joins, 1):
            text += f" {kind} JOIN {one(at)}" + (f" ON {on}" if on else "")
        return text

    def scope(self) -> Scope:
        return Scope.of(*self.tables)


# ---- judging --------------------------------------------------------------------------------------


def plain(cell):
    """A value as it compares: -0.0 is 0, blanks and zero bytes at the end count for nothing."""
    if isinstance(cell, str):
        return cell.rstrip(" ")
    if isinstance(cell, float):
        return cell + 0.0
    if isinstance(cell, (bytes, bytearray)):
        return bytes(cell).rstrip(b"\0")
    return cell


def bag(rows) -> Counter:
    return Counter(tuple(plain(cell) for cell in row) for row in rows)


def all_alike(answers) -> str | None:
    first = bag(answers[0])
    for at, answer in enumerate(answers[1:], 2):
        if bag(answer) != first:
            return f"statement 1 gives {short(answers[0])}, statement {at} gives {short(answer)}"
    return None


def short(rows) -> str:
    return f"{len(rows)} rows {rows[:5]}"


class Checks:
    """Makes checks over a world."""

    def __init__(self, rng: random.Random, world: World):
        self.rng, self.world = rng, world
        self.predicates = Predicates(rng, world.tables)

    def check(self) -> Check:
        kinds = [self.norec] * 5 + [self.tlp_where] * 2 + [self.tlp_having, self.tlp_aggregate, self.tlp_distinct]
        return self.rng.choice([*kinds, self.tlp_join, self.semi_join, self.plans, self.changes, self.changed_value])()

    # ---- sources -----------------------------------------------------------------------------

    def source(self, tables: int | None = None) -> Source:
        rng = self.rng
        count = tables or rng.choice([1, 1, 1, 2, 2, 3])
        first = rng.choice(self.world.tables)
        source = Source([("a", first)], [], max(first.rows, 1))
        for alias in "bc"[: count - 1]:
            right = rng.choice(self.world.tables)
            on, rows = self.on(source, alias, right)
            if on is None:
                continue
            source.tables.append((alias, right))
            source.joins.append((rng.choice(["INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL"]), on))
            source.rows_max = rows
        return source

    def on(self, source: Source, alias: str, right: Table):
        """A join's condition, and the rows that it gives at most; none where they would be too many."""
        rng = self.rng
        product = source.rows_max * max(right.rows, 1)
        if product > ROWS_MAX:
            left = rng.choice(source.tables)[0]
            return f"{left}.id = {alias}.id", source.rows_max + right.rows
        alike = [
            (o, c) for o in source.scope().columns for c in right.columns if o[1].family == c.family and (c.family != "text" or o[1].collation == c.collation)
        ]
        (left, column), own = rng.choice(alike)
        text = f"{left}.{column.name} {rng.choice(['=', '=', '=', '=', '<', '>='])} {alias}.{own.name}"
        if rng.random() < 0.3:
            scope = Scope(source.scope().columns + Scope.of((alias, right)).columns)
            text += f" AND ({self.predicates.predicate(scope, 2)})"
        return text, product

    def hints(self, source: Source) -> tuple[dict[str, str], str]:
        """Hints of tables by alias, and OPTION."""
        rng = self.rng
        of_tables = {}
        for alias, table in source.tables:
            if rng.random() < 0.5:
                continue
            choices = ["FORCESCAN"]
            if table.kind != "columnstore":
                choices += ["FORCESEEK"]
            if table.kind not in ("memory", "columnstore"):
                choices += ["INDEX (0)", "NOLOCK"]
            choices += [f"INDEX ({name})" for name, _ in table.indexes] * 2
            of_tables[alias] = rng.choice(choices)
        option = f" OPTION ({rng.choice(HINTS)})" if rng.random() < 0.7 else ""
        return of_tables, option

    # ---- NoREC -------------------------------------------------------------------------------

    def norec(self) -> Check:
        source = self.source()
        predicate = self.predicates.predicate(source.scope())
        alias, column = self.rng.choice(source.scope().columns)
        name = f"{alias}.{column.name}"
        least, most, of_value = least_and_most(name, column)
        variants = [self.hints(source) for _ in range(2)]
        reference_option = self.rng.choice(["", "", " OPTION (USE HINT ('DISALLOW_BATCH_MODE'))"])

        def statements(p):
            optimized = f"SELECT COUNT(*) AS n, COUNT({name}) AS v, {least} AS least, {most} AS most FROM "
            texts = [
                f"SELECT ISNULL(SUM(d.m), 0) AS n, COUNT(CASE WHEN d.m = 1 THEN d.v END) AS v, {of_value('MIN')} AS least, "
                f"{of_value('MAX')} AS most FROM (SELECT CASE WHEN {p} THEN 1 ELSE 0 END AS m, {name} AS v "
                f"FROM {source.text()}) AS d{reference_option}",
                f"{optimized}{source.text()} WHERE {p}",
                with_variables(f"{optimized}{source.text()} WHERE {p}"),
            ]
            return texts + [f"{optimized}{source.text(of_tables)} WHERE {p}{option}" for of_tables, option in variants]

        return Check("NoREC", predicate, statements, all_alike, hinted=True)

    # ---- TLP ---------------------------------------------------------------------------------

    def parts(self, predicate) -> list[str]:
        return [str(predicate), f"NOT ({predicate})", is_null(predicate)]

    def tlp_where(self) -> Check:
        source = self.source()
        predicate = self.predicates.predicate(source.scope())
        items = self.items(source)
        of_tables, option = self.hints(source)
        sent = source.rows_max <= ROWS_SENT_MAX

        names = ", ".join(re.findall(r" AS (x\d)", items))

        def wrapped(text: str) -> str:
            return text if sent else f"SELECT COUNT(*) AS n, CHECKSUM_AGG(BINARY_CHECKSUM({names})) AS s FROM ({text}) AS d"

        def statements(p):
            text = f"SELECT {items} FROM {source.text()}"
            parts = [f"SELECT {items} FROM {source.text(of_tables)} WHERE {part}" for part in self.parts(p)]
            return [wrapped(text), wrapped(" UNION ALL ".join(parts)) + option]

        return Check("TLP where", predicate, statements, all_alike, hinted=True)

    def items(self, source: Source) -> str:
        columns = source.scope().columns
        chosen = self.rng.sample(columns, self.rng.randint(1, min(4, len(columns))))
        return ", ".join(f"{exact(f'{alias}.{column.name}', column)} AS x{at}" for at, (alias, column) in enumerate(chosen))

    def tlp_distinct(self) -> Check:
        source = self.source()
        predicate = self.predicates.predicate(source.scope())
        columns = self.rng.sample(source.scope().columns, self.rng.randint(1, 2))
        items = ", ".join(f"{exact(f'{alias}.{column.name}', column)} AS x{at}" for at, (alias, column) in enumerate(columns))

        def statements(p):
            whole = f"SELECT DISTINCT {items} FROM {source.text()}"
            parts = [f"SELECT DISTINCT {items} FROM {source.text()} WHERE {part}" for part in self.parts(p)]
            return [wrap_count(whole), wrap_count(" UNION ".join(parts))]

        def wrap_count(text: str) -> str:
            return text if source.rows_max <= ROWS_SENT_MAX else f"SELECT COUNT(*) AS n FROM ({text}) AS d"

        return Check("TLP distinct", predicate, statements, all_alike)

    def tlp_aggregate(self) -> Check:
        source = self.source()
        predicate = self.predicates.predicate(source.scope())
        alias, column = self.rng.choice([pair for pair in source.scope().columns if pair[1].family not in ("bit", "bytes")])
        name = f"{alias}.{column.name}"
        least, most, _ = least_and_most(name, column)
        total = f"SUM(CAST({name} AS decimal(38, 5)))" if column.family == "number" else f"COUNT({name})"

        def statements(p):
            head = f"SELECT COUNT(*) AS n, {least} AS least, {most} AS most, {total} AS s FROM {source.text()}"
            parts = " UNION ALL ".join(f"{head} WHERE {part}" for part in self.parts(p))
            return [head, f"SELECT SUM(d.n) AS n, MIN(d.least) AS least, MAX(d.most) AS most, SUM(d.s) AS s FROM ({parts}) AS d"]

        return Check("TLP aggregate", predicate, statements, all_alike)

    def tlp_having(self) -> Check:
        rng = self.rng
        source = self.source()
        keys = rng.sample(source.scope().columns, rng.randint(1, 2))
        group = ", ".join(f"{alias}.{column.name}" for alias, column in keys)
        # Pseudo columns, which become aggregates in the text.
        aggregates, scope = {}, []
        for at, (alias, column) in enumerate(rng.sample(source.scope().columns, 2)):
            name = f"{alias}.{column.name}"
            if column.family not in ("number", "date") or rng.random() < 0.4:
                column, text = Column(f"h{at}", "int", None, False), rng.choice([f"COUNT({name})", f"COUNT(DISTINCT {name})"])
            else:
                column, text = Column(f"h{at}", column.type, column.collation, True), f"{rng.choice(['MIN', 'MAX'])}({name})"
            aggregates[f"agg.{column.name}"] = text
            scope.append(("agg", column))
        # Of texts and floats that are equal and not the same, which one is the group's is open.
        clear = [pair for pair in keys if pair[1].family in ("number", "date", "bit", "guid")]
        predicate = self.predicates.predicate(Scope(scope + clear), 2)

        def having(p) -> str:
            return re.sub(r"agg\.h\d", lambda found: aggregates[found[0]], str(p))

        def statements(p):
            head = f"SELECT COUNT(*) AS n, {', '.join(f'{text} AS y{at}' for at, text in enumerate(aggregates.values()))}"
            head += f" FROM {source.text()} GROUP BY {group}"
            parts = " UNION ALL ".join(f"{head} HAVING {having(part)}" for part in self.parts(p))
            return [f"SELECT COUNT(*) AS g, SUM(d.n) AS n FROM ({head}) AS d", f"SELECT COUNT(*) AS g, SUM(d.n) AS n FROM ({parts}) AS d"]

        return Check("TLP having", predicate, statements, all_alike)

    def tlp_join(self) -> Check:
        left, right = self.small_pair()
        scope = Scope.of(("a", left), ("b", right))
        predicate = self.predicates.predicate(scope)
        kind = self.rng.choice(["LEFT", "RIGHT", "FULL"])
        option = self.rng.choice(["", "", f" OPTION ({self.rng.choice(HINTS)})"])

        def statements(p):
            def count(sql: str) -> str:
                return f"(SELECT COUNT(*) FROM {sql})"

            inner = count(f"{left.name} AS a INNER JOIN {right.name} AS b ON {p}")
            alone_left = count(f"{left.name} AS a WHERE NOT EXISTS (SELECT 1 FROM {right.name} AS b WHERE {p})")
            alone_right = count(f"{right.name} AS b WHERE NOT EXISTS (SELECT 1 FROM {left.name} AS a WHERE {p})")
            parts = [count(f"{left.name} AS a INNER JOIN {right.name} AS b ON {part}") for part in self.parts(p)]
            outer = {"LEFT": [inner, alone_left], "RIGHT": [inner, alone_right], "FULL": [inner, alone_left, alone_right]}[kind]
            return [
                f"SELECT {count(f'{left.name} AS a CROSS JOIN {right.name} AS b')} AS n, {' + '.join(outer)} AS m",
                f"SELECT {' + '.join(parts)} AS n, (SELECT COUNT(*) FROM {left.name} AS a {kind} JOIN {right.name} AS b ON {p}) AS m{option}",
            ]

        return Check("TLP join", predicate, statements, all_alike, hinted=True)

    def semi_join(self) -> Check:
        left, right = self.small_pair()
        predicate = self.predicates.predicate(Scope.of(("a", left), ("b", right)))
        option = self.rng.choice(["", "", f" OPTION ({self.rng.choice(HINTS)})"])

        def statements(p):
            return [
                f"SELECT COUNT(DISTINCT a.id) AS n FROM {left.name} AS a INNER JOIN {right.name} AS b ON {p}",
                f"SELECT COUNT(*) AS n FROM {left.name} AS a WHERE EXISTS (SELECT 1 FROM {right.name} AS b WHERE {p}){option}",
                f"SELECT COUNT(*) - (SELECT COUNT(*) FROM {left.name} AS a WHERE NOT EXISTS (SELECT 1 FROM {right.name} AS b "
                f"WHERE {p})) AS n FROM {left.name} AS z",
            ]

        return Check("semi join", predicate, statements, all_alike, hinted=True)

    def small_pair(self) -> tuple[Table, Table]:
        left, right = self.rng.choice(self.world.tables), self.rng.choice(self.world.tables)
        while max(left.rows, 1) * max(right.rows, 1) > ROWS_MAX:
            left, right = right, min(self.world.tables, key=lambda table: table.rows)
            if left is right:
                break
        return left, right

    # ---- plans and changes -------------------------------------------------------------------

    def plans(self) -> Check:
        source = self.source(1)
        predicate = self.predicates.predicate(source.scope())
        column = self.rng.choice(source.tables[0][1].columns)
        order = f"a.{column.name}{self.rng.choice(['', ' DESC'])}, " if column.name != "id" else ""
        head = f"SELECT TOP ({self.rng.choice([1, 3, 20])}) a.id AS id FROM "
        tail = f" ORDER BY {order}a.id"
        variants = [self.hints(source) for _ in range(2)]

        def statements(p):
            first = f"{head}{source.text()} WHERE CASE WHEN {p} THEN 1 ELSE 0 END = 1{tail} OPTION (USE HINT ('DISALLOW_BATCH_MODE'))"
            texts = [first, f"{head}{source.text()} WHERE {p}{tail}"]
            return texts + [f"{head}{source.text(of_tables)} WHERE {p}{tail}{option}" for of_tables, option in variants]

        def judge(answers):
            for at, answer in enumerate(answers[1:], 2):
                if [tuple(row) for row in answer] != [tuple(row) for row in answers[0]]:
                    return f"statement 1 gives {short(answers[0])}, statement {at} gives {short(answer)}"
            return None

        return Check("plans", predicate, statements, judge, hinted=True)

    def changes(self) -> Check:
        table = self.rng.choice(self.world.tables)
        predicate = self.predicates.predicate(Scope.of((table.name, table)))
        column = self.rng.choice([c for c in table.columns if c.name != "id"])

        def statements(p):
            return [
                f"SELECT COUNT(*) AS n FROM {table.name} WHERE CASE WHEN {p} THEN 1 ELSE 0 END = 1",
                "BEGIN TRANSACTION",
                f"UPDATE {table.name} SET {column.name} = {column.name} WHERE {p}; SELECT @@ROWCOUNT AS n",
                f"DELETE FROM {table.name} WHERE {p}; SELECT @@ROWCOUNT AS n",
                "ROLLBACK",
                f"SELECT COUNT(*) AS n FROM {table.name} WHERE {p}",
            ]

        return Check("changes", predicate, statements, all_alike)

    def changed_value(self) -> Check:
        table = self.rng.choice(self.world.tables)
        predicate = self.predicates.predicate(Scope.of((table.name, table)))
        column = self.rng.choice([c for c in table.columns if c.name != "id" and c.family != "bytes"])
        text = literal(self.rng, column.type)
        alike = f"{table.name}.{column.name} = {text}"

        def statements(p):
            return [
                f"SELECT COUNT(*) AS n FROM {table.name} WHERE CASE WHEN {alike} THEN 1 WHEN {p} THEN 1 ELSE 0 END = 1",
                "BEGIN TRANSACTION",
                f"UPDATE {table.name} SET {column.name} = {text} WHERE {p}",
                f"SELECT COUNT(*) AS n FROM {table.name} WHERE {alike}",
                f"SELECT COUNT(*) AS n FROM {table.name} WHERE {column.name} IN ({text}, {text})",
                "ROLLBACK",
            ]

        return Check("changed value", predicate, statements, all_alike)


# ---- texts ----------------------------------------------------------------------------------------


def exact(name: str, column: Column) -> str:
    """A column so that equal values look the same: what a collation takes for equal may not."""
    return f"{name} {BINARY}" if column.family == "text" else name


def least_and_most(name: str, column: Column):
    """MIN and MAX of a column, and the same over `d.v` where `d.m` is 1."""
    collate = f" {BINARY}" if column.family == "text" else ""
    if column.family in ("bit", "bytes"):
        return f"COUNT({name})", f"COUNT(DISTINCT {name})", lambda function: (
            "COUNT(CASE WHEN d.m = 1 THEN d.v END)" if function == "MIN" else "COUNT(DISTINCT CASE WHEN d.m = 1 THEN d.v END)"
        )
    return f"MIN({name}{collate})", f"MAX({name}{collate})", lambda function: f"{function}(CASE WHEN d.m = 1 THEN d.v{collate} END)"


def with_variables(text: str) -> str:
    """The statement with its constants behind comparisons in variables."""
    declared = []

    def number(found) -> str:
        declared.append(f"@v{len(declared)} int = {found[2]}")
        return f"{found[1]} @v{len(declared) - 1}"

    def word(found) -> str:
        declared.append(f"@v{len(declared)} {'n' if found[2] else ''}varchar(20) = {found[2]}'{found[3]}'")
        return f"{found[1]} @v{len(declared) - 1}"

    text = re.sub(r"(?<= )(=|<|<=|>|>=|<>) (-?\d{1,9})(?![\d.ex])", number, text)
    text = re.sub(r"(?<= )(=|<|<=|>|>=|<>) (N?)'([a-zA-Z0-9]*)'(?!')", word, text)
    return f"DECLARE {', '.join(declared)}; {text}" if declared else text
