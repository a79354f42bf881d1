"""Every error has one of the classes of exit codes, and of several classes one ends the run."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from itertools import combinations, permutations
from signal import SIGHUP, SIGPIPE, SIGTERM

import pytest

from error_names import error_names
from flux_upgrade.commands.output import output_lost
from flux_upgrade.model import errors
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.planning.write_tree import exit_code

PRECEDENCE = (1, 2, 5, 4, 7, 3, 6)
SAMPLES = {each.exit_code: each for each in errors.FluxUpgradeError.__subclasses__()}
"""Class → an error of it."""


def every_error(
    base: type[errors.FluxUpgradeError] = errors.FluxUpgradeError,
) -> Iterator[type[errors.FluxUpgradeError]]:
    for each in base.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from every_error(each)


@pytest.mark.parametrize("error", [*every_error()], ids=lambda error: error.slug)
def test_every_error_has_a_class(error: type[errors.FluxUpgradeError]) -> None:
    assert error.exit_code in PRECEDENCE
    assert isinstance(error.exit_code, ExitCode)


def test_every_class_has_errors() -> None:
    assert {each.exit_code for each in every_error()} == set(PRECEDENCE)
    assert {*ExitCode} == {0, *PRECEDENCE}


@pytest.mark.parametrize("count", range(1, len(PRECEDENCE) + 1))
def test_of_several_errors_the_first_class_ends_the_run(count: int) -> None:
    for codes in combinations(PRECEDENCE, count):
        for order in (codes, codes[::-1]):
            assert exit_code(SAMPLES[ExitCode(code)] for code in order) == codes[0]


def test_the_order_in_which_errors_are_met_does_not_matter() -> None:
    for met in permutations(map(ExitCode, PRECEDENCE[2:])):
        assert exit_code([SAMPLES[code] for code in met]) == 5


def test_without_an_error_a_run_is_done() -> None:
    assert exit_code([]) == 0
    assert ExitCode.of_run([ExitCode.DONE, ExitCode.NOTHING_FOUND]) == 6


@pytest.mark.parametrize(
    ("code", "ends_with"), [(0, 3), (3, 3), (6, 3), (7, 7), (1, 1), *((128 + each, 128 + each) for each in (SIGHUP, SIGPIPE, SIGTERM))]
)  # fmt: skip
def test_a_report_that_is_lost_takes_its_place_in_the_order(code: int, ends_with: int) -> None:
    err = io.StringIO()
    assert output_lost(OSError(errno.ENOSPC, "No space left on device"), code, err) == ends_with
    assert error_names(err.getvalue()) == {"output-failed"}
