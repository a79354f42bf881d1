"""A patch that a patch breaks keeps an approved pull request a draft until it is fixed or accepted."""

from __future__ import annotations

import re

import pytest

from cluster_repository import APPS, MINOR, NEW, ClusterRepository
from flux_upgrade.model import markers
from flux_upgrade.model.forge import PullRequest
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy

KUSTOMIZATION = "clusters/staging/flux-system/kustomization.yaml"
TURNS_OFF = b"""\
resources:
- gotk-components.yaml
patches:
- target: {kind: CustomResourceDefinition, name: kustomizations.kustomize.toolkit.fluxcd.io}
  patch: |
    - {op: move, from: /spec/versions/0, path: /spec/versions/-}
    - {op: replace, path: /spec/versions/0/served, value: false}
"""
FIXED = b"resources:\n- gotk-components.yaml\n"
BOX = re.compile(rf"- \[(.)\] <!-- flux-upgrade:({markers.ACCEPT}-[0-9a-f]+) -->")


def repository() -> ClusterRepository:
    """Nothing needs a migration, and a minor has to be approved."""
    found = ClusterRepository({APPS: NEW, KUSTOMIZATION: TURNS_OFF}, policy=Policy(bump=MaxBump.PATCH))
    found.world.asked = found.world.asked._replace(approve=("2.9",))
    return found


def opened(of: ClusterRepository) -> PullRequest:
    found = of.forge.open_pull(MINOR)
    assert found is not None
    return found


def box(pull: PullRequest) -> tuple[str, str]:
    """The mark in the one box, and its name."""
    ((mark, name),) = BOX.findall(pull.body)
    return mark, name


def test_what_nobody_approved_is_held() -> None:
    one = repository()
    one.world.asked = one.world.asked._replace(approve=())
    assert one.run() == {}
    assert one.reasons == {HoldReason.OVERLAY_BREAKS}


def test_what_was_approved_is_a_draft_that_says_what_breaks_first() -> None:
    one = repository()
    assert one.run() == {MINOR: "opened"}
    pull = opened(one)
    assert pull.is_draft
    assert "a patch breaks" in pull.body.splitlines()[1]
    first = pull.body[pull.body.index("**Action required**") :]
    assert first.index("this patch turns off Kustomization v1 in v2.9.4") < first.index("2. ")
    assert f"used in `{APPS}:2`" in first
    assert box(pull)[0] == " "
    one.world.asked = one.world.asked._replace(approve=())
    assert one.run() == {MINOR: "unchanged"}, "the approval was for this run, and is remembered"


def test_who_ticks_the_box_gets_it_ready() -> None:
    one = repository()
    one.run()
    one.forge.tick(opened(one).number, box(opened(one))[1])
    one.world.asked = one.world.asked._replace(approve=())
    assert one.run() == {MINOR: "updated"}
    assert not opened(one).is_draft
    assert box(opened(one))[0] == "x"
    assert one.run() == {MINOR: "unchanged"}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({KUSTOMIZATION: b"# A line more\n" + TURNS_OFF}, id="line"),
        pytest.param({"apps/other.yaml": NEW}, id="another-use"),
    ],
)
def test_what_was_accepted_lapses_with_it(changed: dict[str, bytes]) -> None:
    one = repository()
    one.run()
    one.forge.label(opened(one).number, APPROVED)
    one.forge.tick(opened(one).number, box(opened(one))[1])
    one.run()
    before = box(opened(one))
    assert before[0] == "x"
    one.forge.push_to_base(changed)
    one.run()
    mark, name = box(opened(one))
    assert mark == " "
    assert name != before[1]
    assert opened(one).is_draft


def test_what_is_fixed_in_the_base_is_ready_without_a_box() -> None:
    one = repository()
    one.run()
    one.world.asked = one.world.asked._replace(approve=())
    one.forge.push_to_base({KUSTOMIZATION: FIXED})
    one.run()
    assert not opened(one).is_draft
    assert not BOX.search(opened(one).body)


def test_what_a_person_pushes_is_left_alone() -> None:
    one = repository()
    one.run()
    one.forge.push(MINOR, {KUSTOMIZATION: FIXED})
    head = opened(one).head
    assert one.run() == {MINOR: "held"}
    assert opened(one).head == head
