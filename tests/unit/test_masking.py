"""Secrets are taken out of a text in each form that texts have, and out of every step that a forge is told."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.adapters.masking import MaskingForge
from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.model import forge
from flux_upgrade.model.markdown import plain
from flux_upgrade.model.masking import Mask
from memory_forge import MemoryForge

SECRETS = st.text(st.characters(codec="utf-8"), min_size=4, max_size=30)


@given(SECRETS)
def test_no_form_of_a_secret_stays(secret: str) -> None:
    mask = Mask([secret])
    for text in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), quote(secret, safe="")):
        assert "***" in mask(f"> {text} <")
        assert secret not in mask(f"> {text} <").replace("***", "")
    assert "***" in mask(f"> {plain(secret, len(secret))} <")


def test_a_secret_that_has_another_one_in_it_goes_as_a_whole() -> None:
    assert Mask(["hush", "hush-hush-1"])("a hush-hush-1 b hush") == "a *** b ***"


@pytest.mark.parametrize("secret", ["", "abc"])
def test_what_is_in_many_a_word_stays(secret: str) -> None:
    assert Mask([secret])("abc") == "abc"


def test_secrets_are_added_and_not_shown() -> None:
    mask = Mask(["first-one"])
    mask.hide(["second-one"])
    assert mask("first-one second-one third-one") == "*** *** third-one"
    assert "one" not in repr(mask)


PULL = forge.PullRequest(
    1, "", "", forge.PullState.OPEN, is_draft=False, title="a ***", body="b ***\r\n", labels=(), head=None,
    is_conflicting=False, created_at="",
)  # fmt: skip
ISSUE = forge.Issue(2, "", "t", "b ***", ())
COMMIT = forge.NewCommit("m hush", "", "", {"a.yaml": ("100644", b"hush")})
STATUS = forge.Status("c", "success", "d hush")
STEPS = {
    "opened": forge.OpenPull("b", "main", "", COMMIT, "t hush", "b hush", is_draft=False, status=STATUS),
    "updated": forge.UpdatePull(PULL, "b", "o", COMMIT, "t hush", "b2 hush", status=STATUS),
    "closed": forge.ClosePull(PULL, "b hush"),
    "commented": forge.CommentPull(PULL, "c hush", "b hush"),
    "reverted": forge.RevertPull(PULL, "t hush", "b hush"),
    "an issue": forge.OpenIssue("t hush", "b hush", ()),
    "an updated issue": forge.UpdateIssue(ISSUE, "b2 hush"),
    "a closed issue": forge.UpdateIssue(ISSUE, "b hush", close=True),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_no_step_has_a_secret_but_in_the_content_of_files(step: forge.Step) -> None:
    inner = RecordingForge(MemoryForge({}))
    MaskingForge(inner, Mask(["hush"])).apply(step)
    (taken,) = inner.steps
    assert repr(taken).count("hush") == repr(step).count("b'hush'")
    assert repr(taken).count("***") >= repr(step).count("hush") - 1


def test_what_is_there_already_without_the_secret_is_not_written_again() -> None:
    inner = RecordingForge(MemoryForge({}))
    masking = MaskingForge(inner, Mask(["hush"]))
    assert masking.apply(forge.UpdatePull(PULL, "b", "o", title="a hush", body="b hush")) == forge.Done(1, "", "o")
    assert masking.apply(forge.UpdateIssue(ISSUE, "b hush")) == forge.Done(2, "")
    assert inner.steps == ()
