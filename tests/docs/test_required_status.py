"""Nothing advises to require a commit status that only pull requests of ours have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flux_upgrade.adapters.github import refusals
from flux_upgrade.model.markers import PROOF

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = sorted(
    path for folder in ("docs", "examples") for path in (_ROOT / folder).rglob("*") if path.suffix in {".md", ".yaml"}
)
_SENTENCE = re.compile(r"[^.|\n]*(?:\.|\||$)", re.MULTILINE)


@pytest.mark.parametrize("path", [_ROOT / "README.md", *_PAGES], ids=lambda path: str(path.relative_to(_ROOT)))
def test_no_page_advises_to_require_the_status(path: Path) -> None:
    sentences = [each for each in _SENTENCE.findall(path.read_text()) if PROOF in each and "require" in each]
    assert all("Do not" in each for each in sentences), sentences


def test_no_hint_advises_to_require_the_status() -> None:
    assert PROOF not in Path(refusals.__file__).read_text()
