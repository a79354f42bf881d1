"""Adding a folder to ``tests/changes`` adds a test: ``pytest --update-golden`` writes what it gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import written_release

from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.diff.sentences import lines
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.markdown import bullets, code
from flux_upgrade.policy.decision import ChangeKind
from memory import rendered

CASES = sorted(Path(__file__).resolve().parent.parent.joinpath("changes").iterdir())
BOTH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def documents(content: bytes) -> tuple[Document, ...]:
    return parse(content).documents if content else ()


def compared(case: Path, before: str = "before", after: str = "after") -> Changes:
    return manifest_changes(*(documents((case / f"{side}.yaml").read_bytes()) for side in (before, after)))


def released(before: str, after: str) -> Changes:
    """Of all components, written for the tests."""
    return manifest_changes(
        *(
            parse(
                rendered(InstallOptions(tag, components=written_release.components(tag))).encode()
            ).documents
            for tag in (before, after)
        )
    )


@BOTH
def test_a_case_gives_its_lines(case: Path, request: pytest.FixtureRequest) -> None:
    found = compared(case)
    text = (
        f"<!-- {', '.join(sorted(found.contents)) or 'nothing to hold'} -->\n{bullets(lines(found, code))}\n"
    )
    golden = case / "changes.md"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@BOTH
def test_no_line_is_empty_or_two(case: Path) -> None:
    for line in lines(compared(case)):
        assert line.strip() == line
        assert line.isprintable()


@BOTH
def test_the_way_back_is_as_long(case: Path) -> None:
    """What changed one way changed the other way, too."""
    forth, back = compared(case), compared(case, "after", "before")
    assert (forth == Changes()) == (back == Changes())
    assert sorted(forth.crds_added) == sorted(back.crds_removed)
    assert len(forth.controllers) == len(back.controllers)
    assert [(each.widened, each.narrowed) for each in sorted(forth.rules)] == [
        (each.narrowed, each.widened) for each in sorted(back.rules)
    ]


@BOTH
def test_nothing_changes_from_a_manifest_to_itself(case: Path) -> None:
    for side in ("before", "after"):
        assert compared(case, side, side) == Changes()


@BOTH
def test_line_ends_and_marks_are_no_change(case: Path) -> None:
    content = (case / "after.yaml").read_bytes()
    windows = b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n") if content else b""
    assert manifest_changes(documents((case / "before.yaml").read_bytes()), documents(windows)) == compared(
        case
    )


@pytest.mark.parametrize(
    ("before", "after", "contents"),
    [
        ("v2.9.3", "v2.9.4", {ChangeKind.NETWORK_POLICY}),
        ("v2.8.7", "v2.8.8", set[ChangeKind]()),
        ("v2.8.8", "v2.9.3", {ChangeKind.API_REMOVED, ChangeKind.ARGUMENTS}),
        ("v2.6.4", "v2.7.1", {ChangeKind.COMPONENT, ChangeKind.RBAC, ChangeKind.ARGUMENTS}),
    ],
)
def test_what_a_policy_may_hold(before: str, after: str, contents: set[ChangeKind]) -> None:
    assert released(before, after).contents == contents


def test_a_narrowed_policy_is_said_first() -> None:
    told = lines(released("v2.9.3", "v2.9.4"))
    assert told[0] == (
        "NetworkPolicy/allow-webhooks: lets in TCP 9292 only from every namespace, any port before"
    )
    assert len(told) == 3, "the policy, the images, what was counted"


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
