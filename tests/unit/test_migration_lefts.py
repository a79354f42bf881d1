"""Each use that is not migrated has a reason, says whether the upgrade breaks it, and has a remedy."""

from __future__ import annotations

import pytest
import yaml

from flux_upgrade.config.config import match
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Reason
from written_apis import served

MANIFEST = (
    "apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata:\n  name: a\nspec:\n  suspend: true\n"
)


@pytest.mark.parametrize(
    ("current", "others", "is_served"),
    [(None, (), True), ("v2.6.4", (), True), ("v2.8.8", (), False), ("v2.8.8", ("v2.6.4",), True)],
)
@pytest.mark.parametrize("more", ["", "{{ a }}\n"])
def test_what_no_cluster_serves_is_broken_already(
    current: str | None, others: tuple[str, ...], *, is_served: bool, more: str
) -> None:
    apis = Apis(served(current) if current else None, served("v2.9.4"), tuple(map(served, others)))
    file = find("a.yaml", f"{MANIFEST}{more}".encode(), apis.target.groups)
    assert file is not None
    found = migrate(file, apis)
    assert found is not None
    assert [each.was_served for each in found.moves] == [is_served] * len(found.moves)
    assert [(each.blocks, each.is_broken_already) for each in found.lefts] == [(is_served, not is_served)] * len(
        found.lefts
    )
    assert len([*found.moves, *found.lefts]) == 1


@pytest.mark.parametrize(
    ("content", "path", "reason"),
    [
        (b"kind: [\n", "a.yaml", Reason.UNREADABLE),
        (b"kind: caf\xe9\n", "a.yaml", Reason.UNREADABLE),
        (b"<<<<<<< HEAD\na: {{ b }}\n=======\n>>>>>>> main\n", "a.yaml", Reason.UNREADABLE),
        (b"<<<<<<< HEAD\r\na: 1\r\n=======\r\n>>>>>>> main\r\n", "a.yaml", Reason.UNREADABLE),
        (b"kind: [ {{ a }}\n", "a.yaml", Reason.TEMPLATE),
        (b"kind: [ <<a>>\n", "a.yaml", Reason.TEMPLATE),
        (b"%{ if a }\nkind: [\n", "a.yaml", Reason.TEMPLATE),
        (b"kind: [\n", "a.yaml.tmpl", Reason.TEMPLATE),
        (b"a: &a [*a]\n", "a.yaml", Reason.TEMPLATE),
        (b"a: " + b"[" * 5000 + b"]" * 5000, "a.yaml", Reason.TEMPLATE),
    ],
)
def test_what_is_certainly_no_template_is_unreadable(content: bytes, path: str, reason: Reason) -> None:
    apis = Apis(None, served("v2.9.4"))
    text = MANIFEST.encode() + content
    file = find(path, text, apis.target.groups)
    assert file is not None
    found = migrate(file, apis)
    assert found is not None
    assert [(left.reason, left.blocks) for left in found.lefts] == [(reason, reason is Reason.TEMPLATE)]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("charts/a/templates/sub/b.yaml", "!charts/a/**"),
        ("charts/a/charts/b/templates/b.yaml", "!charts/a/charts/b/**"),
        ("templates/b.yaml", "!templates/**"),
        ("apps/it's/b.yaml", "!apps/it''s/**"),
        ("b.yaml", "!b.yaml"),
    ],
)
def test_how_a_template_is_left_out_of_the_search(path: str, pattern: str) -> None:
    apis = Apis(None, served("v2.9.4"))
    text = MANIFEST.replace("suspend", "{{ .Values.a }}\n  suspend")
    file = find(path, text.encode(), apis.target.groups)
    assert file is not None
    found = migrate(file, apis)
    assert found is not None
    (left,) = found.lefts
    assert f"`include: ['**', '{pattern}']`" in left.hint
    assert not match(tuple(yaml.safe_load(left.hint.split("`")[1])["include"]), path)
    assert left.detail == "It is a Helm template."
