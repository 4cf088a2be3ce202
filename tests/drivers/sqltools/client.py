"""Speaks with Microsoft's SqlToolsService, which Azure Data Studio and VS Code run: JSON-RPC over its standard streams.

The wheel `mssql-cli` ships it with its own .NET Core, SMO, DacFx and SqlClient. That .NET needs OpenSSL 1.1, which the wheel of
psycopg2-binary has, and an ICU of any version, whose number it is told. Start at `Service.request`.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

PROGRAM = "mssqlcli/mssqltoolsservice/bin/MicrosoftSqlToolsServiceLayer"


def icu_version() -> str | None:
    """Returns the version of this machine's ICU, as .NET Core takes it; None if there is none."""
    for path in glob.glob("/usr/lib/*/libicuuc.so.*.*"):
        if found := re.search(r"\.so\.(\d+\.\d+)$", path):
            return found[1]
    return None


# The versions as texts and as the four bytes of LOGINACK ([MS-TDS] 2.2.7.14). They have one length, so that no packet changes its own.
NEW_VERSION, NEW_NUMBER = "16.0.1000.6".encode("utf-16-le"), b"\x10\x00\x03\xe8"
OLD_VERSION, OLD_NUMBER = "15.0.2000.5".encode("utf-16-le"), b"\x0f\x00\x07\xd0"


class OlderVersion:
    """Passes connections on to a server, and shows its version as that of SQL Server 2019.

    The tools are of 2020: SMO's scripts end with "Invalid version: 16" against any SQL Server 2022. Only what is not encrypted can be
    changed, which is all but the login, if the client asks for no encryption.
    """

    def __init__(self, port: int):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if answers:
                    data = data.replace(NEW_VERSION, OLD_VERSION).replace(NEW_NUMBER, OLD_NUMBER)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()

    def stop(self) -> None:
        self.listener.close()


class Service:
    """One process of the service. Answers go to who asked, events to a list that `event` takes them from."""

    def __init__(self, home: Path, folder: Path):
        environment = dict(os.environ, CLR_ICU_VERSION_OVERRIDE=icu_version() or "", LD_LIBRARY_PATH=str(home / "openssl"))
        self.process = subprocess.Popen(
            [home / PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=folder
        )
        self.ids = itertools.count(1)
        self.answers: dict[str, dict] = {}
        self.events: list[dict] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while message := self._message():
            with self.changed:
                if "method" in message:
                    self.events.append(message)
                else:
                    self.answers[str(message.get("id"))] = message
                self.changed.notify_all()

    def _message(self) -> dict | None:
        """Reads a message: headers, an empty line, and as many bytes as `Content-Length` says."""
        length = 0
        while line := self.process.stdout.readline():
            name, _, value = line.strip().partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            if not name and length:
                return json.loads(self.process.stdout.read(length))
        return None

    def request(self, method: str, params: dict, seconds: float = 60) -> dict:
        """Sends a request and returns its result."""
        number = str(next(self.ids))
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()
        with self.changed:
            assert self.changed.wait_for(lambda: number in self.answers, seconds), f"no answer to {method} in {seconds} s"
            answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def event(self, method: str, wanted=lambda params: True, seconds: float = 60) -> dict:
        """Waits for an event of a method that `wanted` accepts, and takes it."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                for place, event in enumerate(self.events):
                    if event["method"].lower() == method.lower() and wanted(event["params"]):
                        return self.events.pop(place)["params"]
                left = deadline - time.monotonic()
                assert left > 0, f"no event {method} in {seconds} s"
                self.changed.wait(left)

    def task(self, method: str, params: dict, seconds: float = 100) -> None:
        """Runs a task of DacFx to its end; fails with its messages unless it succeeds."""
        self.request(method, dict(params, taskExecutionMode=0))
        messages = []
        while True:
            change = self.event("tasks/statuschanged", seconds=seconds)
            messages.append(change.get("message") or "")
            if change["status"] == 2:
                return
            assert change["status"] in (0, 1), f"{method}: {messages}"

    def connect(self, uri: str, options: dict) -> dict:
        """Opens a connection under a name that later requests give."""
        self.request("connection/connect", {"ownerUri": uri, "connection": {"options": options}})
        found = self.event("connection/complete", lambda params: params["ownerUri"] == uri)
        assert not found["errorMessage"], found["errorMessage"]
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
