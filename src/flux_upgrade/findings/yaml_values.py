"""Values of YAML as text, each in one line."""

from __future__ import annotations

import json
from typing import Any

from flux_upgrade.model.text import excerpts

_WIDTH = 60


def short(*values: Any) -> list[str]:
    """Values, each in one line of at most 60 characters; those that differ are shown so that they do."""
    texts = [" ".join(text_of(value).split()) for value in values]
    cut = [text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..." for text in texts]
    return cut if len({*cut}) == len({*texts}) else excerpts(texts, _WIDTH)


def text_of(value: Any) -> str:
    """A value of YAML as text; what is no string, as JSON."""
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
