"""Statements of the shapes that the public sqllogictest corpus has, for SQLite and in T-SQL.

Each kind says which part of the corpus it stands for. Two dialect differences are translated: AVG of integers
is an integer in T-SQL (a cast to float is put in), and a division by zero is an error there (NULLIF).
"""

from __future__ import annotations

import random


class Script:
    """A kind: its tables, and one query after the other as (T-SQL, SQLite, whether in order)."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def insert(self, table: str, columns: list[str], values: list) -> str:
        texts = ["NULL" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in values]
        return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(texts)})"


class OneTable(Script):
    """select1: one table of five columns, no NULL; lists of expressions, WHERE, ORDER BY all."""

    nulls = 0.0
    joiners = ("AND", "OR")
    items = [
        "a", "b", "c", "d", "e", "a-b", "b-c", "c-d", "d-e", "a+b*2", "a+b*2+c*3", "a+b*2+c*3+d*4", "a+b*2+c*3+d*4+e*5",
        "(a+b+c+d+e)/5", "abs(a)", "abs(b-c)", "(SELECT count(*) FROM t1 AS x WHERE x.b<t1.b)",
        "(SELECT count(*) FROM t1 AS x WHERE x.c>t1.c AND x.d<t1.d)",
        "CASE WHEN c>(SELECT avg({c}) FROM t1) THEN a*2 ELSE b*10 END",
        "CASE WHEN a<b-3 THEN 111 WHEN a<=b THEN 222 WHEN a<b+3 THEN 333 ELSE 444 END",
        "CASE a+1 WHEN b THEN 111 WHEN c THEN 222 WHEN d THEN 333 WHEN e THEN 444 ELSE 555 END",
        "coalesce(a,b,c,d,e)",
    ]  # fmt: skip
    conditions = [
        "a>b", "b>c", "c>d", "d>e", "c BETWEEN b-2 AND d+2", "d NOT BETWEEN 110 AND 150", "e+d BETWEEN a+b-10 AND c+130",
        "(a>b-2 AND a<b+2)", "(e>a AND e<b)", "(c<=d-2 OR c>=d+2)", "(e>c OR e<d)", "a IS NULL", "b IS NOT NULL",
        "EXISTS(SELECT 1 FROM t1 AS x WHERE x.b<t1.b)", "coalesce(a,b,c,d,e)<>0", "NOT (a=b OR c=d)",
    ]  # fmt: skip

    def definitions(self):
        rng = self.rng
        yield "CREATE TABLE t1 (a int, b int, c int, d int, e int)"
        for row in range(30):
            values = [None if rng.random() < self.nulls else v for v in range(row * 5 + 100, row * 5 + 105)]
            rng.shuffle(values)
            yield self.insert("t1", rng.sample("abcde", 5), values)

    def query(self):
        rng = self.rng
        items = rng.sample(self.items, rng.randint(1, 7))
        text = f"SELECT {', '.join(items)} FROM t1"
        conditions = rng.sample(self.conditions, rng.randint(0, 3))
        if conditions:
            text += " WHERE " + f" {rng.choice(self.joiners)} ".join(conditions)
        order = rng.sample(range(1, len(items) + 1), len(items))
        text += " ORDER BY " + ", ".join(map(str, order))
        return text.replace("{c}", "CAST(c AS float)"), text.replace("{c}", "c"), True


class OneTableOfNulls(OneTable):
    """select2 and select3: the same with NULLs."""

    nulls = 0.2


class SetOperations(OneTableOfNulls):
    """select4: set operations between queries of the same columns."""

    def query(self):
        rng = self.rng
        columns = rng.sample("abcde", rng.randint(1, 3))
        parts = []
        for _ in range(rng.randint(2, 5)):
            condition = rng.choice([c for c in self.conditions if "EXISTS" not in c])
            parts.append(f"SELECT {', '.join(columns)} FROM t1 WHERE {condition}")
        # INTERSECT binds tighter in T-SQL and not in SQLite: never mixed with others.
        if rng.random() < 0.2:
            operators = ["INTERSECT"] * (len(parts) - 1)
        else:
            operators = [rng.choice(["UNION", "UNION ALL", "EXCEPT"]) for _ in parts[1:]]
        text = parts[0] + "".join(f" {o} {p}" for o, p in zip(operators, parts[1:]))
        text += " ORDER BY " + ", ".join(map(str, rng.sample(range(1, len(columns) + 1), len(columns))))
        return text, text, True


class ManyTables(Script):
    """select5: joins of many small tables along a chain of equal columns, with a constant at its start."""

    tables = 24

    def definitions(self):
        rng = self.rng
        for number in range(1, self.tables + 1):
            yield f"CREATE TABLE t{number} (a{number} int PRIMARY KEY, b{number} int, x{number} varchar(40))"
            keys = rng.sample(range(1, 11), 10)
            for at, key in enumerate(rng.sample(range(1, 11), 10)):
                values = [key, keys[at], f"table t{number} row {key}"]
                yield self.insert(f"t{number}", [f"a{number}", f"b{number}", f"x{number}"], values)

    def query(self):
        rng = self.rng
        chain = rng.sample(range(1, self.tables + 1), rng.randint(3, 12))
        conditions = [f"a{chain[0]}={rng.randint(1, 10)}"]
        conditions += [f"b{one}=a{two}" if rng.random() < 0.5 else f"a{two}=b{one}" for one, two in zip(chain, chain[1:])]
        rng.shuffle(conditions)
        items = ", ".join(f"x{number}" for number in rng.sample(chain, len(chain)))
        tables = ", ".join(f"t{number}" for number in rng.sample(chain, len(chain)))
        text = f"SELECT {items} FROM {tables} WHERE {' AND '.join(conditions)}"
        return text, text, False


class Arithmetic(Script):
    """random/expr and random/aggregates: signs, parentheses and aggregates piled on each other."""

    def definitions(self):
        for number in range(3):
            yield f"CREATE TABLE tab{number} (col0 int, col1 int, col2 int)"
            for _ in range(3):
                yield self.insert(f"tab{number}", ["col0", "col1", "col2"], [self.rng.randint(0, 99) for _ in range(3)])

    def term(self, depth: int, column) -> tuple[str, str]:
        rng = self.rng
        shape = rng.randint(0, 8)
        if depth > 3 or shape < 2:
            text = str(rng.randint(0, 99)) if column is None or rng.random() < 0.5 else column()
            return text, text
        one = self.term(depth + 1, column)
        if shape < 4:
            # Two minus signs side by side would begin a comment.
            sign = rng.choice(["- ", "+ "])
            return tuple(f"({sign}{t})" for t in one)
        two = self.term(depth + 1, column)
        if shape == 4:
            return tuple(f"({a} / NULLIF({b}, 0))" for a, b in zip(one, two))
        if shape == 5:
            return tuple(f"COALESCE({a}, {b})" for a, b in zip(one, two))
        if shape == 6:
            return tuple(f"CASE WHEN {a} < {b} THEN {a} ELSE NULLIF({b}, {a}) END" for a, b in zip(one, two))
        operator = rng.choice("+-")
        return tuple(f"({a} {operator} {b})" for a, b in zip(one, two))

    def query(self):
        rng = self.rng
        table = f"tab{rng.randint(0, 2)}"

        def column():
            return f"col{rng.randint(0, 2)}"

        if rng.random() < 0.5:
            items = [self.term(0, column) for _ in range(rng.randint(1, 3))]
            tail = f" FROM {table} WHERE {column()} {rng.choice(['<', '>', '<>'])} {column()}"
            prefix = rng.choice(["ALL ", "DISTINCT ", ""])
        else:
            items = []
            for _ in range(rng.randint(1, 3)):
                inner = self.term(2, column)
                function = rng.choice(["SUM", "MIN", "MAX", "COUNT", "AVG"])
                distinct = rng.choice(["DISTINCT ", "ALL ", ""])
                ours = f"CAST({inner[0]} AS float)" if function == "AVG" else inner[0]
                outer = self.term(2, None)
                items.append((f"{function}({distinct}{ours}) + {outer[0]}", f"{function}({distinct}{inner[1]}) + {outer[1]}"))
            tail = f" FROM {table} AS cor0"
            prefix = ""
            if rng.random() < 0.5:
                group = column()
                tail += f" GROUP BY {group}"
                if rng.random() < 0.5:
                    tail += f" HAVING NOT {rng.randint(0, 99)} IS NULL"
        texts = [f"SELECT {prefix}{', '.join(i[side] for i in items)}{tail}" for side in (0, 1)]
        return texts[0], texts[1], False


class Indexed(Script):
    """index/*: the same rows with and without indexes, and conditions of nested AND, OR and BETWEEN."""

    def definitions(self):
        rng = self.rng
        yield "CREATE TABLE tab (pk int PRIMARY KEY, col0 int, col1 float, col2 varchar(20), col3 int)"
        yield "CREATE INDEX i0 ON tab (col0)"
        yield "CREATE INDEX i1 ON tab (col1 DESC, col3)"
        yield "CREATE UNIQUE INDEX i2 ON tab (col3, col0, pk)"
        for key in range(100):
            values = [key, rng.randint(0, 999), rng.randint(0, 999) / 4, rng.choice(["aa", "bb", "cc", None]), rng.randint(0, 999)]
            yield self.insert("tab", ["pk", "col0", "col1", "col2", "col3"], values)

    def condition(self, depth: int) -> str:
        rng = self.rng
        if depth < 3 and rng.random() < 0.5:
            return f"({self.condition(depth + 1)} {rng.choice(['AND', 'OR'])} {self.condition(depth + 1)})"
        column = rng.choice(["pk", "col0", "col1", "col3"])
        top = 100 if column == "pk" else 250 if column == "col1" else 1000
        low, high = sorted(rng.randrange(top) for _ in range(2))
        shape = rng.randint(0, 5)
        if shape == 0:
            return f"{column} BETWEEN {low} AND {high}"
        if shape == 1:
            return f"{column} IN ({', '.join(str(rng.randrange(top)) for _ in range(rng.randint(1, 6)))})"
        if shape == 2:
            inner = rng.choice(["col0", "col3"])
            return f"{column} IN (SELECT {inner} FROM tab WHERE {inner} > {low})"
        if shape == 3:
            return rng.choice(["col2 IS NULL", "col2 IS NOT NULL", "NOT col2 = 'bb'", "col2 < 'bb'"])
        return f"{column} {rng.choice(['=', '<', '>', '<=', '>='])} {low}"

    def query(self):
        rng = self.rng
        text = f"SELECT pk, {rng.choice(['col0', 'col1', 'col3'])} FROM tab WHERE {self.condition(0)}"
        order = rng.random() < 0.5
        if order:
            text += f" ORDER BY {rng.choice(['2 DESC, 1', '1 DESC', '2, 1 DESC', '1'])}"
        return text, text, order


KINDS = {
    "select1": OneTable,
    "select2-3": OneTableOfNulls,
    "select4": SetOperations,
    "select5": ManyTables,
    "random": Arithmetic,
    "index": Indexed,
}
