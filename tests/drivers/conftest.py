"""Each worker of the run has one server; each driver's program runs once, when its first test asks for it."""

import os

import harness
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keeps the checks of one driver on one worker, so that its program runs once, and the tests of a file as well."""
    for item in items:
        driver = getattr(item, "callspec", None) and item.callspec.params.get("driver")
        item.add_marker(pytest.mark.xdist_group(driver or item.path.stem))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clearway")
    started = harness.Server(folder)
    yield started
    status = started.stop()
    assert status == 0, f"the server ended with {status} on SIGTERM: {started.lines[-5:]}"


@pytest.fixture(scope="session")
def answers(server):
    found = {}

    def of(driver):
        if driver not in found:
            lacking = harness.missing(driver)
            found[driver] = lacking if lacking else harness.run(driver, server)
        if isinstance(found[driver], str):
            pytest.skip(f"{driver} is not on this machine: {found[driver]} is missing")
        return found[driver]

    return of


def pytest_terminal_summary(terminalreporter):
    """Lists what no test asks of a driver, with the reason, so that nothing is left out in silence."""
    terminalreporter.section("not applicable")
    for driver in harness.SPEC["drivers"]:
        by_reason = {}
        for check, reason in harness.not_applicable(driver).items():
            by_reason.setdefault(reason, []).append("type-*" if check.startswith("type-") else check)
        for reason, checks in by_reason.items():
            terminalreporter.write_line(f"{driver}: {', '.join(dict.fromkeys(checks))}: {reason}")
        for kind, cases in harness.SPEC["drivers"][driver].get("without", {}).items():
            for case, reason in cases.items():
                terminalreporter.write_line(f"{driver}: {kind} {case}: {reason}")
    if os.environ.get("CLEARWAY_BIN"):
        terminalreporter.write_line(f"(server: {os.environ['CLEARWAY_BIN']})")
