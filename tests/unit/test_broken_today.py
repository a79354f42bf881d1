"""What the running release refuses already, and the cheap look that comes before."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.api_uses.prefilter import REMOVED_FIELDS, Prefilter
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.broken_today import broken_today
from flux_upgrade.impact.migrate.rules import RULES
from flux_upgrade.manifests.crds import served_by
from memory import WrittenReleases

SERVED = served_by(WrittenReleases().manifests("v2.9.4"))
RELEASE = b"""\
apiVersion: helm.toolkit.fluxcd.io/%b
kind: HelmRelease
metadata: {name: podinfo}
"""


def broken(content: bytes, path: str = "apps/a.yaml") -> list[str]:
    file = find(path, content, SERVED.groups)
    return [each.what for each in broken_today([file] if file is not None else [], SERVED)]


def test_a_version_that_is_not_served() -> None:
    assert broken(RELEASE % b"v1beta2") == ["v2.9.4 does not serve helm.toolkit.fluxcd.io/v1beta2"]
    assert Prefilter(SERVED).may_be_broken(RELEASE % b"v1beta2")
    assert not broken(RELEASE % b"v1")
    assert not Prefilter(SERVED).may_be_broken(RELEASE % b"v1")


@pytest.mark.parametrize(
    ("content", "path"),
    [
        pytest.param(b"# apiVersion: helm.toolkit.fluxcd.io/v1beta2\n", "a.yaml", id="comment"),
        pytest.param(RELEASE % b"${VERSION}", "a.yaml", id="variable"),
        pytest.param(b"Use helm.toolkit.fluxcd.io/v1beta2.\n", "a.md", id="text"),
        pytest.param(b"{{ if x }}\n" + RELEASE % b"v1beta2", "templates/a.yaml", id="template"),
    ],
)
def test_what_nothing_applies_as_it_stands_is_not_broken(content: bytes, path: str) -> None:
    assert not broken(content, path)


def test_every_field_that_was_removed_is_looked_for() -> None:
    """But for those that later versions have at another place, and for what is written in clusters alone."""
    names = {str(rule.path[-1]) for rule in RULES} - {"status", "checkout", "commit", "push"}
    assert set(REMOVED_FIELDS.split("|")) == names
