"""Reads a config file as every command does."""

from __future__ import annotations

from flux_upgrade.commands.wiring import KEY_READERS
from flux_upgrade.config import reader
from flux_upgrade.config.config import Config


def load(text: str, path: str) -> Config:
    """Raises InvalidConfig."""
    return reader.load(text, path, KEY_READERS)
