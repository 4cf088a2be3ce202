"""SQLAlchemy's ORM and Core, and Alembic: migrations that are made from models, applied, undone, and complete."""

import datetime
import decimal
import uuid
from pathlib import Path

import common
from common import WORK, equal

common.configure_odbc()

import sqlalchemy as sa  # noqa: E402
from sqlalchemy import orm  # noqa: E402

DATABASE = "library_alchemy"
FOLDER = Path(WORK["folder"]) / "alembic"

URL = sa.URL.create(
    "mssql+pyodbc",
    username=WORK["user"],
    password=WORK["password"],
    host=WORK["host"],
    port=WORK["port"],
    database=DATABASE,
    query={"driver": common.DRIVER, "TrustServerCertificate": "yes"},
)


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


links = sa.Table(
    "link",
    Base.metadata,
    sa.Column("item_id", sa.ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True),
)


class Maker(Base):
    __tablename__ = "maker"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.Unicode(80), unique=True)
    items: orm.Mapped[list["Item"]] = orm.relationship(back_populates="maker", cascade="all, delete-orphan")


class Tag(Base):
    __tablename__ = "tag"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(start=100, increment=10), primary_key=True)
    word: orm.Mapped[str] = orm.mapped_column(sa.String(30, collation="Latin1_General_BIN2"))


class Item(Base):
    __tablename__ = "item"
    __table_args__ = (
        sa.CheckConstraint("price >= 0", name="price"),
        sa.Index("ix_item_open", "title", mssql_where=sa.text("active = 1"), mssql_include=["price"]),
    )
    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True)
    maker_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("maker.id"), index=True)
    maker: orm.Mapped[Maker] = orm.relationship(back_populates="items")
    tags: orm.Mapped[list[Tag]] = orm.relationship(secondary=links)
    title: orm.Mapped[str] = orm.mapped_column(sa.Unicode(100))
    price: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(10, 2), server_default="0")
    active: orm.Mapped[bool] = orm.mapped_column(server_default=sa.text("1"))
    made: orm.Mapped[datetime.datetime] = orm.mapped_column(server_default=sa.func.getdate())
    key: orm.Mapped[uuid.UUID | None]
    note: orm.Mapped[str | None] = orm.mapped_column(sa.UnicodeText)
    blob: orm.Mapped[bytes | None]
    total = sa.Column(sa.Numeric(12, 2), sa.Computed("price * 2", persisted=True))


ENGINE = sa.create_engine(URL)

ENV = """
from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, target_metadata=context.config.attributes["metadata"], compare_server_default=True
)
with context.begin_transaction():
    context.run_migrations()
"""

TEMPLATE = '''"""${message}"""
from alembic import op
import sqlalchemy as sa
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade():
    ${upgrades if upgrades else "pass"}


def downgrade():
    ${downgrades if downgrades else "pass"}
'''


def alembic(word, connection, metadata, **options):
    """Runs a command of Alembic's over a folder of migrations that starts empty."""
    from alembic import command
    from alembic.config import Config

    (FOLDER / "versions").mkdir(parents=True, exist_ok=True)
    (FOLDER / "env.py").write_text(ENV)
    (FOLDER / "script.py.mako").write_text(TEMPLATE)
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    config.attributes["metadata"] = metadata
    return getattr(command, word)(config, **options)


def no_difference(connection, metadata):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_server_default": True})
    equal(compare_metadata(context, metadata), [], "what autogenerate still finds")


# ---- checks ----------------------------------------------------------------------------------


def alembic_first():
    common.new_database(DATABASE)
    for old in (FOLDER / "versions").glob("*.py"):
        old.unlink()
    with ENGINE.begin() as connection:
        alembic("revision", connection, Base.metadata, message="first", autogenerate=True, rev_id="001")
    with ENGINE.begin() as connection:
        alembic("upgrade", connection, Base.metadata, revision="head")
    with ENGINE.begin() as connection:
        no_difference(connection, Base.metadata)


def orm_rows():
    with orm.Session(ENGINE) as session:
        ada = Maker(name="Ada")
        tags = [Tag(word="Red"), Tag(word="red")]
        day = datetime.datetime(2024, 2, 29, 12, 30, 15, 123000)
        key = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
        ada.items = [
            Item(title=f"item {n}", price=decimal.Decimal(n) / 4, made=day, tags=tags[: n % 3], key=key, blob=b"\0\xff", note="日本")
            for n in range(200)
        ]
        session.add_all([ada, Maker(name="Böll")])
        session.commit()
        equal(sorted(t.id for t in tags), [100, 110], "keys of an identity")
        equal([i.id for i in ada.items], list(range(1, 201)), "keys of one INSERT of many rows, in their order")
        item = session.scalars(sa.select(Item).where(Item.title == "item 7")).one()
        got = (item.total, item.active, item.made, item.key, item.blob, item.note, item.maker.name)
        equal(got, (decimal.Decimal("3.50"), True, day, key, b"\0\xff", "日本", "Ada"), "a row")
        item.price += 1
        session.flush()
        equal(item.total, decimal.Decimal("5.50"), "a computed column after the change")
        with session.begin_nested() as point:
            session.execute(sa.delete(Item))
            point.rollback()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Item)), 200, "rows after ROLLBACK TO a savepoint")
        session.delete(item)
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(links)), 198, "links by cascade")


def core_queries():
    with ENGINE.connect() as connection:
        page = sa.select(Item.title).order_by(Item.price.desc()).offset(3).limit(2)
        equal(connection.scalars(page).all(), ["item 196", "item 195"], "a page")
        ranked = sa.select(Item.id, sa.func.row_number().over(partition_by=Item.active, order_by=Item.price).label("n")).cte()
        equal(connection.scalars(sa.select(ranked.c.id).where(ranked.c.n == 3)).all(), [3], "a window in a CTE")
        word = sa.select(Tag.word, sa.func.count()).join(links).group_by(Tag.word).having(sa.func.count() > 70).order_by(Tag.word)
        equal([tuple(r) for r in connection.execute(word)], [("Red", 132)], "groups")
        numbers = sa.select(sa.literal(1).label("n")).cte(recursive=True)
        numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 50))
        equal(connection.scalar(sa.select(sa.func.sum(numbers.c.n))), 1275, "recursion")
        text = sa.select(sa.func.string_agg(sa.cast(Maker.name, sa.Unicode()), ", "))
        equal(connection.scalar(text), "Ada, Böll", "STRING_AGG")
        changed = sa.update(Item).where(Item.id <= 2).values(note="new").returning(Item.id, Item.note)
        equal(sorted(tuple(r) for r in connection.execute(changed)), [(1, "new"), (2, "new")], "RETURNING")
        connection.rollback()


def reflection():
    found = sa.MetaData()
    found.reflect(ENGINE)
    equal(sorted(found.tables), ["alembic_version", "item", "link", "maker", "tag"], "tables")
    item = found.tables["item"]
    equal(str(item.c.price.type), "NUMERIC(10, 2)", "a type")
    equal(item.c.total.computed.persisted, True, "a computed column")
    equal(found.tables["tag"].c.id.identity.start, 100, "an identity")
    equal({i.name: i.dialect_options["mssql"]["include"] for i in item.indexes}, {"ix_item_maker_id": [], "ix_item_open": ["price"]}, "indexes")
    inspector = sa.inspect(ENGINE)
    unique = [index["name"] for index in inspector.get_indexes("maker") if index["unique"]]
    equal(unique, ["uq_maker_name"], "a unique constraint, which SQLAlchemy shows as an index")
    equal(inspector.get_foreign_keys("link")[0]["options"], {"ondelete": "CASCADE"}, "ON DELETE")


def alembic_second():
    changed = sa.MetaData(naming_convention=Base.metadata.naming_convention)
    for table in Base.metadata.sorted_tables:
        table.to_metadata(changed)
    item = changed.tables["item"]
    item.c.note.type = sa.Unicode(400)
    item.c.key.nullable = False
    item.append_column(sa.Column("stock", sa.Integer))
    sa.Table("extra", changed, sa.Column("id", sa.Integer, primary_key=True), sa.Column("at", sa.DateTime(timezone=True)))
    sa.Index("ix_item_key", item.c.key)
    with ENGINE.begin() as connection:
        alembic("revision", connection, changed, message="second", autogenerate=True, rev_id="002")
    with ENGINE.begin() as connection:
        alembic("upgrade", connection, changed, revision="head")
    with ENGINE.begin() as connection:
        no_difference(connection, changed)
        equal(connection.scalar(sa.text("SELECT COUNT(*) FROM item WHERE stock IS NULL")), 199, "rows of before")


def alembic_back():
    with ENGINE.begin() as connection:
        alembic("downgrade", connection, Base.metadata, revision="001")
    with ENGINE.begin() as connection:
        no_difference(connection, Base.metadata)
    with ENGINE.begin() as connection:
        alembic("downgrade", connection, Base.metadata, revision="base")
    equal(sa.inspect(ENGINE).get_table_names(), ["alembic_version"], "tables left")


if __name__ == "__main__":
    common.main([alembic_first, orm_rows, core_queries, reflection, alembic_second, alembic_back])
