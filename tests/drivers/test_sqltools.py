"""Microsoft's own tools: SMO's object explorer and scripts, DacFx's packages, by the service that Azure Data Studio runs.

`make sqltools` installs what they need into .tools/sqltools and runs this file; without that it is skipped.
"""

from __future__ import annotations

import re

import harness
import pymssql
import pytest
from sqltools.client import PROGRAM, OlderVersion, Service, icu_version

HOME = harness.ROOT / ".tools/sqltools"
NODES_MIN = 150


def run(server, text: str) -> None:
    """Runs a script in batches, which lines with GO end."""
    with pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, port=str(server.port), autocommit=True) as connection:
        for batch in re.split(r"(?im)^\s*GO\s*$", text):
            if batch.strip():
                connection.cursor().execute(batch)


@pytest.fixture(scope="module")
def service(server, tmp_path_factory):
    if not (HOME / PROGRAM).exists() or not icu_version():
        pytest.skip("Microsoft's tools or ICU are missing: `make sqltools` installs the tools")
    run(server, (harness.HERE / "sqltools/kinds.sql").read_text(encoding="utf-8"))
    started = Service(HOME, tmp_path_factory.mktemp("sqltools"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def older(server):
    """The server as one of SQL Server 2019, which the tools know."""
    passing = OlderVersion(server.port)
    yield passing
    passing.stop()


def options(server: harness.Server | OlderVersion, database: str) -> dict:
    return {
        "server": f"127.0.0.1,{server.port}",
        "user": harness.USER,
        "password": harness.PASSWORD,
        "authenticationType": "SqlLogin",
        "database": database,
        "encrypt": False,
        "trustServerCertificate": True,
    }


def script(service, older, database: str, path) -> str:
    """Scripts a database with its rows, as mssql-scripter asks for it; returns it without the times in its comments."""
    address = f"Server=127.0.0.1,{older.port};Database={database};User Id={harness.USER};Password={harness.PASSWORD}"
    wanted = {"ScriptCompatibilityOption": "Script140Compat", "TypeOfDataToScript": "SchemaAndData", "ScriptCreateDrop": "ScriptCreate", "ScriptObjectLevelPermissions": True}
    params = {
        "FilePath": str(path),
        "ConnectionString": address + ";Encrypt=False;TrustServerCertificate=True",
        "ScriptOptions": wanted,
        "ScriptDestination": "ToSingleFile",
    }
    operation = service.request("scripting/script", params)["operationId"]
    done = service.event("scripting/scriptComplete", lambda params: params["operationId"] == operation, 100)
    assert done["success"], f"{done['errorMessage']}: {done['errorDetails']}"
    text = path.read_bytes().decode("utf-16")
    return re.sub(r"Script Date: .*? \*+/", "*/", text)


def test_scripts_of_a_database_make_it_again(service, server, older, tmp_path):
    first = script(service, older, "kinds", tmp_path / "first.sql")
    # A script makes its database too, and gives it the names of the files of the first.
    run(server, first.replace("[kinds]", "[kinds_again]"))
    again = script(service, older, "kinds_again", tmp_path / "again.sql").replace("[kinds_again]", "[kinds]")
    assert again == first


def test_object_explorer_opens_every_node(service, older):
    session = service.request("objectexplorer/createsession", {"options": options(older, "")})["sessionId"]
    root = service.event("objectexplorer/sessioncreated", lambda params: params["sessionId"] == session)["rootNode"]
    failures, labels, waiting = [], set(), [root["nodePath"]]
    opened = 0
    while waiting:
        path = waiting.pop()
        service.request("objectexplorer/expand", {"sessionId": session, "nodePath": path})
        found = service.event("objectexplorer/expandCompleted", lambda params, path=path: params["nodePath"] == path)
        opened += 1
        if found["errorMessage"]:
            failures.append(f"{path}: {found['errorMessage']}")
        for node in found["nodes"] or []:
            labels.add(node["label"])
            is_other = node["nodeType"] == "Database" and node["label"] != "kinds"
            if not node["isLeaf"] and not is_other:
                waiting.append(node["nodePath"])
    assert not failures
    assert opened > NODES_MIN
    assert {"sales.customers", "sales.big_customers", "sales.place", "pf_year", "ps_year", "kinds_user", "readers", "ncci"} <= {
        label.split(" (")[0] for label in labels if label
    }


def test_packages_of_schema_and_of_data(service, server, tmp_path):
    service.connect("packages", options(server, "kinds"))
    of_schema = {"ownerUri": "packages", "databaseName": "kinds", "packageFilePath": str(tmp_path / "kinds.dacpac")}
    service.task("dacfx/extract", dict(of_schema, applicationName="kinds", applicationVersion="1.0.0.0"))
    of_data = {"ownerUri": "packages", "databaseName": "kinds", "packageFilePath": str(tmp_path / "kinds.bacpac")}
    service.task("dacfx/export", of_data)


def test_package_makes_its_database(service, server, tmp_path):
    package = str(tmp_path / "kinds.dacpac")
    service.connect("deployment", options(server, "kinds"))
    extracted = {"ownerUri": "deployment", "databaseName": "kinds", "packageFilePath": package}
    service.task("dacfx/extract", dict(extracted, applicationName="kinds", applicationVersion="1.0.0.0"))
    deployed = {"ownerUri": "deployment", "databaseName": "kinds_deployed", "packageFilePath": package, "upgradeExisting": False}
    service.task("dacfx/deploy", deployed)
    count = "SELECT (SELECT COUNT(*) FROM {0}.sys.table_types), (SELECT COUNT(*) FROM {0}.sys.indexes WHERE type = 5)"
    with pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, port=str(server.port), autocommit=True) as connection:
        cursor = connection.cursor()
        found = []
        for database in ("kinds", "kinds_deployed"):
            cursor.execute(count.format(database))
            found.append(cursor.fetchone())
    assert found[0] == found[1]
    assert min(found[0]) > 0


def test_package_of_data_makes_its_database_with_its_rows(service, server, tmp_path):
    package = str(tmp_path / "kinds.bacpac")
    service.connect("import", options(server, "kinds"))
    named = {"ownerUri": "import", "packageFilePath": package}
    service.task("dacfx/export", dict(named, databaseName="kinds"))
    # The import disables the nonclustered indexes of a table while it copies the rows, and builds them again.
    service.task("dacfx/import", dict(named, databaseName="kinds_imported"))
    counts = (
        "SELECT t.name, SUM(p.rows) FROM {0}.sys.tables AS t JOIN {0}.sys.partitions AS p ON p.object_id = t.object_id AND p.index_id < 2"
        " GROUP BY t.name ORDER BY t.name"
    )
    with pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, port=str(server.port), autocommit=True) as connection:
        cursor = connection.cursor()
        found = []
        for database in ("kinds", "kinds_imported"):
            cursor.execute(counts.format(database))
            found.append(cursor.fetchall())
        cursor.execute("SELECT COUNT(*) FROM kinds_imported.sys.indexes WHERE is_disabled = 1")
        disabled = cursor.fetchone()[0]
    assert found[0] == found[1]
    assert sum(rows for _, rows in found[0]) > 0
    assert disabled == 0


def test_plans_in_xml_are_shown(service, server):
    """The service knows a plan by its column's name. It sends no SET of its own with query/executeString."""
    service.connect("plans", options(server, "kinds"))

    def run_text(text: str) -> list[dict]:
        service.request("query/executeString", {"ownerUri": "plans", "query": text})
        done = service.event("query/complete", lambda params: params["ownerUri"] == "plans")
        return done["batchSummaries"][0]["resultSetSummaries"]

    for before, sets in (("SET STATISTICS XML ON", 2), ("SET STATISTICS XML OFF; SET SHOWPLAN_XML ON", 1)):
        for text in before.split("; "):
            run_text(text)
        found = run_text("SELECT object_id FROM sys.objects")
        assert len(found) == sets
        assert found[-1]["specialAction"]["expectYukonXMLShowPlan"]
        plan = service.request("query/executionPlan", {"ownerUri": "plans", "batchIndex": 0, "resultSetIndex": sets - 1})
        assert plan["executionPlan"]["content"].startswith("<ShowPlanXML")
