"""Exceptions from the rules, each with its reason: `exceptions.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from knowledge.comparison import Problem

_TABLE = Path(__file__).with_name("exceptions.toml")


@dataclass(frozen=True)
class Exemption:
    pieces: tuple[str, ...]
    rules: tuple[str, ...]
    reason: str
    command: str = ""  # `plan` or `check`; empty: both
    repository: str = ""  # A regular expression for its name
    text: str = ""  # A regular expression for the text of the problem

    def covers(self, piece: str, repository: str, command: str, problem: Problem) -> bool:
        is_about = piece in self.pieces and problem.rule in self.rules and self.command in ("", command)
        return bool(is_about and re.search(self.repository, repository) and re.search(self.text, problem.text))


def exemptions() -> list[Exemption]:
    """Read the table."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["exception"]
    return [Exemption(tuple(row.pop("pieces")), tuple(row.pop("rules")), **row) for row in rows]
