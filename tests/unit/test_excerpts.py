"""Values that differ are shown so that they do, in a report and in a pull request."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.findings.yaml_values import short
from flux_upgrade.manifests.documents import ObjectKey
from flux_upgrade.manifests.residue import Edit, Op
from flux_upgrade.model.text import excerpts
from flux_upgrade.pullrequests.text.verification import edit_line
from flux_upgrade.report.wording import edit_lines

LONG = "Selects which of the namespaces of the cluster this controller reconciles. "
DEPLOYMENT = ObjectKey("apps", "Deployment", "flux-system", "helm-controller")


def edited(old: Any, new: Any) -> Edit:
    return Edit(DEPLOYMENT, ("metadata", "annotations", "note"), Op.REPLACE, old, new)


def test_an_edit_behind_the_sixtieth_character_is_shown() -> None:
    edit = edited(f"{LONG}All of them, always.", f"{LONG}All of them, at night.")
    (text,) = edit_lines([edit])
    assert text.endswith("…les. All of them, always. → …les. All of them, at night.")
    assert "always." in edit_line(edit)
    assert "at night." in edit_line(edit)


def test_an_edit_in_the_middle_is_shown() -> None:
    edit = edited(f"{LONG}one {LONG}", f"{LONG}two {LONG}")
    for text in ("\n".join(edit_lines([edit])), edit_line(edit)):
        assert "one" in text
        assert "two" in text


def test_what_is_no_text_is_shown_as_json() -> None:
    assert short({"a": 1}, None, "x") == ['{"a": 1}', "nothing", "x"]


@given(st.text(max_size=90), st.text(max_size=90), st.text(max_size=90))
def test_two_that_differ_never_look_the_same(before: str, one: str, other: str) -> None:
    shown = excerpts([before + one, before + other], 60)
    assert all(len(each) <= 60 for each in shown)
    assert (shown[0] == shown[1]) == (one == other)
