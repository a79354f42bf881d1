"""A release newer than the rules is rendered only after it was verified."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import written_release

from flux_upgrade.manifests.generators import _SOURCES, GENERATOR_PATHS, GENERATORS
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import render, rules_for
from flux_upgrade.model.errors import UnsupportedRelease
from flux_upgrade.model.versions import ReleaseManifests
from memory import NoFlux, WrittenReleases

TAG = "v2.10.0"
OPTIONS = InstallOptions(TAG, network_policy=False)


class FluxBinary(NoFlux):
    """A flux binary that tells what it was asked."""

    def version(self) -> str:
        return TAG

    def install_export(self, flags: Sequence[str]) -> str:
        return "\n".join(flags)


@pytest.fixture
def releases() -> WrittenReleases:
    releases = WrittenReleases()
    releases.files[TAG] = written_release.files(TAG)
    return releases


def manifests(releases: WrittenReleases) -> ReleaseManifests:
    return releases.manifests(TAG)


def hashes_of(tag: str) -> dict[str, str]:
    return dict(zip(GENERATOR_PATHS, _SOURCES[tag], strict=True))


def test_a_known_release_asks_for_nothing() -> None:
    rules = rules_for(WrittenReleases().manifests("v2.9.4"), WrittenReleases(), NoFlux())
    assert (rules.generator, rules.evidence) == (GENERATORS[-1], "")


@pytest.mark.parametrize(("tag", "generator"), [("v2.7.2", GENERATORS[3]), ("v2.7.0", GENERATORS[2])])
def test_the_source_of_the_generator(releases: WrittenReleases, tag: str, generator: object) -> None:
    releases.hashes[TAG] = hashes_of(tag)
    rules = rules_for(manifests(releases), releases, NoFlux())
    assert rules.generator == generator
    assert "source" in rules.evidence
    assert not rules.not_covered
    assert rules.render(OPTIONS) == render(manifests(releases), OPTIONS, rules.generator or GENERATORS[0])


@pytest.mark.parametrize("left_out", GENERATOR_PATHS)
def test_every_file_of_the_source_counts(releases: WrittenReleases, left_out: str) -> None:
    releases.hashes[TAG] = hashes_of("v2.7.2") | {left_out: "0" * 64}
    with pytest.raises(UnsupportedRelease):
        rules_for(manifests(releases), releases, NoFlux())


def test_what_flux_published(releases: WrittenReleases) -> None:
    components = written_release.components(TAG)
    options = InstallOptions(TAG, components=components)
    releases.published_texts[TAG] = render(manifests(releases), options, GENERATORS[3])
    rules = rules_for(manifests(releases), releases, NoFlux())
    assert rules.generator == GENERATORS[3]
    assert "published" in rules.evidence
    assert rules.not_covered


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("replicas: 1", "replicas: 2", 1),
        lambda text: text + "\n",
        lambda text: text.replace(TAG, "v2.10.1", 1),
        lambda text: text.replace("# Components: ", "# Components: x,"),
        lambda text: text.replace("# Components: ", "# Component: "),
        lambda _: "",
    ],
)
def test_what_flux_published_differs(releases: WrittenReleases, change: object) -> None:
    assert callable(change)
    releases.published_texts[TAG] = change(render(manifests(releases), InstallOptions(TAG), GENERATORS[3]))
    with pytest.raises(UnsupportedRelease, match="cannot be reproduced exactly") as caught:
        rules_for(manifests(releases), releases, NoFlux())
    assert not caught.value.pending


def test_not_there_yet(releases: WrittenReleases) -> None:
    with pytest.raises(UnsupportedRelease, match="does not exist yet") as caught:
        rules_for(manifests(releases), releases, NoFlux())
    assert caught.value.pending


def test_the_flux_cli(releases: WrittenReleases) -> None:
    rules = rules_for(manifests(releases), releases, FluxBinary())
    assert rules.generator is None
    assert rules.evidence == f"the manifest was rendered by the Flux CLI {TAG}"
    assert rules.render(OPTIONS).splitlines() == [f"--version={TAG}", "--network-policy=false"]


def test_a_flux_cli_of_another_version(releases: WrittenReleases) -> None:
    tag = "v2.10.1"
    releases.files[tag] = written_release.files(tag)
    with pytest.raises(UnsupportedRelease):
        rules_for(manifests(releases)._replace(tag=tag), releases, FluxBinary())
