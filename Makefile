# make          builds the server
# make test     installs what the tests need and runs them all; the last line is the runner's own
# make setup    only installs: see tests/setup.sh
# make drivers  only the tests through real drivers

PYTEST = .venv/bin/python -m pytest -q -p no:cacheprovider

.PHONY: build setup test drivers
build:
	cargo build --release --locked

setup:
	tests/setup.sh

test: setup build
	cargo test --workspace --locked
	$(PYTEST) tests/drivers

drivers: setup build
	$(PYTEST) tests/drivers
