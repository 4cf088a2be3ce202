"""Extended Events through a driver: both investigations of docs/investigate.md, each target's XML as a parser of its own
reads it, who may do what, files, and that a thousand sessions leave nothing behind."""

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import harness
import pytest

TARGET = (
    "SELECT t.target_data FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t "
    "ON t.event_session_address = s.address WHERE s.name = %s AND t.target_name = %s"
)
SPINS = (
    "CREATE EVENT SESSION spins ON SERVER "
    "ADD EVENT sqlos.spinlock_backoff (ACTION (package0.callstack) WHERE type = 61) "
    "ADD TARGET package0.histogram (SET filtering_event_name = 'sqlos.spinlock_backoff', "
    "source_type = 1, source = 'package0.callstack', slots = 64, weight = 'spin_ns') "
    "WITH (MAX_MEMORY = 32768 KB, MEMORY_PARTITION_MODE = PER_CPU)"
)
READ_SPINS = (
    "SELECT n.value('(@count)[1]', 'bigint'), n.value('(value)[1]', 'nvarchar(max)') "
    "FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s "
    "JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 'spins') AS d "
    "CROSS APPLY d.x.nodes('HistogramTarget/Slot') AS q(n) ORDER BY 1 DESC"
)
READ_PAGES = (
    "SELECT e.value('(action[@name=\"event_sequence\"]/value)[1]', 'bigint'), e.value('@name', 'nvarchar(60)'), "
    "e.value('(data[@name=\"memory_clerk_name\"]/value)[1]', 'nvarchar(60)'), "
    "e.value('(data[@name=\"page_location\"]/value)[1]', 'nvarchar(60)'), "
    "e.value('(action[@name=\"attach_activity_id\"]/value)[1]', 'nvarchar(60)') "
    "FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s "
    "JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 'page_order') AS d "
    "CROSS APPLY d.x.nodes('RingBufferTarget/event') AS q(e) ORDER BY 1"
)
ACTIVITY = re.compile(r"^([0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})-(\d+)$")
# Sessions that are created and dropped, and what the process may have grown by afterwards.
SESSIONS, GROWTH_BYTES_MAX = 1000, 16 << 20
# By how much one memory clerk, and the number of threads, may be larger afterwards: free extents, caches and workers come
# and go. A buffer of each session that stayed would be a thousand times 64 KB and more.
CLERK_GROWTH_KB_MAX, THREADS_GROWTH_MAX = 12 << 10, 4


def connect(server, user=harness.USER, password=harness.PASSWORD):
    pymssql = pytest.importorskip("pymssql")
    return pymssql.connect("127.0.0.1", user, password, "master", port=str(server.port), autocommit=True)


def rows(connection, sql, arguments=()):
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        while cursor.description is None and cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []


def run(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def target(connection, session, name):
    return ElementTree.fromstring(rows(connection, TARGET, (session, name))[0][0])


def started(connection, session, definition):
    run(connection, f"CREATE EVENT SESSION {session} ON SERVER {definition}")
    run(connection, f"ALTER EVENT SESSION {session} ON SERVER STATE = START")


def load(server, seconds, connections=32):
    """The metadata-cache load: short statements, each of which looks its metadata up."""
    command = [server.binary, "stress", "-S", f"127.0.0.1,{server.port}", "-U", harness.USER, "-P", harness.PASSWORD]
    command += ["-Q", "SELECT 1", "-n", str(connections), "--duration", f"{seconds}s"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def waits_by_stack(folder, rounds, *extra):
    """Runs the load on a server of its own until the histogram holds something, so many rounds at most.

    Returns what it holds, and the rounds run: on few CPUs it takes the holder of the lock being preempted.
    """
    server = harness.Server(folder, "--schedulers", "16", *extra)
    try:
        connection = connect(server)
        run(connection, SPINS)
        run(connection, "ALTER EVENT SESSION spins ON SERVER STATE = START")
        for done in range(1, rounds + 1):
            loaded = load(server, 3, connections=64)
            assert loaded.returncode == 0, loaded.stderr
            found = rows(connection, READ_SPINS)
            if found:
                break
        counts = rows(connection, "SELECT seen, rejected, dropped, published FROM sys.dm_xe_session_counts "
                                  "WHERE session_name = 'spins' AND event_name IS NULL")[0]
        assert counts[0] == sum(counts[1:]), counts
        connection.close()
        return found, done
    finally:
        assert server.stop() == 0


def test_the_spinlock_investigation_finds_who_waits_and_sees_it_gone(tmp_path_factory):
    exclusive, rounds = waits_by_stack(tmp_path_factory.mktemp("exclusive"), 10, "--lock-mode", "exclusive")
    assert exclusive, "waiters for the metadata lock sleep"
    assert all(count > 0 and stack for count, stack in exclusive), exclusive
    snapshot, _ = waits_by_stack(tmp_path_factory.mktemp("snapshot"), rounds)
    # A preempted thread may make another wait for a lock of the same class, for nanoseconds: once even where other
    # programs took the CPUs, and few waits were seen in the first place.
    waited = [sum(count for count, _ in found) for found in (exclusive, snapshot)]
    assert (waited[1] - 1) * 1_000 <= waited[0], f"nothing is locked: {snapshot}"


def test_the_page_investigation_goes_from_clerks_to_the_order_of_pages(server):
    looking, working = connect(server), connect(server)
    spid = rows(working, "SELECT @@SPID")[0][0]
    started(looking, "pages", f"ADD EVENT sqlos.page_allocated (WHERE sqlserver.session_id = {spid}) "
            "ADD TARGET package0.histogram (SET filtering_event_name = 'sqlos.page_allocated', source_type = 0, "
            "source = 'memory_clerk_name', weight = 'page_size')")
    started(looking, "page_order", "ADD EVENT sqlos.page_allocated (ACTION (package0.event_sequence, package0.callstack) "
            f"WHERE sqlserver.session_id = {spid}), ADD EVENT sqlos.page_freed (ACTION (package0.event_sequence) "
            f"WHERE sqlserver.session_id = {spid}) ADD TARGET package0.ring_buffer (SET max_events_limit = 10000) "
            "WITH (TRACK_CAUSALITY = ON)")
    work = ("DECLARE @x nvarchar(max) = REPLICATE(CAST(N'x' AS nvarchar(max)), 3000000); SELECT LEN(@x + @x)")
    for _ in range(3):
        assert rows(working, work)[0][0] == 6_000_000
    clerks = {slot.find("value").text: int(slot.get("count")) for slot in target(looking, "pages", "histogram")}
    assert clerks and all(name.startswith("MEMORYCLERK_") for name in clerks), clerks
    found = rows(looking, READ_PAGES)
    assert {name for _, name, *_ in found} == {"page_allocated", "page_freed"}
    sequences = [row[0] for row in found]
    assert sequences == sorted(set(sequences))
    activities = [ACTIVITY.match(row[4]) for row in found]
    assert all(activities), found[:3]
    # One activity a request, and its events numbered in order.
    by_activity = {}
    for match in activities:
        by_activity.setdefault(match[1], []).append(int(match[2]))
    assert len(by_activity) >= 3
    assert all(numbers == sorted(set(numbers)) for numbers in by_activity.values())
    # What is freed was allocated before.
    held = set()
    freed = 0
    for _, name, _, place, _ in found:
        if name == "page_allocated":
            held.add(place)
        elif place in held:
            held.remove(place)
            freed += 1
    assert freed > 0
    for name in ("pages", "page_order"):
        run(looking, f"DROP EVENT SESSION {name} ON SERVER")
    assert rows(looking, "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name <> 'system_health'")[0][0] == 0
    looking.close()
    working.close()


def test_a_wait_says_its_type_and_milliseconds(server):
    looking, working = connect(server), connect(server)
    spid = rows(working, "SELECT @@SPID")[0][0]
    started(looking, "waits", "ADD EVENT sqlos.wait_info (ACTION (sqlserver.session_id, sqlserver.sql_text, "
            f"sqlserver.client_app_name) WHERE opcode = 1 AND sqlserver.session_id = {spid} AND wait_type = 'WAITFOR') "
            "ADD TARGET package0.ring_buffer")
    run(working, "WAITFOR DELAY '00:00:00.250'")
    events = target(looking, "waits", "ring_buffer").findall("event")
    assert len(events) == 1
    data = {field.get("name"): field for field in events[0].findall("data")}
    assert data["wait_type"].find("text").text == "WAITFOR"
    assert data["opcode"].find("text").text == "End"
    assert 240 <= int(data["duration"].find("value").text) < 5000
    actions = {action.get("name"): action.find("value").text for action in events[0].findall("action")}
    assert actions["session_id"] == str(spid)
    assert "WAITFOR DELAY" in actions["sql_text"]
    run(looking, "DROP EVENT SESSION waits ON SERVER")
    looking.close()
    working.close()


def test_an_event_file_is_read_by_sql_and_by_the_tool(server, tmp_path):
    looking = connect(server)
    path = tmp_path / "calls.xel"
    started(looking, "calls", "ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.session_id) "
            f"WHERE batch_text LIKE N'%from file%') ADD TARGET package0.event_file (SET filename = N'{path}')")
    run(looking, "SELECT 'from file', N'\u00e9\"<'")
    run(looking, "ALTER EVENT SESSION calls ON SERVER STATE = STOP")
    run(looking, "DROP EVENT SESSION calls ON SERVER")
    files = list(tmp_path.glob("calls*.xel"))
    assert len(files) == 1
    pattern = str(tmp_path / "calls*.xel")
    read = rows(looking, "SELECT object_name, event_data, file_name FROM "
                         f"sys.fn_xe_file_target_read_file(N'{pattern}', NULL, NULL, NULL)")
    assert [row[0] for row in read] == ["sql_batch_completed"]
    event = ElementTree.fromstring(read[0][1])
    assert event.find("data[@name='batch_text']/value").text == "SELECT 'from file', N'\u00e9\"<'"
    assert Path(read[0][2]) == files[0]
    tool = subprocess.run([server.binary, "events", pattern], capture_output=True, text=True, timeout=30, check=False)
    assert tool.returncode == 0, tool.stderr
    lines = [json.loads(line) for line in tool.stdout.splitlines()]
    assert [line["data"]["batch_text"] for line in lines] == ["SELECT 'from file', N'\u00e9\"<'"]
    assert lines[0]["data"]["result"] == "OK"
    assert lines[0]["actions"]["session_id"] > 50
    looking.close()


def test_the_tool_names_what_it_cannot_read(server, tmp_path):
    wrong = tmp_path / "wrong.xel"
    wrong.write_bytes(b"this is no event file, whatever its name says")
    for path in (wrong, tmp_path / "missing.xel"):
        tool = subprocess.run([server.binary, "events", str(path)], capture_output=True, text=True, timeout=30, check=False)
        assert tool.returncode == 2
        assert str(path) in tool.stderr and tool.stderr.count("\n") == 1, tool.stderr


def test_permissions_are_asked_for(server):
    pymssql = pytest.importorskip("pymssql")
    owner = connect(server)
    run(owner, "CREATE LOGIN watcher WITH PASSWORD = 'Watch-1!'")
    plain = connect(server, "watcher", "Watch-1!")
    create = "CREATE EVENT SESSION theirs ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.event_counter"
    with pytest.raises(pymssql.Error, match="permission"):
        run(plain, create)
    with pytest.raises(pymssql.Error, match="permission"):
        rows(plain, "SELECT * FROM sys.dm_xe_sessions")
    run(owner, "GRANT ALTER ANY EVENT SESSION TO watcher")
    run(owner, "GRANT VIEW SERVER STATE TO watcher")
    run(plain, create)
    run(plain, "ALTER EVENT SESSION theirs ON SERVER STATE = START")
    connect(server).close()
    counted = {event.get("name"): int(event.get("count")) for event in target(plain, "theirs", "event_counter").iter("Event")}
    assert counted == {"login": 1}
    run(plain, "DROP EVENT SESSION theirs ON SERVER")
    plain.close()
    run(owner, "DROP LOGIN watcher")
    owner.close()


def refusing_mount(folder, request):
    """A file system of a megabyte; skips where none may be mounted."""
    mounted = folder / "small"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "clearway-test", str(mounted)]
    if not shutil.which("mount"):
        pytest.skip("there is no mount command")
    made = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if made.returncode != 0:
        pytest.skip(f"no file system may be mounted: {made.stderr.strip()}")
    request.addfinalizer(lambda: subprocess.run(["umount", "-l", str(mounted)], timeout=30, check=False))
    return mounted


def full(server, folder, request, how):
    """A folder whose files cannot grow past a megabyte, and what the system says then."""
    if how == "disk":
        return refusing_mount(folder, request), errno.ENOSPC
    hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, hard))
    return folder, errno.EFBIG


@pytest.mark.parametrize("how", ["disk", "limit"])
def test_a_full_disk_stops_that_target_alone_and_its_view_says_so(tmp_path_factory, request, how):
    folder = tmp_path_factory.mktemp(how)
    server = harness.Server(folder)
    # After the mount's own finalizer has been registered: the server lets go of the file first.
    where, number = full(server, folder, request, how)
    request.addfinalizer(server.process.kill)
    connection = connect(server)
    started(connection, "writes", "ADD EVENT sqlserver.sql_batch_completed (WHERE batch_text LIKE N'%fill%') "
            f"ADD TARGET package0.event_file (SET filename = N'{where / 'full.xel'}'), "
            "ADD TARGET package0.event_counter, ADD TARGET package0.ring_buffer (SET max_events_limit = 10) "
            "WITH (MAX_MEMORY = 8 MB, EVENT_RETENTION_MODE = NO_EVENT_LOSS)")
    text = "x" * 20_000
    for number_of_batch in range(60):
        assert rows(connection, f"SELECT {number_of_batch} /* fill {text} */") == [(number_of_batch,)]
    state = target(connection, "writes", "event_file")
    said = state.find("Error").text
    assert str(where) in said and f"os error {number}" in said, said
    logged, dropped = (int(state.find("Buffers").get(name)) for name in ("logged", "dropped"))
    assert logged + dropped == 60 and dropped > 0, (logged, dropped)
    # The others have all of them, and the server answers.
    counted = target(connection, "writes", "event_counter").find(".//Event")
    assert int(counted.get("count")) == 60
    assert int(target(connection, "writes", "ring_buffer").get("totalEventsProcessed")) == 60
    assert rows(connection, "SELECT published, dropped FROM sys.dm_xe_session_counts "
                            "WHERE session_name = 'writes' AND event_name IS NULL")[0] == (60, 0)
    # What was written before is good.
    pattern = str(where / "full*.xel")
    read = rows(connection, f"SELECT COUNT(*) FROM sys.fn_xe_file_target_read_file(N'{pattern}', NULL, NULL, NULL)")
    assert read[0][0] == logged
    run(connection, "DROP EVENT SESSION writes ON SERVER")
    connection.close()
    assert server.stop() == 0


def test_a_file_that_cannot_be_made_is_refused_with_its_name(server):
    pymssql = pytest.importorskip("pymssql")
    connection = connect(server)
    run(connection, "CREATE EVENT SESSION nowhere ON SERVER ADD EVENT sqlserver.login "
                    "ADD TARGET package0.event_file (SET filename = N'/no/such/folder/x.xel')")
    with pytest.raises(pymssql.Error, match="/no/such/folder/x") as refused:
        run(connection, "ALTER EVENT SESSION nowhere ON SERVER STATE = START")
    assert refused.value.args[0] == 25602
    assert rows(connection, "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = 'nowhere'")[0][0] == 0
    run(connection, "DROP EVENT SESSION nowhere ON SERVER")
    connection.close()


def target_of(link):
    """Where a descriptor's link points; nothing if the server has closed it since it was listed."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def holdings(server, connection):
    """What the server has: resident bytes, threads, open files, and bytes by memory clerk."""
    process = Path(f"/proc/{server.process.pid}")
    resident = int((process / "statm").read_text(encoding="ascii").split()[1]) * 4096
    threads = len(list((process / "task").iterdir()))
    files = sum(".xel" in target_of(link) for link in (process / "fd").iterdir())
    clerks = rows(connection, "SELECT type, SUM(pages_kb) FROM sys.dm_os_memory_clerks GROUP BY type")
    return resident, threads, files, {name: int(kb) for name, kb in clerks}


def churn(connection, folder, count):
    """Creates, starts, stops and drops so many sessions, each with a file."""
    for number in range(count):
        name = f"churn{number % 7}"
        started(connection, name, "ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.sql_text, sqlserver.session_id)), "
                "ADD EVENT sqlos.wait_info, ADD EVENT sqlos.page_allocated "
                "ADD TARGET package0.ring_buffer, ADD TARGET package0.histogram (SET source = 'sqlserver.session_id'), "
                f"ADD TARGET package0.event_file (SET filename = N'{folder / name}.xel') "
                "WITH (MAX_MEMORY = 1 MB)")
        run(connection, f"ALTER EVENT SESSION {name} ON SERVER STATE = STOP")
        run(connection, f"DROP EVENT SESSION {name} ON SERVER")


def test_a_thousand_sessions_leave_nothing_behind(tmp_path_factory):
    folder = tmp_path_factory.mktemp("churn")
    server = harness.Server(folder)
    stop = threading.Event()

    def work():
        connection = connect(server)
        while not stop.is_set():
            rows(connection, "SELECT COUNT(*) FROM GENERATE_SERIES(1, 100)")
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(3)]
    try:
        connection = connect(server)
        for worker in workers:
            worker.start()
        churn(connection, folder, SESSIONS // 5)
        time.sleep(1)
        resident, threads, files, clerks = holdings(server, connection)
        churn(connection, folder, SESSIONS)
        time.sleep(1)
        after = holdings(server, connection)
        assert rows(connection, "SELECT COUNT(*) FROM sys.dm_xe_sessions")[0][0] == 1
        assert rows(connection, "SELECT COUNT(*) FROM sys.server_event_sessions")[0][0] == 1
        assert after[0] - resident < GROWTH_BYTES_MAX, f"{after[0] - resident} bytes after {SESSIONS} sessions"
        # Schedulers hire and dismiss workers as they need them.
        assert after[1] <= threads + THREADS_GROWTH_MAX, (threads, after[1])
        assert (files, after[2]) == (0, 0)
        grown = {name: kb - clerks.get(name, 0) for name, kb in after[3].items()}
        assert all(kb <= CLERK_GROWTH_KB_MAX for kb in grown.values()), grown
        # A start makes a file, and nothing takes it away: as many as there were starts.
        assert len(list(folder.glob("churn*.xel"))) == SESSIONS // 5 + SESSIONS
        connection.close()
    finally:
        stop.set()
        for worker in workers:
            worker.join()
        status = server.stop()
    assert status == 0
