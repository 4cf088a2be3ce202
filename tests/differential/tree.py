"""Statements as trees that render in two dialects, T-SQL and DuckDB's, and that can be made smaller.

An expression knows its type; a part of a query that can be left out is a list or None. `smaller` yields
every tree that is one step smaller, which is all that shrinking needs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

TSQL, DUCK = 0, 1


@dataclass
class Expr:
    """An expression: a template for each dialect, with {0}, {1} for its operands."""

    type: str
    tsql: str
    duck: str | None = None
    operands: list = field(default_factory=list)

    def render(self, dialect: int) -> str:
        template = self.duck if dialect == DUCK and self.duck is not None else self.tsql
        if dialect == DUCK:
            # There, float is of four bytes.
            template = template.replace("AS float)", "AS DOUBLE)")
        if not self.operands:
            return template
        return template.format(*(operand.render(dialect) for operand in self.operands))

    def smaller(self):
        for operand in self.operands:
            if isinstance(operand, Expr) and operand.type == self.type:
                yield operand
        if self.operands:
            yield leaf(self.type)
        for at, operand in enumerate(self.operands):
            for less in operand.smaller():
                yield Expr(self.type, self.tsql, self.duck, [*self.operands[:at], less, *self.operands[at + 1 :]])


def leaf(kind: str) -> Expr:
    """The simplest expression of a type."""
    texts = {"int": "1", "big": "CAST(1 AS bigint)", "dec": "CAST(1.5 AS decimal(9, 2))", "flt": "CAST(1 AS float)"}
    texts |= {"str": "'a'", "date": "CAST('2020-01-01' AS date)", "bool": "1 = 1"}
    return Expr(kind, texts[kind])


@dataclass
class Table:
    """A table, or a common table expression, under an alias."""

    name: str
    alias: str
    columns: list  # of (name, type)

    def render(self, dialect: int) -> str:
        return f"{self.name} AS {self.alias}"

    def scope(self):
        return [Expr(kind, f"{self.alias}.{name}") for name, kind in self.columns]

    def smaller(self):
        return iter(())


@dataclass
class Derived:
    """A query in FROM."""

    query: Query
    alias: str

    def render(self, dialect: int) -> str:
        return f"({self.query.render(dialect)}) AS {self.alias}"

    def scope(self):
        return [Expr(e.type, f"{self.alias}.{name}") for e, name in self.query.items]

    def smaller(self):
        for less in self.query.smaller(keep_items=True):
            yield Derived(less, self.alias)


@dataclass
class Values:
    """A list of rows in FROM."""

    rows: list
    alias: str
    columns: list

    def render(self, dialect: int) -> str:
        rows = ", ".join("(" + ", ".join(e.render(dialect) for e in row) + ")" for row in self.rows)
        return f"(VALUES {rows}) AS {self.alias} ({', '.join(name for name, _ in self.columns)})"

    def scope(self):
        return [Expr(kind, f"{self.alias}.{name}") for name, kind in self.columns]

    def smaller(self):
        for at in range(len(self.rows)):
            if len(self.rows) > 1:
                yield Values(self.rows[:at] + self.rows[at + 1 :], self.alias, self.columns)


@dataclass
class Join:
    kind: str  # INNER, LEFT, RIGHT, FULL, CROSS, CROSS APPLY, OUTER APPLY
    left: object
    right: object
    on: list

    def render(self, dialect: int) -> str:
        left, right = self.left.render(dialect), self.right.render(dialect)
        if self.kind == "CROSS":
            return f"{left} CROSS JOIN {right}"
        if self.kind.endswith("APPLY"):
            if dialect == TSQL:
                return f"{left} {self.kind} {right}"
            outer = self.kind == "OUTER APPLY"
            return f"{left} {'LEFT' if outer else 'CROSS'} JOIN LATERAL {right}{' ON true' if outer else ''}"
        on = " AND ".join(f"({e.render(dialect)})" for e in self.on) or "1 = 1"
        return f"{left} {self.kind} JOIN {right} ON {on}"

    def scope(self):
        return self.left.scope() + self.right.scope()

    def smaller(self):
        yield self.left
        if not self.kind.endswith("APPLY"):
            yield self.right
        for less in less_of_list(self.on):
            if less or self.kind == "CROSS":
                yield Join(self.kind, self.left, self.right, less)
        for less in self.left.smaller():
            yield Join(self.kind, less, self.right, self.on)
        for less in self.right.smaller():
            yield Join(self.kind, self.left, less, self.on)


def less_of_list(items: list):
    """Lists with one item left out or made smaller."""
    for at in range(len(items)):
        yield items[:at] + items[at + 1 :]
    for at, item in enumerate(items):
        for less in item.smaller():
            yield [*items[:at], less, *items[at + 1 :]]


@dataclass
class Query:
    """SELECT; `items` are (expression, name). `order` is by all columns, so that it leaves nothing open."""

    items: list
    source: object = None
    where: list = field(default_factory=list)
    group: list | None = None  # of Expr
    grouping: str = ""  # "", ROLLUP, CUBE or SETS
    sets: list = field(default_factory=list)  # of lists of indexes into group
    having: list = field(default_factory=list)
    distinct: bool = False
    order: list | None = None  # of (1-based column, descending)
    top: int | None = None
    ties: bool = False
    offset: int | None = None
    ctes: list = field(default_factory=list)  # of (name, Query or Recursive)
    more: list = field(default_factory=list)  # of (operator, Query)

    def render(self, dialect: int) -> str:
        text = ""
        if self.ctes:
            recursive = "RECURSIVE " if dialect == DUCK and any(isinstance(c[1], Recursive) for c in self.ctes) else ""
            text += f"WITH {recursive}" + ", ".join(f"{n} AS ({q.render(dialect)})" for n, q in self.ctes) + " "
        text += "SELECT "
        if self.distinct:
            text += "DISTINCT "
        paged = self.offset is not None
        if self.top is not None and dialect == TSQL and not paged:
            text += f"TOP ({self.top}) {'WITH TIES ' if self.ties else ''}"
        text += ", ".join(f"{e.render(dialect)} AS {name}" for e, name in self.items)
        if self.source is not None:
            text += f" FROM {self.source.render(dialect)}"
        if self.where:
            text += " WHERE " + " AND ".join(f"({e.render(dialect)})" for e in self.where)
        text += self.render_group(dialect)
        if self.having:
            text += " HAVING " + " AND ".join(f"({e.render(dialect)})" for e in self.having)
        for operator, query in self.more:
            text += f" {operator} {query.render(dialect)}"
        text += self.render_order(dialect)
        return text

    def render_group(self, dialect: int) -> str:
        if not self.group:
            return ""
        keys = [e.render(dialect) for e in self.group]
        if self.grouping in ("ROLLUP", "CUBE"):
            return f" GROUP BY {self.grouping} ({', '.join(keys)})"
        if self.grouping == "SETS":
            sets = ", ".join("(" + ", ".join(keys[i] for i in s if i < len(keys)) + ")" for s in self.sets)
            return f" GROUP BY GROUPING SETS ({sets})"
        return f" GROUP BY {', '.join(keys)}"

    def render_order(self, dialect: int) -> str:
        if not self.order:
            return ""
        order = [(c, d) for c, d in self.order if c <= len(self.items)]
        by = ", ".join(f"{column}{' DESC' if down else ''}" for column, down in order)
        if self.offset is not None:
            return f" ORDER BY {by} OFFSET {self.offset} ROWS FETCH NEXT {self.top} ROWS ONLY"
        if self.top is None or dialect == TSQL:
            return f" ORDER BY {by}"
        if self.ties:
            ranked = ", ".join(f"{self.items[c - 1][0].render(dialect)}{' DESC' if d else ''}" for c, d in order)
            return f" QUALIFY RANK() OVER (ORDER BY {ranked}) <= {self.top} ORDER BY {by}"
        return f" ORDER BY {by} LIMIT {self.top}"

    def but(self, **changes) -> Query:
        other = copy.copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def smaller(self, keep_items: bool = False):
        for _, query in self.more:
            if not keep_items and not self.ctes:
                yield query
        for at in range(len(self.more)):
            yield self.but(more=self.more[:at] + self.more[at + 1 :])
        for at, (name, _) in enumerate(self.ctes):
            yield self.but(ctes=self.ctes[:at] + self.ctes[at + 1 :])
        for less in less_of_list(self.where):
            yield self.but(where=less)
        for less in less_of_list(self.having):
            yield self.but(having=less)
        if self.distinct:
            yield self.but(distinct=False)
        if self.top is not None:
            yield self.but(top=None, ties=False, offset=None)
        if self.order and self.top is None:
            yield self.but(order=None)
        if self.grouping:
            yield self.but(grouping="")
        if not keep_items and not self.more:
            for at in range(len(self.items)):
                if len(self.items) > 1:
                    items = self.items[:at] + self.items[at + 1 :]
                    order = [(i + 1, d) for i, (_, d) in zip(range(len(items)), self.order)] if self.order else None
                    yield self.but(items=items, order=order)
        for less in self.source.smaller() if self.source else ():
            yield self.but(source=less)
        for at, (name, query) in enumerate(self.ctes):
            for less in query.smaller(keep_items=True):
                yield self.but(ctes=[*self.ctes[:at], (name, less), *self.ctes[at + 1 :]])
        for at, (operator, query) in enumerate(self.more):
            for less in query.smaller(keep_items=True):
                yield self.but(more=[*self.more[:at], (operator, less), *self.more[at + 1 :]])
        for at, (expression, name) in enumerate(self.items):
            for less in expression.smaller():
                yield self.but(items=[*self.items[:at], (less, name), *self.items[at + 1 :]])


@dataclass
class Recursive:
    """The body of a recursive common table expression: numbers from `low` up to `high`, and a column beside."""

    name: str
    low: int
    high: int
    step: int

    def render(self, dialect: int) -> str:
        # A part of T-SQL is of the anchor's type exactly.
        return (
            f"SELECT {self.low} AS n, {self.low} AS s UNION ALL "
            f"SELECT n + {self.step}, s + n FROM {self.name} WHERE n < {self.high}"
        )

    @property
    def items(self):
        return [(Expr("int", "n"), "n"), (Expr("int", "s"), "s")]

    def smaller(self, keep_items: bool = False):
        if self.high > self.low + self.step:
            yield Recursive(self.name, self.low, self.low + self.step, self.step)


@dataclass
class Change:
    """A change of a table inside a transaction that is undone, and what the table holds after it."""

    verb: str  # INSERT, UPDATE, DELETE
    table: str
    columns: list  # of (name, type)
    sets: list = field(default_factory=list)  # of (column, Expr)
    where: list = field(default_factory=list)
    query: Query | None = None

    def statements(self, dialect: int) -> list[str]:
        where = " WHERE " + " AND ".join(f"({e.render(dialect)})" for e in self.where) if self.where else ""
        if self.verb == "INSERT":
            return [f"INSERT INTO {self.table} ({', '.join(n for n, _ in self.columns)}) {self.query.render(dialect)}"]
        if self.verb == "DELETE":
            return [f"DELETE FROM {self.table}{where}"]
        sets = ", ".join(f"{name} = {e.render(dialect)}" for name, e in self.sets)
        return [f"UPDATE {self.table} SET {sets}{where}"]

    def smaller(self):
        for less in less_of_list(self.where):
            yield Change(self.verb, self.table, self.columns, self.sets, less, self.query)
        for at in range(len(self.sets)):
            if len(self.sets) > 1:
                yield Change(self.verb, self.table, self.columns, self.sets[:at] + self.sets[at + 1 :], self.where)
        for at, (name, e) in enumerate(self.sets):
            for less in e.smaller():
                sets = [*self.sets[:at], (name, less), *self.sets[at + 1 :]]
                yield Change(self.verb, self.table, self.columns, sets, self.where)
        for less in self.query.smaller(keep_items=True) if self.query else ():
            yield Change(self.verb, self.table, self.columns, query=less)
