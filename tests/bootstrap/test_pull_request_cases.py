"""Every proposed bootstrap gives its commit message and a pull request of a length that the Git host takes.

A case of ``pull_requests`` is a ``NAME.txtar``: the clusters in ``settings.toml``, then the texts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import txtar
from bootstrap.proposed_bootstraps import CASES, case, names
from flux_upgrade.bootstrap import pull_request_text
from flux_upgrade.bootstrap.pull_request_text import body
from flux_upgrade.model import markers


@pytest.mark.parametrize("name", names())
def test_a_case_gives_its_texts(name: str, *, update_golden: bool) -> None:
    one = case(name)
    state = pull_request_text.state(one.proposal, one.context)
    text = body(one.proposal, one.context, state)
    texts = {
        "commit_message": pull_request_text.commit_message(one.proposal, one.context),
        "pull_request.md": f"<!-- {pull_request_text.title(one.proposal, one.context)} -->\n{text}",
    }
    given = {each: content.encode() for each, content in texts.items()}
    found = replace(one.archive, files={**one.archive.files, **given})
    path = CASES / f"{name}.txtar"
    if update_golden:
        txtar.write(path, found)
    assert txtar.render(found) == path.read_text()
    assert len(text) <= one.context.limit, "too long for the Git host"
    assert markers.state_of(text) == state, "the marker is not read back"
