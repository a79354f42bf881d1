"""Reads a config file as every command does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_upgrade.commands.wiring import KEY_READERS
from flux_upgrade.config import reader
from flux_upgrade.config.config import Config


def load(text: str, path: str, flags: Mapping[str, Any] | None = None) -> Config:
    """Raises InvalidConfig."""
    return reader.load(text, path, KEY_READERS, flags)
