"""A bootstrap adds the workflow that upgrades Flux once, and replaces no file for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.proposed_bootstraps import bootstrap, cluster
from flux_upgrade.bootstrap import pull_request_text
from flux_upgrade.bootstrap.pull_request_text import body
from flux_upgrade.bootstrap.workflow_file import (
    ACTION,
    PATH,
    action_of,
    require_permission,
    to_be_added,
    upgrades,
    workflow_text,
)
from flux_upgrade.model.errors import ForbiddenByForge, UsageError
from flux_upgrade.planning.proposal import ProposalContext

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMIT = "3d3c42e5aac5ba805825da76410c181273ba90b1"
UPGRADING = b"jobs:\n  a:\n    steps:\n      - uses: acme/flux-upgrade@v0\n"


def test_it_is_the_example() -> None:
    assert workflow_text() == (EXAMPLES / "scheduled.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("repository", "ref", "release", "expected"),
    [
        ("acme/flux-upgrade", "v0", "v0.2.0", "acme/flux-upgrade@v0"),
        ("acme/flux-upgrade", COMMIT, "v0.2.0", f"acme/flux-upgrade@{COMMIT} # v0.2.0"),
        ("acme/flux-upgrade", COMMIT, "dev", f"acme/flux-upgrade@{COMMIT}"),
        ("acme/flux-upgrade", COMMIT, "v0.2.0\n      - run: id", f"acme/flux-upgrade@{COMMIT}"),
        ("acme/flux-upgrade", COMMIT, "", f"acme/flux-upgrade@{COMMIT}"),
        ("", "", "v0.2.0", ACTION),
        ("acme/flux-upgrade", "", "", ACTION),
        ("acme/flux-upgrade", "v0\n      - run: id", "", ACTION),
    ],
)
def test_the_action_is_the_one_that_runs(repository: str, ref: str, release: str, expected: str) -> None:
    action = action_of(repository, ref, release)
    assert action == expected
    assert f"- uses: {action}\n" in workflow_text(action)
    assert workflow_text(action).count("\n") == workflow_text().count("\n")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.y*ml")))
def test_the_examples_that_upgrade_are_recognized(name: str) -> None:
    content = (EXAMPLES / name).read_bytes()
    if b"jobs:" in content:
        assert upgrades(content) is not name.startswith(("bootstrap-", "check-"))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("- uses: acme/flux-upgrade@v0", True),
        ("- name: Flux\n        uses: 'acme/flux-upgrade@v0' # v0.1", True),
        ("- uses: docker://ghcr.io/acme/flux-upgrade:v0", True),
        ("- uses: acme/flux-upgrade@v0\n        with:\n          mode: bootstrap", False),
        ("- uses: acme/flux-upgrade@v0\n        with: {}\n      - uses: b/c@v1\n        with:\n          mode: plan", True),
        ("- with:\n          mode: 'rollback'\n        uses: acme/flux-upgrade@v0", False),
        ("- uses: acme/flux-upgrade@v0\n        with:\n          mode: ${{ inputs.mode }}", True),
        ("- run: flux-upgrade upgrade --pull-request", True),
        ("# - run: flux-upgrade upgrade\n      - run: flux-upgrade plan", False),
        ("- uses: acme/flux-upgrade-notes@v1", False),
    ],
)  # fmt: skip
def test_a_workflow_that_upgrades_is_known(step: str, *, expected: bool) -> None:
    content = f"jobs:\n  a:\n    steps:\n      {step}\n      - run: true\n"
    assert upgrades(content.encode()) is expected


def test_it_is_added_once() -> None:
    added = to_be_added([(".github/workflows/ci.yaml", b"jobs: {}\n")])
    assert added is not None
    assert (added.path, added.before) == (PATH, None)
    assert to_be_added([(added.path, added.after)]) is None
    assert to_be_added([(".github/workflows/other.yml", UPGRADING)]) is None


def test_a_file_in_its_place_is_not_replaced() -> None:
    with pytest.raises(UsageError, match="exists, and does not upgrade Flux"):
        to_be_added([(PATH, b"jobs: {}\n")])


def test_a_token_that_may_not_is_refused_with_the_file_to_paste() -> None:
    added = to_be_added(())
    assert added is not None
    with pytest.raises(ForbiddenByForge, match="the token cannot write") as refused:
        require_permission(may_write=False, change=added)
    assert refused.value.hint.endswith(workflow_text())
    for answer in (True, None):
        require_permission(may_write=answer, change=added)


def test_it_alone_is_a_pull_request_too() -> None:
    done = cluster(path="clusters/staging")
    done = done._replace(files=done.files._replace(changes=()))
    proposal = bootstrap(done, workflow=to_be_added(()))
    around = ProposalContext(())
    assert [each.path for each in proposal.changes] == [PATH]
    assert pull_request_text.title(proposal, around) == "Add a workflow that upgrades Flux"
    assert pull_request_text.direct_message(proposal) == "Add the workflow that upgrades Flux"
    text = body(proposal, around, pull_request_text.state(proposal, around))
    assert "**Upgrade workflow** · 1 file · **1 action required**\n" in text
    assert "Settings → Actions → General" in text
