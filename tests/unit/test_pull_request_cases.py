"""Every proposal gives its commit message and its pull request, whose marker the next run can read.

A case of ``tests/pull_requests`` is a ``NAME.txtar``: the proposal in ``settings.toml``, then the texts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import txtar
from flux_upgrade.model import markers
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text import commit
from written_proposals import CASES, case, names, state


@pytest.mark.parametrize("name", names())
def test_a_case_gives_its_texts(name: str, *, update_golden: bool) -> None:
    one = case(name)
    body = pages.body(one.proposal, one.context, state(one.proposal))
    texts = {
        "commit_message": commit.commit_message(one.proposal, one.context),
        "pull_request.md": f"<!-- {commit.title(one.proposal, one.context)} -->\n{body}",
    }
    given = {each: text.encode() for each, text in texts.items()}
    found = replace(one.archive, files={**one.archive.files, **given})
    path = CASES / f"{name}.txtar"
    if update_golden:
        txtar.write(path, found)
    assert txtar.render(found) == path.read_text()
    assert markers.state_of(body) == state(one.proposal), "the marker is not read back"
