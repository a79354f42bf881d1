"""A server that never finishes its answers holds what needs it. All else goes on, in the same run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.slow_server import FORMS, SlowServer
from convergence.asking import open_in
from convergence.fleet import fleet_at, installation
from convergence.runs import Ran
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.timing import Patience
from pinned import sync

_NUMBERS = range(4)
SHORT = Patience(request=3.0, host=5.0)


def chart(url: str) -> str:
    return (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n"
        f"metadata: {{name: charts, namespace: flux-system}}\nspec:\n  url: {url}\n---\n"
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: flux, namespace: flux-system}\nspec:\n  chart:\n    spec:\n"
        "      chart: flux2\n      version: 2.16.0\n      sourceRef: {kind: HelmRepository, name: charts}\n"
    )


def artifact(url: str) -> str:
    return (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: flux, namespace: flux-system}\n"
        f"spec:\n  url: {url}/fluxcd/flux-manifests\n  ref: {{tag: v2.8.7}}\n---\n"
        + sync("./", "flux", "OCIRepository", "flux")
    )


@pytest.fixture
def slow(form: str) -> Iterator[SlowServer]:
    with SlowServer(form, count=400) as server:
        yield server


@pytest.mark.parametrize(("kind", "form"), [*(("chart", form) for form in FORMS), ("registry", "headers")])
def test_the_other_clusters_have_their_pull_requests(slow: SlowServer, kind: str, tmp_path: Path) -> None:
    files = installation("v2.8.7") | installation("v2.8.7", "clusters/staging")
    for number in _NUMBERS:
        text = chart(f"{slow.url}/{number}") if kind == "chart" else artifact(f"oci://{slow.host}/{number}")
        files[f"clusters/tenant-{number}/flux.yaml"] = text.encode()
    with fleet_at(tmp_path, files, "policy: patch") as fleet:
        fleet.patience = SHORT
        ran = fleet.run(allow_hosts=slow.host)
        heads = {fleet.repository.pulls[number].head for number in open_in(fleet)}
    assert {f"flux-upgrade/clusters.{name}/patch" for name in ("production", "staging")} <= heads
    assert not any("tenant" in head for head in heads)
    assert holds(ran) == {f"clusters/tenant-{number}/flux.yaml": "source-unavailable" for number in _NUMBERS}
    assert f"{slow.host} did not answer in full within 3 s" in ran.log
    assert re.search(rf"{slow.host} was given up after \d+ s of failed requests", ran.log)
    assert len(slow.asked) == 2  # as many as the budget allows, for four clusters


@pytest.mark.parametrize(("part", "form"), [("list", "headers"), ("list", "body"), ("archive", "chunks")])
def test_without_a_release_source_the_run_ends(slow: SlowServer, part: str, tmp_path: Path) -> None:
    files = installation("v2.8.7") | installation("v2.8.7", "clusters/staging")
    with fleet_at(tmp_path, files, "policy: patch") as fleet:
        fleet.patience = SHORT
        if part == "archive":
            small = [path for path in fleet.source.rglob("*") if path.suffix in (".json", ".txt")]
            slow.quick = {f"/{path.relative_to(fleet.source)}": path.read_bytes() for path in small}
        ran = fleet.run(release_source=slow.url)
        assert open_in(fleet) == []
    assert ran.code == SourceUnavailable.exit_code
    assert f"{slow.host} did not answer in full within 3 s" in ran.log
    assert len([path for path in slow.asked if path not in slow.quick]) <= 2


def holds(ran: Ran) -> dict[str, str]:
    """The path of what is held → why."""
    return {
        each["path"]: decision["reason"]
        for each in ran.report["installations"]
        for decision in each["decisions"]
        if decision["action"] == "hold" and each["path"].startswith("clusters/tenant")
    }
