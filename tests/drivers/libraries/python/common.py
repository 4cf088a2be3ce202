"""What the programs over Python's libraries share: the work, the ODBC driver, and a line per check."""

import json
import os
import sys
import traceback
from pathlib import Path

import mssql_python_odbc

DRIVER = "ODBC Driver 18 for SQL Server"
WORK = json.load(sys.stdin)


class Failed(Exception):
    """A check did not hold."""


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: got {got!r}, expected {want!r}")


def configure_odbc():
    """Points unixODBC to Microsoft's driver out of its wheel, before anybody imports pyodbc."""
    home = Path(mssql_python_odbc.__file__).parent / "libs/linux/debian_ubuntu/x86_64/lib"
    library = next(home.glob("libmsodbcsql-18*"))
    folder = Path(WORK["folder"]) / "odbc-libraries"
    folder.mkdir(exist_ok=True)
    (folder / "odbcinst.ini").write_text(f"[{DRIVER}]\nDriver={library}\n")
    (folder / "odbc.ini").write_text("")
    os.environ["ODBCSYSINI"] = str(folder)
    os.environ["ODBCINI"] = str(folder / "odbc.ini")


def connect(database=None, autocommit=True):
    """A plain connection, for what a library does not do itself: making its database."""
    import pyodbc

    parts = [f"DRIVER={{{DRIVER}}}", f"SERVER={WORK['host']},{WORK['port']}", f"UID={WORK['user']}"]
    parts += [f"PWD={{{WORK['password']}}}", "TrustServerCertificate=yes"]
    if database:
        parts.append(f"DATABASE={database}")
    return pyodbc.connect(";".join(parts), autocommit=autocommit, timeout=10)


def new_database(name):
    connection = connect()
    connection.execute(f"DROP DATABASE IF EXISTS {name}")
    connection.execute(f"CREATE DATABASE {name}")
    connection.close()


def main(checks):
    """Runs checks in their order, since later ones use what earlier ones made, and prints an answer for each."""
    for check in checks:
        detail = ""
        try:
            check()
        except Failed as failed:
            detail = str(failed)
        except Exception as raised:  # whatever a library raises is the finding
            where = traceback.extract_tb(raised.__traceback__)[-1]
            detail = f"{type(raised).__name__}: {raised} ({where.name}:{where.lineno})"
            if os.environ.get("LIBRARY_TRACE"):
                traceback.print_exc()
        name = check.__name__.replace("_", "-")
        print(json.dumps({"check": name, "ok": not detail, "detail": detail[:1500]}), flush=True)
