"""Manifests derived from what Flux published render as the release's own do."""

from __future__ import annotations

import re
from typing import Any

import pytest
import written_release

from derived import differences, generator_of, option_sets, published, published_components
from flux_upgrade.manifests.derive import at_default_registry, derive
from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.generators import GENERATORS, Generator
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.manifests.render import render, rules_for
from flux_upgrade.model.errors import UnsupportedRelease, UntrustedArchive
from flux_upgrade.model.versions import ReleaseManifests
from flux_upgrade.pins.gotk_components.prove import prove
from memory import NoFlux, WrittenReleases, regenerator

TAG = "v2.9.4"


def release(tag: str = TAG) -> ReleaseManifests:
    return WrittenReleases((tag,)).manifests(tag)


def rendered(**flags: Any) -> str:
    """All components of the newest written release with other flags than the defaults."""
    options = InstallOptions(TAG, components=published_components(release()))._replace(**flags)
    return render(release(), options, generator_of(TAG))


@pytest.mark.parametrize("tag", written_release.TAGS)
def test_the_bytes_are_those_of_the_release_whatever_the_flags(tag: str) -> None:
    assert len(list(option_sets(release(tag)))) == 14
    assert not differences(release(tag), derive(tag, published(release(tag))))


def test_derived_manifests_are_named_like_the_release_s_and_never_verified() -> None:
    derived = derive(TAG, published(release()))
    assert derived.tag == TAG
    assert derived.files.keys() == release().files.keys()
    assert not derived.verified


def test_a_component_that_flux_did_not_publish_is_missing() -> None:
    derived = derive("v2.8.8", published(release("v2.8.8")))
    assert set(release("v2.8.8").components) - set(derived.components) == {"source-watcher"}


def test_nothing_that_rendering_put_in_is_left() -> None:
    text = "".join(derive(TAG, published(release())).files.values())
    for spliced in ("app.kubernetes.io/instance", "app.kubernetes.io/version", "ghcr.io", "feature-gates"):
        assert spliced not in text
    assert re.search(r"^  name: .*-flux-system$", text, re.MULTILINE) is None
    assert "  name: crd-controller\n" in text


@pytest.mark.parametrize("registry", ["docker.io/fluxcd", "fluxcd", "registry.example:5000/a/b"])
def test_a_copy_with_another_registry_gives_the_same(registry: str) -> None:
    copy = published(release(), registry)
    assert copy != published(release())
    assert at_default_registry(copy) == published(release())
    assert derive(TAG, copy) == derive(TAG, published(release()))


def test_images_of_several_registries_are_no_registry_of_a_copy() -> None:
    mixed = published(release()).replace("ghcr.io/fluxcd/helm", "evil.example/fluxcd/helm")
    assert at_default_registry(mixed) == mixed
    with pytest.raises(UntrustedArchive, match="not the image of the release"):
        derive(TAG, mixed)


@pytest.mark.parametrize("text", ["", "images:\n", "# Components: a|b\n    image: x/a:v1\n"])
def test_what_is_no_manifest_keeps_its_text(text: str) -> None:
    assert at_default_registry(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its header"),
        (published(release("v2.9.3")), "its header is not that of v2.9.4"),
        (published(release()).replace("\n", "\r\n"), "its header"),
        (published(release()).removeprefix("---\n"), "its header"),
        (rendered(namespace="gitops"), "belongs to none"),
        (rendered(network_policy=False), "nothing of policies.yaml"),
        (rendered(log_level="debug"), "default flags"),
        (rendered(watch_all_namespaces=False), "default flags"),
        (rendered(cluster_domain="cluster.example"), "default flags"),
        (rendered(image_pull_secret="pull"), "a pull secret or tolerations"),
        (rendered(toleration_keys=("a",)), "a pull secret or tolerations"),
        (re.sub("(helm-controller:v.*)", r"\1@sha256:0", rendered()), "not the image of the release"),
        (rendered() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n", "belongs to none"),
        (rendered() + "---\nkind: ConfigMap\n", "no metadata"),
        (rendered() + "---\nmetadata:\n  name: mine\n", "without kind"),
        (rendered() + "---\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n", "no name"),
        (rendered().replace("kind: Namespace", "kind: Space"), "does not begin with its namespace"),
        (rendered().replace(",source-watcher\n", "\n"), "belongs to none"),
        (rendered().replace(",source-watcher\n", ",source-watcher,new\n"), "nothing of new.yaml"),
        (rendered().replace("--feature-gates", "--gates"), "default flags"),
        (rendered().replace("  name: crd-controller-flux-system", "  name: crd-controller"), "belongs to"),
        (rendered().replace("    app.kubernetes.io/instance: flux-system\n", "", 1), "default flags"),
        (rendered().replace("--log-level", "--loglevel"), "do not have the shape"),
        (rendered().removesuffix("\n"), "default flags"),
    ],
)
def test_a_copy_that_is_not_what_flux_published_is_refused(text: str, why: str) -> None:
    with pytest.raises(UntrustedArchive, match=why) as caught:
        derive(TAG, text)
    assert "flux-manifests" in caught.value.hint


def test_an_object_with_marks_of_two_files_is_refused() -> None:
    label = "    app.kubernetes.io/component: source-controller\n"
    odd = re.sub("(kind: ResourceQuota\nmetadata:\n  labels:\n)", rf"\g<1>{label}", rendered())
    with pytest.raises(UntrustedArchive, match="or to several"):
        derive(TAG, odd)


def test_whatever_line_is_lost_or_doubled_it_is_refused_or_gives_the_text_back() -> None:
    lines = published(release()).splitlines(keepends=True)
    given_back = 0
    for number in range(0, len(lines), 3):
        for changed in (lines[:number] + lines[number + 1 :], lines[: number + 1] + lines[number:]):
            text = "".join(changed)
            try:
                derived = derive(TAG, text)
            except UntrustedArchive:
                continue
            given_back += 1
            options = InstallOptions(TAG, components=published_components(release()))
            assert render(derived, options, generator_of(TAG)) == text
    assert given_back  # an edit of what the release itself wrote cannot be recognized


def test_a_message_holds_nothing_of_the_text() -> None:
    text = published(release()) + "---\nkind: \x1b[31mEvil\nmetadata:\n  name: \x1b[31mEvil\n"
    with pytest.raises(UntrustedArchive) as caught:
        derive(TAG, text)
    assert "Evil" not in caught.value.message + caught.value.hint
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("tag", ["v0.41.2", "v1.0.0"])
def test_a_release_before_flux_2_is_refused(tag: str) -> None:
    with pytest.raises(UnsupportedRelease, match="older than Flux 2"):
        derive(tag, published(release()).replace(TAG, tag))


@pytest.mark.parametrize("rules", GENERATORS, ids=lambda rules: rules.since)
def test_a_release_newer_than_the_rules_is_derived_by_those_that_it_follows(rules: Generator) -> None:
    newer = ReleaseManifests("v2.99.0", written_release.files(TAG), verified=True)
    options = InstallOptions("v2.99.0", components=published_components(newer))
    derived = derive("v2.99.0", render(newer, options, rules))
    assert not differences(newer, derived, rules)


def test_a_release_newer_than_the_rules_that_follows_none_is_not_supported() -> None:
    text = published(release()).replace(TAG, "v2.99.0").replace("--log-level=info", "--log-level=warn")
    with pytest.raises(UnsupportedRelease, match=r"newer than this flux-upgrade.*default flags") as caught:
        derive("v2.99.0", text)
    assert "newer flux-upgrade" in caught.value.hint


def test_the_evidence_for_a_newer_release_speaks_for_default_flags_only() -> None:
    text = published(release()).replace(TAG, "v2.99.0")
    releases = WrittenReleases(())
    releases.published_texts["v2.99.0"] = text
    rules = rules_for(derive("v2.99.0", text), releases, NoFlux())
    assert rules.not_covered
    assert "is reproduced exactly" in rules.evidence


def test_no_other_release_speaks_for_an_installation_of_which_the_source_lacks_a_controller() -> None:
    releases = WrittenReleases()
    components = ("source-controller", "source-watcher")
    text = regenerator(releases).regenerate(InstallOptions("v2.8.8", components=components)).text
    releases.files["v2.8.8"] = dict(derive("v2.8.8", published(release("v2.8.8"))).files)
    proof = prove(parse(text.encode()), regenerator(releases))
    assert proof.verdict is Verdict.UNVERIFIED
    assert proof.reason == "the release source has no source-watcher of v2.8.8"
    assert "--release-source" in proof.hint
