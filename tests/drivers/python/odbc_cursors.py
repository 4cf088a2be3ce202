"""Server cursors through an ODBC driver, by its C functions: what no Python module offers.

Called with a connection string, prints one JSON object: what it has read, by the name of the step.
"""

import ctypes
import json
import sys

SUCCESS, INFO, NO_DATA = 0, 1, 100
ENV, DBC, STMT = 1, 2, 3
CURSOR_TYPE, CONCURRENCY, ROW_ARRAY_SIZE, ROW_STATUS, ROWS_FETCHED = 6, 7, 27, 25, 26
KEYSET, DYNAMIC, STATIC = 1, 2, 3
READ_ONLY, LOCK, ROWVER, VALUES = 1, 2, 3, 4
NEXT, FIRST, LAST, PRIOR, ABSOLUTE = 1, 2, 3, 4, 5
POSITION, REFRESH, UPDATE, DELETE, ADD = 0, 1, 2, 3, 4
CHARS, WIDTH = 1, 32

odbc = ctypes.CDLL("libodbc.so.2")
pointer, length = ctypes.c_void_p, ctypes.c_ssize_t


class Failed(Exception):
    """A call gave an error; the text is the driver's."""


def diagnostics(kind, handle):
    texts = []
    for number in range(1, 10):
        state, native = ctypes.create_string_buffer(6), ctypes.c_int()
        text, size = ctypes.create_string_buffer(500), ctypes.c_short()
        done = odbc.SQLGetDiagRec(
            ctypes.c_short(kind), handle, ctypes.c_short(number), state, ctypes.byref(native), text, ctypes.c_short(500), ctypes.byref(size)
        )
        if done not in (SUCCESS, INFO):
            break
        texts.append(f"{state.value.decode()} {native.value} {text.value.decode(errors='replace')}")
    return "; ".join(texts)


def checked(done, kind, handle):
    if done not in (SUCCESS, INFO, NO_DATA):
        raise Failed(diagnostics(kind, handle))
    return done


def allocated(kind, parent):
    handle = pointer()
    checked(odbc.SQLAllocHandle(ctypes.c_short(kind), parent, ctypes.byref(handle)), kind, handle)
    return handle


class Statement:
    """A statement with up to three bound columns, which are text."""

    def __init__(self, connection, cursor=None, concurrency=None, rows=1):
        self.handle = allocated(STMT, connection)
        self.status = (ctypes.c_ushort * rows)()
        self.fetched = length()
        settings = [(CURSOR_TYPE, cursor), (CONCURRENCY, concurrency), (ROW_ARRAY_SIZE, rows)]
        for attribute, value in settings:
            if value is not None and cursor is not None:
                self.call(odbc.SQLSetStmtAttr, ctypes.c_int(attribute), pointer(value), ctypes.c_int(0))
        self.call(odbc.SQLSetStmtAttr, ctypes.c_int(ROW_STATUS), self.status, ctypes.c_int(0))
        self.call(odbc.SQLSetStmtAttr, ctypes.c_int(ROWS_FETCHED), ctypes.byref(self.fetched), ctypes.c_int(0))
        self.data = [ctypes.create_string_buffer(WIDTH * rows) for _ in range(3)]
        self.sizes = [(length * rows)() for _ in range(3)]

    def call(self, function, *arguments):
        return checked(function(self.handle, *arguments), STMT, self.handle)

    def run(self, sql):
        self.call(odbc.SQLExecDirect, sql.encode(), ctypes.c_int(len(sql.encode())))
        return self

    def bind(self):
        count = ctypes.c_short()
        self.call(odbc.SQLNumResultCols, ctypes.byref(count))
        for place in range(count.value):
            self.call(odbc.SQLBindCol, ctypes.c_ushort(place + 1), ctypes.c_short(CHARS), self.data[place], length(WIDTH), self.sizes[place])
        self.columns = count.value
        return self

    def fetch(self, how=NEXT, row=0):
        """Returns the rows of the buffer as text, with None for a row that is gone."""
        if self.call(odbc.SQLFetchScroll, ctypes.c_short(how), length(row)) == NO_DATA:
            return []
        return self.rows()

    def rows(self):
        found = []
        for row in range(self.fetched.value):
            gone = self.status[row] == 1
            found.append(None if gone else [self.value(column, row) for column in range(self.columns)])
        return found

    def value(self, column, row):
        size = self.sizes[column][row]
        if size == -1:
            return None
        start = WIDTH * row
        return self.data[column].raw[start : start + size].decode()

    def set(self, column, row, text):
        raw = text.encode() + b"\0"
        ctypes.memmove(ctypes.addressof(self.data[column]) + WIDTH * row, raw, len(raw))
        self.sizes[column][row] = len(text)

    def position(self, row, what):
        self.call(odbc.SQLSetPos, ctypes.c_size_t(row), ctypes.c_ushort(what), ctypes.c_ushort(0))

    def attribute(self, attribute):
        value = ctypes.c_size_t()
        self.call(odbc.SQLGetStmtAttr, ctypes.c_int(attribute), ctypes.byref(value), ctypes.c_int(0), None)
        return value.value

    def close(self):
        odbc.SQLFreeHandle(ctypes.c_short(STMT), self.handle)


def error_of(action):
    try:
        action()
    except Failed as failed:
        return str(failed)
    return ""


def main(text):
    environment = allocated(ENV, None)
    checked(odbc.SQLSetEnvAttr(environment, ctypes.c_int(200), pointer(3), ctypes.c_int(0)), ENV, environment)
    connection = allocated(DBC, environment)
    done = odbc.SQLDriverConnect(connection, None, text.encode(), ctypes.c_short(-3), None, ctypes.c_short(0), None, ctypes.c_ushort(0))
    checked(done, DBC, connection)

    def asked(sql):
        statement = Statement(connection).run(sql).bind()
        rows = []
        while row := statement.fetch():
            rows += row
        statement.close()
        return rows

    def run(sql):
        Statement(connection).run(sql).close()

    said = {}
    run("drop table if exists held")
    run("create table held (id int not null primary key, name varchar(20) not null, n int null)")
    run("insert held values (1, 'a', 10), (2, 'b', 20), (3, 'c', null)")

    keyset = Statement(connection, KEYSET, VALUES).run("select id, name, n from held order by id").bind()
    said["kinds"] = [keyset.attribute(CURSOR_TYPE), keyset.attribute(CONCURRENCY)]
    said["first"] = keyset.fetch()
    keyset.set(1, 0, "changed")
    keyset.set(2, 0, "11")
    keyset.position(1, UPDATE)
    said["next"] = keyset.fetch()
    keyset.position(1, DELETE)
    said["updated and deleted"] = asked("select id, name, n from held order by id")
    said["back"] = keyset.fetch(FIRST)
    said["gone"] = keyset.fetch(ABSOLUTE, 2)
    said["last"] = keyset.fetch(LAST)
    run("update held set n = 7 where id = 3")
    keyset.set(1, 0, "lost")
    said["conflict"] = error_of(lambda: keyset.position(1, UPDATE))
    keyset.close()

    named = Statement(connection, DYNAMIC, VALUES)
    named.call(odbc.SQLSetCursorName, b"by_name", ctypes.c_short(len(b"by_name")))
    named.run("select id, name, n from held").bind()
    named.fetch()
    run("update held set n = 12 where current of by_name")
    run("insert held values (2, 'new', 5)")
    said["dynamic"] = [named.fetch(), named.fetch(), named.fetch()]
    named.close()
    said["named"] = asked("select id, name, n from held order by id")

    if "added" in sys.argv:
        added = Statement(connection, KEYSET, VALUES).run("select id, name, n from held").bind()
        added.fetch()
        for column, text in enumerate(["9", "nine", "90"]):
            added.set(column, 0, text)
        added.call(odbc.SQLBulkOperations, ctypes.c_short(ADD))
        added.close()
        said["added"] = asked("select id, name, n from held where id = 9")
        grouped = Statement(connection, DYNAMIC, VALUES).run("select count(*), name from held group by name").bind()
        said["converted"] = [grouped.attribute(CURSOR_TYPE), grouped.attribute(CONCURRENCY)]
        grouped.close()
    run("drop table held")
    print(json.dumps(said))


main(sys.argv[1])
