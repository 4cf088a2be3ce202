#!/usr/bin/env bash
# Tries the image: packaging/container/check.sh COMMAND IMAGE, where COMMAND is docker, podman, or a script with their verbs.
#
# Containers have no network; everything is asked inside them. The last line says `ok`, or the first failure ends the run. What needs
# cgroup limits is skipped by name where the runtime can't set them.
set -euo pipefail
COMMAND=$1 IMAGE=$2
NAME=clearway-check-$$
PASSWORD='Secret-Word1'
trap '$COMMAND rm -f "$NAME" >/dev/null 2>&1; $COMMAND volume rm "$NAME" >/dev/null 2>&1 || true' EXIT

fail() {
    echo "check: $1" >&2
    $COMMAND logs "$NAME" 2>&1 | tail -20 >&2
    exit 1
}

# start [OPTION...]: a new container, ready when the log has the line that Testcontainers for Node and Go wait for.
start() {
    $COMMAND rm -f "$NAME" >/dev/null 2>&1 || true
    $COMMAND run -d --name "$NAME" --network none "$@" >/dev/null
    for _ in $(seq 100); do
        if $COMMAND logs "$NAME" 2>&1 | grep -q "Recovery is complete"; then return; fi
        sleep 0.2
    done
    fail "the log does not have the line"
}

# ask QUERY: the value that sqlcmd prints for it.
ask() {
    $COMMAND exec "$NAME" /opt/mssql-tools18/bin/sqlcmd -S localhost -U sa -P "$PASSWORD" -C -b -h -1 -W -Q "SET NOCOUNT ON; $1"
}

# expect WHAT EXPECTED GOT
expect() {
    [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
    echo "$1: $3"
}

start -e ACCEPT_EULA=Y -e MSSQL_SA_PASSWORD="$PASSWORD" -e MSSQL_PID=Developer -v "$NAME:/var/opt/mssql" "$IMAGE"
expect "user" 10001 "$($COMMAND exec "$NAME" id -u)"
expect "process 1" clearway "$($COMMAND exec "$NAME" cat /proc/1/comm)"
expect "variables without effect" 1 "$($COMMAND logs "$NAME" 2>&1 | grep -c "MSSQL_.* has no effect")"
if $COMMAND logs "$NAME" 2>&1 | grep -q "$PASSWORD"; then fail "the password is in the log"; fi
expect "sqlcmd" 42 "$(ask "SELECT 42")"
# As Testcontainers for .NET, for Python, and shells call it.
expect "sqlcmd is a file" 1 "$($COMMAND exec "$NAME" sh -c 'find /opt/mssql-tools*/bin/sqlcmd -type f -print -quit | wc -l')"
$COMMAND exec -e SQLCMDUSER=sa -e SQLCMDPASSWORD="$PASSWORD" -e SQLCMDDBNAME=master "$NAME" /opt/mssql-tools/bin/sqlcmd -Q "SELECT 1;" >/dev/null
$COMMAND exec "$NAME" bash -c "/opt/mssql-tools*/bin/sqlcmd -U SA -P '$PASSWORD' -Q 'SELECT 1' -C" >/dev/null
$COMMAND exec -e PATH=/opt/mssql-tools18/bin:/opt/mssql-tools/bin:/bin "$NAME" sqlcmd -S localhost -U sa -P "$PASSWORD" -No -Q "SELECT 1" >/dev/null
$COMMAND exec "$NAME" /opt/mssql/bin/health
ask "CREATE DATABASE kept; EXEC('CREATE TABLE kept.dbo.t (id int PRIMARY KEY)'); INSERT kept.dbo.t VALUES (7)" >/dev/null
$COMMAND stop -t 60 "$NAME" >/dev/null
expect "exit code after a stop" 0 "$($COMMAND inspect -f '{{.State.ExitCode}}' "$NAME")"
expect "lines of an orderly stop" 1 "$($COMMAND logs "$NAME" 2>&1 | grep -c "The server stops on SIGTERM")"
start -e SA_PASSWORD="$PASSWORD" -v "$NAME:/var/opt/mssql" "$IMAGE"
expect "the volume's row" 7 "$(ask "SELECT id FROM kept.dbo.t")"
ask "ALTER LOGIN sa WITH PASSWORD = 'Another-Word1'" >/dev/null
$COMMAND exec "$NAME" /opt/mssql/bin/health || fail "a password that was changed is no illness"
$COMMAND kill -s STOP "$NAME" >/dev/null
if $COMMAND exec "$NAME" /opt/mssql/bin/health >/dev/null; then fail "a server that stands still is healthy"; fi
$COMMAND kill -s CONT "$NAME" >/dev/null

start -e SA_PASSWORD="$PASSWORD" -e MSSQL_DATA_DIR= "$IMAGE" /opt/mssql/bin/sqlservr --max-connections 100
expect "memory only" 1 "$($COMMAND logs "$NAME" 2>&1 | grep -c "^Data lives in memory only")"

if start -e SA_PASSWORD="$PASSWORD" --memory 512m --cpus 0.9 "$IMAGE" 2>/dev/null; then
    expect "schedulers of 0.9 CPUs" 1 "$(ask "SELECT COUNT(*) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE'")"
    expect "MB of 512" 384 "$(ask "SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'max server memory (MB)'")"
else
    echo "skipped: limits of memory and CPUs"
fi
echo ok
