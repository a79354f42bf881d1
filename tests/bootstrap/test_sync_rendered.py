"""``gotk-sync.yaml`` is written as Flux writes it, whatever the values are, and read back.

The quotes of the tables are those that Flux's own ``pkg/manifestgen/sync`` writes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bootstrap.bootstraps import options
from flux_upgrade.bootstrap.go_formats import line
from flux_upgrade.bootstrap.options import Auth
from flux_upgrade.bootstrap.sync import Sync, recover_sync, sync_of, written
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.model.errors import Unreadable, UsageError

PLAIN = ["main", "release/1.0", "feature#1", "a,b", "a{b", "-x", "1.5.6", "v1", "1__x", "0x", "0b", "0o", "1e999", "2026-13-01", "2026-02-30", "0_8x", "e1", "1d", "NoNe", "tRue"]  # fmt: skip
QUOTED = ["1.0", "1", "0", "true", "yes", "on", "off", "y", "N", "~", "null", "NULL", "1e3", "1E5", "0x1F", "0b1", "0o7", "010", "08", "1_000", "+1", "-1.5", ".5", ".inf", "-.INF", ".NaN", "2026-01-01", "2026-1-2", "0000-01-01", "12:30:45", "18446744073709551616", "99999999999999999999999"]  # fmt: skip
SINGLE = [
    "@a",
    "'x",
    '"x',
    "!x",
    "&x",
    "%x",
    ">x",
    "|x",
    "`x",
    "{x",
    "[x",
    "*x",
    "#a",
    "---",
    "...a",
    "a: b",
    "a #b",
    "a:",
    "- a",
    " a",
    "a ",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_a_string_anyway_has_no_quotes(text: str) -> None:
    assert line("", text) == f"{text}\n"


@pytest.mark.parametrize("text", QUOTED)
def test_what_would_be_something_else_has_double_quotes(text: str) -> None:
    assert line("", text) == f'"{text}"\n'


@pytest.mark.parametrize("text", SINGLE)
def test_what_would_be_syntax_has_single_quotes(text: str) -> None:
    assert line("", text) == "'" + text.replace("'", "''") + "'\n"


def test_a_character_beyond_the_first_plane_is_escaped() -> None:
    assert line("  path: ", './x\U0001f600 é"') == '  path: "./x\\U0001F600 é\\""\n'


def test_a_long_text_is_folded_at_its_spaces() -> None:
    path = "./clusters/" + "long name " * 8 + "end"
    assert line("  path: ", path) == (
        "  path: ./clusters/long name long name long name long name long name long name long\n    name long name end\n"
    )


TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")).filter(str.isprintable), min_size=1)


@given(text=TEXT)
@example(text="=")
@example(text="<<")
def test_any_text_is_read_as_what_it_was(text: str) -> None:
    assert construct(compose("a:\n" + line("  b: ", text))) == {"a": {"b": text}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "./"),
        (".", "./"),
        ("./", "./"),
        ("./x", "./x"),
        ("/x/", "./x"),
        (" x ", "./x"),
        ("a/../b", "./b"),
        ("../x", "./x"),
        ("x//y", "./x/y"),
        ("x/../..", "./"),
        (".hidden", "./.hidden"),
    ],
)
def test_a_path_is_inside_of_the_repository(path: str, expected: str) -> None:
    assert sync_of(options(path=path)).path == expected


SYNCS = st.builds(
    partial(Sync),  # of a class, Hypothesis would make up the fields that have defaults, too
    url=st.sampled_from(["ssh://git@github.com/o/r", "https://example.com/a%20b.git"]),
    branch=TEXT,
    path=TEXT.map("./{}".format),
    interval=st.sampled_from(["1m0s", "1h30m0s"]),
    secret_name=TEXT,
    namespace=st.sampled_from(["flux-system", "infra"]),
    provider=st.sampled_from(["", "github"]),
    recurse_submodules=st.booleans(),
    sparse_checkout=st.lists(TEXT, max_size=3).map(tuple),
)


@given(sync=SYNCS)
def test_a_file_is_read_back_to_what_it_was_made_of(sync: Sync) -> None:
    text = written(sync)
    found = recover_sync(text.encode())
    assert found.sync == sync
    assert found.is_exact and not found.others


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        sync_of(options("v2.4.0", auth=Auth.APP, sparse_checkout=("a",)))
    assert all(
        each in raised.value.message for each in ("does not support GitHub Apps", "does not support --sparse-checkout")
    )


@pytest.mark.parametrize(
    ("version", "given"), [("v2.5.0-rc.1", {"auth": Auth.APP}), ("v2.9.0-rc.2", {"sparse_checkout": ("a",)})]
)
def test_a_release_candidate_has_what_its_release_has(version: str, given: dict[str, Any]) -> None:
    assert written(sync_of(options(version, **given)))


@pytest.mark.parametrize(
    "content", [b"", b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n", b"a: [", b"\xff", b"<<<<<<< ours\n"]
)
def test_what_is_no_sync_is_not_taken_for_one(content: bytes) -> None:
    with pytest.raises(Unreadable):
        recover_sync(content)
