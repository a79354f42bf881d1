"""Which rulesets apply to a branch that need not exist."""

from __future__ import annotations

import pytest

from flux_upgrade.adapters.github import branch_rules
from flux_upgrade.adapters.github.query import Json

NAME = "flux-upgrade/clusters.production/patch"


def _ruleset(include: list[str], exclude: list[str] | None = None, **more: object) -> Json:
    about = {"databaseId": 7, "target": "BRANCH", "enforcement": "ACTIVE", "rules": {"nodes": [{"type": "CREATION"}]}}
    return {**about, "conditions": {"refName": {"include": include, "exclude": exclude or []}}, **more}


def _applies(ruleset: Json) -> bool:
    return branch_rules.rulesets_for({"rulesets": {"nodes": [ruleset]}}, NAME, ("CREATION",)) == {7}


@pytest.mark.parametrize(
    ("include", "exclude", "applies"),
    [
        (["~ALL"], [], True),
        (["~DEFAULT_BRANCH"], [], False),
        ([], [], False),
        ([f"refs/heads/{NAME}"], [], True),
        (["refs/heads/main", f"refs/heads/{NAME}"], [], True),
        ([NAME], [], False),
        (["refs/heads/**/*"], [], True),
        (["refs/heads/**/patch"], [], True),
        (["refs/**/**/patch"], [], True),
        (["refs/heads/flux-upgrade/**"], [], False),
        (["refs/heads/flux-upgrade/*/patch"], [], True),
        (["refs/heads/flux-upgrade/*"], [], False),
        (["refs/heads/*"], [], False),
        (["refs/heads/flux-*/**/*"], [], True),
        (["refs/heads/flux?upgrade/**/[a-z]atch"], [], True),
        (["refs/heads/Flux-upgrade/**/*"], [], False),
        (["~ALL"], ["refs/heads/flux-upgrade/**/*"], False),
        (["~ALL"], ["refs/heads/main"], True),
        (["~ALL"], ["~ALL"], False),
    ],
)
def test_patterns_are_those_of_fnmatch_for_paths(include: list[str], exclude: list[str], *, applies: bool) -> None:
    assert _applies(_ruleset(include, exclude)) is applies


@pytest.mark.parametrize(
    ("more", "applies"),
    [
        ({}, True),
        ({"enforcement": "EVALUATE"}, False),
        ({"enforcement": "DISABLED"}, False),
        ({"target": "TAG"}, False),
        ({"rules": {"nodes": [{"type": "DELETION"}]}}, False),
        ({"rules": None}, False),
        ({"databaseId": None}, False),
        ({"conditions": {"refName": None}}, False),
    ],
)
def test_only_active_rulesets_of_branches_with_that_rule_count(more: Json, *, applies: bool) -> None:
    assert _applies(_ruleset(["~ALL"], **more)) is applies


def test_a_pattern_with_many_wildcards_takes_few_steps() -> None:
    assert not _applies(_ruleset(["refs/" + "**/" * 60 + "nothing"]))
    assert not _applies(_ruleset(["refs/heads/" + "*" * 60 + "!/**/*"]))


def test_nothing_is_known_where_the_server_reports_no_rulesets() -> None:
    assert branch_rules.rulesets_for({}, NAME, ("CREATION",)) == set()
    assert branch_rules.rulesets_for({"rulesets": None}, NAME, ("CREATION",)) == set()
