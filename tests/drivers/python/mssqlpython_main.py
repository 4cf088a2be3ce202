"""mssql-python: Microsoft's own Python driver, its ODBC driver 18 inside."""

import time

import common
import mssql_python
import odbc


class MssqlPython(odbc.Odbc):
    # The pool sends SET TRANSACTION ISOLATION LEVEL READ COMMITTED with its reset.
    trancount_after_reset = 0
    isolation_after_reset = 2
    # The driver keeps one of a login's errors.
    unknown_database = (4060, 18456)

    def connect(self, password=None, database=None, autocommit=True, strict=False):
        text = odbc.connection_string(password, database, strict)
        return mssql_python.connect(text, autocommit=autocommit)

    def error(self, raised):
        # The exception has no number; the text of the server's message is all it keeps.
        text = str(raised)
        known = {
            "Divide by zero": 8134,
            "Violation of PRIMARY KEY": 2627,
            "Invalid object name": 208,
            "Incorrect syntax near": 102,
            "Login failed for user": 18456,
            "Cannot open database": 4060,
            "bad luck 13": 50000,
        }
        return [number for words, number in known.items() if words in text] + odbc.numbers_in(text), None, text, None

    def execute(self, cursor, sql, params, kinds):
        if params[-1] is None and kinds[-1]["base"] in odbc.BINARY_NULLS:
            size = odbc.BINARY_NULLS.get(kinds[-1]["name"], odbc.BINARY_NULLS[kinds[-1]["base"]])
            cursor.setinputsizes([(4, 0, 0)] * (len(params) - 1) + [size])
        super().execute(cursor, sql, params, kinds)

    def messages(self, connection, sql):
        cursor = connection.cursor()
        cursor.execute(sql)
        texts = [str(m) for m in cursor.messages]
        while cursor.nextset():
            texts += [str(m) for m in cursor.messages]
        return texts

    def cancel(self, connection, sql):
        # The driver has a query timeout, and no cancel: the attention is sent after one second.
        connection.timeout = 1
        started = time.monotonic()
        cursor = connection.cursor()
        try:
            cursor.execute(sql)
        except mssql_python.Error:
            pass
        took = time.monotonic() - started
        connection.timeout = 0
        if took < 0.9:
            raise common.Failed(f"the statement ended by itself after {took:.2f} s")
        return took - 1

    def pool(self):
        mssql_python.pooling(enabled=True, max_size=4, idle_timeout=60)
        # A string of its own, so that the pool has no connection of another check.
        return lambda: self.connect(database="master")

    def bulk(self, connection, table, rows):
        connection.cursor().bulkcopy(table, rows)


common.main(MssqlPython())
