"""Server cursors that change rows: through ODBC by its own functions, and through JDBC's updatable result sets."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import harness
import pytest

HERE = Path(__file__).resolve().parent
FREETDS = Path("/usr/lib/x86_64-linux-gnu/odbc/libtdsodbc.so")


def microsofts(folder):
    """Returns the driver's name in a connection string, and the environment that names its library."""
    package = pytest.importorskip("mssql_python_odbc")
    libraries = Path(package.__file__).parent / "libs/linux/debian_ubuntu/x86_64/lib"
    library = next(libraries.glob("libmsodbcsql-18*"), None)
    if library is None:
        pytest.skip("the wheel has no ODBC driver for this machine")
    (folder / "odbcinst.ini").write_text(f"[ODBC Driver 18 for SQL Server]\nDriver={library}\n")
    (folder / "odbc.ini").write_text("")
    environment = {"ODBCSYSINI": str(folder), "ODBCINI": str(folder / "odbc.ini")}
    return "ODBC Driver 18 for SQL Server", environment


def through_odbc(server, driver, environment, *more):
    text = (
        f"DRIVER={{{driver}}};SERVER=127.0.0.1,{server.port};UID={harness.USER};PWD={{{harness.PASSWORD}}};"
        "TrustServerCertificate=yes;"
    )
    if driver == str(FREETDS):
        text = (
            f"DRIVER={driver};SERVER=127.0.0.1;PORT={server.port};UID={harness.USER};PWD={harness.PASSWORD};"
            "TDS_Version=7.4;"
        )
    command = [sys.executable, str(HERE / "python/odbc_cursors.py"), text, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


CHANGED = [["1", "changed", "11"], ["3", "c", None]]


def test_microsofts_odbc_driver_changes_rows_through_cursors(server, tmp_path):
    driver, environment = microsofts(tmp_path)
    said = through_odbc(server, driver, environment, "added")
    assert said["kinds"] == [1, 4], "a keyset, which compares values"
    assert said["first"] == [["1", "a", "10"]] and said["next"] == [["2", "b", "20"]]
    assert said["updated and deleted"] == CHANGED
    assert said["back"] == [["1", "changed", "11"]]
    assert said["gone"] == [None], "the deleted row is a hole in the keyset"
    assert said["last"] == [["3", "c", None]]
    assert " 16934 " in said["conflict"]
    assert said["dynamic"] == [[["2", "new", "5"]], [["3", "c", "7"]], []]
    assert said["named"] == [["1", "changed", "12"], ["2", "new", "5"], ["3", "c", "7"]]
    assert said["added"] == [["9", "nine", "90"]]
    assert said["converted"] == [3, 1], "rows of GROUP BY: static and read-only"


def test_freetds_changes_rows_through_cursors(server):
    if not FREETDS.exists():
        pytest.skip("FreeTDS's ODBC driver is not installed")
    said = through_odbc(server, str(FREETDS), {})
    assert said["first"] == [["1", "a", "10"]] and said["next"] == [["2", "b", "20"]]
    assert said["updated and deleted"] == CHANGED
    assert said["back"] == [["1", "changed", "11"]]
    assert said["last"] == [["3", "c", None]]
    assert " 16934 " in said["conflict"]
    assert said["named"] == [["1", "changed", "12"], ["2", "new", "5"], ["3", "c", "7"]]


def test_jdbc_changes_rows_through_result_sets(server):
    program = harness.ROOT / ".tools/java/Cursors.class"
    if not (shutil.which("java") and program.exists()):
        pytest.skip("no Java, or its program is not built: make setup")
    path = f"{harness.ROOT}/.tools/java:{harness.ROOT}/.tools/jdbc/*"
    url = (
        f"jdbc:sqlserver://127.0.0.1:{server.port};user={harness.USER};password={harness.PASSWORD};"
        "encrypt=true;trustServerCertificate=true"
    )
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path, "Cursors", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [
        "sensitive: 1 a 10, 2 b 20, 3 c null",
        "after updateRow: 1 changed 11",
        "in the table: 1 changed 11, 3 c null, 4 four 40",
        "deleted: true",
        "refreshed: 3 c 33",
        "conflict: 16934",
        "scroll locks: 1 locked 11",
        "forward only: 1 forward 11",
        "dynamic: 1, 3, 4, 5",
        "prepared: 4 four 41",
        "join: 4 four vier",
        "grouped: read only",
    ]
