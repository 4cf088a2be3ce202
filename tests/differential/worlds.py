"""Schemas, data and changes at random for the oracles that compare Clearway with itself.

A world is a database of two to four tables. Each is of one kind of storage: a heap or a clustered table, a
memory-optimized table, a clustered columnstore, or rows beside a nonclustered columnstore index; most have
indexes. What is done to a world is kept as a list of batches, so that it can be done again elsewhere.
"""

from __future__ import annotations

import datetime
import decimal
import random
import uuid
from dataclasses import dataclass, field

KINDS = ("heap", "clustered", "memory", "columnstore", "column index")
COLLATIONS = ("Latin1_General_CI_AS", "Latin1_General_100_CS_AS", "Latin1_General_BIN2", "Latin1_General_CI_AI")

# The families compare with each other; a type has its text, its family and whether an index may hold it.
TYPES = {
    "int": "number",
    "bigint": "number",
    "smallint": "number",
    "tinyint": "number",
    "decimal(9, 2)": "number",
    "decimal(20, 5)": "number",
    "float": "float",
    "real": "float",
    "money": "number",
    "bit": "bit",
    "varchar(20)": "text",
    "char(4)": "text",
    "nvarchar(20)": "text",
    "date": "date",
    "datetime2(3)": "date",
    "datetime": "date",
    "uniqueidentifier": "guid",
    "varbinary(8)": "bytes",
}
FREQUENT = ["int", "int", "int", "bigint", "varchar(20)", "varchar(20)", "nvarchar(20)", "decimal(9, 2)", "date"]
WORDS = ["", "a", "A", "ab", "b", "B", "Ba", "it's", "x%y", "u_v", "10", "7", "abc", "-", "zz", "ä", "a ", "co-op", "coop"]
GUIDS = [str(uuid.UUID(int=(n * 0x9E3779B97F4A7C15F39CC0605CEDC835) % (1 << 128))) for n in range(1, 9)]


@dataclass
class Column:
    name: str
    type: str
    collation: str | None
    nullable: bool

    @property
    def family(self) -> str:
        return TYPES[self.type]

    def definition(self, computed_collation: bool = True) -> str:
        collate = f" COLLATE {self.collation}" if self.collation else ""
        return f"{self.name} {self.type}{collate} {'NULL' if self.nullable else 'NOT NULL'}"


@dataclass
class Table:
    name: str
    kind: str
    columns: list[Column]
    nulls: float
    rows: int
    # Names of the indexes of rows, with their first columns.
    indexes: list[tuple[str, list[str]]] = field(default_factory=list)

    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def value(rng: random.Random, column: Column, nulls: float) -> str:
    """A literal for a column."""
    if column.nullable and rng.random() < nulls:
        return "NULL"
    return literal(rng, column.type)


def literal(rng: random.Random, of_type: str) -> str:
    family = TYPES[of_type]
    if of_type == "tinyint":
        return str(rng.choice([0, 1, 2, 7, 255, rng.randint(0, 20)]))
    if family == "number":
        whole = rng.choice([rng.randint(-5, 5), rng.randint(-5, 5), rng.randint(-100, 100), rng.randint(-9_999, 9_999)])
        if of_type in ("int", "bigint", "smallint"):
            if of_type == "bigint" and rng.random() < 0.05:
                return rng.choice(["9007199254740993", "-9223372036854775808", "2147483648"])
            return str(whole)
        return str(decimal.Decimal(rng.choice([whole * 100, rng.randint(-300, 300)])) / 100)
    if family == "float":
        return rng.choice(["0e0", "-0e0", "0.5e0", "-1.25e0", "1e3", "7e0", f"{rng.randint(-40, 40) / 4}e0"])
    if family == "bit":
        return rng.choice(["0", "1"])
    if family == "text":
        word = rng.choice(WORDS)[: 4 if of_type == "char(4)" else 20]
        prefix = "N" if of_type.startswith("n") else ""
        return prefix + "'" + word.replace("'", "''") + "'"
    if family == "date":
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=rng.choice([rng.randint(0, 30), rng.randint(-3_000, 3_000)]))
        time = rng.choice(["", "T00:00:00", "T12:30:00", "T23:59:59"]) if of_type != "date" else ""
        return f"'{day.isoformat()}{time}'"
    if family == "guid":
        return f"'{rng.choice(GUIDS)}'"
    return rng.choice(["0x", "0x01", "0x02", "0x0102", "0xFF", "0x7F80", "0x0101"])


class World:
    """The tables of one database, and the batches that made them what they are."""

    def __init__(self, rng: random.Random, number: int):
        self.rng = rng
        self.batches: list[str] = []
        self.tables: list[Table] = []
        for at in range(rng.randint(2, 4)):
            kind = KINDS[(number + at) % len(KINDS)] if at < 2 else rng.choice(KINDS)
            # Batches begin at some hundred rows, so that one table in two has enough of them.
            rows = rng.choice([0, 1, 8, 20, 40, 600, 600, 900, 1_500]) if at < 2 else rng.choice([0, 3, 12, 30])
            self.add_table(f"t{at}", kind, rows)

    def do(self, batch: str) -> None:
        self.batches.append(batch)

    def add_table(self, name: str, kind: str, rows: int) -> None:
        rng = self.rng
        columns = [Column("id", "int", None, False)]
        for at in range(rng.randint(3, 7)):
            of_type = rng.choice(FREQUENT if rng.random() < 0.6 else list(TYPES))
            collation = rng.choice(COLLATIONS) if TYPES[of_type] == "text" and rng.random() < 0.7 else None
            columns.append(Column(f"c{at}", of_type, collation, rng.random() < 0.8))
        table = Table(name, kind, columns, rng.choice([0.0, 0.1, 0.4, 0.9]), rows)
        self.tables.append(table)
        getattr(self, "make_" + kind.replace(" ", "_"))(table)
        self.fill(table, rows)
        if kind == "columnstore" and rng.random() < 0.6:
            self.do(f"ALTER INDEX cc ON {name} REORGANIZE WITH (COMPRESS_ALL_ROW_GROUPS = ON)")
            self.fill(table, rng.choice([0, 5, 50]))

    # ---- kinds of tables ---------------------------------------------------------------------

    def make_heap(self, table: Table) -> None:
        self.do(f"CREATE TABLE {table.name} ({self.definitions(table)})")
        self.index_rows(table)

    def make_clustered(self, table: Table) -> None:
        rng = self.rng
        if rng.random() < 0.6:
            down = rng.choice(["", " DESC"])
            self.do(f"CREATE TABLE {table.name} ({self.definitions(table)}, CONSTRAINT pk PRIMARY KEY (id{down}))".replace("pk", f"pk_{table.name}"))
            table.indexes.append((f"pk_{table.name}", ["id"]))
        else:
            keys = self.some_columns(table, 2)
            self.do(f"CREATE TABLE {table.name} ({self.definitions(table)})")
            self.do(f"CREATE CLUSTERED INDEX cx ON {table.name} ({self.key_list(keys)})")
            table.indexes.append(("cx", keys))
        self.index_rows(table)

    def make_memory(self, table: Table) -> None:
        rng = self.rng
        parts = [self.definitions(table)]
        key = rng.choice(["NONCLUSTERED (id)", "NONCLUSTERED HASH (id) WITH (BUCKET_COUNT = 64)", "NONCLUSTERED (id DESC)"])
        parts.append(f"CONSTRAINT pk_{table.name} PRIMARY KEY {key}")
        table.indexes.append((f"pk_{table.name}", ["id"]))
        for at in range(rng.randint(0, 3)):
            keys = self.some_columns(table, 2)
            if rng.random() < 0.4:
                parts.append(f"INDEX h{at} HASH ({', '.join(keys)}) WITH (BUCKET_COUNT = {rng.choice([1, 16, 1024])})")
            else:
                parts.append(f"INDEX h{at} NONCLUSTERED ({self.key_list(keys)})")
            table.indexes.append((f"h{at}", keys))
        options = "MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY"
        self.do(f"CREATE TABLE {table.name} ({', '.join(parts)}) WITH ({options})")

    def make_columnstore(self, table: Table) -> None:
        self.do(f"CREATE TABLE {table.name} ({self.definitions(table)}, INDEX cc CLUSTERED COLUMNSTORE)")

    def make_column_index(self, table: Table) -> None:
        if self.rng.random() < 0.5:
            self.make_clustered(table)
        else:
            self.make_heap(table)
        columns = self.some_columns(table, len(table.columns))
        self.do(f"CREATE NONCLUSTERED COLUMNSTORE INDEX nc ON {table.name} ({', '.join(columns)})")

    def definitions(self, table: Table) -> str:
        return ", ".join(column.definition() for column in table.columns)

    def some_columns(self, table: Table, most: int) -> list[str]:
        names = table.names()
        return self.rng.sample(names, self.rng.randint(1, min(most, len(names))))

    def key_list(self, keys: list[str]) -> str:
        return ", ".join(key + self.rng.choice(["", "", " DESC"]) for key in keys)

    def index_rows(self, table: Table) -> None:
        rng = self.rng
        for at in range(rng.randint(0, 3)):
            keys = self.some_columns(table, 3)
            text = f"CREATE INDEX i{at} ON {table.name} ({self.key_list(keys)})"
            rest = [name for name in table.names() if name not in keys]
            if rest and rng.random() < 0.3:
                text += f" INCLUDE ({', '.join(rng.sample(rest, rng.randint(1, len(rest))))})"
            if rng.random() < 0.3:
                text += f" WHERE {self.filter(table)}"
            else:
                table.indexes.append((f"i{at}", keys))
            self.do(text)

    def filter(self, table: Table) -> str:
        """The condition of a filtered index: a comparison with a constant, or IS NOT NULL."""
        rng = self.rng
        column = rng.choice([c for c in table.columns if c.family in ("number", "date", "guid")])
        if rng.random() < 0.4:
            return f"{column.name} IS NOT NULL"
        if rng.random() < 0.2:
            return f"{column.name} IN ({literal(rng, column.type)}, {literal(rng, column.type)})"
        return f"{column.name} {rng.choice(['>', '>=', '<', '<>', '='])} {literal(rng, column.type)}"

    # ---- changes -----------------------------------------------------------------------------

    def fill(self, table: Table, count: int) -> None:
        for at in range(0, count, 200):
            rows = []
            for _ in range(min(200, count - at)):
                table.rows += 1
                rest = [value(self.rng, column, table.nulls) for column in table.columns[1:]]
                rows.append("(" + ", ".join([str(table.rows), *rest]) + ")")
            self.do(f"INSERT INTO {table.name} VALUES {', '.join(rows)}")

    def change(self, condition) -> None:
        """Changes a table; `condition(table)` makes a predicate on it. Errors of a change leave it undone."""
        rng = self.rng
        table = rng.choice(self.tables)
        kind = rng.random()
        if kind < 0.35:
            self.fill(table, rng.choice([1, 1, 3, 20]))
        elif kind < 0.65:
            targets = [c for c in table.columns if c.name != "id"]
            sets = [f"{c.name} = {value(rng, c, table.nulls)}" for c in rng.sample(targets, rng.randint(1, 2))]
            self.do(f"UPDATE {table.name} SET {', '.join(sets)} WHERE {self.narrow(table)}{condition(table)}")
        elif kind < 0.85:
            self.do(f"DELETE FROM {table.name} WHERE {self.narrow(table)}{condition(table)}")
        elif table.kind == "columnstore":
            more = " WITH (COMPRESS_ALL_ROW_GROUPS = ON)" if rng.random() < 0.7 else ""
            self.do(f"ALTER INDEX cc ON {table.name} REORGANIZE{more}")
        elif table.kind == "column index":
            self.do(f"ALTER INDEX nc ON {table.name} REBUILD")
        else:
            self.do(f"UPDATE STATISTICS {table.name}")

    def narrow(self, table: Table) -> str:
        """Mostly a part of the rows only, so that tables are not emptied."""
        return f"id % 7 = {self.rng.randint(0, 6)} AND " if self.rng.random() < 0.8 else ""
