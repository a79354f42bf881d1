"""The page about shared config files says of each key what the table of keys says, and its snippets work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flux_upgrade.config import reader
from flux_upgrade.config.config import PATH
from flux_upgrade.config.keys import RING, TOP

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "share-a-config.md").read_text(encoding="utf-8")
NEVER = {key.name for key in TOP.keys if key.shared is None}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_key_is_on_the_page() -> None:
    may, never = section("Which key wins").split("A shared file cannot set any other key")
    table = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`.*?) \|", never, re.MULTILINE))))
    assert table == NEVER
    listed = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^- .*$", may, re.MULTILINE))))
    assert listed == {key.name for key in TOP.keys if key.shared is not None}
    assert not {key.name for key in RING} & listed


def test_renovate_finds_the_pin_of_the_example() -> None:
    (manager,) = json.loads(section("Move the pin").partition("```json")[2].partition("```")[0])["customManagers"]
    (pattern,) = manager["matchStrings"]
    example = (ROOT / "examples" / "extending.flux-upgrade.yaml").read_text()
    found = re.search(pattern.replace("(?<", "(?P<"), example)
    assert found is not None
    assert found.groupdict() == {"depName": "octo-org/platform", "currentDigest": found[0][-40:]}
    assert re.search(manager["fileMatch"][0], PATH)


@pytest.mark.parametrize("name", ["extending", "shared"])
def test_the_page_leads_to_the_examples(name: str) -> None:
    assert f"(../../examples/{name}.flux-upgrade.yaml)" in PAGE


def test_the_first_snippet_is_a_config_file() -> None:
    config = reader.load(PAGE.partition("```yaml\n")[2].partition("```")[0], PATH)
    assert config.extends.startswith("octo-org/platform/")
