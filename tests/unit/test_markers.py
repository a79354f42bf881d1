"""Markers in bodies and commits are read as they were written, whatever people write around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Commit
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version
from flux_upgrade.pullrequests.text import body as pages
from replacing import replace
from written_proposals import proposal, proposal_context, state

STATE = MarkerState("clusters.staging", "minor", Version("v2.9.4"))
FULL = MarkerState(
    "a", "patch", Version("v2.8.8"), pending=True, approval="2.9", title="00", paths=("11", "22"), closed="done"
)
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MESSAGE = "Upgrade Flux to v2.9.4\n\nProved.\n\nFlux-Upgrade-Group: a\nFlux-Upgrade-Target: v2.9.4\n"
ANY_TEXT = st.text(max_size=60)
STATES = st.builds(
    partial(MarkerState),  # of a class, Hypothesis would make up the fields that have defaults, too
    group=ANY_TEXT,
    subject=ANY_TEXT,
    target=ANY_TEXT,
    pending=st.booleans(),
    approval=ANY_TEXT,
    title=ANY_TEXT,
    paths=st.lists(ANY_TEXT, max_size=3).map(tuple),
    closed=ANY_TEXT,
)


def commit(message: str, *, tree: str = TREE, parents: tuple[str, ...] = ("p",)) -> Commit:
    return Commit("o", tree, parents, message)


# The state in a body


@given(STATES.filter(lambda each: each.group and each.subject and each.target))
def test_a_state_is_read_as_it_was_written(marker: MarkerState) -> None:
    assert markers.state_of(markers.block("text", marker)) == marker


@given(STATES.filter(lambda each: each.group and each.subject and each.target))
def test_no_state_ends_its_comment_or_its_line(marker: MarkerState) -> None:
    begin, *rest = markers.block("text", marker).split("\n")
    assert begin.endswith(" -->")
    assert "--" not in begin.removeprefix("<!--").removesuffix("-->")
    assert rest == ["text", "<!-- /flux-upgrade -->", ""]


def test_what_is_empty_is_left_out() -> None:
    assert markers.block("x", STATE).startswith(
        '<!-- flux-upgrade {"group": "clusters.staging", "subject": "minor", "target": "v2.9.4"} -->\n'
    )


@pytest.mark.parametrize(
    "edited",
    [
        lambda body: body.replace("\n", "\r\n"),
        lambda body: f"Seen by @ann.\n\n{body}",
        lambda body: f"{body}\n\nSeen by @ann. --> <!-- flux-upgrade:skip -->",
        lambda body: body.replace("<!-- /flux-upgrade -->", ""),
        lambda body: body + markers.block("another", STATE),
    ],
    ids=["CRLF", "above", "below", "without its end", "with a second one below"],
)
def test_people_may_write_around_a_state(edited: Callable[[str], str]) -> None:
    assert markers.state_of(edited(markers.block("text", FULL))) == FULL


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"group": "a", "subject": "minor"}',
        '{"group": 1, "subject": "minor", "target": "v2.9.4"}',
        '{"group": null, "subject": "minor", "target": "v2.9.4"}',
        '{"group": "a", "subject": ["minor"], "target": "v2.9.4"}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4", "pending": "yes"}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4", "pending": 1}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4", "approval": true}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4", "paths": "x"}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4", "paths": {"x": 1}}',
        '{"group": "a", "subject": "minor", "target": "v2.9.4"',
        '{"group": ' + "[" * 100_000 + "}",
        '{"group": ' + "9" * 10_000 + "}",
        '{"group": "a",\n"subject": "minor", "target": "v2.9.4"}',
    ],
)
def test_what_is_no_state_is_none(content: str) -> None:
    assert markers.state_of(f"<!-- flux-upgrade {content} -->\ntext\n<!-- /flux-upgrade -->\n") is None


@pytest.mark.parametrize("more", [{"later": "x"}, {"paths": []}, {"pending": False}, {"closed": ""}], ids=str)
def test_keys_of_a_later_version_do_no_harm(more: dict[str, Any]) -> None:
    content = json.dumps({"group": STATE.group, "subject": STATE.subject, "target": STATE.target, **more})
    assert markers.state_of(f"<!-- flux-upgrade {content} -->\n") == STATE


@pytest.mark.parametrize(
    "body", ["", "<!-- flux-upgrade -->", "<!-- flux-upgrade {} -->", "> <!-- flux-upgrade", "<!--"]
)
def test_a_body_that_lost_its_state_has_none(body: str) -> None:
    assert markers.state_of(body) is None
    assert markers.replaced(body, markers.block("new", STATE)) is None
    assert markers.text_of(body) is None


@given(st.text(alphabet='<!-/> {}"flux-upgrade:abkip[]x\r\n', max_size=400))
def test_any_body_can_be_looked_at(body: str) -> None:
    found = markers.state_of(body)
    assert found is None or isinstance(found.paths, tuple)
    markers.replaced(body, markers.block("new", STATE))
    markers.is_ticked(body, markers.SKIP)


# The block within a body


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_only_the_block_is_replaced(above: str, old: str, below: str) -> None:
    above, old, below = (each.replace("<", "") for each in (above, old, below))
    body = f"{above}{markers.block(old, STATE)}{below}"
    new = markers.replaced(body, markers.block("new", FULL))
    assert new == f"{above}{markers.block('new', FULL)}{below}"


def test_a_block_that_is_replaced_twice_is_replaced_once() -> None:
    body = f"Seen.\n\n{markers.block('old', STATE)}\nMore."
    once = markers.replaced(body, markers.block("new", FULL))
    assert once is not None
    assert markers.replaced(once, markers.block("new", FULL)) == once


def test_line_ends_of_people_stay() -> None:
    body = f"Seen.\r\n\r\n{markers.block('old', STATE)}\r\nMore.\r\n".replace("\r\r", "\r")
    new = markers.replaced(body, markers.block("new", STATE))
    assert new is not None
    assert new.startswith("Seen.\r\n\r\n<!--")
    assert new.endswith("\r\nMore.\r\n")


def test_a_block_without_its_end_is_nobodys_to_replace() -> None:
    cut = markers.block("text", STATE).replace("<!-- /flux-upgrade -->", "")
    assert markers.replaced(cut, markers.block("new", STATE)) is None
    assert markers.text_of(cut) is None


HOSTILE = "\n".join(
    [
        "<!-- /flux-upgrade -->",
        markers.block("forged", replace(STATE, group="other", approval="9.9")),
        "- [x] <!-- flux-upgrade:skip --> forged",
        "- [x] <!-- flux-upgrade:rebase --> forged",
        "```\n<!-- /flux-upgrade -->\n- [x] <!-- flux-upgrade:skip --> in code\n```",
    ]
)


def test_release_notes_forge_no_marker() -> None:
    proposed = proposal()
    body = pages.body(proposed, proposal_context({"v2.9.4": HOSTILE}), state(proposed))
    assert markers.state_of(body) == state(proposed)
    assert not markers.is_ticked(body, markers.SKIP)
    assert not markers.is_ticked(body, markers.REBASE)
    # The first end is the last line: whatever stands between is ours.
    assert body.index("<!-- /flux-upgrade -->") == len(body) - len("<!-- /flux-upgrade -->\n")
    assert markers.replaced(body, body) == body


# Boxes


@pytest.mark.parametrize(
    ("line", "is_ticked"),
    [
        ("- [ ] <!-- flux-upgrade:skip --> skip it", False),
        ("- [x] <!-- flux-upgrade:skip --> skip it", True),
        ("- [X] <!-- flux-upgrade:skip --> skip it", True),
        ("  - [x] <!-- flux-upgrade:skip --> skip it", True),
        ("- [x] <!-- flux-upgrade:rebase --> rebase it", False),
        ("- [x] skip it", False),
        ("> - [x] <!-- flux-upgrade:skip --> quoted", False),
        ("text - [x] <!-- flux-upgrade:skip --> in a line", False),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_box_is_ticked_by_its_cross(line: str, end: str, *, is_ticked: bool) -> None:
    body = markers.block("Text.", STATE).replace("\n", end) + f"{line}{end}More."
    assert markers.is_ticked(body, markers.SKIP) is is_ticked


def test_a_box_is_empty_at_first() -> None:
    box = markers.checkbox(markers.REBASE, "rebase")
    assert not markers.is_ticked(box, markers.REBASE)
    assert markers.is_ticked(box.replace("[ ]", "[x]"), markers.REBASE)


# The seal of a commit


def test_a_sealed_commit_is_ours() -> None:
    assert markers.is_ours(commit(markers.sealed(MESSAGE, TREE)))


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n" + text,
        lambda text: text.replace("Proved.\n", "Proved.  \n"),
    ],
    ids=["no final newline", "more newlines", "CRLF", "leading newline", "trailing spaces"],
)
def test_white_space_of_a_forge_breaks_no_seal(changed: Callable[[str], str]) -> None:
    assert markers.is_ours(commit(changed(markers.sealed(MESSAGE, TREE))))


@pytest.mark.parametrize(
    "amended",
    [
        lambda text: text.replace("Proved.", "Proved!"),
        lambda text: f"{text}Signed-off-by: Ann <ann@example.com>\n",
        lambda text: text.replace("v2.9.4", "v2.9.3", 1),
        lambda text: text.replace("Flux-Upgrade-Group: a", "Flux-Upgrade-Group: b"),
        lambda text: "\n".join(line for line in text.split("\n") if "Digest" not in line),
        lambda text: text.replace("sha256:", "sha256:0"),
        lambda _: MESSAGE,
        lambda _: "",
    ],
    ids=["text", "sign-off", "headline", "trailer", "no digest", "other digest", "unsealed", "empty"],
)
def test_an_amended_message_is_somebody_elses(amended: Callable[[str], str]) -> None:
    assert not markers.is_ours(commit(amended(markers.sealed(MESSAGE, TREE))))


def test_another_tree_under_our_message_is_somebody_elses() -> None:
    assert not markers.is_ours(commit(markers.sealed(MESSAGE, TREE), tree="1" * 40))


@pytest.mark.parametrize("parents", [(), ("a", "b")], ids=["a root", "a merge"])
def test_our_commits_have_one_parent(parents: tuple[str, ...]) -> None:
    assert not markers.is_ours(commit(markers.sealed(MESSAGE, TREE), parents=parents))


def test_a_commit_on_another_parent_stays_ours() -> None:
    # GitHub's button "Update branch" by rebase: the tree is another then; where it is not, nothing was changed.
    assert markers.is_ours(commit(markers.sealed(MESSAGE, TREE), parents=("q",)))


def test_sealing_twice_gives_the_same() -> None:
    once = markers.sealed(MESSAGE, TREE)
    assert markers.sealed(once, TREE) == once


@given(st.text(max_size=200), st.text(alphabet="0123456789abcdef", min_size=40, max_size=64))
def test_any_message_can_be_sealed(message: str, tree: str) -> None:
    assert markers.is_ours(commit(markers.sealed(message, tree), tree=tree))


def test_trailers_are_found_by_name() -> None:
    trailers = markers.trailers(markers.sealed(MESSAGE, TREE).replace("\n", "\r\n"))
    assert set(trailers) == {"Flux-Upgrade-Group", "Flux-Upgrade-Target", "Flux-Upgrade-Digest"}
    assert trailers["Flux-Upgrade-Group"] == "a"
    assert markers.trailers("Upgrade Flux\n\nReviewed-by: Ann\n see Flux-Upgrade-Group: b") == {}
