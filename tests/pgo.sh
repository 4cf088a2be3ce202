#!/usr/bin/env bash
# Builds the server with what a load has shown (profile-guided optimization): target/pgo/clearway.
#
#   1. A build that counts how often each branch is taken.
#   2. A load on it: the workloads of `clearway stress` in memory and with a data folder, TPC-H and ClickBench on few
#      rows, SQL made at random. What none of them runs is compiled to be small, so that the load has to be broad.
#   3. The build that uses the counts.
#
# Needs `make setup`, and llvm-profdata of the compiler in use (rustup component add llvm-tools). Some 15 minutes on
# two CPUs.
set -euo pipefail
cd "$(dirname "$0")/.."

HOST=$(rustc -vV | sed -n 's/^host: //p')
MERGE=$(rustc --print sysroot)/lib/rustlib/$HOST/bin/llvm-profdata
COUNTS=$PWD/target/pgo/counts
PASSWORD=Secret-Word1
PYTHON=.venv/bin/python
[ -x "$MERGE" ] || { echo "pgo: $MERGE is missing: rustup component add llvm-tools" >&2; exit 1; }
[ -x "$PYTHON" ] || { echo "pgo: $PYTHON is missing: make setup" >&2; exit 1; }

# With --target, flags are not those of build scripts and macros, which would write counts of their own. Frame pointers
# as in .cargo/config.toml, whose flags these replace: without them the sampler has no stacks.
build() {
    RUSTFLAGS="-Cforce-frame-pointers=yes $1" cargo build --release --locked -p clearway --target "$HOST" --target-dir "$2"
}

rm -rf "$COUNTS"
mkdir -p "$COUNTS"
build "-Cprofile-generate=$COUNTS" target/pgo/counting
cargo build --release --locked -p clearway -p bench
COUNTING=$PWD/target/pgo/counting/$HOST/release/clearway
TOOL=target/release/clearway
export LLVM_PROFILE_FILE=$COUNTS/%p.profraw SQLCMDPASSWORD=$PASSWORD

# on_server WORKLOADS [OPTION...]: starts a server, and runs each workload for some seconds.
on_server() {
    local workloads=$1 log port server workload
    shift
    log=$(mktemp)
    "$COUNTING" serve --port 0 --sa-password "$PASSWORD" --schedulers 1 "$@" > "$log" &
    server=$!
    until grep -q 'is ready' "$log"; do
        kill -0 $server || { cat "$log" >&2; exit 1; }
        sleep 0.1
    done
    port=$(sed -n 's/^Clearway is ready: .*://p' "$log")
    for workload in $workloads; do
        echo "pgo: $workload $*"
        "$TOOL" stress -S "127.0.0.1,$port" --workload "$workload" --setup -n 32 --duration 8 -q > /dev/null
    done
    kill -TERM $server
    wait $server
    rm -f "$log"
}

on_server "session-state cache counter queue tpcc"
DATA=$(mktemp -d)
trap 'rm -rf "$DATA"' EXIT
on_server "session-state counter tpcc" --data "$DATA/data"
for STORE in "" --columnstore; do
    # shellcheck disable=SC2086  # no option, or one
    target/release/bench tpch --server "$COUNTING" --scale 0.02 --data target/pgo/tpch --runs 1 $STORE > /dev/null
done
target/release/bench clickbench --server "$COUNTING" --rows 100000 --data target/pgo/clickbench --runs 1 > /dev/null
"$PYTHON" tests/slt --count 40 --server "$COUNTING"
"$PYTHON" tests/differential --count 200 --seed 5 --server "$COUNTING"
unset LLVM_PROFILE_FILE

"$MERGE" merge -o target/pgo/clearway.profdata "$COUNTS"/*.profraw
rm -rf target/pgo/counting "$COUNTS"
build "-Cprofile-use=$PWD/target/pgo/clearway.profdata" target/pgo/built
cp --remove-destination "target/pgo/built/$HOST/release/clearway" target/pgo/clearway
echo "pgo: target/pgo/clearway"
