#!/usr/bin/env bash
# Prints how long it takes from touching one file of a crate to a running binary, for each crate of the engine: what an edit costs.
# Run by `make touch-times` on a release build that is up to date; CRATES names others.
set -euo pipefail
cd "$(dirname "$0")/.."
CRATES=${CRATES:-"sos types tsql storage catalog files plan functions optimizer binder session metadata executor compile vectorized ddl explain views interpreter procedures engine server"}
cargo build --release --locked --quiet
printf '%-12s %8s\n' crate seconds
for crate in $CRATES; do
  touch "crates/$crate/src/lib.rs"
  start=$(date +%s%N)
  cargo build --release --locked --quiet
  target/release/clearway --version > /dev/null
  end=$(date +%s%N)
  printf '%-12s %8.1f\n' "$crate" "$(awk "BEGIN { print ($end - $start) / 1e9 }")"
done
