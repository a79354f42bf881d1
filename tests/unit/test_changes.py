"""What changes in a cluster between two manifests is reported in full, in a line each, and nothing else is.

A case of ``tests/changes`` is a ``NAME.txtar``: ``before.yaml``, ``after.yaml``, the ``report``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from written_release import components

import txtar
from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.diff.sentences import lines
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.markdown import bullets, code
from flux_upgrade.policy.decision import ChangeKind
from memory import rendered

CASES = sorted(Path(__file__).resolve().parent.parent.joinpath("changes").glob("*.txtar"))


def documents(content: bytes) -> tuple[Document, ...]:
    return parse(content).documents if content else ()


def compared(before: bytes, after: bytes) -> Changes:
    return manifest_changes(documents(before), documents(after))


def released(before: str, after: str) -> Changes:
    """Of all components, written for the tests."""
    manifests = (rendered(InstallOptions(tag, components=components(tag))).encode() for tag in (before, after))
    return compared(*manifests)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_its_report(path: Path, *, update_golden: bool) -> None:
    archive = txtar.read(path)
    before, after = archive.files["before.yaml"], archive.files["after.yaml"]
    forth = compared(before, after)
    content = ", ".join(sorted(forth.contents)) or "nothing to hold"
    report = f"<!-- {content} -->\n{bullets(lines(forth, code))}\n"
    found = replace(archive, files={**archive.files, "report": report.encode()})
    if update_golden:
        txtar.write(path, found)
    assert txtar.render(found) == path.read_text()

    for line in lines(forth):
        assert line.strip() == line, "blanks around the line"
        assert line.isprintable()

    back = compared(after, before)
    assert (forth == Changes()) == (back == Changes()), "one way nothing changes, the other way something"
    assert sorted(forth.crds_added) == sorted(back.crds_removed)
    assert len(forth.controllers) == len(back.controllers)
    assert [(each.widened, each.narrowed) for each in sorted(forth.rules)] == [
        (each.narrowed, each.widened) for each in sorted(back.rules)
    ], "a role widened one way is narrowed the other way"

    assert compared(before, before) == Changes(), "before.yaml differs from itself"
    assert compared(after, after) == Changes(), "after.yaml differs from itself"
    windows = b"\xef\xbb\xbf" + after.replace(b"\n", b"\r\n") if after else b""
    assert compared(before, windows) == forth, "a byte order mark and CRLF are no change"


@pytest.mark.parametrize(
    ("before", "after", "contents"),
    [
        ("v2.9.3", "v2.9.4", {ChangeKind.NETWORK_POLICY}),
        ("v2.8.7", "v2.8.8", set[ChangeKind]()),
        ("v2.8.8", "v2.9.3", {ChangeKind.API_REMOVED, ChangeKind.ARGUMENTS}),
        ("v2.6.4", "v2.7.1", {ChangeKind.COMPONENT, ChangeKind.RBAC, ChangeKind.ARGUMENTS}),
    ],
)
def test_the_contents_that_a_policy_may_hold(before: str, after: str, contents: set[ChangeKind]) -> None:
    assert released(before, after).contents == contents


def test_a_narrowed_policy_comes_first() -> None:
    shown = lines(released("v2.9.3", "v2.9.4"))
    assert shown[0] == ("NetworkPolicy/allow-webhooks: lets in only TCP 9292 from every namespace (was any port)")
    assert len(shown) == 3, "the policy, the images, what was counted"


def test_a_bumped_header_is_no_change() -> None:
    text = rendered(InstallOptions("v2.8.8"))
    bumped = text.replace("# Flux Version: v2.8.8", "# Flux Version: v2.9.4")
    assert bumped != text
    assert manifest_changes(documents(text.encode()), documents(bumped.encode())) == Changes()


def test_a_broken_document_is_named_by_its_line() -> None:
    whole = documents(b"apiVersion: v1\nkind: Service\nmetadata:\n  name: x\nspec: {}\n")
    broken = documents(b"apiVersion: v1\nkind: Service\nmetadata:\n  name: x\nspec: {\n")
    with pytest.raises(Unreadable, match="line 6"):
        manifest_changes(whole, broken)
