"""The job summary has a row for each installation, says how to approve, and survives hostile text."""

from __future__ import annotations

import re

import pytest

from flows import PATH, World, fleet
from flux_upgrade.action.job_summary import MOST_ROWS, approvals, summary
from flux_upgrade.config.config import Config, Limits
from flux_upgrade.model.errors import EditConflict, ForbiddenByForge
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory_forge import MemoryForge
from pinned import base
from replacing import replace
from rounds import holding, planned, result, round_of, team_of

PATCH, MINOR, MAJOR, _ = BumpKind
ONE = planned()
COMMAND = "gh workflow run flux-upgrade.yaml -f approve="
PULL = "https://github.com/acme/fleet/pull"


def summary_of(done: Round, *, command: str = COMMAND, page: str = "", written: bool = True) -> str:
    return summary(done, written=written, approve_command=command, workflow_url=page)


def rows(text: str) -> list[list[str]]:
    """The cells of the table's rows, split as GitHub does it: at each pipe that is not escaped."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]] for line in lines[2:]]


def held(decision: Hold) -> tuple[str, str]:
    """The state of an installation with this hold, and the step that ends it; empty: there is none."""
    text = summary_of(round_of(holding(decision)))
    ((*_, state),) = rows(text)
    _, _, steps = text.partition("### Next steps\n\n")
    return state, steps.partition("\n\n")[0].rstrip("\n")


def test_a_row_for_each_upgrade_of_a_cluster_with_its_pull_request_and_its_state() -> None:
    results = [
        result(ONE, Action.OPENED, PATCH, number=1),
        result(ONE, Action.UNCHANGED, MINOR, number=2, is_draft=True),
    ]
    text = summary_of(round_of(ONE, results=results))
    assert rows(text) == [
        ["`clusters/staging`", f"[#1]({PULL}/1) opened", "v2.8.7 → v2.8.8", "patch", "ready"],
        ["`clusters/staging`", f"[#2]({PULL}/2) open, draft", "v2.8.7 → v2.9.4", "minor", "needs approval"],
    ]
    assert text.startswith(
        "## Flux\n\n**1 cluster: 1 ready.** 1 pull request opened and 1 pull request unchanged.\n\n|"
    )
    steps = (
        f"1. Upgrade to v2.8.8: merge [#1]({PULL}/1)\n2. Approve Flux 2.9: mark [#2]({PULL}/2) as ready for review\n"
    )
    assert f"### Next steps\n\n{steps}\n" in text


def test_what_waits_is_approved_with_one_command() -> None:
    text = summary_of(round_of(ONE))
    assert f"```sh\n{COMMAND}2.9\n```" in text
    assert "**To approve**, run:\n" in text


DRAFT = result(ONE, Action.UNCHANGED, MINOR, number=2, is_draft=True)
ISSUE = result(ONE, Action.OPENED, MINOR, number=3, is_issue=True, is_draft=True)
PAGE = "https://github.com/acme/fleet/actions/workflows/flux-upgrade.yaml"


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize(
    ("results", "command", "page", "ways"),
    [
        ([DRAFT], COMMAND, "", "mark the draft as ready for review, or run:"),
        ([DRAFT], "", "", "mark the draft as ready for review."),
        ([DRAFT], COMMAND, PAGE, f"mark the draft as ready for review, or [run the workflow]({PAGE}) with `approve`, or run:"),
        ([ISSUE], COMMAND, "", "add the label `flux-upgrade/approved` to the issue, or run:"),
        ([ISSUE], "", "", "add the label `flux-upgrade/approved` to the issue."),
        ([], COMMAND, PAGE, f"[run the workflow]({PAGE}) with `approve`, or run:"),
        ([result(ONE, Action.OPENED, MINOR, is_draft=True)], COMMAND, "", "run:"),
        ([result(ONE, Action.CLOSED, MINOR, number=2, is_draft=True)], COMMAND, "", "run:"),
        ([], "", "", "run it with `approve: 2.9`."),
    ],
)  # fmt: skip
def test_the_ways_to_approve_are_those_that_there_are(
    results: list[Result], command: str, page: str, ways: str, *, written: bool
) -> None:
    text = summary_of(round_of(ONE, results=results), command=command, page=page, written=written)
    assert f"**To approve**, {ways}\n" in text


def test_a_link_says_what_a_run_that_writes_nothing_would_do() -> None:
    results = [
        result(ONE, Action.UPDATED, PATCH, number=1),
        result(ONE, Action.UNCHANGED, MINOR, number=2, is_draft=True),
    ]
    links = [link for _, link, *_ in rows(summary_of(round_of(ONE, results=results), written=False))]
    assert links == [f"[#1]({PULL}/1) would be updated", f"[#2]({PULL}/2) open, draft"]


def test_a_patch_that_waits_is_approved_by_itself_and_the_lowest_comes_first() -> None:
    holds = [
        Hold(HoldReason.NEEDS_APPROVAL, "policy none", bump_kind=MINOR, target=Version("v2.10.1")),
        Hold(HoldReason.NEEDS_APPROVAL, "policy none", bump_kind=MINOR, target=Version("v2.9.4")),
        Hold(HoldReason.NEEDS_APPROVAL, "policy none", bump_kind=PATCH, target=Version("v2.8.8")),
        Hold(HoldReason.NEEDS_APPROVAL, "policy none", bump_kind=MAJOR, target=Version("v3.0.0")),
    ]
    text = summary_of(round_of(holding(*holds), holding(holds[1], path="other")))
    commands = [line.removeprefix(COMMAND) for line in text.splitlines() if line.startswith(COMMAND)]
    assert commands == ["v2.8.8", "2.9", "2.10", "3.0"]


@pytest.mark.parametrize("done", [round_of(holding(Hold(HoldReason.UP_TO_DATE))), round_of(planned(approve=["2.9"]))])
def test_where_nothing_waits_nothing_is_to_be_approved(done: Round) -> None:
    assert "approve" not in summary_of(done)


@pytest.mark.parametrize(
    ("hold", "state", "step"),
    [
        (Hold(HoldReason.UP_TO_DATE, "it is the newest"), "up to date", ""),
        (
            Hold(HoldReason.COOLING_DOWN, "2.9 cools down", "wait", since="2026-03-01T12:00:00Z", until="2026-03-08T12:00:00Z", target=Version("v2.9.4")),
            "held: **cooling-down since 2026-03-01 until 2026-03-08**",
            "",
        ),
        (
            Hold(HoldReason.COOLING_DOWN, "2.9 cools down", "wait", bump_kind=MINOR, target=Version("v2.9.4"), needs_approval=True),
            "held: **cooling-down**",
            "1. Approve Flux 2.9",
        ),
        (
            Hold(HoldReason.ORPHAN, "no kustomization refers to it", "remove it."),
            "held: **orphan**",
            "1. Remove it\n   - clusters/staging: no kustomization refers to it",
        ),
        (
            Hold(HoldReason.EDIT_CONFLICT, "v2.9.4 changed a path", "take it out", EditConflict, MINOR, Version("v2.9.4")),
            "held: **edit-conflict**",
            "1. Take it out\n   - clusters/staging: v2.9.4 changed a path",
        ),
    ],
)  # fmt: skip
def test_a_hold_says_why_since_when_and_what_ends_it(hold: Hold, state: str, step: str) -> None:
    assert held(hold) == (state, step)


def test_what_went_wrong_with_a_pull_request_is_in_its_row_and_in_the_verdict() -> None:
    error = ForbiddenByForge("the token may not", hint="allow it")
    edited = Hold(HoldReason.BRANCH_EDITED, "another user pushed", "merge it")
    results = [
        result(ONE, Action.FAILED, error=error),
        result(ONE, Action.HELD, MINOR, number=2, hold=edited, is_draft=True),
    ]
    text = summary_of(round_of(ONE, results=results))
    (*_, patch), (_, link, *_, minor) = rows(text)
    assert patch == "ready<br>failed: **forbidden**: the token may not<br>→ allow it"
    assert minor == "needs approval<br>held: **branch-edited**: another user pushed<br>→ merge it"
    assert link == f"[#2]({PULL}/2) held, draft"
    assert "Needs you: `clusters/staging`." in text


def test_an_issue_is_called_one() -> None:
    _, (_, links, *_) = rows(
        summary_of(round_of(ONE, results=[result(ONE, Action.OPENED, MINOR, number=3, is_issue=True, is_draft=True)]))
    )
    assert links == "issue [#3](https://github.com/acme/fleet/issues/3) opened"


def test_an_unknown_version_is_said() -> None:
    files = fleet({"clusters/staging": "v2.8.7"})
    files[PATH] = b"<<<<<<< HEAD\n" + files[PATH]
    ((_, _, version, _, state),) = rows(summary_of(round_of(*plan_update_groups(World(files).gathered()))))
    assert version == "unknown"
    assert state == "held: **unreadable**"


# Text of anybody's


HOSTILE = (
    "a|b",
    "a\\|b",
    "a\\\\|b",
    "`a`",
    "``|``",
    "a\nb|c",
    "<img src=x>",
    "[x](https://evil.example)",
    "@acme/owners",
    "#1",
    "clusters/\u202etxt.exe",
    "<!-- x",
    "a | b |",
    "surrogate \udcff",
    "`",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_path_stays_in_its_cell(text: str) -> None:
    row, other, _ = rows(summary_of(round_of(holding(Hold(HoldReason.ORPHAN, "nobody"), path=text), ONE)))
    assert row[1:] == ["", "v2.8.7", "", "held: **orphan**"]
    assert other[2] == "v2.8.7 → v2.8.8"
    assert "\n" not in row[0]
    assert row[0].startswith("`")
    assert row[0].endswith("`")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_detail_does_nothing(text: str) -> None:
    shown = "".join(held(Hold(HoldReason.ORPHAN, text, "remove it")))
    assert not re.search(r"<(?!br>)[A-Za-z!/]|(?<!\\)\[x\]|@acme|#1|\u202e", shown)
    done = round_of(ONE, warnings=[text])
    assert summary_of(done).count("\n> ") == 1


def test_warnings_are_said_once_each() -> None:
    results = [result(ONE, Action.OPENED, number=1, warnings=["no label"]), result(ONE, Action.OPENED, MINOR, number=2, warnings=["no label"])]  # fmt: skip
    text = summary_of(round_of(ONE, results=results, warnings=["commits must be signed"]))
    assert text.count("> no label\n") == 1
    assert text.count("> commits must be signed\n") == 1


# Sizes


def many(count: int) -> UpdateGroupPlan:
    plan: Plan = ONE.plans[0]
    return team_of(
        "all", *(replace(plan, path=f"clusters/{at:04}", decisions=plan.decisions[:1]) for at in range(count))
    )


@pytest.mark.parametrize(
    ("count", "more"), [(MOST_ROWS, ""), (MOST_ROWS + 1, "… and 1 more"), (2 * MOST_ROWS, "… and 500 more")]
)
def test_the_table_is_bounded(count: int, more: str) -> None:
    team = many(count)
    results: list[Result] = [result(team, Action.OPENED, number=1)]
    text = summary_of(round_of(team, results=results))
    assert len(rows(text)) == MOST_ROWS
    assert ("more: see the report" in text) is bool(more)
    assert more in text
    assert len(text.encode()) < 1024 * 1024


def test_where_everything_is_ignored_there_is_no_table() -> None:
    text = summary_of(round_of())
    assert "Nothing to upgrade: each installation is ignored by the config file, or only reported." in text
    assert "| --- |" not in text


def test_drift_comes_first_and_a_row_links_to_what_moves_it() -> None:
    ahead = "clusters/staging/base/kustomization.yaml"
    files = fleet({"clusters/staging": "v2.8.7"}) | {ahead: base("v2.9.3").encode()}
    (team,) = plan_update_groups(World(files).gathered())
    results = [
        result(team, Action.OPENED, PATCH, number=1),
        result(team, Action.OPENED, MINOR, number=2, is_draft=True),
    ]
    text = summary_of(round_of(team, results=results))
    drift = f"clusters/staging: its version references disagree: v2.8.7 in {PATH}; v2.9.3 in {ahead}:3"
    assert f"\n\n> **Drift**: {drift}\n\n|" in text
    assert [links for _, links, *_ in rows(text)] == [f"[#1]({PULL}/1) opened", f"[#2]({PULL}/2) opened, draft"]


def test_what_waits_for_room_is_said_once_and_needs_nobody() -> None:
    world = World(fleet(dict.fromkeys(("a", "b", "c"), "v2.8.8")), Config(limits=Limits(drafts=1)))
    text = summary_of(world.run(MemoryForge(dict(world.files))))
    assert "**3 clusters: 3 need approval.** 1 pull request opened.\n" in text
    assert [(row[1], row[-1]) for row in rows(text)] == [
        ("[#1](https://git.example/acme/fleet/pull/1) opened, draft", "needs approval"),
        *[("", "needs approval<br>waits: **limited**")] * 2,
    ]
    remedy = r"merge or close one, or raise \`drafts\` under \`limits\` in the config file"
    assert f"> limited: 2 pull requests wait: at most 1 draft may be open (b (minor), c (minor)) → {remedy}\n" in text


def test_a_release_that_is_a_patch_here_and_a_minor_there_has_two_approvals() -> None:
    target = Version("v2.8.5")
    patch = Hold(HoldReason.NEEDS_APPROVAL, "", bump_kind=BumpKind.PATCH, target=target)
    minor = Hold(HoldReason.NEEDS_APPROVAL, "", bump_kind=BumpKind.MINOR, target=target)
    text = "\n".join(approvals([patch, minor], (), "approve ", ""))
    assert "approve 2.8\napprove v2.8.5\n" in text
