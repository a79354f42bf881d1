"""Layout of texts that are no YAML."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.passages import stated

KEYS = ("gitops", "flux", "version")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gitops:\n  flux:\n    version: v2.8.8\n", (3, "v2.8.8")),
        ("gitops:\r\n  flux:\r\n    version: v2.8.8 # old\r\n", (3, "v2.8.8")),
        ("a: {{ b }}\ngitops:\n  {{- if c }}\n  flux:\n    version: {{ d }}\n", (5, "{{ d }}")),
        ('"gitops":\n  "flux":\n    "version":\n', (3, "")),
        ("- gitops:\n    flux:\n      - version: v2.8.8\n", (3, "v2.8.8")),
        ("gitops:\n  x: 1\nflux:\n  version: v2.8.8\n", None),
        ("gitops:\n  flux:\n  version: v2.8.8\n", None),
        ("gitops:\n  flux:\n    # version: v2.8.8\n", None),
        ("gitops:\n  flux: {}\ngitops:\n  flux:\n    version: v2.8.8\n", (5, "v2.8.8")),
        ("gitops:\n  flux:\n    flux-version: v2.8.8\n", None),
        ("", None),
    ],
)
def test_each_key_stands_below_the_one_before(text: str, found: tuple[int, str] | None) -> None:
    assert stated(text, *KEYS) == found
