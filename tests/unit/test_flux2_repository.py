"""Addresses of Flux's repository are read as kustomize reads them (``api/internal/git/repospec_test.go``)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.pins.formats.flux2_repository import is_installation, judge, parse
from flux_upgrade.pins.pin import PinState

TAGGED = (
    "github.com/fluxcd/flux2/manifests/install?ref=v2.9.4",
    "github.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "github.com:fluxcd/flux2//manifests/install?ref=v2.9.4",
    "https://github.com/fluxcd/flux2/manifests/install/?ref=v2.9.4",
    "https://github.com/fluxcd/flux2.git/manifests/install?ref=v2.9.4",
    "https://github.com/fluxcd/flux2.git//manifests/install?submodules=false&ref=v2.9.4&timeout=90s",
    "https://github.com:443/fluxcd/flux2//manifests/install?version=v2.9.4",
    "https://token@github.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "https://user:secret@github.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "http://www.github.com/fluxcd/flux2//./manifests//install?ref=v2.9.4",
    "git@github.com:fluxcd/flux2//manifests/install?ref=v2.9.4",
    "git@github.com/fluxcd/flux2.git//manifests/install?ref=v2.9.4",
    "org-12345@github.com:fluxcd/flux2//manifests/install?ref=v2.9.4",
    "ssh://git@github.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "ssh://git@ssh.github.com:443/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "git::https://github.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    "GIT::SSH://git@GitHub.com/FluxCD/Flux2//manifests/install?ref=v2.9.4",
    "gh:fluxcd/flux2//manifests/install?ref=v2.9.4",
    "https://raw.githubusercontent.com/fluxcd/flux2/v2.9.4/manifests/install/namespace.yaml",
    "https://github.com/fluxcd/flux2/raw/v2.9.4/manifests/install/namespace.yaml",
    "https://github.com/fluxcd/flux2/releases/download/v2.9.4/install.yaml",
)


@pytest.mark.parametrize("url", TAGGED)
def test_a_tag_is_found_in_every_spelling(url: str) -> None:
    reference = parse(url)

    assert reference is not None
    assert reference.is_flux2
    assert reference.installs
    assert reference.ref == "v2.9.4"
    assert url[reference.start :].startswith("v2.9.4")
    assert not reference.reason


@pytest.mark.parametrize(
    "path",
    ["../base", "./github.com/fluxcd/flux2", "/srv/fluxcd/flux2", "gotk-components.yaml", "", "vendor/github.com/x"],
)
def test_a_path_is_no_address(path: str) -> None:
    assert parse(path) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://gitlab.example.com/mirrors/flux2.git//manifests/install?ref=v2.9.4",
        "git@git.example.com:platform/flux2.git//manifests/install?ref=v2.9.4",
        "https://dev.azure.com/example/platform/_git/flux2/manifests/install?ref=v2.9.4",
        "file:///srv/flux2//manifests/install?ref=v2.9.4",
        "github.com/example/flux2//manifests/install?ref=v2.9.4",
        "https://proxy.example.com/github.com/fluxcd/flux2/releases/download/v2.9.4/install.yaml",
        "https://github.com.example.com/fluxcd/flux2//manifests/install?ref=v2.9.4",
    ],
)
def test_a_copy_is_no_original(url: str) -> None:
    reference = parse(url)

    assert reference is not None
    assert reference.is_copy
    assert reference.installs


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/fluxcd/flux2-monitoring-example//monitoring?ref=v2.9.4",
        "https://github.com/fluxcd/flux2-kustomize-helm-example/clusters/staging",
        "https://github.com/fluxcd/flux?ref=1.25.4",
        "https://github.com/example/fluxcd-flux2//manifests/install",
    ],
)
def test_other_repositories_are_neither(url: str) -> None:
    reference = parse(url)

    assert reference is not None
    assert not reference.is_flux2
    assert not reference.is_copy


def test_no_secret_of_an_address_is_kept() -> None:
    assert "secret" not in repr(parse("https://user:secret@git.example.com:8443/a/flux2//manifests/install"))


@pytest.mark.parametrize(
    ("ref", "standing", "version"),
    [
        (None, PinState.FLOATING, ""),
        ("", PinState.FLOATING, ""),
        ("main", PinState.FLOATING, ""),
        ("refs/heads/main", PinState.FLOATING, ""),
        ("release/v2.8.x", PinState.FLOATING, ""),
        ("v2.9.4", PinState.EXACT, "v2.9.4"),
        ("tags/v2.9.4", PinState.EXACT, "v2.9.4"),
        ("refs/tags/v2.10.0-rc.1", PinState.EXACT, "v2.10.0-rc.1"),
        ("v0.41.2", PinState.EXACT, "v0.41.2"),
        ("refs/v2.9.4", PinState.UNKNOWN, ""),
        ("2.9.4", PinState.UNKNOWN, ""),
        ("v2.9", PinState.UNKNOWN, ""),
        ("v02.9.4", PinState.UNKNOWN, ""),
        ("latest", PinState.UNKNOWN, ""),
        ("3e8d1ae", PinState.UNKNOWN, ""),
        ("${FLUX_VERSION}", PinState.UNKNOWN, ""),
        ("v{{ flux }}", PinState.UNKNOWN, ""),
    ],
)
def test_what_a_reference_means(ref: str | None, standing: PinState, version: str) -> None:
    meaning = judge(ref)

    assert (meaning.state, meaning.version) == (standing, version)
    assert bool(meaning.reason) is (standing is not PinState.EXACT)
    if ref and version:
        assert ref.endswith(version)


@pytest.mark.parametrize(
    ("path", "installs"),
    [
        ("./manifests/install", True),
        ("manifests/install/", True),
        ("manifests/crds", True),
        ("manifests/bases/source-controller", True),
        ("manifests/monitoring", False),
        ("manifests/installation", False),
        ("install", False),
        ("", False),
    ],
)
def test_which_folders_install_flux(path: str, *, installs: bool) -> None:
    assert is_installation(path) is installs


@given(st.text(alphabet="/:@?=&.git#%v2{}flux cd", max_size=60))
def test_no_address_is_too_odd(url: str) -> None:
    for each in (url, f"github.com/fluxcd/flux2{url}", f"https://github.com/{url}"):
        reference = parse(each)
        if reference is not None and reference.ref:
            assert each[reference.start : reference.start + len(reference.ref)] == reference.ref
