"""References to images are split into their parts, and their tags are ordered."""

from __future__ import annotations

import pytest

from flux_upgrade.manifests.images import Controller, Image, ImageState, tag_order

RELEASE = Image("ghcr.io/fluxcd/source-controller", "v1.8.5", "")


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("r/x:v1", Image("r/x", "v1", "")),
        ("r:5000/x", Image("r:5000/x", "", "")),
        ("r:5000/x:v1@sha256:ab", Image("r:5000/x", "v1", "sha256:ab")),
        ("x@sha256:ab", Image("x", "", "sha256:ab")),
        ("", Image("", "", "")),
    ],
)
def test_parts_of_an_image(text: str, image: Image) -> None:
    assert Image.parse(text) == image
    assert str(image) == text


@pytest.mark.parametrize(
    ("text", "state", "carried"),
    [
        ("ghcr.io/fluxcd/source-controller:v1.8.5", ImageState.RELEASE, RELEASE),
        ("ghcr.io/fluxcd/source-controller:v1.9.0", ImageState.AHEAD, RELEASE),
        ("ghcr.io/fluxcd/source-controller:v1.8.4", ImageState.BEHIND, RELEASE),
        ("ghcr.io/fluxcd/source-controller:v1.8.5-rc.1", ImageState.BEHIND, RELEASE),
        ("ghcr.io/fluxcd/source-controller:v1.8.5@sha256:ab", ImageState.PINNED, RELEASE),
        ("ghcr.io/fluxcd/source-controller@sha256:ab", ImageState.PINNED, RELEASE),
        ("ghcr.io/fluxcd/source-controller:v1.9.0@sha256:ab", ImageState.AHEAD, RELEASE),
        ("ghcr.io/fluxcd/source-controller:main", ImageState.CUSTOM, RELEASE._replace(tag="main")),
        ("r/source-controller:v1.8.5", ImageState.CUSTOM, Image("r/source-controller", "v1.8.5", "")),
        ("r/fork:v9.0.0@sha256:ab", ImageState.CUSTOM, Image("r/fork", "v9.0.0", "")),
    ],
)
def test_states(text: str, state: ImageState, carried: Image) -> None:
    controller = Controller("source-controller", Image.parse(text), RELEASE, 1)
    assert controller.state is state
    assert controller.carried == carried


@pytest.mark.parametrize(
    ("text", "is_template"),
    [
        ("${REGISTRY}/x:v1", True),
        ("{{ registry }}/x:v1", True),
        ("r/x:<tag>", True),
        ("r/x:%TAG%", True),
        ("r:5000/x-y_z.a:v1@sha256:ab", False),
        ("", False),
    ],
)
def test_what_has_yet_to_be_filled_in(text: str, *, is_template: bool) -> None:
    assert Image.parse(text).is_template is is_template


def test_order_of_tags() -> None:
    tags = ["v0.9.0", "v1.0.0-alpha", "v1.0.0-rc.2", "v1.0.0-rc.10", "v1.0.0", "1.0.1", "v1.10.0"]
    orders = [tag_order(tag) for tag in tags]
    assert orders == sorted(orders, key=lambda order: order or ())
    assert len(set(orders)) == len(tags)
    for tag in ("latest", "v1", "v1.2", "", "v1.2.3+x", "main-abc"):
        assert tag_order(tag) is None
