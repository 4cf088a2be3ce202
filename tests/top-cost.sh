#!/bin/sh
# What clearway top costs a server at a refresh of one second, for each of its screens: CPU time of its own session, as
# the server counts it, while a load of 8 connections runs. Fails if a screen costs more than 1 % of a core.
set -eu

BINARY=${1:-target/release/clearway}
SECONDS_EACH=${2:-20}
PASSWORD=Secret-Word1
LOG=$(mktemp)

"$BINARY" serve --port 0 --sa-password "$PASSWORD" > "$LOG" &
SERVER=$!
LOAD=
trap 'kill $SERVER $LOAD 2> /dev/null || true; rm -f "$LOG"' EXIT
until grep -q 'is ready' "$LOG"; do sleep 0.1; done
PORT=$(sed -n 's/^Clearway is ready: .*://p' "$LOG")

"$BINARY" sql -S "127.0.0.1,$PORT" -P "$PASSWORD" -b -Q "CREATE TABLE dbo.stock (id int PRIMARY KEY, n int);
    INSERT dbo.stock SELECT value, 0 FROM GENERATE_SERIES(1, 1000)" > /dev/null
"$BINARY" stress -S "127.0.0.1,$PORT" -P "$PASSWORD" -n 8 -r 1000000000 -q \
    -Q "UPDATE dbo.stock SET n = n + 1 WHERE id = 7; WAITFOR DELAY '00:00:00.005'" > /dev/null 2>&1 &
LOAD=$!

FAILED=0
for SCREEN in time requests statements locks; do
    "$BINARY" top -S "127.0.0.1,$PORT" -P "$PASSWORD" --screen $SCREEN --batch "$SECONDS_EACH" |
        awk -v screen=$SCREEN '/^cost on the server/ {
            percent = $5 / 10 / $10
            printf "%-10s %5d ms in %5.1f s: %.2f %% of a core\n", screen, $5, $10, percent
            exit percent > 1
        }' || FAILED=1
done
exit $FAILED
