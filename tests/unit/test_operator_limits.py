"""A FluxInstance gets what the flux-operator of its cluster includes, and a pull request says which one it needs.

How the version of an operator is written is in the cases ``tests/kinds/flux-instance/operator-*``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from flows import World
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import HostNotAllowed, SourceUnavailable
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.objects.operator_releases import PUBLISHED, DistributionArtifact, lowest_with, releases_in
from flux_upgrade.pins.objects.operator_table import LOWEST, NEWEST, OLDEST, UNCONFIRMED, included, needed, source
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryArtifacts
from memory_forge import MemoryForge
from pinned import instance
from planned import decisions_of

FLUX, OTHER = "clusters/a/flux.yaml", "clusters/b/flux.yaml"
OPERATOR = "clusters/a/operator/kustomization.yaml"
MINOR = "flux-upgrade/clusters.a/minor"
UPGRADED, TOO_OLD = [("minor", "v2.9.4")], [("operator-too-old", "v2.9.4")]


def install(version: str) -> str:
    """The operator's install.yaml as a remote resource."""
    address = f"https://github.com/controlplaneio-fluxcd/flux-operator/releases/download/{version}/install.yaml"
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- {address}\n"


def world(files: Mapping[str, str], **given: object) -> World:
    encoded = {path: text.encode() for path, text in files.items()}
    governance = Governance(policy=Policy(bump=MaxBump.MINOR))
    found = World(encoded, Config(default=Group(governance=governance)))
    for name, value in given.items():
        setattr(found, name, value)
    return found


def decided(files: Mapping[str, str], **given: object) -> dict[str, list[tuple[str, str]]]:
    """Path → what is decided, without asking any registry."""
    found = world(files, **given)
    planned = plan_update_groups(found.gathered())
    assert found.artifacts.asked == []
    return {plan.path: decisions_of(plan) for team in planned for plan in team.plans}


def test_a_file_that_is_ignored_limits_nothing() -> None:
    files = {FLUX: instance("2.8.8"), OPERATOR: install("v0.50.0")}
    ignoring = world(files).config._replace(ignore=("clusters/a/operator/**",))
    assert decided(files, config=ignoring)[FLUX] == UPGRADED


def test_a_release_that_is_named_waits_too() -> None:
    files = {FLUX: instance("2.8.8"), OPERATOR: install("v0.50.0")}
    assert decided(files, asked=UpgradeRequest(to=Version("v2.9.4")))[FLUX] == TOO_OLD


def test_each_cluster_has_its_own() -> None:
    files = {
        FLUX: instance("2.8.8"),
        OPERATOR: install("v0.50.0"),
        OTHER: instance("2.8.8"),
        "clusters/b/operator/kustomization.yaml": install("v0.58.0"),
    }
    assert decided(files) == {FLUX: TOO_OLD, OTHER: UPGRADED}


@pytest.mark.parametrize(
    ("version", "operator", "at", "expected"),
    [
        ("2.x", "v0.50.0", "v2.8.8", TOO_OLD),
        ("2.x", "v0.58.0", "v2.9.4", [("up-to-date", "")]),
        ("2.x", "v0.60.0", "v2.9.4", [("up-to-date", "")]),
        ("2.8.x", "v0.49.0", "v2.8.7", TOO_OLD),
        ("2.8.x", "v0.58.0", "v2.8.8", UPGRADED),
        ("2.9.x", "v0.50.0", "", [("operator-too-old", "")]),
    ],
)
def test_a_range_gets_what_its_operator_includes(
    version: str, operator: str, at: str, expected: list[tuple[str, str]]
) -> None:
    files = {FLUX: instance(version), OPERATOR: install(operator)}
    (team,) = plan_update_groups(world(files).gathered())
    (plan,) = team.plans
    assert plan.pin.version == at
    assert decisions_of(plan) == expected
    for hold in plan.holds:
        if hold.reason == "operator-too-old":
            assert "upgrade the flux-operator to v0.58.0 or later first" in hold.hint


def test_a_pull_request_is_a_draft_while_its_operator_is_too_old() -> None:
    files = {FLUX: instance("2.8.8"), OPERATOR: install("v0.58.0")}
    run = world(files)
    forge = MemoryForge(dict(run.files))
    run.run(forge)
    pull = forge.open_pull(MINOR)
    assert pull is not None
    assert not pull.is_draft
    assert "The flux-operator must" not in pull.body

    for operator, is_draft in (("v0.50.0", True), ("v0.58.0", False)):
        forge.push_to_base({OPERATOR: install(operator).encode()})
        run.files = dict(forge.files)
        run.run(forge)
        pull = forge.open_pull(MINOR)
        assert pull is not None
        assert pull.is_draft == is_draft
        assert ("Upgrade the flux-operator to v0.58.0 or later first" in pull.body) == is_draft


def test_a_pull_request_says_which_operator_is_needed_if_it_is_elsewhere() -> None:
    run = world({FLUX: instance("2.8.8")})
    forge = MemoryForge(dict(run.files))
    run.run(forge)
    pull = forge.open_pull(MINOR)
    assert pull is not None
    assert "The flux-operator must be v0.58.0 or later, which includes Flux v2.9.4." in pull.body


def test_the_table_is_in_order() -> None:
    flux, operators = list(map(Version, LOWEST)), list(map(Version, LOWEST.values()))
    assert flux == sorted(flux)
    assert operators == sorted(operators)
    assert (operators[0], operators[-1] <= Version(NEWEST)) == (OLDEST, True)


def test_what_a_release_includes() -> None:
    assert included("v0.57.9")[-1] == "v2.9.3", "between two rows"
    assert included(NEWEST) == tuple(LOWEST)
    assert included(OLDEST)[-1] == "v2.4.0"
    for unknown in ("v0.9.9", "v9.0.0", "v0.58.0-rc.1", "0.58.0", "latest", ""):
        assert included(unknown) == ()


def test_what_a_release_needs() -> None:
    assert needed("v2.9.4") == "v0.58.0 or later"
    assert needed("v2.99.0") == f"a release later than {NEWEST}"
    assert needed("v2.8.4") == ""


class Unreachable(MemoryArtifacts):
    """A registry that answers nothing."""

    def __init__(self, error: type[SourceUnavailable]) -> None:
        super().__init__()
        self._error = error

    def listing(self, repository: str, reference: str) -> tuple[str, ...] | None:
        raise self._error(f"{repository}:{reference}", hint="try")

    def tags(self, repository: str) -> tuple[str, ...]:
        raise self._error(repository, hint="try")


def test_the_table_answers_where_the_registry_does_not() -> None:
    offline = Unreachable(SourceUnavailable)
    assert releases_in(DistributionArtifact(PUBLISHED, "v0.50.0", ""), offline) == included("v0.50.0")
    assert releases_in(DistributionArtifact("r.example/flux-operator-manifests", "v0.50.0", ""), offline)
    with pytest.raises(SourceUnavailable, match=r"^Flux v2\.9\.4 needs the flux-operator v0\.58\.0 or later, which"):
        lowest_with(PUBLISHED, "v0.50.0", "v2.9.4", offline)


@pytest.mark.parametrize(
    ("artifact", "error"),
    [
        pytest.param(DistributionArtifact(PUBLISHED, "v0.99.0", ""), SourceUnavailable, id="a-later-one"),
        pytest.param(DistributionArtifact(PUBLISHED, "v0.50.0", f"sha256:{1:064}"), SourceUnavailable, id="digest"),
        pytest.param(DistributionArtifact("r.example/mine", "v0.50.0", ""), SourceUnavailable, id="another-artifact"),
        pytest.param(
            DistributionArtifact(PUBLISHED, "v0.50.0", ""), HostNotAllowed, id="a-host-that-you-did-not-allow"
        ),
    ],
)
def test_the_table_answers_nothing_else(artifact: DistributionArtifact, error: type[SourceUnavailable]) -> None:
    with pytest.raises(error, match=artifact.repository):
        releases_in(artifact, Unreachable(error))
    with pytest.raises(error, match=r"^r\.example/mine$"):
        lowest_with("r.example/mine", "v0.50.0", "v2.99.0", Unreachable(error))


def test_the_page_gives_no_source_for_a_row_that_is_not_confirmed() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/flux-operator.md").read_text(encoding="utf-8")
    assert LOWEST.keys() > UNCONFIRMED
    for flux in LOWEST:
        assert (source(flux) in page) is (flux not in UNCONFIRMED), flux
