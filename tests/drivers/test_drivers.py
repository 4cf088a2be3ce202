"""Every driver against every check of spec.toml: one test each."""

import harness
import pytest

PAIRS = [(driver, check) for driver in harness.SPEC["drivers"] for check in harness.applicable(driver)]


@pytest.mark.parametrize(("driver", "check"), PAIRS, ids=[f"{d}-{c}" for d, c in PAIRS])
def test_check(answers, driver, check):
    answer = answers(driver)[check]
    if "skip" in answer:
        pytest.skip(answer["skip"])
    assert answer["ok"], answer["detail"]


@pytest.mark.parametrize("driver", list(harness.SPEC["drivers"]))
def test_program_ends_well(answers, driver):
    """The program itself ended with status 0 and answered no check that the spec does not have."""
    answer = answers(driver)["(program)"]
    assert answer["ok"], answer["detail"]


def test_every_exception_has_a_reason():
    for name, driver in harness.SPEC["drivers"].items():
        for pattern, reason in driver["na"].items():
            assert len(reason) > 10, f"{name}: {pattern} has no reason"
            matched = pattern == "type-*" or pattern in harness.CHECKS
            assert matched, f"{name}: {pattern} is no check of the spec"
