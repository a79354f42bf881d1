"""Programs that name a manifest are found in files of any form, by paths of any form."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.ownership.mentions import mentions

PATH = "clusters/production/flux-system/gotk-components.yaml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"kubectl apply -f {PATH}", True),
        ("file://${path.module}/flux-system/gotk-components.yaml", True),
        ("kubectl apply -f clusters/staging/flux-system/gotk-components.yaml", False),
        ("kubectl apply -f my-gotk-components.yaml", False),
        (f"apply {'a' * 100_000} x/gotk-components.yaml", False),
    ],
    ids=["path", "variable", "other-cluster", "other-name", "long-word"],
)
def test_a_path_is_a_word_of_a_program(text: str, expected: bool) -> None:  # noqa: FBT001 parametrized
    assert mentions(text.encode(), "up.sh", PATH) is expected


def test_a_path_may_have_bytes_that_are_no_text() -> None:
    path = "caf\udce9/gotk-components.yaml"
    assert mentions(b"kubectl apply -f caf\xe9/gotk-components.yaml", "up.sh", path)
    assert not mentions(b"kubectl apply -f other/gotk-components.yaml", "up.sh", path)
