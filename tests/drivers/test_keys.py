"""Keys of tables through .NET's SqlClient: SET NO_BROWSETABLE ON, on which its command builders rest."""

import shutil
import subprocess
from pathlib import Path

import harness
import pytest


def test_sqlclient_builds_its_statements_from_keys(server, tmp_path):
    if not (shutil.which("mcs") and shutil.which("mono")):
        pytest.skip("Mono is not on this machine")
    program = tmp_path / "keys.exe"
    source = Path(__file__).parent / "keys/Keys.cs"
    subprocess.run(["mcs", "-nologo", "-r:System.Data.dll", f"-out:{program}", str(source)], check=True)
    text = f"Server=127.0.0.1,{server.port};User ID={harness.USER};Password={harness.PASSWORD};Encrypt=false"
    run = subprocess.run(["mono", str(program), text, "keys_of_rows"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.splitlines() == [
        "called keys_of_rows name False False",
        "n keys_of_rows n False False",
        "id keys_of_rows id True True",
        "changed 3",
        "1 ein 10",
        "3 drei 30",
        "    ",
    ]
