"""Versions of the CLI are found and rewritten in the spellings that the cases of `tests/kinds` do not have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.oci.reference import with_host
from flux_upgrade.pins.cli.cli_image import Dockerfile
from flux_upgrade.pins.cli.image_references import reference_of
from flux_upgrade.pins.cli.toml_places import is_flux, is_mise_file, locked, parsed, place_of, strings
from flux_upgrade.pins.formats.ranges import respelled, tag_of
from flux_upgrade.snapshot.yaml_places import Value

IMAGE = "ghcr.io/fluxcd/flux-cli:v2.8.8"
ROWS = (
    f"FROM {IMAGE}\n",
    f"COPY --from={IMAGE} /a /b\r\n",
    f"RUN --mount=type=bind,from={IMAGE} flux \\\n",
    "  -v\n",
    "# a comment \\\n",
    "\n",
    "RUN <<EOF\n",
    "EOF\n",
    "ARG A=v2.8.8 \\  \n",
    f"from {IMAGE}",
)
TEXTS = st.sampled_from(("2.8.8", "2.8", "flux2", "", '"', "'", "é", "\\"))


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("2.9.4", "v2.9.4"),
        ("v2.9.4", "v2.9.4"),
        ("2.0.0-rc.5", "v2.0.0-rc.5"),
        ("vv2.9.4", ""),
        ("2.9", ""),
        ("2.9.4+build", ""),
        ("02.9.4", ""),
        ("", ""),
    ],
)
def test_a_release_has_two_spellings(text: str, tag: str) -> None:
    assert tag_of(text) == tag


def test_a_release_is_spelled_as_before() -> None:
    assert (respelled("v2.9.4", "2.8.8"), respelled("v2.9.4", "v2.8.8")) == ("2.9.4", "v2.9.4")


@pytest.mark.parametrize(
    ("repository", "full"),
    [
        ("fluxcd/flux-cli", "docker.io/fluxcd/flux-cli"),
        ("ghcr.io/fluxcd/flux-cli", "ghcr.io/fluxcd/flux-cli"),
        ("localhost/fluxcd/flux-cli", "localhost/fluxcd/flux-cli"),
        ("mirror:5000/fluxcd/flux-cli", "mirror:5000/fluxcd/flux-cli"),
        ("team/fluxcd/flux-cli", "docker.io/team/fluxcd/flux-cli"),
    ],
)
def test_a_repository_without_a_host_is_of_docker_hub(repository: str, full: str) -> None:
    assert with_host(repository) == full


@pytest.mark.parametrize(
    "text", ["ghcr.io/fluxcd/flux-cli2:v2.8.8", "flux-cli:v2.8.8", "x-fluxcd/flux-cli:v1.0.0", "{{ image }}"]
)
def test_other_images_are_none_of_the_cli(text: str) -> None:
    assert reference_of("", Value(text, 0, len(text), 1)) is None


@pytest.mark.parametrize("name", ["mise.toml", "a/.mise.toml", ".config/mise/config.ci.toml", "mise/conf.d/a.toml"])
def test_mise_reads(name: str) -> None:
    assert is_mise_file(name)


@pytest.mark.parametrize("name", ["mise.toml.bak", "promise.toml", "config.toml", "mise/x/config.toml", "mise/a.toml"])
def test_mise_does_not_read(name: str) -> None:
    assert not is_mise_file(name)


@pytest.mark.parametrize("name", ["aqua:fluxcd/flagger", "aqua:other/flux2", "npm:flux2", "flux", "flux2x"])
def test_other_tools_are_not_the_cli(name: str) -> None:
    assert not is_flux(name)


@pytest.mark.parametrize(
    ("lock", "version"),
    [
        (b"", None),
        (b'[[tools.helm]]\nversion = "3.0.0"\n', None),
        (b'[[tools.flux2]]\nversion = "2.8.8"\n', "v2.8.8"),
        (b'[tools.flux2]\nversion = "2.8.8"\n', "v2.8.8"),
        (b'[[tools.flux2]]\nversion = "2.8.8"\n[[tools.flux2]]\nversion = "2.7.5"\n', ""),
        (b"[tools.flux2]\nversion = 2\n", ""),
        (b"tools.flux2 = 1\n", ""),
        (b"tools = 1\n", None),
        (b"<<<<<<< flux2\n", ""),
        (b"<<<<<<< helm\n", None),
    ],
)
def test_a_lock_file_holds_one_release(lock: bytes, version: str | None) -> None:
    assert locked(lock) == version


@pytest.mark.parametrize("text", ["[", "a = 1\na = 2\n", "[" * 5000, 'a = "\udcff'])
def test_what_is_no_toml_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parsed(text)


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=4), st.sampled_from(("\n", "\r\n")))
def test_a_place_in_toml_holds_its_text(data: dict[str, str | list[str]], end: str) -> None:
    text = (
        "[tools]"
        + end
        + "".join(f"{_quoted(key)} = {_written(value)} # 2.8.8 flux2{end}" for key, value in data.items())
    )

    for path, written in strings(parsed(text)):
        place = place_of(text, path, written)
        if written.isalnum() or "." in written:
            assert place is not None
        if place is not None:
            changed = parsed(text[: place.start] + "9" + text[place.end :])
            assert dict(strings(changed)) == {**dict(strings(parsed(text))), path: "9"}


@given(st.lists(st.sampled_from(ROWS), max_size=12))
def test_a_place_in_a_dockerfile_holds_its_text(rows: list[str]) -> None:
    text = "".join(rows)
    source = Dockerfile(text)

    for _, value in (*source.images(), *source.arguments()):
        assert text[value.start : value.end] == value.text
        assert text.split("\n")[value.line - 1].count(value.text) >= 1


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: str | list[str]) -> str:
    return _quoted(value) if isinstance(value, str) else "[" + ", ".join(map(_quoted, value)) + "]"
