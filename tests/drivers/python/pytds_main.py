"""python-tds: TDS in pure Python; parameters through sp_executesql, procedures through RPC."""

import time

import common
import pytds
from pytds import tds_base, tds_types


def kind_type(kind):
    # The driver can't send a binary(n) parameter; the server pads what comes as varbinary(n).
    name = f"var{kind['name']}" if kind["base"] == "binary" else kind["name"]
    return tds_types.sql_type_by_declaration(name)


class PythonTds(common.Driver):
    mark = "%s"
    # The driver opens its next transaction as soon as it takes the connection, unless autocommit.
    trancount_after_reset = 0
    isolation_after_reset = 3

    def connect(self, password=None, database=None, autocommit=True, strict=False, pooling=False):
        return pytds.connect(
            dsn=common.WORK["host"],
            port=common.WORK["port"],
            user=common.WORK["user"],
            password=password or common.WORK["password"],
            database=database,
            autocommit=autocommit,
            pooling=pooling,
            login_timeout=10,
            timeout=60,
            disable_connect_retry=True,
        )

    def error(self, raised):
        numbers = [getattr(raised, "number", None)]
        inner = raised.__cause__ or raised.__context__
        while inner:
            numbers.append(getattr(inner, "number", None))
            inner = inner.__cause__ or inner.__context__
        if "Cannot open database" in str(raised):
            numbers.append(4060)
        return numbers, getattr(raised, "line", None), getattr(raised, "text", str(raised)), getattr(raised, "state", None)

    def execute(self, cursor, sql, params, kinds):
        typed = [
            tds_base.Param(name="", type=kind_type(kind), value=value)
            for value, kind in zip(params, kinds, strict=True)
        ]
        cursor.execute(sql.replace("{}", "%s"), tuple(typed))

    def output(self, connection, kind, case):
        value = self.bind(kind, common.case_text(case))
        cursor = connection.cursor()
        text = "set @o = @i"
        session = cursor._session
        params = [
            tds_base.Param(name="", type=tds_types.NVarCharMaxType(), value=text),
            tds_base.Param(name="", type=tds_types.NVarCharMaxType(), value=f"@i {kind['name']}, @o {kind['name']} output"),
            tds_base.Param(name="@i", type=kind_type(kind), value=value),
            tds_base.Param(name="@o", type=kind_type(kind), value=None, flags=tds_base.fByRefValue),
        ]
        session._ensure_transaction()
        session.submit_rpc(tds_base.SP_EXECUTESQL, params, 0)
        session.begin_response()
        session.process_rpc()
        session.complete_rpc()
        return session.output_params[3].value

    def call(self, connection):
        cursor = connection.cursor()
        b, c = pytds.output("in", "nvarchar(50)"), pytds.output(param_type="int")
        cursor.callproc(f"p_{common.MARK}", (21, b, c))
        rows = [row[0] for row in cursor.fetchall()]
        cursor._session.complete_rpc()
        status = cursor.get_proc_return_status()
        values = [param.value for param in cursor._session.output_params.values()]
        return rows, values[0], values[1], status

    def messages(self, connection, sql):
        cursor = connection.cursor()
        cursor.execute(sql)
        texts = [str(m[1]) for m in cursor.messages]
        while cursor.nextset():
            texts += [str(m[1]) for m in cursor.messages]
        return texts

    def cancel(self, connection, sql):
        # The driver has no thread safe cancel: send, wait, and cancel from the same thread.
        cursor = connection.cursor()
        session = cursor._session
        session._ensure_transaction()
        session.submit_plain_query(sql)
        time.sleep(0.3)
        started = time.monotonic()
        cursor.cancel()
        return time.monotonic() - started

    def pool(self):
        return lambda: self.connect(pooling=True)

    def bulk(self, connection, table, rows):
        columns = [
            tds_base.Column("id", type=tds_types.IntType(), flags=0),
            tds_base.Column("name", type=tds_types.NVarCharType(size=40), flags=tds_base.Column.fNullable),
            tds_base.Column("amount", type=tds_types.DecimalType(precision=18, scale=4), flags=tds_base.Column.fNullable),
            tds_base.Column("stamp", type=tds_types.DateTime2Type(precision=3), flags=tds_base.Column.fNullable),
            tds_base.Column("data", type=tds_types.VarBinaryType(size=64), flags=tds_base.Column.fNullable),
        ]
        connection.cursor().copy_to(table_or_view=table, columns=columns, data=rows)


common.main(PythonTds())
