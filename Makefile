# make          builds the server
# make test     installs what the tests need and runs them all; the last line is the runner's own
# make setup    only installs: see tests/setup.sh
# make bench    measures the promised numbers and writes docs/benchmarks.md and target/bench.json
# make drivers  only the tests through real drivers
# make support  writes docs/support.md from the engine's test scripts
# make lint     format and lints
# make doc      the documentation, with warnings as errors
# make models   every interleaving of the locks and hand-overs (loom, shuttle): minutes
# make fuzz     each fuzz target for a minute; needs cargo-fuzz and a nightly toolchain

PYTEST = .venv/bin/python -m pytest -q -p no:cacheprovider
FUZZ_TARGETS = packets login rpc parser
FUZZ_SECONDS = 60

.PHONY: build setup test drivers bench bench-smoke lint doc models fuzz support
build:
	cargo build --release --locked

setup:
	tests/setup.sh

test: setup build bench-smoke
	cargo test --workspace --locked
	$(PYTEST) tests/drivers

drivers: setup build
	$(PYTEST) tests/drivers

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

models:
	RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom --target-dir target/loom
	RUSTFLAGS="--cfg shuttle" cargo test -p sos --release --test shuttle --target-dir target/shuttle
	RUSTFLAGS="--cfg shuttle" cargo test -p storage --release --lib models --target-dir target/shuttle

fuzz:
	for target in $(FUZZ_TARGETS); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

bench:
	cargo build --release --locked -p clearway -p load
	target/release/bench --json target/bench.json --page docs/benchmarks.md

bench-smoke:
	cargo build --release --locked -p clearway -p load
	target/release/bench --smoke

support:
	CLEARWAY_WRITE_SUPPORT=1 cargo test -p engine --test it support_page
