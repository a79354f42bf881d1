"""The overview on a terminal: its width, its colors, and lists that are capped."""

from __future__ import annotations

import re

import pytest

from flux_upgrade.config.environment import Terminal
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.overview import overview
from flux_upgrade.report.overview_text import Commands, overview_text
from flux_upgrade.route.rows import State
from replacing import replace
from rounds import holding, planned, team_of

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
ONE = planned()
CONFLICT = Hold(HoldReason.EDIT_CONFLICT, "v2.9.4 changed a path", "take it out", bump_kind=BumpKind.MINOR)


def shown(*groups: object, terminal: Terminal = Terminal(), commands: Commands = Commands()) -> str:  # noqa: B008
    return overview_text(overview(groups), commands, terminal)  # type: ignore[arg-type]


def test_colors_say_nothing_that_the_text_does_not() -> None:
    colored = shown(ONE, terminal=Terminal(has_color=True))
    assert ESCAPE.sub("", colored) == shown(ONE)
    assert "\x1b[32mready\x1b[0m" in colored
    assert "\x1b[33mneeds approval\x1b[0m" in colored
    assert "\x1b[31mheld\x1b[0m" in shown(holding(CONFLICT), terminal=Terminal(has_color=True))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_are_wrapped_between_words(width: int) -> None:
    group = holding(replace(CONFLICT, detail="one word after the other " * 20))
    wrapped, plain = shown(group, terminal=Terminal(width)), shown(group)
    table, _, rest = wrapped.partition("Step 1")
    assert all(len(line) <= width for line in f"Step 1{rest}".splitlines() if " -" not in line)
    assert wrapped.split() == plain.split()
    # A row that is too long has its state below.
    row = "clusters/staging  v2.8.7    held: edit-conflict, see step 1\n\n"
    assert table == (row if width > 40 else row.replace("    held", "\n    held"))


def test_places_and_rows_are_capped_with_a_count() -> None:
    plan = ONE.plans[0]
    many = team_of("all", *(replace(plan, path=f"clusters/{at:03}") for at in range(60)))
    text = shown(many)
    assert "… and 80 more\n" in text
    assert "(clusters/000, clusters/001, clusters/002 and 57 more)\n" in text
    assert "60 clusters: 60 ready.\n" in text


def test_the_same_step_of_several_clusters_is_one() -> None:
    text = shown(holding(CONFLICT), holding(CONFLICT, path="other"))
    assert text.count("Take it out") == 1
    assert text.count("see step 1") == 2


def test_names_of_files_steer_no_terminal() -> None:
    text = shown(holding(replace(CONFLICT, detail="a\x1b[2Jb\nc")))
    assert "a\ufffd[2Jb\ufffdc" in text


def test_commands_can_be_pasted() -> None:
    commands = Commands(("my fleet",), ("--policy=minor",), ("plan",))
    text = shown(ONE, commands=commands)
    assert "$ flux-upgrade upgrade 'my fleet' --policy=minor --approve=2.9\n" in text
    assert "Details:  flux-upgrade plan 'my fleet' --policy=minor --details\n" in text


def test_a_failed_upgrade_asks_for_no_approval() -> None:
    plan = ONE.plans[0]
    text = overview_text(overview((ONE,), states={(plan.path, plan.line): State.FAILED}), Commands())
    assert "patch  failed\n" in text
    assert "Approve Flux 2.9\n" in text
    assert f"Approve Flux {plan.upgrades[0].target}" not in text


def test_the_same_reason_of_several_clusters_is_shown_once() -> None:
    plan = replace(ONE.plans[0], decisions=(CONFLICT,))
    other = replace(plan, path="clusters/c", decisions=(replace(CONFLICT, detail="another"),))
    text = shown(team_of("all", replace(plan, path="clusters/a"), replace(plan, path="clusters/b"), other))
    assert "          clusters/a, clusters/b: v2.9.4 changed a path\n          clusters/c: another\n" in text


def test_a_single_cluster_is_not_repeated_with_each_step() -> None:
    assert "Step 1  Upgrade to v2.8.8\n" in shown(ONE)


@pytest.mark.parametrize("needs_approval", [True, False])
def test_a_cool_down_asks_for_the_approval_that_is_needed_anyway(needs_approval: bool) -> None:  # noqa: FBT001
    cooling = Hold(
        HoldReason.COOLING_DOWN,
        "the cool-down ends on 2026-07-07",
        "approve 2.9 to upgrade now",
        bump_kind=BumpKind.MINOR,
        target=Version("v2.9.4"),
        until="2026-07-07T12:00:00Z",
        needs_approval=needs_approval,
    )
    text = shown(holding(cooling, version="v2.8.8"))
    assert "held: cooling-down until 2026-07-07" in text
    assert ("Next:     flux-upgrade upgrade --approve=2.9\n" in text) == needs_approval
    assert ("Step 1" in text) == needs_approval
