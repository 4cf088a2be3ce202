#!/usr/bin/env bash
# Installs what `clearway race` races against: Debian's servers (only as root), and DuckDB into .venv.
#
# What can't be installed says so and the rest goes on: a race leaves out who is not there, by name.
set -uo pipefail
cd "$(dirname "$0")/.."
packages=(postgresql redis-server memcached mariadb-server)
programs=(redis-server memcached mariadbd)
missing=0

has_servers() {
    local program
    for program in "${programs[@]}"; do
        PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || return 1
    done
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null
}

if has_servers; then
    echo "servers: all there"
elif [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq \
        && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" || missing=1
else
    echo "servers: not root, or no apt-get: install ${packages[*]} by hand" >&2
    missing=1
fi

duckdb=$(grep '^duckdb==' tests/requirements.txt)
if [ -x .venv/bin/python ] && .venv/bin/python -c 'import duckdb' 2>/dev/null; then
    echo "duckdb: there"
elif { [ -x .venv/bin/python ] || python3 -m venv .venv; } \
    && .venv/bin/python -m pip install --quiet --disable-pip-version-check "$duckdb"; then
    echo "duckdb: installed into .venv"
else
    echo "duckdb: Python's venv or pip did not work" >&2
    missing=1
fi
exit "$missing"
