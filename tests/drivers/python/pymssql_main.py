"""pymssql: DB-Library of a bundled FreeTDS. Parameters become text in the client."""

import datetime

import common
import pymssql
from pymssql import _mssql


class Pymssql(common.Driver):
    mark = "%s"
    # DB-Library keeps one of a login's errors, and callproc reads OUTPUT parameters before any rows.
    unknown_database = (4060, 18456)
    procedure_rows = False

    def connect(self, password=None, database=None, autocommit=True, strict=False):
        return pymssql.connect(
            server=common.WORK["host"],
            port=str(common.WORK["port"]),
            user=common.WORK["user"],
            password=password or common.WORK["password"],
            database=database or "",
            autocommit=autocommit,
            login_timeout=10,
        )

    def error(self, raised):
        inner = raised.__context__ if isinstance(raised.__context__, _mssql.MSSQLDatabaseException) else None
        first = raised.args[0]
        number, text = first if isinstance(first, tuple) else (first, raised.args[-1])
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        return [number], inner.line if inner else None, text, inner.state if inner else None

    def bind(self, kind, text):
        value = common.native(kind, text)
        if isinstance(value, bytes):
            return bytearray(value)
        if kind["base"] == "datetimeoffset":
            return text
        return value

    def fetch_value(self, kind, value):
        # DB-Library hands an offset over as text or as a datetime without one, by version.
        if kind["base"] == "datetimeoffset" and isinstance(value, str):
            return parse_offset(value)
        return value

    def call(self, connection):
        cursor = connection.cursor()
        outputs = cursor.callproc(f"p_{common.MARK}", (21, pymssql.output(str, "in"), pymssql.output(int)))
        return [], outputs[1], outputs[2], cursor.returnvalue

    def messages(self, connection, sql):
        texts = []
        connection._conn.set_msghandler(lambda *m: texts.append(m[5].decode() if isinstance(m[5], bytes) else m[5]))
        connection.cursor().execute(sql)
        return texts

    def bulk(self, connection, table, rows):
        connection.bulk_copy(table, rows)


def parse_offset(text):
    head, _, offset = text.rpartition(" ")
    return datetime.datetime.fromisoformat(head[:26] + offset)


common.main(Pymssql())
