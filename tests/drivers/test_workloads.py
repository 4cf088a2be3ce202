"""The two workloads that the server is for, by eight clients at once, against a model (see go/workload)."""

import json
import subprocess

import harness
import pytest

SECONDS = 10
CLIENTS = 8
PROGRAM = harness.ROOT / ".tools/go/workload"


@pytest.mark.parametrize("workload", ["session", "session-retry", "cache"])
def test_no_client_sees_what_the_model_forbids(tmp_path, workload):
    if not PROGRAM.exists():
        pytest.skip("Go is not on this machine: .tools/go/workload is missing")
    server = harness.Server(tmp_path)
    try:
        work = {
            "workload": workload,
            "host": "127.0.0.1",
            "port": server.port,
            "user": harness.USER,
            "password": harness.PASSWORD,
            "folder": str(harness.ROOT / "tests/workloads"),
            "seconds": SECONDS,
            "clients": CLIENTS,
        }
        done = subprocess.run([PROGRAM], input=json.dumps(work), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        report = json.loads(done.stdout)
        assert report["ok"], "\n".join(report["findings"])
        operations = sum(n for name, n in report["counts"].items() if name[0].isupper() or workload == "cache")
        assert operations > 1000, f"only {operations} operations: {report['counts']}"
    finally:
        status = server.stop()
    assert status == 0, f"the server ended with {status} on SIGTERM"
