"""What applications are made of, beside drivers: mappers, migrators and frames, each with a small program of ours.

A program makes a database of its own through its library, and prints a line per check; the checks of one run in
their order, since later ones use what earlier ones made. tests/setup.sh installs the libraries.
"""

import json
import os
import subprocess
import time

import harness
import pytest

HOME = harness.HERE / "libraries"
PYTHON = harness.ROOT / ".tools/libraries/bin/python"
JARS = harness.ROOT / ".tools/library-jars"
JAVA = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{harness.ROOT}/.tools/library-java:{JARS}/*", "Libraries"]
SECONDS_MAX = 120

# What runs a program, what must be there for it, and its checks.
LIBRARIES = {
    "django": (
        [PYTHON, HOME / "python/django_app.py"],
        [PYTHON],
        "migrate create-and-read filters aggregates changes users-and-sessions migrate-again inspect migrate-back",
    ),
    "sqlalchemy": (
        [PYTHON, HOME / "python/sqlalchemy_app.py"],
        [PYTHON],
        "alembic-first orm-rows core-queries reflection alembic-second alembic-back",
    ),
    "pandas": (
        [PYTHON, HOME / "python/pandas_app.py"],
        [PYTHON],
        "row-by-row arrays-of-parameters one-insert types-of-its-columns queries appending",
    ),
    "typeorm": (
        ["node", HOME / "node/typeorm.mjs"],
        [HOME / "node/node_modules/typeorm"],
        "synchronize save-and-find query-builder transactions synchronize-changed drop",
    ),
    "java": (
        JAVA,
        [harness.ROOT / ".tools/library-java/Libraries.class"],
        "hibernate-schema hibernate-persist hibernate-queries hibernate-locks hibernate-drop flyway-migrate flyway-failing",
    ),
}
PAIRS = [(library, check) for library, (_, _, checks) in LIBRARIES.items() for check in checks.split()]


def run(library, server, folder):
    """Runs a library's program; returns its answers, or what the machine lacks for it."""
    command, needs, checks = LIBRARIES[library]
    for need in needs:
        if not need.exists():
            return f"{need.relative_to(harness.ROOT)} is missing: tests/setup.sh says why"
    work = {"host": "127.0.0.1", "port": server.port, "user": harness.USER, "password": harness.PASSWORD, "folder": str(folder)}
    command = [str(part) for part in command]
    if library == "java":
        command += [work["host"], str(work["port"]), work["user"], work["password"], str(folder)]
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, input=json.dumps(work), cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX
        )
        status, output, errors = f"ended with {done.returncode}", done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, output, errors = "ran out of time", harness.text_of(late.stdout), harness.text_of(late.stderr)
    answers = {}
    for line in output.splitlines():
        if line.startswith('{"check"'):
            answer = json.loads(line)
            answers[answer["check"]] = answer
    tail = " | ".join(errors.strip().splitlines()[-6:])
    for check in checks.split():
        answers.setdefault(check, {"ok": False, "detail": f"no answer: the program {status}: {tail}"})
    took = time.monotonic() - started
    known = set(answers) == set(checks.split())
    answers["(program)"] = {"ok": status == "ended with 0" and known, "detail": f"{status} after {took:.1f} s: {tail}"}
    return answers


@pytest.fixture(scope="module")
def found(server, tmp_path_factory):
    results = {}

    def of(library):
        if library not in results:
            results[library] = run(library, server, tmp_path_factory.mktemp(library))
        if isinstance(results[library], str):
            pytest.skip(results[library])
        return results[library]

    return of


@pytest.mark.parametrize(("library", "check"), PAIRS, ids=[f"{library}-{check}" for library, check in PAIRS])
def test_library(found, library, check):
    answer = found(library)[check]
    assert answer["ok"], answer["detail"]


@pytest.mark.parametrize("library", list(LIBRARIES))
def test_program_ends_well(found, library):
    answer = found(library)["(program)"]
    assert answer["ok"], answer["detail"]
