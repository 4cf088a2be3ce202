"""Predicates and expressions at random over the columns of worlds, as trees that can be made smaller."""

from __future__ import annotations

import random

from worlds import Column, Table, literal

DEPTH_MAX = 3


class Tree:
    """A predicate: a template with {0}, {1} for its operands. What has no operands is a comparison."""

    def __init__(self, template: str, *operands: Tree):
        self.template, self.operands = template, operands

    def __str__(self) -> str:
        if not self.operands:
            return self.template
        return self.template.format(*(f"({operand})" for operand in self.operands))

    def smaller(self):
        yield from self.operands
        for at, operand in enumerate(self.operands):
            for less in operand.smaller():
                yield Tree(self.template, *self.operands[:at], less, *self.operands[at + 1 :])


def is_null(predicate) -> str:
    """T-SQL has no `(p) IS NULL`: a CASE without ELSE tells the third truth value."""
    return f"CASE WHEN {predicate} THEN 1 WHEN NOT ({predicate}) THEN 0 END IS NULL"


class Scope:
    """The columns that a predicate may name: (alias, column) pairs."""

    def __init__(self, columns: list[tuple[str, Column]]):
        self.columns = columns

    @staticmethod
    def of(*tables: tuple[str, Table]) -> Scope:
        return Scope([(alias, column) for alias, table in tables for column in table.columns])

    def of_family(self, family: str) -> list[tuple[str, Column]]:
        return [pair for pair in self.columns if pair[1].family == family]


class Predicates:
    def __init__(self, rng: random.Random, tables: list[Table]):
        self.rng, self.tables = rng, tables

    def predicate(self, scope: Scope, depth: int = 0) -> Tree:
        rng = self.rng
        roll = rng.random()
        if depth < DEPTH_MAX and roll < 0.42:
            connective = rng.choice(["{0} AND {1}", "{0} AND {1}", "{0} OR {1}", "NOT {0}"])
            operands = [self.predicate(scope, depth + 1) for _ in range(connective.count("{"))]
            return Tree(connective, *operands)
        if depth < DEPTH_MAX and roll < 0.5:
            return Tree(self.subquery(scope, depth))
        if depth < DEPTH_MAX and roll < 0.54:
            one, two = self.predicate(scope, depth + 1), self.predicate(scope, depth + 1)
            return Tree("CASE WHEN {0} THEN 1 WHEN {1} THEN 0 END = 1", one, two)
        return Tree(self.comparison(scope))

    def comparison(self, scope: Scope) -> str:
        rng = self.rng
        alias, column = rng.choice(scope.columns)
        name = f"{alias}.{column.name}"
        roll = rng.random()
        if roll < 0.1:
            return f"{name} IS {rng.choice(['', 'NOT '])}NULL"
        if roll < 0.2:
            values = [literal(rng, column.type) for _ in range(rng.randint(1, 4))] + (["NULL"] if rng.random() < 0.2 else [])
            return f"{name} {rng.choice(['', '', 'NOT '])}IN ({', '.join(values)})"
        if roll < 0.3 and column.family != "bit":
            low, high = literal(rng, column.type), literal(rng, column.type)
            return f"{name} {rng.choice(['', '', 'NOT '])}BETWEEN {low} AND {high}"
        if roll < 0.36:
            return f"{name} IS {rng.choice(['', 'NOT '])}DISTINCT FROM {rng.choice(['NULL', literal(rng, column.type)])}"
        if roll < 0.44 and column.family == "text":
            pattern = rng.choice(["a%", "%a", "%b%", "_", "a_", "[a-b]%", "[^a]%", "%-%", "", "%", "A%", "co%", "u!_v' ESCAPE '!"])
            return f"{name} {rng.choice(['', '', 'NOT '])}LIKE '{pattern}'"
        operator = rng.choice(["=", "=", "=", "<", "<=", ">", ">=", "<>"])
        if roll < 0.62:
            others = [pair for pair in scope.of_family(column.family) if pair != (alias, column)]
            if others:
                other, other_column = rng.choice(others)
                collate = ""
                if column.family == "text" and column.collation != other_column.collation:
                    collate = f" COLLATE {rng.choice(['DATABASE_DEFAULT', 'Latin1_General_CI_AI', 'Latin1_General_BIN2'])}"
                return f"{name} {operator} {other}.{other_column.name}{collate}"
        if roll < 0.8:
            return f"{self.computed(name, column)} {operator} {self.constant(column)}"
        return f"{name} {operator} {self.constant(column)}"

    def constant(self, column: Column) -> str:
        """A literal of the column's type, of a near one, or NULL."""
        rng = self.rng
        if rng.random() < 0.04:
            return "NULL"
        text = literal(rng, column.type)
        if column.family in ("number", "float") and rng.random() < 0.3:
            near = rng.choice(["int", "bigint", "decimal(9, 2)", "float", "decimal(20, 5)"])
            text = literal(rng, near)
        elif column.type in ("varchar(20)", "char(4)") and rng.random() < 0.2:
            text = "N" + text
        elif column.family == "date" and rng.random() < 0.2:
            text = f"CAST({literal(rng, column.type)} AS {rng.choice(['date', 'datetime2(3)', 'datetime'])})"
        return text

    def computed(self, name: str, column: Column) -> str:
        """An expression over a column, of its family."""
        rng = self.rng
        common = [f"COALESCE({name}, {literal(rng, column.type)})", f"ISNULL({name}, {literal(rng, column.type)})"]
        common += [f"NULLIF({name}, {literal(rng, column.type)})", f"CASE WHEN {name} IS NULL THEN {literal(rng, column.type)} ELSE {name} END"]
        if column.family in ("number", "float"):
            own = [f"{name} + 1", f"ABS(CAST({name} AS decimal(38, 5)))", f"CAST({name} AS decimal(30, 5)) * 2", f"-CAST({name} AS decimal(38, 5))"]
            own += [f"CAST({name} AS float)", f"CASE WHEN {name} <> 0 THEN 6e0 / {name} END", f"SIGN({name})", f"{name} - 3"]
        elif column.family == "text":
            own = [f"UPPER({name})", f"SUBSTRING({name}, 1, 2)", f"{name} + 'a'", f"LEFT({name}, 1)", f"RTRIM({name})"]
            own += [f"REPLACE({name}, 'a', 'b')", f"CONCAT({name}, '')", f"CAST({name} AS nvarchar(30))"]
        elif column.family == "date":
            own = [f"CAST({name} AS date)", f"DATEADD(day, 1, {name})", f"CAST({name} AS datetime2(3))", f"EOMONTH({name})"]
        else:
            own = []
        return rng.choice(common + own + own)

    # ---- subqueries --------------------------------------------------------------------------

    def subquery(self, scope: Scope, depth: int) -> str:
        rng = self.rng
        # A subquery may run for each row of the query around it.
        tables = [t for t in self.tables if t.rows <= 60] or [min(self.tables, key=lambda t: t.rows)]
        table = rng.choice(tables)
        alias = f"s{depth}{rng.randint(0, 99)}"
        inner = Scope.of((alias, table))
        alike = [(o, i) for o in scope.columns for i in inner.columns if o[1].family == i[1].family and o[1].family != "text"]
        where = []
        if alike and rng.random() < 0.6:
            (outer_alias, outer), (_, own) = rng.choice(alike)
            where.append(f"{alias}.{own.name} {rng.choice(['=', '=', '=', '<', '>'])} {outer_alias}.{outer.name}")
        if rng.random() < 0.5:
            where.append(f"({self.predicate(inner, DEPTH_MAX - 1)})")
        text = f"FROM {table.name} AS {alias}" + (f" WHERE {' AND '.join(where)}" if where else "")
        if not alike or rng.random() < 0.4:
            return f"{rng.choice(['', 'NOT '])}EXISTS (SELECT 1 {text})"
        (outer_alias, outer), (_, own) = rng.choice(alike)
        name, column = f"{outer_alias}.{outer.name}", f"{alias}.{own.name}"
        if rng.random() < 0.5:
            return f"{name} {rng.choice(['', 'NOT '])}IN (SELECT {column} {text})"
        operator = rng.choice(["=", "<", ">=", "<>"])
        if rng.random() < 0.5 or own.family in ("bit", "guid", "bytes"):
            return f"{name} {operator} {rng.choice(['ANY', 'ALL'])} (SELECT {column} {text})"
        return f"{name} {operator} (SELECT {rng.choice(['MIN', 'MAX'])}({column}) {text})"
