"""pyodbc over Microsoft's ODBC driver 18, taken from the wheel of mssql-python."""

import datetime
import os
import struct
from pathlib import Path

import common
import mssql_python_odbc
import odbc

DRIVER = "ODBC Driver 18 for SQL Server"


def configure():
    """Writes the unixODBC configuration of this run."""
    home = Path(mssql_python_odbc.__file__).parent / "libs/linux/debian_ubuntu/x86_64/lib"
    library = next(home.glob("libmsodbcsql-18*"))
    folder = Path(common.WORK["folder"]) / "odbc"
    folder.mkdir(exist_ok=True)
    text = f"[{DRIVER}]\nDriver={library}\n"
    (folder / "odbcinst.ini").write_text(text)
    (folder / "odbc.ini").write_text("")
    os.environ["ODBCSYSINI"] = str(folder)
    os.environ["ODBCINI"] = str(folder / "odbc.ini")


configure()
import pyodbc  # noqa: E402  the configuration must be there before the driver manager reads it

pyodbc.native_uuid = True


def offset_value(data):
    """Unpacks SQL_SS_TIMESTAMPOFFSET, which pyodbc leaves to its user."""
    year, month, day, hour, minute, second, nano, hours, minutes = struct.unpack("<6hI2h", data)
    zone = datetime.timezone(datetime.timedelta(hours=hours, minutes=minutes))
    return datetime.datetime(year, month, day, hour, minute, second, nano // 1000, zone)


class Pyodbc(odbc.Odbc):
    def connect(self, password=None, database=None, autocommit=True, strict=False):
        text = odbc.connection_string(password, database, strict, DRIVER)
        connection = pyodbc.connect(text, autocommit=autocommit, timeout=10)
        connection.add_output_converter(-155, offset_value)
        return connection

    def error(self, raised):
        text = " ".join(str(a) for a in raised.args)
        return odbc.numbers_in(text), None, text, None

    def bind(self, kind, text):
        # pyodbc binds a time without its fraction and a datetime without its offset: both go as text.
        if kind["base"] in ("time", "datetimeoffset"):
            return text
        return common.native(kind, text)

    def execute(self, cursor, sql, params, kinds):
        if params[-1] is None and kinds[-1]["base"] in odbc.BINARY_NULLS:
            size = odbc.BINARY_NULLS.get(kinds[-1]["name"], odbc.BINARY_NULLS[kinds[-1]["base"]])
            cursor.setinputsizes([None] * (len(params) - 1) + [size])
        super().execute(cursor, sql, params, kinds)

    def messages(self, connection, sql):
        cursor = connection.cursor()
        cursor.execute(sql)
        texts = [text for _, text in cursor.messages]
        while cursor.nextset():
            texts += [text for _, text in cursor.messages]
        return texts


common.main(Pyodbc())
