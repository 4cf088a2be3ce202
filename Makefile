# make          builds the server
# make test     installs what the tests need and runs them all; the last line is the runner's own
# make test-quick  what a newcomer runs first: no root, no packages; tidy, the lower crates and the engine's scripts
# make setup    only installs: see tests/setup.sh
# make bench    measures the promised numbers and writes docs/benchmarks.md and target/bench.json
# make bench-books  compares the ledger with the kernel's books, on the same page; fails past a tolerance
# make bench-ledger compares a server with the ledger to one without it, on the same page
# make bench-events  what event sessions and the sampler cost requests, on the same page
# make bench-durable  make race-durable, then what a data folder costs, recovery and checkpoints, on the same page
# make crash    10,000 seeds of power losses and faults for the log, 200 for the whole engine with clients
# make planted  twelve planted bugs of the durable path, each of which a crash test must find within 50 seeds
# make kill     1,000 kills of a server while clients write, each with a check of what they were told
# make bench-tpch  the 22 queries of TPC-H beside DuckDB, on the same page and in target/tpch.json
# make bench-clickbench  the 43 queries of ClickBench beside DuckDB, on the same page and in target/clickbench.json
# make bench-aggregate  a GROUP BY in one session and in two at once, on the same page
# make bench-hashbytes  MAX(HASHBYTES(..)) beside a bare loop, DuckDB, and two at once, on the same page
# make bench-columnstore  loads into a columnstore beside DuckDB's, and two at once, on the same page
# make race-setup  installs peers to race against: from Debian's packages, as root, and DuckDB into .venv
# make race     Clearway beside those peers, on the same page and in target/race.json
# make race-durable  Clearway beside those peers, all with durable writes, on the same page and in target/race-durable.json
# make race-tpcc  TPC-C's transactions beside PostgreSQL and MariaDB, in memory and durable, on the same page and in
#                 target/race-tpcc.json and target/race-tpcc-durable.json
# make stalls   whether a function, conversion or operation on 50 MB or a million rows keeps a scheduler, or takes more memory
#               than the limit; prints a table, fails past the bounds; ONLY=TEXT chooses by name; minutes
# make soak     five minutes of loads into columnstores, cancels and drops, then ten; memory must end as these began
# make slt      sqllogictest: own files over the wire, and the public corpus's grammar against SQLite
# make grammar  our parser beside Microsoft's own, on all batches of this repository and on mutants of them: docs/decisions/0449
# make differential  10,000 statements made at random, against DuckDB, and 100,000 checks of Clearway against itself
#                    (NoREC, TLP); SEED=N repeats a run
# make drivers  only the tests through real drivers
# make sqltools  installs Microsoft's SqlToolsService (SMO, DacFx) and runs tests/drivers/test_sqltools.py: 2 minutes
# make pgo      builds target/pgo/clearway, a server that is compiled by what a load has shown: 15 minutes
# make package  target/package: an archive and a Debian package of target/release/clearway, or of BINARY=FILE (docs/install.md)
# make touch-times  seconds from touching a file to a running binary, for each crate
# make support  writes docs/support.md from the engine's test scripts
# make options  writes docs/options.md from the tables of the engine's tests
# make permissions  writes docs/permissions.md from the engine's registry and its cases
# make top-screens  draws the golden screens of clearway top again: crates/top/tests/golden
# make top-cost  what clearway top costs a server at a refresh of 1 s, for each screen; fails past 1 % of a core
# make console-cost  what the console in the browser costs a server at a refresh of 1 s; fails past 1 % of a core
# make faults   makes faults beside healthy loads, asks clearway diagnose, and writes the table of docs/diagnose.md
# make lint     format and lints
# make tidy     only tests/tidy: structure, plain English, licences; compiles nothing else
# make english  lowers the counts of tests/tidy/english.txt to the present ones; they may not grow
# make cycles   prints the import cycles, and lowers the counts of tests/tidy/cycles.txt
# make deny     licences, bans, sources and advisories of all dependencies, by cargo-deny, which it installs
# make doc      the documentation, with warnings as errors
# make histories  a minute of transactions at random at each isolation level, searched for anomalies
# make clocks   the engine's tests and the server's under a wall clock that runs 60 and 3,600 times as fast: docs/decisions/0460
# make whole    the engine's tests of everything that can be tried, of which `make test` takes samples: some minutes
# make models   every interleaving of the locks and hand-overs (loom, shuttle): minutes
# make census   counts writes to shared cache lines per request; target/census.json
# make fuzz     each fuzz target for a minute; needs cargo-fuzz and a nightly toolchain

# Two workers: see tests/drivers/conftest.py.
PYTEST = .venv/bin/python -m pytest -q -p no:cacheprovider -n 2 --dist loadgroup
FUZZ_TARGETS = packets login rpc parser log_bytes
FUZZ_SECONDS = 60

# Every load and store is instrumented, by a pass that the compiler has but does not promise to keep.
CENSUS_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
CENSUS_ENV = RUSTC_BOOTSTRAP=1 RUSTC_WRAPPER=$(CURDIR)/tests/census-rustc.sh \
	RUSTFLAGS="--cfg census -Cforce-frame-pointers=yes" \
	CFLAGS="-fsanitize=thread -fno-omit-frame-pointer --param=tsan-instrument-func-entry-exit=0"

.PHONY: build setup test test-quick drivers bench bench-books bench-ledger bench-events bench-durable bench-tpch bench-clickbench bench-aggregate bench-hashbytes bench-columnstore bench-smoke race race-durable race-tpcc race-setup soak crash planted kill slt grammar differential lint tidy english cycles deny doc models whole histories census fuzz support growth options permissions touch-times top-screens top-cost console-cost faults doubling pgo stalls sqltools package clocks
build:
	cargo build --release --locked

setup:
	tests/setup.sh

test: setup build bench-smoke
	cargo test --workspace --exclude sos --locked --no-fail-fast --lib --bins --tests
	# Examples in comments: tests/tidy knows which crates have any.
	cargo test --doc -p simdisk --locked
	# Its books are held against the kernel's: no other test may take its CPUs.
	cargo test -p sos --locked --lib --tests -- --test-threads=1
	.venv/bin/python tests/grammar --corners
	.venv/bin/python tests/slt --count 100
	.venv/bin/python tests/differential --count 300 --seed 7
	.venv/bin/python tests/differential/oracles.py --count 2000 --seed 11
	.venv/bin/python tests/differential/oracles.py --self-test --seed 1
	$(PYTEST) tests/drivers

# Without the crates whose few unit tests cost a second build of the crate: `make test` runs those.
test-quick: tidy
	cargo test --locked --lib --tests -p types -p tsql -p tds -p storage -p plan -p session
	cargo test --locked -p engine --test it -- script

slt: setup build
	.venv/bin/python tests/slt

# With MUTANTS=N of each batch (4) and SEED=S (1): other numbers may find differences without a name, which is what they are for.
grammar: setup build
	.venv/bin/python tests/grammar $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(SEED),--seed $(SEED))

differential: setup build
	.venv/bin/python tests/differential --count 10000 $(if $(SEED),--seed $(SEED))
	.venv/bin/python tests/differential/oracles.py --count 100000 $(if $(SEED),--seed $(SEED))

drivers: setup build
	$(PYTEST) tests/drivers

sqltools: setup build
	tests/drivers/sqltools/setup.sh
	$(PYTEST) tests/drivers/test_sqltools.py

faults:
	cargo build --release --locked -p clearway -p diagnose
	target/release/faults --runs $(if $(RUNS),$(RUNS),3) --healthy 18 --page docs/diagnose.md

lint:
	cargo fmt --all --check
	# With what only `make census` compiles, which adds code and leaves none out.
	RUSTFLAGS="--cfg census" cargo clippy --workspace --all-targets --locked -- -D warnings

# As `cargo test --test tidy`, which first builds the server.
TIDY = CARGO=cargo CARGO_MANIFEST_DIR=$(CURDIR) rustc --test --edition 2024 -o target/tidy tests/tidy/main.rs

tidy:
	mkdir -p target
	$(TIDY)
	target/tidy

english:
	mkdir -p target
	$(TIDY)
	CLEARWAY_WRITE_ENGLISH=1 target/tidy english

cycles:
	mkdir -p target
	$(TIDY)
	CLEARWAY_WRITE_CYCLES=1 target/tidy --nocapture cycles_are_small

deny:
	cargo deny --version || cargo install --locked cargo-deny
	cargo deny check

doc:
	# The flags of `make lint`, so that what both check is checked once.
	RUSTFLAGS="--cfg census" RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

models:
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom --target-dir target/loom
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_work_item --target-dir target/loom
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_memory --target-dir target/loom
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_events --target-dir target/loom
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_stack --target-dir target/loom
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_sampler --target-dir target/loom
	RUSTFLAGS="--cfg shuttle" cargo test -p sos --release --test shuttle --target-dir target/shuttle
	RUSTFLAGS="--cfg shuttle" cargo test -p storage --release --lib models --target-dir target/shuttle
	RUSTFLAGS="--cfg loom" cargo test -p clearway-log --release --lib models --target-dir target/loom
	CLEARWAY_BATCHES=3000000 cargo test -p vectorized --locked --lib neither_side_waits_for_good

stalls:
	cargo build --release --locked -p clearway
	CLEARWAY_BINARY=$(CURDIR)/target/release/clearway CLEARWAY_STALLS="$(ONLY)" \
		cargo test --locked --test it stalls -- --include-ignored --nocapture --test-threads=1

whole:
	CLEARWAY_WHOLE=1 cargo test -p engine --locked --lib -- differential
	CLEARWAY_WHOLE=1 cargo test -p engine --locked --test it -- prefixes optimized_plans_give \
		what_scripts_make scripts_go_on

histories:
	HISTORY_SECONDS=60 cargo test -p engine --locked --test it -- --nocapture histories

# What fails with reason is on the page docs/decisions/0460. By a runner, since cargo itself needs the true clock.
OTHER_CLOCK = env LD_PRELOAD=$(CURDIR)/target/other_clock.so
UNDER = CARGO_TARGET_$(shell rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER

clocks:
	mkdir -p target
	cc -shared -fPIC -O2 -Wall -Wextra -o target/other_clock.so tests/clocks/other_clock.c
	$(UNDER)="$(OTHER_CLOCK) CLOCK_RATE=60" cargo test -p engine --locked --no-fail-fast --test it -- \
		--skip script:: --skip scripts --skip described_results
	# From an hour before a leap day; an hour is a second.
	$(UNDER)="$(OTHER_CLOCK) CLOCK_RATE=3600 CLOCK_START_MS=1835391600000" cargo test -p engine --locked --no-fail-fast --test it -- \
		--skip script:: --skip scripts --skip described_results --skip dba_tools::backups
	# A test and the servers that it starts have the same clock.
	$(UNDER)="$(OTHER_CLOCK) CLOCK_BASE_MS=$(shell date +%s000) CLOCK_RATE=60" cargo test -p clearway --locked --no-fail-fast --test it

census:
	$(CENSUS_ENV) cargo test --locked --profile census --target $(CENSUS_HOST) \
		--target-dir target/census --test shared_writes -- --nocapture

growth:
	CLEARWAY_GROWTH=300,1000,5000,20000 cargo test --release --locked --test it growth -- --nocapture

# All cases, or those whose names have $(CASE) or one of its parts between `|`.
doubling:
	DOUBLING="$(CASE)" cargo test --locked -p engine --test it -- --ignored --nocapture cost_grows

fuzz:
	for target in $(FUZZ_TARGETS); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

bench:
	cargo build --release --locked -p clearway -p bench
	target/release/bench --json target/bench.json --page docs/benchmarks.md

bench-books:
	cargo build --release --locked -p clearway -p bench
	target/release/bench books --json target/books.json --page docs/benchmarks.md

bench-ledger:
	cargo build --release --locked -p clearway -p bench
	cargo build --release --locked -p clearway --features ledger-off --target-dir target/ledger-off
	target/release/bench ledger-cost --json target/ledger-cost.json --page docs/benchmarks.md

bench-events:
	cargo build --release --locked -p clearway -p bench
	target/release/bench events --json target/events.json --page docs/benchmarks.md

bench-durable: race-durable
	cargo build --release --locked -p clearway -p bench
	target/release/bench durable --json target/durable.json --page docs/benchmarks.md

crash:
	CRASH_SEEDS=10000 cargo test --locked -p clearway-log --lib crash_loses_nothing
	CRASH_SEEDS=200 cargo test --locked -p engine --test it what_was_acknowledged_survives

planted:
	cargo test --locked -p clearway-log --lib crash_test_catches_planted_bugs -- --nocapture
	cargo test --locked -p engine --test it crash_test_catches_planted_bugs -- --ignored --nocapture

kill:
	CLEARWAY_KILLS=1000 cargo test --locked --test it acknowledged_rows_survive_kills

bench-tpch: setup
	cargo build --release --locked -p clearway -p bench
	target/release/bench tpch --json target/tpch.json --page docs/benchmarks.md

bench-clickbench: setup
	cargo build --release --locked -p clearway -p bench
	target/release/bench clickbench --json target/clickbench.json --page docs/benchmarks.md

bench-aggregate:
	cargo build --release --locked -p clearway -p bench
	target/release/bench aggregate --json target/aggregate.json --page docs/benchmarks.md

bench-hashbytes:
	cargo build --release --locked -p clearway -p bench
	target/release/bench hashbytes --json target/hashbytes.json --page docs/benchmarks.md

bench-columnstore:
	cargo build --release --locked -p clearway -p bench
	target/release/bench columnstore --json target/columnstore.json --page docs/benchmarks.md

race-setup:
	tests/race-setup.sh

race-durable:
	cargo build --release --locked -p clearway
	target/release/clearway race --durable target --json target/race-durable.json --page docs/benchmarks.md

race-tpcc:
	cargo build --release --locked -p clearway
	target/release/clearway race --tpcc --json target/race-tpcc.json --page docs/benchmarks.md
	target/release/clearway race --tpcc target --json target/race-tpcc-durable.json --page docs/benchmarks.md

race:
	cargo build --release --locked -p clearway
	target/release/clearway race --json target/race.json --page docs/benchmarks.md

soak:
	cargo build --release --locked -p clearway -p bench
	target/release/bench soak

bench-smoke:
	cargo build --release --locked -p clearway -p bench
	target/release/bench --smoke
	target/release/bench books --smoke
	target/release/bench events --smoke
	target/release/bench durable --smoke

permissions:
	CLEARWAY_WRITE_PERMISSIONS=1 cargo test -p engine --test it page_is_what_is_asked

options:
	CLEARWAY_WRITE_OPTIONS=1 cargo test -p engine --test it options_page

support:
	CLEARWAY_WRITE_SUPPORT=1 cargo test -p engine --test it support_page

top-screens:
	CLEARWAY_WRITE_GOLDEN=1 cargo test -p top --locked --test it

top-cost: build
	tests/top-cost.sh

pgo:
	tests/pgo.sh

package:
	packaging/package.sh

console-cost: build
	tests/console-cost.py

touch-times:
	tests/touch-times.sh
