#!/usr/bin/env bash
# Installs what the driver tests need: Debian packages (only as root), and everything else inside
# this folder: .venv, .tools and tests/drivers/node/node_modules.
#
# Each step runs again only when what it is made from has changed. A step that can't run says so and
# the others go on: the tests of that driver are then skipped by name.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
drivers=$root/tests/drivers
tools=$root/.tools
stamps=$tools/stamps
mkdir -p "$stamps"
missing=()

# step NAME MADE "FILE..." COMMAND...: runs COMMAND unless MADE is there and FILEs are as they were
# when it last succeeded.
step() {
    local name=$1 made=$2 inputs=$3
    shift 3
    local stamp=$stamps/$name now log=$tools/$name.log
    # shellcheck disable=SC2086  # the inputs are a list of files
    now=$(cat $inputs | sha256sum)
    [ -e "$made" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ] && return 0
    printf 'setup: %s\n' "$name"
    if "$@" >"$log" 2>&1; then
        printf '%s' "$now" >"$stamp"
    else
        missing+=("$name")
        printf 'setup: %s did not work, its tests will be skipped; the end of %s:\n' "$name" "$log" >&2
        tail -n 5 "$log" >&2
    fi
}

debian_packages() {
    local wanted=(freetds-bin tdsodbc unixodbc mono-mcs mono-runtime libmono-system-data4.0-cil libmono-i18n-west4.0-cil) lacking=() package
    for package in "${wanted[@]}"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || lacking+=("$package")
    done
    [ ${#lacking[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "not root, or no apt-get: ${lacking[*]} are not installed"
        return 1
    fi
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${lacking[@]}"
}

python_modules() {
    [ -x .venv/bin/python ] || python3 -m venv .venv || return 1
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
}

node_modules() { (cd "$drivers/node" && npm ci --no-audit --no-fund); }

go_programs() {
    mkdir -p "$tools/go"
    (cd "$drivers/go" && go build -o "$tools/go/driver" ./driver && go build -o "$tools/go/workload" ./workload)
}

# The driver as it was before Microsoft took it over: the same program by its old path. Its parser of connection
# strings returns one value more.
go_old_program() {
    local source=$tools/go-old/source
    mkdir -p "$source"
    cp "$drivers/go-old/go.mod" "$drivers/go-old/go.sum" "$source"
    sed -e 's#github.com/microsoft/go-mssqldb#github.com/denisenkom/go-mssqldb#' \
        -e 's#config, err := msdsn.Parse(#config, _, err := msdsn.Parse(#' "$drivers/go/driver/main.go" >"$source/main.go"
    (cd "$source" && go build -o "$tools/go-old/driver" .)
}

java_programs() {
    mkdir -p "$tools/java"
    (cd "$drivers/java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$tools/jdbc" -Dmdep.useBaseVersion=true) \
        && javac -cp "$tools/jdbc/*" -d "$tools/java" "$drivers/java/Main.java" "$drivers/java/Cursors.java" \
        && mvn -q -B dependency:copy -Dartifact=com.microsoft.sqlserver:mssql-jdbc:6.4.0.jre8 -DoutputDirectory="$tools/jdbc-6.4" -Dmdep.useBaseVersion=true
}

mono_program() {
    mkdir -p "$tools/mono"
    mcs -nologo -r:System.Data.dll -out:"$tools/mono/driver.exe" "$drivers"/csharp/*.cs
}

# Microsoft's own parser of T-SQL, and a runtime for it: tests/grammar. Our program takes the place of the wheel's.
scriptdom() {
    local from=$tools/scriptdom-wheel to=$tools/scriptdom references=() name
    rm -rf "$from" "$to" && mkdir -p "$from" \
        && .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest "$from" mssql-cli==1.0.0 \
        && .venv/bin/python -m zipfile -e "$from"/*.whl "$from" && mv "$from/mssqlcli/mssqltoolsservice/bin" "$to" && rm -rf "$from" || return 1
    for name in netstandard System.Runtime System.Runtime.Extensions System.Console System.Collections System.IO; do
        [ -f "$to/refs/$name.dll" ] && references+=("-r:$to/refs/$name.dll")
    done
    chmod +x "$to/MicrosoftSqlToolsServiceLayer" \
        && mcs -nologo -nostdlib -noconfig -nowarn:1702 "${references[@]}" -r:"$to/Microsoft.SqlServer.TransactSql.ScriptDom.dll" \
            -out:"$to/MicrosoftSqlToolsServiceLayer.dll" tests/grammar/Verdicts.cs
}

rust_program() { (cd "$drivers/rust" && CARGO_TARGET_DIR="$tools/tiberius" cargo build --locked); }

# What applications are made of: test_libraries.py. Python's have an environment of their own, since they ask for
# other versions of what the drivers use.
python_libraries() {
    [ -x "$tools/libraries/bin/python" ] || python3 -m venv "$tools/libraries" || return 1
    "$tools/libraries/bin/python" -m pip install --quiet --disable-pip-version-check -r "$drivers/libraries/python/requirements.txt"
}

node_libraries() { (cd "$drivers/libraries/node" && npm ci --no-audit --no-fund); }

java_libraries() {
    mkdir -p "$tools/library-java"
    (cd "$drivers/libraries/java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$tools/library-jars" -Dmdep.useBaseVersion=true) \
        && javac -cp "$tools/library-jars/*" -d "$tools/library-java" "$drivers/libraries/java/Libraries.java"
}

# Packages can go away between runs, so this one looks every time; it is quick when nothing lacks.
debian_packages >"$tools/debian.log" 2>&1 || {
    missing+=(debian)
    tail -n 5 "$tools/debian.log" >&2
}
step python .venv/bin/pytest tests/requirements.txt python_modules
step node "$drivers/node/node_modules/tedious8" "$drivers/node/package-lock.json" node_modules
step go "$tools/go/workload" "$drivers/go/go.mod $drivers/go/go.sum $drivers/go/driver/*.go $drivers/go/workload/*.go" go_programs
step go-old "$tools/go-old/driver" "$drivers/go-old/go.mod $drivers/go-old/go.sum $drivers/go/driver/*.go" go_old_program
step java "$tools/java/Cursors.class" "$drivers/java/pom.xml $drivers/java/Main.java $drivers/java/Cursors.java" java_programs
step python-libraries "$tools/libraries/bin/django-admin" "$drivers/libraries/python/requirements.txt" python_libraries
step node-libraries "$drivers/libraries/node/node_modules/typeorm" "$drivers/libraries/node/package-lock.json" node_libraries
step java-libraries "$tools/library-java/Libraries.class" "$drivers/libraries/java/pom.xml $drivers/libraries/java/Libraries.java" java_libraries
step mono "$tools/mono/driver.exe" "$drivers/csharp/*.cs" mono_program
step scriptdom "$tools/scriptdom/refs" tests/grammar/Verdicts.cs scriptdom
step tiberius "$tools/tiberius/debug/clearway-tiberius-test" "$drivers/rust/Cargo.toml $drivers/rust/Cargo.lock $drivers/rust/src/*.rs" rust_program

if [ ${#missing[@]} -gt 0 ]; then
    printf 'setup: not installed: %s\n' "${missing[*]}" >&2
fi
# Without Python there is no test runner at all; everything else is one driver less.
[ -x .venv/bin/pytest ]
