"""A merged branch is deleted only if no pull request of it can be open."""

from __future__ import annotations

import pytest

from flux_upgrade.model.forge import Branch, DeleteBranch, PullState
from flux_upgrade.pullrequests.tidying import tidying
from pulls import our_commit, pull
from rounds import REPOSITORY

NAME = "flux-upgrade/staging"
HEAD = our_commit()
MERGED = pull(at=PullState.MERGED, head=HEAD)
OPEN = pull(number=2, head=HEAD)


@pytest.mark.parametrize(
    ("branch", "is_deleted"),
    [
        pytest.param(Branch(NAME, HEAD, (MERGED,)), True, id="merged"),
        pytest.param(Branch(NAME, HEAD, (OPEN, MERGED)), False, id="open"),
        pytest.param(Branch(NAME, HEAD, (MERGED,), others=(OPEN,)), False, id="open-of-a-user"),
        pytest.param(Branch(NAME, HEAD, (MERGED,), elsewhere=OPEN.url), False, id="open-into-another-base"),
        pytest.param(Branch(NAME, HEAD, (MERGED,), is_unread=True), False, id="perhaps-open"),
        pytest.param(Branch(NAME, HEAD, (MERGED,), is_kept=True), False, id="kept-by-a-rule"),
    ],
)
def test_which_branches_are_deleted(branch: Branch, *, is_deleted: bool) -> None:
    steps = list(tidying(REPOSITORY._replace(branches={NAME: branch}), (), {NAME}))
    assert steps == ([DeleteBranch(NAME, HEAD.oid)] if is_deleted else [])
