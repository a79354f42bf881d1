"""A target is held that would downgrade Flux or a controller, and a manifest that could not be verified."""

from __future__ import annotations

import pytest

from discovered import manifests_in
from flows import manifest
from flux_upgrade.model.errors import Downgrade, Unreadable, Unverified
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin
from flux_upgrade.planning import manifest_planner
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import MemoryTree, regenerator

IMAGE = b"ghcr.io/fluxcd/source-controller:v1.8.7"


def installation(content: bytes) -> Pin:
    (found,) = manifests_in(MemoryTree({"gotk-components.yaml": content}), regenerator())
    return found


PLAIN = manifest("v2.8.7")


def bumped(image: bytes) -> Pin:
    assert IMAGE in PLAIN
    return installation(PLAIN.replace(IMAGE, image))


_WITHDRAWN = PLAIN.replace(b"v2.8.7", b"v2.8.6").replace(b"v1.8.7", b"v1.8.6")
"""Of a release that the source lacks: its neighbor explains it, if nothing but versions differs."""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<<<<<<< HEAD\n" + PLAIN, HoldReason.UNREADABLE),
        (_WITHDRAWN, None),
        (_WITHDRAWN.replace(b"cpu: 1000m", b"cpu: 2000m"), HoldReason.UNVERIFIED),
        (PLAIN, None),
        (PLAIN.replace(b"cpu: 1000m", b"cpu: 2000m"), None),
    ],
    ids=["broken", "of a release that is not there", "of such a release, edited", "exact", "edited"],
)
def test_what_cannot_be_proved_can_go_nowhere(content: bytes, reason: HoldReason | None) -> None:
    hold = installation(content).held
    assert (hold.reason if hold else None) is reason
    if hold is not None:
        assert hold.error in (Unreadable, Unverified)
        assert hold.detail
        assert hold.hint


@pytest.mark.parametrize(
    ("content", "is_behind"),
    [
        (PLAIN, False),
        (PLAIN.replace(b"# Flux Version: v2.8.7", b"# Flux Version: v2.8.8"), True),
        (PLAIN.replace(b"# Flux Version: v2.8.7\n", b""), False),
        (PLAIN.replace(b"app.kubernetes.io/version: v2.8.7", b"app.kubernetes.io/version: v2.8.6"), True),
        (PLAIN.replace(IMAGE, b"ghcr.io/fluxcd/source-controller:v1.8.6"), True),
        (PLAIN.replace(IMAGE, b"ghcr.io/fluxcd/source-controller:v1.8.8"), False),
        (PLAIN.replace(IMAGE, b"registry.example/source-controller:v1.0.0"), False),
    ],
    ids=["as released", "header", "no header", "labels", "image behind", "image ahead", "own image"],
)
def test_what_stands_around_a_body_may_be_behind_it(content: bytes, *, is_behind: bool) -> None:
    assert manifest_planner.is_behind(installation(content).proof, Version("v2.8.7")) is is_behind


@pytest.mark.parametrize(
    ("image", "target", "detail", "remedy"),
    [
        (IMAGE, "v2.8.8", "", ""),
        (b"ghcr.io/fluxcd/source-controller:v1.8.8", "v2.8.8", "", ""),
        (b"ghcr.io/fluxcd/source-controller:v1.9.3", "v2.8.8", "source-controller runs v1.9.3", "--to v2.9.3"),
        (b"ghcr.io/fluxcd/source-controller:v1.9.3", "v2.9.3", "", ""),
        (
            b"ghcr.io/fluxcd/source-controller:v7.0.0",
            "v2.8.8",
            "source-controller runs v7.0.0",
            "wait for the next release",
        ),
        (b"registry.example/source-controller:v7.0.0", "v2.8.8", "", ""),
        (b"ghcr.io/fluxcd/source-controller:latest", "v2.8.8", "", ""),
    ],
    ids=["older", "the same", "newer", "newer than one, not than the next", "newer than all", "their own", "odd"],
)
def test_no_controller_goes_backwards(image: bytes, target: str, detail: str, remedy: str) -> None:
    found = bumped(image).proof
    for asked in (False, True):
        hold = manifest_planner.ahead_of(found, Version(target), regenerator(), asked=asked)
        if not detail:
            assert hold is None
            continue
        assert hold is not None
        assert hold.reason is HoldReason.CONTROLLER_NEWER
        assert detail in hold.detail
        assert remedy in hold.hint
        assert hold.error is (Downgrade if asked else None)


def test_a_controller_that_is_ahead_is_named() -> None:
    assert manifest_planner.ahead_controllers(installation(PLAIN).proof) == []
    assert manifest_planner.ahead_controllers(bumped(b"ghcr.io/fluxcd/source-controller:v1.9.3").proof) == [
        "source-controller runs v1.9.3, newer than the release's v1.8.7"
    ]


def test_an_older_release_is_a_downgrade() -> None:
    hold = manifest_planner.downgrade(Version("v2.9.4"), Version("v2.8.8"))
    assert (hold.reason, hold.error) == (HoldReason.DOWNGRADE, Downgrade)
    assert "v2.9.4" in hold.detail
    assert "v2.8.8" in hold.detail
