"""How many manifests a file has."""

from __future__ import annotations

import pytest

from flux_upgrade.assessment.coverage import manifests_in


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"---\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n", 1),
        (b"{{- if .Values.on }}\napiVersion: v1\nkind: A\nmetadata:\n  name: {{ .Values.b }}\n{{- end }}\n", 1),
        (b"image:\n  apiVersion: v1\n", 0),
    ],
    ids=["indented", "template", "values"],
)
def test_counts_manifests(content: bytes, count: int) -> None:
    assert manifests_in("a.yaml", content) == count
