"""A chart's version is read from the file and from the chart repository, which is asked no more than it takes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest

from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound, SourceUnavailable, UnsupportedPin
from flux_upgrade.model.text import decoded, edited, encoded
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.helm_chart import index
from flux_upgrade.pins.helm_chart import pin as helm_chart
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from kind_cases import KindCase, ListedReleases, cases_of
from memory import MemoryArtifacts, MemoryTree, NoFlux
from mutation import mutate

COMMUNITY = "https://fluxcd-community.github.io/helm-charts"
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: flux-system}
spec: {chart: {spec: {chart: flux2, version: "2.18.3", sourceRef: {kind: HelmRepository, name: charts}}}}
"""
REPOSITORY = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: flux-system}}
spec: {{url: "{COMMUNITY}"}}
"""
APPS = {"2.19.1": "2.9.4", "2.19.0": "2.9.2", "2.18.3": "2.8.8", "2.18.0": "2.8.3", "1.0.0": "0.30.0"}


class LazyVersions(Mapping[str, str]):
    """Chart versions in a registry that gives an ``appVersion`` only when it is read."""

    def __init__(self, broken: frozenset[str] = frozenset()) -> None:
        self.looked_at: list[str] = []
        self._broken = broken

    def __getitem__(self, version: str) -> str:
        self.looked_at.append(version)
        if version in self._broken:
            raise SourceUnavailable("the registry is gone", hint="try again later")
        return APPS[version]

    def __iter__(self) -> Iterator[str]:
        return iter(APPS)

    def __len__(self) -> int:
        return len(APPS)


class CountingCharts:
    """The port Charts, with one index for all repositories."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self._versions = versions
        self.asked: list[tuple[str, str]] = []

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        self.asked.append((repository, chart))
        return self._versions


def found(files: Mapping[str, str], charts: CountingCharts) -> tuple[list[Pin], PinContext]:
    content = {path: text.encode() for path, text in files.items()}
    regenerator = Regenerator(ListedReleases((), {}), NoFlux())
    context = PinContext(MemoryTree(content), regenerator, MemoryArtifacts(), charts)
    return list(helm_chart.find([File(*each) for each in content.items()], context)), context


def test_each_index_is_asked_for_once() -> None:
    charts = CountingCharts(APPS)
    releases = {f"{name}.yaml": RELEASE.replace("NAME", name) for name in "abc"}
    pins, _ = found({**releases, "charts.yaml": REPOSITORY}, charts)
    assert [pin.version for pin in pins] == ["v2.8.8"] * 3
    assert charts.asked == [(COMMUNITY, "flux2")]


@pytest.mark.parametrize(
    "files",
    [
        {"charts.yaml": REPOSITORY},
        {"flux.yaml": RELEASE.replace("chart: flux2", "chart: podinfo"), "charts.yaml": REPOSITORY},
        {"flux.yaml": RELEASE.replace('"2.18.3"', "${VERSION}"), "charts.yaml": REPOSITORY},
        {"flux.yaml": RELEASE.replace('version: "2.18.3", ', ""), "charts.yaml": REPOSITORY},
        {"flux.yaml": RELEASE},
    ],
)
def test_nothing_is_asked_that_no_version_depends_on(files: dict[str, str]) -> None:
    charts = CountingCharts(APPS)
    found(files, charts)
    assert charts.asked == []


def test_no_more_of_a_registry_is_looked_at_than_it_takes() -> None:
    versions = LazyVersions()
    (pin,), context = found({"flux.yaml": RELEASE, "charts.yaml": REPOSITORY}, CountingCharts(versions))
    assert versions.looked_at == ["2.18.3"]
    assert helm_chart.change(pin, "v2.9.4", context).raw == "2.19.1"
    assert versions.looked_at == ["2.18.3", "2.19.1"]
    with pytest.raises(ReleaseNotFound, match=r"appVersion 2\.9\.5 yet"):
        helm_chart.change(pin, "v2.9.5", context)
    assert "2.19.0" not in versions.looked_at


def test_a_registry_that_fails_at_the_last_moment() -> None:
    charts = CountingCharts(LazyVersions(frozenset({"2.18.3"})))
    (pin,), _ = found({"flux.yaml": RELEASE, "charts.yaml": REPOSITORY}, charts)
    assert (pin.state, pin.hint) == (PinState.UNKNOWN, "try again later")
    assert "the registry is gone" in pin.reason
    charts = CountingCharts(LazyVersions(frozenset({"2.19.1"})))
    (pin,), context = found({"flux.yaml": RELEASE, "charts.yaml": REPOSITORY}, charts)
    with pytest.raises(SourceUnavailable):
        helm_chart.change(pin, "v2.9.4", context)


def test_a_pin_that_states_nothing_is_not_changed() -> None:
    files = {"flux.yaml": RELEASE.replace('version: "2.18.3", ', ""), "charts.yaml": REPOSITORY}
    (pin,), context = found(files, CountingCharts(APPS))
    with pytest.raises(UnsupportedPin, match="is not set") as caught:
        helm_chart.change(pin, "v2.9.4", context)
    assert caught.value.hint == "state 2.19.1"


@pytest.mark.parametrize(
    ("text", "chart", "written"),
    [
        ("2.14.0", "2.19.1", "2.19.1"),
        ("v2.14.0", "2.19.1", "v2.19.1"),
        ("=2.14.0", "v2.19.1", "=2.19.1"),
        ("= v2.14.0", "2.19.1+5", "= v2.19.1+5"),
    ],
)
def test_a_version_is_spelled_like_the_one_before(text: str, chart: str, written: str) -> None:
    assert index.exactly(text, chart) == written


@pytest.mark.parametrize(
    ("app", "release"),
    [("2.9.4", "v2.9.4"), ("v2.9.4", "v2.9.4"), ("0.41.2", "v0.41.2"), ("2.9", ""), ("", ""), ("main", "")],
)
def test_which_release_an_app_version_names(app: str, release: str) -> None:
    assert index.flux_of(app) == release


@pytest.mark.parametrize(
    ("folder", "path", "whole"),
    [
        ("", "a.yaml", "a.yaml"),
        ("a/b/", "../c.yaml", "a/c.yaml"),
        ("a/", "./b//c/./d.yaml", "a/b/c/d.yaml"),
        ("a/", "../../b.yaml", ""),
        ("", "../b.yaml", ""),
        ("a/", "", "a"),
    ],
)
def test_paths_that_files_name(folder: str, path: str, whole: str) -> None:
    assert joined(folder, path) == whole


def test_a_mutated_file_is_read_or_reported_and_never_corrupted() -> None:
    dice = random.Random(5)  # noqa: S311  (the same every time)
    cases = cases_of(helm_chart.NAME)
    changed = 0
    for _ in range(400):
        case = dice.choice(cases)
        files = case.before
        path = dice.choice(sorted(files))
        text = decoded(files[path])
        for _ in range(dice.randrange(1, 3)):
            text = mutate(text, dice) if text else text
        files[path] = encoded(text)
        for pin in found_in(case, files):
            assert pin.version or pin.reason
            assert pin.state is not PinState.UNKNOWN or (pin.reason and pin.hint)
            change = change_of(pin, case, files)
            if change is not None:
                after = edited(pin.content, change.replacements)
                written = [each.raw for each in found_in(case, {**files, pin.path: after})]
                assert change.raw in written
                changed += 1
    assert changed > 100


def found_in(case: KindCase, files: Mapping[str, bytes]) -> list[Pin]:
    handed = [File(*each) for each in files.items() if each[0].endswith((".yaml", ".yml", ".gotmpl"))]
    return list(helm_chart.find(handed, case.context(files)))


def change_of(pin: Pin, case: KindCase, files: Mapping[str, bytes]) -> PinChange | None:
    if not pin.is_movable or pin.version == case.to:
        return None
    with suppress(FluxUpgradeError):
        return helm_chart.change(pin, case.to, case.context(files))
    return None
