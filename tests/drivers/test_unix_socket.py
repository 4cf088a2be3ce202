"""A foreign driver over the server's UNIX socket: tedious with a connector of its own."""

import json
import shutil
import subprocess

import harness
import pytest

PROGRAM = """
const net = require('net');
const { Connection, Request } = require('tedious');
const [path, password] = process.argv.slice(1);
const connection = new Connection({
  server: 'localhost',
  authentication: { type: 'default', options: { userName: 'sa', password } },
  options: {
    encrypt: false, trustServerCertificate: true, rowCollectionOnRequestCompletion: true,
    connector: () => new Promise((done, failed) => {
      const socket = net.connect(path, () => done(socket));
      socket.on('error', failed);
    }),
  },
});
connection.connect((error) => {
  if (error) throw error;
  const sql = "select net_transport, client_net_address, replicate(cast('x' as varchar(max)), 100000) "
    + "from sys.dm_exec_connections where session_id = @@spid";
  connection.execSql(new Request(sql, (failed, count, rows) => {
    if (failed) throw failed;
    const row = rows[0].map((column) => column.value);
    console.log(JSON.stringify([row[0], row[1], row[2].length]));
    connection.close();
  }));
});
"""


def test_tedious_reaches_the_server_by_its_socket(tmp_path):
    folder = harness.HERE / "node"
    if not shutil.which("node") or not (folder / "node_modules/tedious").exists():
        pytest.skip("tedious is not on this machine")
    path = tmp_path / "sql.sock"
    server = harness.Server(tmp_path, "--socket", str(path))
    try:
        done = subprocess.run(
            ["node", "-e", PROGRAM, str(path), harness.PASSWORD],
            cwd=folder, capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert json.loads(done.stdout) == ["Unix socket", "<local machine>", 100000]
    finally:
        status = server.stop()
    assert status == 0
    assert not path.exists()
