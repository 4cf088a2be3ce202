"""Tables, data and statements at random, in the part of SQL that both engines mean the same by.

Where the dialects differ, the expression has a template for each. What is left out, and why:

- AVG of integers is an integer in T-SQL: DuckDB gets SUM // COUNT. A cast of a number with a fraction to
  an integer cuts in T-SQL and rounds in DuckDB: DuckDB gets TRUNC.
- Strings end in no blank, which comparisons in T-SQL ignore, and the database has a binary collation.
- Integers that are computed with are small: T-SQL raises 8115 where DuckDB widens, and which row is
  computed first is open in both. For the same reason every divisor is wrapped in NULLIF(.., 0).
- A quotient is a float: T-SQL cuts that of decimals at a scale that depends on both operands.
- ORDER BY names every column, so that TOP and OFFSET leave nothing open; windows order by a unique key
  where the function depends on the order of equals.
"""

from __future__ import annotations

import datetime
import decimal
import random

from tree import Change, Derived, Expr, Join, Query, Recursive, Table, Values

TYPES = {
    # name: (T-SQL, DuckDB)
    "int": ("int", "INTEGER"),
    "big": ("bigint", "BIGINT"),
    "dec": ("decimal(9, 2)", "DECIMAL(9, 2)"),
    "flt": ("float", "DOUBLE"),
    "str": ("varchar(40)", "VARCHAR"),
    "date": ("date", "DATE"),
}
WORDS = ["", "a", "A", "ab", "b", "Ba", "it's", "x%y", "u_v", "10", "abc", "-", "zz", "Zz", "cab", "a-b-c"]
EXTREMES = [2**63 - 1, -(2**63), 2**31 - 1, -(2**31), 2**31, 0, 1, -1, 2**53 + 1, 7]
DEPTH_MAX = 3
# The most rows that a join may give if its conditions hold for all, and that a query in FROM is taken for.
ROWS_MAX = 20_000
ROWS_OF_QUERY = 60


class Rows:
    """The tables of one world and what is in them."""

    def __init__(self, rng: random.Random, world: int):
        self.tables = []
        for number in range(rng.randint(3, 5)):
            columns = [("id", "int")]
            for at in range(rng.randint(3, 7)):
                columns.append((f"c{at}", rng.choice(["int", "int", "str", "dec", "date", "big", "flt", "int", "str"])))
            count = rng.choice([0, 1, 5, 12, 30, 30, 60])
            # Enough for the operators that work on batches, now and then.
            if world % 3 == 2 and number == 0:
                count = rng.randint(1_100, 2_500)
            nulls = rng.choice([0.0, 0.1, 0.4])
            rows = [[i + 1, *(cell(rng, kind, nulls) for _, kind in columns[1:])] for i in range(count)]
            keyed = rng.random() < 0.7
            if not keyed and rows:
                rows += [list(rng.choice(rows)) for _ in range(3)]
            indexes = [rng.choice(columns)[0] for _ in range(rng.randint(0, 2))]
            self.tables.append((f"t{number}", columns, rows, keyed, sorted(set(indexes))))

    def definitions(self, dialect: int):
        for name, columns, rows, keyed, indexes in self.tables:
            parts = [f"{c} {TYPES[k][dialect]} {'NOT NULL' if c == 'id' else 'NULL'}" for c, k in columns]
            if keyed:
                parts.append("PRIMARY KEY (id)")
            yield f"CREATE TABLE {name} ({', '.join(parts)})"
            for at in range(0, len(rows), 200):
                values = ", ".join("(" + ", ".join(literal(v) for v in row) + ")" for row in rows[at : at + 200])
                yield f"INSERT INTO {name} VALUES {values}"
            if dialect == 0:
                for column in indexes:
                    yield f"CREATE INDEX i_{column} ON {name} ({column})"


def cell(rng, kind, nulls):
    if rng.random() < nulls:
        return None
    if kind == "int":
        return rng.choice([rng.randint(-5, 5), rng.randint(-100, 100)])
    if kind == "big":
        return rng.choice(EXTREMES)
    if kind == "dec":
        return decimal.Decimal(rng.choice([rng.randint(-300, 300), rng.randint(-99_999, 99_999), 0])) / 100
    if kind == "flt":
        return rng.choice([0.0, 0.5, -1.25, 1000.5, rng.uniform(-10, 10)])
    if kind == "date":
        days = rng.choice([rng.randint(0, 40), rng.randint(-20_000, 20_000), 59, 60])
        return datetime.date(2020, 1, 1) + datetime.timedelta(days=days)
    return rng.choice(WORDS)


def literal(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime.date):
        return f"'{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"{value!r}e0" if "e" not in repr(value) else repr(value)
    return str(value)


class Statements:
    """Makes statements over some tables."""

    def __init__(self, rows: Rows, rng: random.Random):
        self.tables = [(name, columns, keyed) for name, columns, _, keyed, _ in rows.tables]
        self.sizes = {name: len(content) for name, _, content, _, _ in rows.tables}
        self.rng = rng
        self.count = 0
        self.cost = 1

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # ---- statements --------------------------------------------------------------------------

    def statement(self):
        if self.rng.random() < 0.08:
            return self.change()
        return self.query([], 0, top=True)

    def change(self):
        name, columns, keyed = self.rng.choice(self.tables)
        verb = self.rng.choice(["UPDATE", "DELETE", "INSERT"])
        scope = [Expr(kind, f"{name}.{column}") for column, kind in columns]
        where = [self.condition(scope, 1) for _ in range(self.rng.randint(0, 2))]
        if verb == "UPDATE":
            free = [(c, k) for c, k in columns if c != "id"]
            targets = self.rng.sample(free, self.rng.randint(1, len(free)))
            sets = [(c, stored(self.expression(k, scope, 1), k)) for c, k in targets]
            return Change("UPDATE", name, columns, sets, where)
        if verb == "DELETE":
            return Change("DELETE", name, columns, where=where)
        _, other, _ = source = self.rng.choice(self.tables)
        table = Table(source[0], self.name("a"), other)
        inner = table.scope()
        items = [(Expr("int", "{0} + 100000", None, [inner[0]]) if c == "id" else stored(self.expression(k, inner, 1), k), c) for c, k in columns]
        query = Query(items, table, [self.condition(inner, 1)] if self.rng.random() < 0.5 else [])
        source_keyed = source[2]
        if keyed and not source_keyed:
            return Change("DELETE", name, columns, where=where)
        return Change("INSERT", name, columns, query=query)

    # ---- queries -----------------------------------------------------------------------------

    def query(self, outer: list, depth: int, top: bool = False, types: list | None = None) -> Query:
        rng = self.rng
        ctes = []
        tables = list(self.tables)
        if top and rng.random() < 0.2:
            for _ in range(rng.randint(1, 2)):
                name = self.name("w")
                body = Recursive(name, rng.randint(0, 3), rng.randint(5, 12), rng.randint(1, 3)) if rng.random() < 0.3 else self.query([], depth + 1)
                ctes.append((name, body))
                tables.append((name, [(n, e.type) for e, n in body.items], False))
        source = self.source(tables, outer, depth)
        scope = source.scope() + outer
        where = [self.condition(scope, depth) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
        query = Query([], source, where, ctes=ctes)
        own = source.scope()
        shape = rng.random()
        if shape < 0.3:
            self.grouped(query, own, scope, types)
        elif shape < 0.42 and depth < 2 and types is None:
            self.windowed(query, own)
        else:
            wanted = types or [rng.choice(["int", "str", "dec", "date", "big", "int", "flt"]) for _ in range(rng.randint(1, 4))]
            query.items = [(self.expression(t, scope, depth), self.name("x")) for t in wanted]
            query.distinct = rng.random() < 0.15
        # DuckDB loses the one row of an aggregate without groups in a set operation that reads outer columns.
        loses = outer and shape < 0.3 and not query.group
        if depth < 2 and rng.random() < 0.12 and not query.ctes and not loses:
            kinds = [e.type for e, _ in query.items]
            for _ in range(rng.randint(1, 2)):
                operator = rng.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
                query.more.append((operator, self.plain(kinds, outer, depth + 1)))
        if top:
            self.ordered(query)
        elif types is None and depth and rng.random() < 0.08:
            self.ordered(query, always=True)
        return query

    def plain(self, kinds: list, outer: list, depth: int) -> Query:
        source = self.source(self.tables, outer, depth)
        scope = source.scope() + outer
        where = [self.condition(scope, depth)] if self.rng.random() < 0.6 else []
        return Query([(self.expression(k, scope, depth), self.name("x")) for k in kinds], source, where)

    def ordered(self, query: Query, always: bool = False) -> None:
        rng = self.rng
        if not always and rng.random() < 0.4:
            return
        columns = list(range(1, len(query.items) + 1))
        rng.shuffle(columns)
        query.order = [(c, rng.random() < 0.4) for c in columns]
        # TOP belongs to one branch of a set operation, LIMIT to all of it; OFFSET is of the whole in both.
        if query.more:
            if always or rng.random() < 0.5:
                query.top, query.offset = rng.choice([1, 3, 10]), rng.choice([0, 1, 3])
            return
        # A float that is summed in another order may come out on the other side of its neighbour: one is the
        # last key, where rows that change places look the same, and two are no keys at all.
        floats = [c for c, (e, _) in enumerate(query.items, 1) if e.type == "flt"]
        if floats:
            query.order.sort(key=lambda key: key[0] in floats)
            if always or len(floats) > 1:
                query.order = None
            return
        if always or rng.random() < 0.5:
            query.top = rng.choice([0, 1, 2, 3, 5, 10, 100])
            kind = rng.random()
            if kind < 0.2 and query.top:
                query.offset = rng.choice([0, 1, 3])
            elif kind < 0.35 and not query.distinct and not query.group and query.top:
                query.ties = True
                query.order = query.order[:1]
                # DuckDB has no WITH TIES: a window says it, and windows do not nest.
                if any(" OVER " in e.tsql for e, _ in query.items):
                    query.ties, query.order = False, [(c, False) for c in columns]

    def source(self, tables: list, outer: list, depth: int):
        rng = self.rng
        node = self.one_source(tables, outer, depth)
        joins = rng.choice([0, 0, 1, 1, 2, 3] if depth == 0 else [0, 0, 0, 1])
        for _ in range(joins):
            kind = rng.choice(["INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL", "CROSS", "APPLY"])
            if kind == "APPLY" and depth < 2 and self.rows_of(node) <= 100:
                query = self.query(node.scope(), depth + 1)
                query.ctes = []
                right = Derived(query, self.name("d"))
                node = Join(rng.choice(["CROSS APPLY", "OUTER APPLY"]), node, right, [])
                continue
            right = self.one_source(tables, [], depth)
            if self.rows_of(node) * self.rows_of(right) > ROWS_MAX:
                continue
            if kind in ("CROSS", "APPLY"):
                node = Join("CROSS", node, right, [])
                continue
            on = self.join_conditions(node, right, depth)
            node = Join(kind, node, right, on)
        return node

    def rows_of(self, node) -> int:
        if isinstance(node, Table):
            return self.sizes.get(node.name, ROWS_OF_QUERY)
        if isinstance(node, Join):
            return max(self.rows_of(node.left), 1) * max(self.rows_of(node.right), 1)
        if isinstance(node, Derived) and node.query.source is not None:
            return self.rows_of(node.query.source)
        return ROWS_OF_QUERY

    def join_conditions(self, left, right, depth: int) -> list:
        rng = self.rng
        pairs = [(a, b) for a in left.scope() for b in right.scope() if a.type == b.type and a.type != "flt"]
        if not pairs:
            return [self.condition(left.scope() + right.scope(), DEPTH_MAX)]
        on = []
        for a, b in rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 2]))):
            operator = "=" if not on or rng.random() < 0.5 else rng.choice(["=", "<", ">=", "<>"])
            on.append(Expr("bool", f"{{0}} {operator} {{1}}", None, [a, b]))
        if rng.random() < 0.25:
            on.append(self.condition(left.scope() + right.scope(), DEPTH_MAX - 1))
        return on

    def one_source(self, tables: list, outer: list, depth: int):
        rng = self.rng
        kind = rng.random()
        if kind < 0.12 and depth < 2:
            query = self.query([], depth + 1)
            query.ctes = []
            return Derived(query, self.name("d"))
        if kind < 0.17:
            columns = [(self.name("v"), rng.choice(["int", "str", "dec"])) for _ in range(rng.randint(1, 2))]
            rows = [[typed(k, cell(rng, k, 0.2 if at else 0.0)) for _, k in columns] for at in range(rng.randint(1, 4))]
            return Values(rows, self.name("a"), columns)
        name, columns, _ = rng.choice(tables)
        return Table(name, self.name("a"), columns)

    def grouped(self, query: Query, own: list, scope: list, types: list | None) -> None:
        rng = self.rng
        keys = []
        candidates = [e for e in own if e.type != "flt"]
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            if candidates:
                key = rng.choice(candidates)
                if all(key.tsql != other.tsql for other in keys):
                    keys.append(key)
        if types is not None:
            query.items = [(self.aggregate(t, own), self.name("x")) for t in types]
        else:
            kinds = [rng.choice(["int", "big", "dec", "str", "date", "flt", "big"]) for _ in range(rng.randint(1, 3))]
            query.items = [(self.aggregate(t, own), self.name("x")) for t in kinds]
        if not keys:
            if rng.random() < 0.2:
                query.having = [self.having(own)]
            return
        query.group = keys
        if types is None:
            query.items = [(key, self.name("x")) for key in keys] + query.items
            query.grouping = rng.choice(["", "", "", "ROLLUP", "CUBE", "SETS"])
            if query.grouping == "SETS":
                every = list(range(len(keys)))
                query.sets = [rng.sample(every, rng.randint(0, len(every))) for _ in range(rng.randint(1, 3))]
                used = {i for s in query.sets for i in s}
                query.sets += [[i] for i in every if i not in used]
            if query.grouping and rng.random() < 0.5:
                query.items.append((Expr("int", "CAST(GROUPING({0}) AS int)", None, [keys[0]]), self.name("x")))
        if rng.random() < 0.3:
            query.having = [self.having(own)]

    def having(self, own: list) -> Expr:
        operator = self.rng.choice([">", "<=", "=", "<>"])
        if self.rng.random() < 0.5:
            return Expr("bool", f"COUNT(*) {operator} {self.rng.randint(0, 4)}")
        kind = self.rng.choice(["dec", "int", "date", "str"])
        return Expr("bool", f"{{0}} {operator} {{1}}", None, [self.aggregate(kind, own), self.constant(kind)])

    def aggregate(self, kind: str, own: list) -> Expr:
        rng = self.rng
        if kind == "big":
            choice = rng.random()
            if choice < 0.3 or not own:
                return Expr("big", "COUNT_BIG(*)", "COUNT(*)")
            if choice < 0.6:
                operand = rng.choice(own)
                distinct = "DISTINCT " if rng.random() < 0.5 else ""
                return Expr("big", f"COUNT_BIG({distinct}{{0}})", f"COUNT({distinct}{{0}})", [operand])
            operand = self.expression("int", own, DEPTH_MAX - 1, plain=True)
            distinct = "DISTINCT " if rng.random() < 0.2 else ""
            return Expr("big", f"SUM({distinct}CAST({{0}} AS bigint))", f"CAST(SUM({distinct}{{0}}) AS BIGINT)", [operand])
        if kind == "flt":
            operand = self.expression(rng.choice(["int", "dec", "flt"]), own, DEPTH_MAX - 1, plain=True)
            tsql, duck = rng.choice([("AVG", "AVG"), ("SUM", "SUM"), ("STDEV", "STDDEV_SAMP"), ("VARP", "VAR_POP"), ("MIN", "MIN")])
            if tsql in ("STDEV", "VARP"):
                operand = self.expression("int", own, DEPTH_MAX - 1, plain=True)
            return Expr("flt", f"{tsql}(CAST({{0}} AS float))", f"{duck}(CAST({{0}} AS DOUBLE))", [operand])
        if kind == "dec" and rng.random() < 0.5:
            operand = self.expression("dec", own, DEPTH_MAX - 1, plain=True)
            return Expr("dec", "CAST(SUM({0}) AS decimal(20, 2))", None, [operand])
        if kind == "int" and rng.random() < 0.3:
            operand = self.expression("int", own, DEPTH_MAX, plain=True)
            return Expr("int", "AVG({0})", "CAST(TRUNC(SUM({0}) / COUNT({0})) AS INTEGER)", [operand])
        if kind == "str" and rng.random() < 0.3:
            operand = self.expression("str", own, DEPTH_MAX, plain=True)
            return Expr("str", "STRING_AGG({0}, ',') WITHIN GROUP (ORDER BY {0})", "STRING_AGG({0}, ',' ORDER BY {0})", [operand])
        operand = self.expression(kind, own, DEPTH_MAX - 1, plain=True)
        return Expr(kind, f"{rng.choice(['MIN', 'MAX'])}({{0}})", None, [operand])

    def windowed(self, query: Query, own: list) -> None:
        rng = self.rng
        # Rows that are equal in all keys may be numbered in any order: nothing else may tell them apart,
        # not a float, which is no key, and not a second function that depends on their order.
        keys = [e for e in own if e.type != "flt"]
        query.items = [(rng.choice(keys), self.name("x")) for _ in range(2)] if keys else []
        query.items.append((self.window(keys, rng.random()), self.name("x")))
        for _ in range(rng.randint(0, 2)):
            query.items.append((self.window(keys, rng.uniform(0.0, 0.3)), self.name("x")))

    def window(self, keys: list, choice: float) -> Expr:
        rng = self.rng
        if not keys:
            return Expr("big", "COUNT_BIG(*) OVER ()", "COUNT(*) OVER ()")
        part = f"PARTITION BY {rng.choice(keys).tsql} " if rng.random() < 0.6 else ""
        # By every key column, so that only rows that are equal in all of them are equals.
        every = rng.sample(keys, len(keys))
        total = ", ".join(f"{e.tsql}{' DESC' if rng.random() < 0.3 else ''}" for e in every)
        some = ", ".join(f"{e.tsql}{' DESC' if rng.random() < 0.3 else ''}" for e in every[: rng.randint(1, 2)])
        if choice < 0.3:
            function = rng.choice(["RANK()", "DENSE_RANK()"])
            return Expr("big", f"{function} OVER ({part}ORDER BY {some})")
        if choice < 0.4:
            return Expr("big", f"ROW_NUMBER() OVER ({part}ORDER BY {total})")
        if choice < 0.45:
            return Expr("big", f"NTILE({rng.randint(1, 5)}) OVER ({part}ORDER BY {total})")
        kind = rng.choice(["int", "str", "date", "dec"])
        operands = [e for e in keys if e.type == kind] or [self.constant(kind)]
        operand = rng.choice(operands)
        kind = operand.type
        if choice < 0.6:
            offset = rng.randint(0, 3)
            return Expr(kind, f"{rng.choice(['LAG', 'LEAD'])}({{0}}, {offset}) OVER ({part}ORDER BY {total})", None, [operand])
        frame = rng.choice(
            [
                "",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            ]
        )
        if choice < 0.72:
            return Expr(kind, f"{rng.choice(['FIRST_VALUE', 'LAST_VALUE'])}({{0}}) OVER ({part}ORDER BY {total}{frame})", None, [operand])
        over = f"OVER ({part}ORDER BY {total}{frame})" if rng.random() < 0.7 else f"OVER ({part.strip()})"
        if rng.random() < 0.3:
            return Expr("big", f"COUNT_BIG(*) {over}", f"COUNT(*) {over}")
        if kind == "int" and rng.random() < 0.6:
            return Expr("big", f"SUM(CAST({{0}} AS bigint)) {over}", f"CAST(SUM({{0}}) {over} AS BIGINT)", [operand])
        return Expr(kind, f"{rng.choice(['MIN', 'MAX'])}({{0}}) {over}", None, [operand])

    # ---- conditions --------------------------------------------------------------------------

    def condition(self, scope: list, depth: int) -> Expr:
        rng = self.rng
        choice = rng.random()
        if depth < DEPTH_MAX and choice < 0.22:
            operator = rng.choice(["AND", "OR"])
            return Expr("bool", f"({{0}} {operator} {{1}})", None, [self.condition(scope, depth + 1), self.condition(scope, depth + 1)])
        if depth < DEPTH_MAX and choice < 0.28:
            return Expr("bool", "NOT ({0})", None, [self.condition(scope, depth + 1)])
        if depth < 2 and choice < 0.42:
            return self.subquery_condition(scope, depth)
        kind = rng.choice(["int", "int", "str", "dec", "date", "big"])
        operand = self.expression(kind, scope, depth + 1)
        if choice < 0.5:
            return Expr("bool", rng.choice(["{0} IS NULL", "{0} IS NOT NULL"]), None, [operand])
        if choice < 0.58:
            constants = [self.constant(kind) for _ in range(rng.randint(1, 4))]
            if rng.random() < 0.15:
                constants.append(typed(kind, None))
            marks = ", ".join(f"{{{at + 1}}}" for at in range(len(constants)))
            return Expr("bool", f"{{0}} {rng.choice(['', 'NOT '])}IN ({marks})", None, [operand, *constants])
        if choice < 0.65:
            return Expr("bool", f"{{0}} {rng.choice(['', 'NOT '])}BETWEEN {{1}} AND {{2}}", None, [operand, self.constant(kind), self.constant(kind)])
        if kind == "str" and choice < 0.8:
            pattern = rng.choice(["a%", "%b", "%a%", "_", "__%", "%", "a_c", "%'%", "", "A%", "%b-c"]).replace("'", "''")
            return Expr("bool", f"{{0}} {rng.choice(['', 'NOT '])}LIKE '{pattern}'", None, [operand])
        other = self.constant(kind) if rng.random() < 0.5 else self.expression(kind, scope, depth + 1)
        return Expr("bool", f"{{0}} {rng.choice(['=', '<>', '<', '>', '<=', '>='])} {{1}}", None, [operand, other])

    def subquery_condition(self, scope: list, depth: int) -> Expr:
        rng = self.rng
        kind = rng.choice(["int", "str", "date"])
        choice = rng.random()
        if choice < 0.4:
            query = self.query(scope if rng.random() < 0.8 else [], depth + 1, types=["int"])
            return Expr("bool", rng.choice(["EXISTS ({0})", "NOT EXISTS ({0})"]), None, [query])
        query = self.query(scope if rng.random() < 0.4 else [], depth + 1, types=[kind])
        operand = self.expression(kind, scope, depth + 1, plain=True)
        if choice < 0.8:
            return Expr("bool", rng.choice(["{0} IN ({1})", "{0} NOT IN ({1})"]), None, [operand, query])
        operator = rng.choice(["=", "<>", "<", ">="])
        return Expr("bool", f"{{0}} {operator} {rng.choice(['ANY', 'ALL'])} ({{1}})", None, [operand, query])

    # ---- expressions -------------------------------------------------------------------------

    def constant(self, kind: str) -> Expr:
        return typed(kind, cell(self.rng, kind, 0.0))

    def expression(self, kind: str, scope: list, depth: int, plain: bool = False) -> Expr:
        """Makes an expression of a type; `plain` has no subquery, as T-SQL asks inside an aggregate."""
        rng = self.rng
        columns = [e for e in scope if e.type == kind]
        if columns and (depth >= DEPTH_MAX or rng.random() < 0.55):
            return rng.choice(columns)
        if depth >= DEPTH_MAX or rng.random() < 0.25:
            return self.constant(kind) if rng.random() < 0.9 else typed(kind, None)
        if not plain and depth < 2 and rng.random() < 0.1:
            return self.scalar_subquery(kind, scope, depth)
        choice = rng.random()
        if choice < 0.35:
            return self.common(kind, scope, depth, plain)
        return getattr(self, f"make_{kind}")(scope, depth, plain)

    def scalar_subquery(self, kind: str, scope: list, depth: int) -> Expr:
        source = self.one_source(self.tables, [], DEPTH_MAX)
        inner = source.scope()
        where = [self.condition(inner + scope, DEPTH_MAX)] if self.rng.random() < 0.7 else []
        item = Expr(kind, f"{self.rng.choice(['MIN', 'MAX'])}({{0}})", None, [self.expression(kind, inner, DEPTH_MAX)])
        return Expr(kind, "({0})", None, [Query([(item, self.name("x"))], source, where)])

    def common(self, kind: str, scope: list, depth: int, plain: bool) -> Expr:
        rng = self.rng
        one, two = (self.expression(kind, scope, depth + 1, plain) for _ in range(2))
        condition = self.condition(scope, DEPTH_MAX if plain else depth + 1)
        if plain:
            condition = self.condition(scope, DEPTH_MAX)
        shape = rng.randint(0, 6)
        if shape == 0:
            return Expr(kind, "COALESCE({0}, {1})", None, [one, two])
        if shape == 1:
            return Expr(kind, "NULLIF({0}, {1})", None, [one, two])
        if shape == 2:
            return Expr(kind, "CASE WHEN {2} THEN {0} ELSE {1} END", None, [one, two, condition])
        if shape == 3:
            return Expr(kind, "CASE WHEN {1} THEN {0} END", None, [one, condition])
        if shape == 4:
            return Expr(kind, "IIF({2}, {0}, {1})", "CASE WHEN {2} THEN {0} ELSE {1} END", [one, two, condition])
        if shape == 5 and kind != "str":
            return Expr(kind, f"{rng.choice(['GREATEST', 'LEAST'])}({{0}}, {{1}})", None, [one, two])
        key = self.expression("int", scope, depth + 1, plain)
        return Expr(kind, f"CASE {{2}} WHEN {rng.randint(-2, 3)} THEN {{0}} ELSE {{1}} END", None, [one, two, key])

    def make_int(self, scope, depth, plain) -> Expr:
        rng = self.rng
        shape = rng.randint(0, 9)
        if shape <= 2:
            one, two = (self.expression("int", scope, depth + 1, plain) for _ in range(2))
            return Expr("int", f"({{0}} {rng.choice('+-')} {{1}})", None, [one, two])
        if shape == 3:
            # A constant factor keeps products small.
            return Expr("int", f"({{0}} * {rng.randint(-3, 3)})", None, [self.expression("int", scope, depth + 1, plain)])
        if shape == 4:
            one, two = (self.expression("int", scope, depth + 1, plain) for _ in range(2))
            return Expr("int", "({0} / NULLIF({1}, 0))", "CAST(TRUNC({0} / NULLIF({1}, 0)) AS INTEGER)", [one, two])
        if shape == 5:
            one, two = (self.expression("int", scope, depth + 1, plain) for _ in range(2))
            return Expr("int", "({0} % NULLIF({1}, 0))", None, [one, two])
        if shape == 6:
            text = self.expression("str", scope, depth + 1, plain)
            return rng.choice([Expr("int", "LEN({0})", "LENGTH({0})", [text]), Expr("int", "CHARINDEX('a', {0})", "STRPOS({0}, 'a')", [text])])
        if shape == 7:
            date = self.expression("date", scope, depth + 1, plain)
            part = rng.choice(["YEAR", "MONTH", "DAY"])
            if rng.random() < 0.4:
                part = rng.choice(["quarter", "dayofyear"])
                return Expr("int", f"DATEPART({part}, {{0}})", f"CAST({part}({{0}}) AS INTEGER)", [date])
            return Expr("int", f"{part}({{0}})", f"CAST({part}({{0}}) AS INTEGER)", [date])
        if shape == 8:
            one, two = (self.expression("date", scope, depth + 1, plain) for _ in range(2))
            part = rng.choice(["day", "month", "year"])
            return Expr("int", f"DATEDIFF({part}, {{0}}, {{1}})", f"CAST(DATE_DIFF('{part}', {{0}}, {{1}}) AS INTEGER)", [one, two])
        number = self.expression(rng.choice(["dec", "int"]), scope, depth + 1, plain)
        if number.type == "dec":
            return Expr("int", "CAST({0} AS int)", "CAST(TRUNC({0}) AS INTEGER)", [number])
        return Expr("int", rng.choice(["ABS({0})", "SIGN({0})", "-({0})"]), None, [number])

    def make_big(self, scope, depth, plain) -> Expr:
        return Expr("big", "CAST({0} AS bigint)", None, [self.expression("int", scope, depth + 1, plain)])

    def make_dec(self, scope, depth, plain) -> Expr:
        rng = self.rng
        shape = rng.randint(0, 4)
        one = self.expression("dec", scope, depth + 1, plain)
        if shape == 0:
            return Expr("dec", f"({{0}} {rng.choice('+-')} {{1}})", None, [one, self.expression("dec", scope, depth + 1, plain)])
        if shape == 1:
            return Expr("dec", f"CAST({{0}} * {rng.randint(-4, 4)} AS decimal(20, 2))", None, [one])
        if shape == 2:
            return Expr("dec", rng.choice(["ABS({0})", "ROUND({0}, 1)", "CEILING({0})", "FLOOR({0})"]), None, [one])
        if shape == 3:
            return Expr("dec", "CAST({0} AS decimal(20, 2))", None, [self.expression("int", scope, depth + 1, plain)])
        return Expr("dec", "-({0})", None, [one])

    def make_flt(self, scope, depth, plain) -> Expr:
        rng = self.rng
        one = self.expression(rng.choice(["flt", "int", "dec"]), scope, depth + 1, plain)
        two = self.expression("int", scope, depth + 1, plain)
        if rng.random() < 0.5:
            return Expr("flt", "(CAST({0} AS float) / NULLIF({1}, 0))", "(CAST({0} AS DOUBLE) / NULLIF({1}, 0))", [one, two])
        if rng.random() < 0.5:
            return Expr("flt", "SQRT(ABS(CAST({0} AS float)))", "SQRT(ABS(CAST({0} AS DOUBLE)))", [one])
        return Expr("flt", f"(CAST({{0}} AS float) {rng.choice('+-*')} {{1}})", None, [one, two])

    def make_str(self, scope, depth, plain) -> Expr:
        rng = self.rng
        one = self.expression("str", scope, depth + 1, plain)
        shape = rng.randint(0, 9)
        if shape == 0:
            return Expr("str", "({0} + {1})", "({0} || {1})", [one, self.expression("str", scope, depth + 1, plain)])
        if shape == 1:
            return Expr("str", "CONCAT({0}, '-', {1})", None, [one, self.expression(rng.choice(["str", "int"]), scope, depth + 1, plain)])
        if shape == 2:
            return Expr("str", f"SUBSTRING({{0}}, {rng.randint(1, 3)}, {rng.randint(0, 3)})", None, [one])
        if shape == 3:
            return Expr("str", f"{rng.choice(['LEFT', 'RIGHT'])}({{0}}, {rng.randint(0, 3)})", None, [one])
        if shape == 4:
            return Expr("str", rng.choice(["UPPER({0})", "LOWER({0})", "REVERSE({0})"]), None, [one])
        if shape == 5:
            return Expr("str", "REPLACE({0}, 'a', 'bb')", None, [one])
        if shape == 6:
            return Expr("str", "CAST({0} AS varchar(40))", None, [self.expression(rng.choice(["int", "date"]), scope, depth + 1, plain)])
        if shape == 7:
            times = rng.randint(0, 2)
            return Expr("str", f"REPLICATE({{0}}, {times})", f"REPEAT({{0}}, {times})", [one])
        if shape == 8:
            return Expr("str", "CONCAT_WS('/', {0}, {1})", None, [one, self.expression("str", scope, depth + 1, plain)])
        # ISNULL is of the type of its first operand, which may be too short.
        return Expr("str", "ISNULL(CAST({0} AS varchar(40)), 'none')", "COALESCE({0}, 'none')", [one])

    def make_date(self, scope, depth, plain) -> Expr:
        rng = self.rng
        one = self.expression("date", scope, depth + 1, plain)
        if rng.random() < 0.25:
            return Expr("date", "EOMONTH({0})", "LAST_DAY({0})", [one])
        part, number = rng.choice(["day", "month", "year"]), rng.randint(-20, 20)
        return Expr("date", f"DATEADD({part}, {number}, {{0}})", f"CAST({{0}} + INTERVAL ({number}) {part} AS DATE)", [one])


def typed(kind: str, value) -> Expr:
    """A literal of exactly this type."""
    if value is None or kind in ("big", "dec", "flt", "date"):
        return Expr(kind, f"CAST({literal(value)} AS {TYPES[kind][0]})")
    if kind == "int" and value < 0:
        return Expr(kind, f"({value})")
    return Expr(kind, literal(value))


def stored(expression: Expr, kind: str) -> Expr:
    """Cuts a value to what its column holds, so that storing it raises no error."""
    if kind == "str":
        return Expr(kind, "LEFT({0}, 40)", None, [expression])
    if kind == "dec":
        return Expr(kind, "CASE WHEN ABS({0}) < 1000000 THEN {0} ELSE 0 END", None, [expression])
    return expression
