"""Whatever an editor, a merge or another tool does to a file, no upgrade changes a byte outside its pins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.pins.registry import PIN_KINDS
from flux_upgrade.snapshot.yaml_places import readable
from kind_cases import Upgraded, cases_of, paths_of, read, upgrade, upgrade_checked

KINDS = [kind.name for kind in PIN_KINDS]
BOM = b"\xef\xbb\xbf"
NOISE = (
    b"# oci://ghcr.io/fluxcd/flux-manifests:v2.8.0\n",
    b"  # tag: v2.8.0\n",
    b"\t\n",
    b"\xff\xfe\x00\n",
    b"---\n",
    b"<<<<<<< HEAD\n",
    b"{{- if .Values.flux }}\n",
    b"version: ${FLUX_VERSION}\n",
    b"- &a *a\n",
    b'"\n',
    b"'''\n",
    b"EOF\n",
    "ключ: 值\u2028\n".encode(),
)

Lines = list[bytes]
Change = Callable[[bytes], bytes]
Mutation = Callable[[Lines, int, bytes], Lines]


def _inserted(lines: Lines, at: int, noise: bytes) -> Lines:
    return [*lines[:at], noise, *lines[at:]]


def _replaced(lines: Lines, at: int, noise: bytes) -> Lines:
    return [*lines[:at], noise, *lines[at + 1 :]]


def _cut_into(lines: Lines, at: int, noise: bytes) -> Lines:
    middle = len(lines[at]) // 2
    return [*lines[:at], lines[at][:middle] + noise.strip() + lines[at][middle:], *lines[at + 1 :]]


def _trailing(lines: Lines, at: int, noise: bytes) -> Lines:
    del noise
    return [*lines[:at], lines[at].rstrip(b"\r\n") + b" \t \n", *lines[at + 1 :]]


def _doubled(lines: Lines, at: int, noise: bytes) -> Lines:
    del at
    return [*lines, b"---\n", noise, *lines]


def _turned(lines: Lines, at: int, noise: bytes) -> Lines:
    del noise
    return [*lines[at:], *lines[:at]]


def _line_ends(lines: Lines, at: int, noise: bytes) -> Lines:
    """From ``at`` on: a file that two editors have saved is mixed."""
    del noise
    return [*lines[:at], *(line.rstrip(b"\r\n") + b"\r\n" for line in lines[at:])]


def _ended_early(lines: Lines, at: int, noise: bytes) -> Lines:
    del noise
    return [*lines[:at], lines[at].rstrip(b"\r\n")]


def _marked(lines: Lines, at: int, noise: bytes) -> Lines:
    del at, noise
    return [BOM, *lines]


MUTATIONS: tuple[Mutation, ...] = (
    _inserted,
    _replaced,
    _cut_into,
    _trailing,
    _doubled,
    _turned,
    _line_ends,
    _ended_early,
    _marked,
)
mutations = st.lists(
    st.tuples(
        st.sampled_from(MUTATIONS), st.integers(0, 200), st.one_of(st.sampled_from(NOISE), st.binary(max_size=12))
    ),
    max_size=4,
)


def mutated(content: bytes, steps: Sequence[tuple[Mutation, int, bytes]]) -> bytes:
    for mutate, at, noise in steps:
        lines = content.splitlines(keepends=True) or [b"\n"]
        content = b"".join(mutate(lines, at % len(lines), noise))
    return content


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_a_mutated_file_changes_only_at_its_pins(name: str, data: st.DataObject) -> None:
    case = read(data.draw(st.sampled_from(paths_of(name))))
    steps = data.draw(mutations)

    upgrade_checked(case, {path: mutated(content, steps) for path, content in case.before.items()})


YAML = (".yaml", ".yml")
HASHES = (*YAML, ".tf", ".toml", "Dockerfile", ".tool-versions", ".sh", "Makefile")


def _below_the_mark(content: bytes, first: bytes, last: bytes = b"") -> bytes:
    mark = BOM if content.startswith(BOM) else b""
    return mark + first + content.removeprefix(BOM) + last


def _with_comment(content: bytes) -> bytes:
    # Nothing may stand above the directive of a Dockerfile that says how lines are continued.
    return content if b"escape=" in content else _below_the_mark(content, b"# flux2 2.0.0 v2.0.0\n")


def _with_documents(content: bytes) -> bytes:
    # Values of a chart are one document.
    if b"apiVersion:" not in content:
        return content
    return _below_the_mark(content, b"kind: Namespace\n---\n", b"\n---\nkind: Secret\n")


HARMLESS: dict[str, tuple[tuple[str, ...], Change]] = {
    "comment": (HASHES, _with_comment),
    "line-ends": (("",), lambda content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    "byte-order-mark": (YAML, lambda content: BOM + content.removeprefix(BOM)),
    "no-final-newline": (("",), lambda content: content.rstrip(b"\r\n")),
    "documents": (YAML, _with_documents),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_does_not_matter_changes_nothing(name: str) -> None:
    for case in cases_of(name):
        before = case.before
        expected = versions(upgrade(case, before))
        for what, (ends, apply) in HARMLESS.items():
            files = {path: apply(old) if path.endswith(ends) else old for path, old in before.items()}

            assert versions(upgrade(case, files)) == expected, f"{what} in {case.path}"


def versions(upgraded: Upgraded) -> list[tuple[str, ...]]:
    """Each pin that changes, from where to what."""
    return [(pin.path, pin.where, pin.raw, pin.version, change.raw) for pin, change in upgraded.changes]


def test_a_line_is_what_git_calls_a_line() -> None:
    """libyaml begins one at U+2028, too."""
    (found,) = readable("# x\u2028# y\r\nb:\n  c: 1\n".encode())

    value = found.at("b", "c")
    assert value is not None
    assert (value.line, found.line_at("b"), found.line) == (3, 3, 2)


def test_a_broken_file_is_given_up_in_no_time() -> None:
    """Of a FluxInstance without a version, each line could be read in several ways, and all were tried."""
    text = "kind: FluxInstance\n? x\n'\n  distribution:\n" + "            - name: a\n" * 100
    case = cases_of("flux-instance")[0]

    report = upgrade(case, {"flux.yaml": text.encode()}).report
    assert report == (
        "flux.yaml:1 flux-instance reported unknown '' = no release\n  \n"
        "  reason: the file may set a Flux version, but it is not valid\n  next step: fix the syntax of the file\n"
    )
