"""pymssql: DB-Library of a bundled FreeTDS. Parameters become text in the client."""

import datetime

import common
import pymssql
from pymssql import _mssql

TYPES = {"int": int, "str": str}


class Pymssql(common.Driver):
    mark = "%s"

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
        message = raised.args[0][1] if isinstance(raised.args[0], tuple) else raised.args[0]
        message = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        number = raised.args[0][0] if isinstance(raised.args[0], tuple) else raised.args[0]
        numbers = [number] + ([inner.number] if inner else [])
        # A login sends several errors; DB-Library keeps the text of all and the number of one.
        numbers += [n for n in (18456, 4060) if f"({n}," in message or "Login failed" in message and n == 18456]
        if "Cannot open database" in message:
            numbers.append(4060)
        return numbers, inner.line if inner else None, message, inner.state if inner else None

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
        outputs = cursor.callproc(
            f"p_{common.MARK}", (21, pymssql.output(str, "in"), pymssql.output(int))
        )
        rows = [row[0] for row in cursor.fetchall()]
        while cursor.nextset():
            pass
        proc = cursor.returnvalue
        return rows, outputs[1], outputs[2], proc

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
