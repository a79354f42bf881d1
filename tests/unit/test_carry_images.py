"""An image is replaced in its place, and every other byte of the manifest stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flux_upgrade.manifests.carry import with_images
from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import Unreadable
from memory import rendered

PLAIN = rendered(InstallOptions("v2.9.4"))
OLD = "ghcr.io/fluxcd/helm-controller:v1.9.4"
NEW = f"{OLD}@sha256:{'a' * 64}"
PINS = {"helm-controller": Image.parse(NEW)}


@pytest.mark.parametrize(
    "spelled",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"\ufeff{text}",
        lambda text: text.removesuffix("\n"),
        lambda text: text.replace(OLD, f'"{OLD}"'),
        lambda text: text.replace(OLD, f"'{OLD}'"),
        lambda text: text.replace(OLD, f"{OLD} # mine"),
        lambda text: f"# a licence\u2028é\n{text}",
        lambda text: text.replace("---\n", "---\n# \U0001f6a2 line\n"),
        lambda text: text.replace("      containers:\n", "      containers:\n      # \U0001f6a2\u2028\n"),
    ],
    ids=["as it is", "crlf", "mark", "no newline", "double", "single", "comment", "above", "ship", "inside"],
)
def test_the_image_is_replaced_and_every_other_byte_stays(spelled: Callable[[str], str]) -> None:
    before = spelled(PLAIN)
    assert with_images(before.encode(), PINS) == before.replace(OLD, NEW).encode()


def test_several_images_and_a_controller_that_is_not_there() -> None:
    pins = {**PINS, "source-controller": Image("r.example/s", "", "sha256:1"), "source-watcher": Image("x", "y", "")}
    expected = PLAIN.replace(OLD, NEW).replace("ghcr.io/fluxcd/source-controller:v1.9.4", "r.example/s@sha256:1")
    assert with_images(PLAIN.encode(), pins) == expected.encode()
    assert with_images(PLAIN.encode(), {}) == PLAIN.encode()


def test_a_container_of_the_users_own_stays() -> None:
    sidecar = f"      - image: {OLD}\n        name: aside\n"
    text = PLAIN.replace("      containers:\n", f"      containers:\n{sidecar}", 3)
    done = with_images(text.encode(), PINS).decode()
    assert done.count(NEW) == 1
    assert done.count(sidecar) == 3


@pytest.mark.parametrize(
    "spelled",
    [
        lambda text: text.replace(f"image: {OLD}", f"image: &it {OLD}"),
        lambda text: text.replace(f"image: {OLD}", f"image: >-\n          {OLD}"),
        lambda text: text.replace(f"image: {OLD}", f'image: "{OLD[:-1]}\\u0034"'),
        lambda text: text.replace("app: helm-controller\n", f"x: &it {OLD}\n", 1).replace(
            f"image: {OLD}", "image: *it"
        ),
    ],
    ids=["anchor", "folded", "escape", "alias"],
)
def test_an_image_without_a_plain_place_is_left_alone(spelled: Callable[[str], str]) -> None:
    text = spelled(PLAIN)
    assert text != PLAIN
    with pytest.raises(Unreadable, match="the image of helm-controller is written in a form"):
        with_images(text.encode(), PINS)
