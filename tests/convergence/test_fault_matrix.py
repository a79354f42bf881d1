"""Whatever goes wrong at whatever call: the next run makes one correct pull request of it, and then rests."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor

import pytest

from convergence.fleet import EXIT_CODES
from convergence.matrix import KINDS, WAYS, Verdict, cells_of, play
from convergence.scenarios import SCENARIOS, Scenario
from convergence.told import LINES

_SHARES = 2


@pytest.fixture(scope="module")
def matrix(processes: Executor) -> dict[str, list[Verdict]]:
    """Every cell of every scenario."""
    shares = [(number, share) for number in range(len(SCENARIOS)) for share in range(_SHARES)]
    futures = [(number, processes.submit(play, number, share, _SHARES)) for number, share in shares]
    found: dict[str, list[Verdict]] = {scenario.name: [] for scenario in SCENARIOS}
    for number, future in futures:
        found[SCENARIOS[number].name] += future.result()
    _tell(found)
    return found


def _tell(found: dict[str, list[Verdict]]) -> None:
    LINES.append(f"fault matrix: calls by {len(KINDS)} faults by {len(WAYS)} ways to strike")
    for scenario in SCENARIOS:
        verdicts = found[scenario.name]
        well = sum(not verdict.problem for verdict in verdicts)
        codes = Counter(verdict.code for verdict in verdicts)
        ended = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
        LINES.append(
            f"  {scenario.name:30} {scenario.calls} calls {len(verdicts):4} cells {well:4} converged"
            f"  (exit codes of the disturbed runs: {ended})"
        )
    verdicts = [verdict for each in found.values() for verdict in each]
    LINES.append(
        f"  in all {len(verdicts)} cells, {sum(not verdict.problem for verdict in verdicts)} converged"
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_whatever_goes_wrong_the_next_run_converges(
    scenario: Scenario, matrix: dict[str, list[Verdict]]
) -> None:
    wrong = [verdict for verdict in matrix[scenario.name] if verdict.problem]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_cell_is_left_out(scenario: Scenario, matrix: dict[str, list[Verdict]]) -> None:
    played = [verdict.cell for verdict in matrix[scenario.name]]
    assert sorted(map(str, played)) == sorted(map(str, cells_of(scenario.name, scenario.calls)))
    assert len(played) == scenario.calls * len(KINDS) * len(WAYS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_disturbed_run_ends_with_a_documented_exit_code(
    scenario: Scenario, matrix: dict[str, list[Verdict]]
) -> None:
    codes = {verdict.code for verdict in matrix[scenario.name]}
    assert codes <= EXIT_CODES
    assert 0 in codes  # what passes by itself is waited for
    assert codes - {0}  # what does not is told
