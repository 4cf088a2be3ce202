"""Application locks between two connections of a foreign client: one waits, the other lets go."""

import threading
import time

import harness
import pytest

SECONDS_MAX = 20

# As Entity Framework Core asks before a migration.
GET = (
    "DECLARE @result int; EXEC @result = sp_getapplock @Resource = '__EFMigrationsLock', "
    "@LockOwner = 'Session', @LockMode = 'Exclusive'; SELECT @result"
)
WAITING = "SELECT blocking_session_id, wait_type FROM sys.dm_os_waiting_tasks WHERE session_id = %d"


def connect(server):
    pymssql = pytest.importorskip("pymssql")
    return pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, "master", port=str(server.port), autocommit=True)


def value(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


class Waiter(threading.Thread):
    """A connection that asks for the lock on a thread of its own."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.connection = connect(server)
        self.session = value(self.connection, "SELECT @@SPID")
        self.result = None

    def run(self):
        self.result = value(self.connection, GET)


def start_waiter(server, holder):
    """Starts a waiter and returns it once the views show whom it waits for."""
    waiter = Waiter(server)
    waiter.start()
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        with holder.cursor() as cursor:
            cursor.execute(WAITING, (waiter.session,))
            row = cursor.fetchone()
        if row is not None:
            assert row == (value(holder, "SELECT @@SPID"), "LCK_M_X")
            return waiter
        time.sleep(0.01)
    raise AssertionError("nobody waits")


def ends_with_one(waiter):
    waiter.join(SECONDS_MAX)
    assert waiter.result == 1, "the lock is granted after a wait"
    waiter.connection.close()


def test_a_lock_goes_to_who_waits_for_it(server):
    holder = connect(server)
    assert value(holder, GET) == 0
    waiter = start_waiter(server, holder)
    with holder.cursor() as cursor:
        cursor.execute("EXEC sp_releaseapplock @Resource = '__EFMigrationsLock', @LockOwner = 'Session'")
    ends_with_one(waiter)
    holder.close()


def test_a_closed_connection_gives_its_lock_back(server):
    holder = connect(server)
    assert value(holder, GET) == 0
    waiter = start_waiter(server, holder)
    holder.close()
    ends_with_one(waiter)
