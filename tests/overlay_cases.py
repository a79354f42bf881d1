"""The folders of ``tests/overlay/``: each is a kustomization, and what becomes of its entries.

What stands in a folder is the repository, but for ``verdict.toml`` and, where the manifests are no
written releases, ``old.yaml`` and ``new.yaml``.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flux_upgrade.impact.overlay.result import Finding, OverlayVerdict
from flux_upgrade.manifests.options import InstallOptions
from memory import rendered

FOLDER = Path(__file__).resolve().parent / "overlay"
VERDICT = "verdict.toml"
_BESIDES = {VERDICT, "old.yaml", "new.yaml"}
_DEFAULTS = {"manifest": "gotk-components.yaml", "from": "v2.8.8", "to": "v2.9.4"}


@dataclass(frozen=True)
class OverlayCase:
    """One folder."""

    folder: Path
    stated: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def path(self) -> str:
        """Of the manifest."""
        return str(self._said("manifest"))

    @property
    def root(self) -> str:
        """The folder of the outermost kustomization that takes in the manifest."""
        return str(self.stated.get("root", posixpath.dirname(self.path)))

    @property
    def builds(self) -> tuple[bool, bool]:
        """Whether kustomize builds it with the old manifest, and with the new one."""
        return self.stated.get("built", True), not any(each.fails for each in self.findings)

    @property
    def compared(self) -> str:
        """With the real kustomize: its ``objects``; only that it ``builds``; ``nothing``: it would go online."""
        return str(self.stated.get("compared", "objects"))

    @property
    def files(self) -> dict[str, bytes]:
        """The repository, without the manifest."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.relative_to(self.folder).as_posix() not in _BESIDES
        }

    @property
    def old(self) -> bytes:
        return self._manifest("old.yaml", "from")

    @property
    def new(self) -> bytes:
        return self._manifest("new.yaml", "to")

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(map(_finding, self.stated.get("finding", ())))

    def _said(self, key: str) -> Any:
        return self.stated.get(key, _DEFAULTS[key])

    def _manifest(self, name: str, key: str) -> bytes:
        own = self.folder / name
        if own.exists():
            return own.read_bytes()
        return manifest(self._said(key), tuple(self.stated.get(f"{key}-components", ())))


@cache
def manifest(tag: str, components: tuple[str, ...] = ()) -> bytes:
    """Of a written release."""
    options = InstallOptions(version=tag)
    return rendered(options._replace(components=components) if components else options).encode()


def all_cases() -> list[OverlayCase]:
    folders = (folder for folder in sorted(FOLDER.iterdir()) if (folder / VERDICT).exists())
    return [OverlayCase(folder, tomllib.loads((folder / VERDICT).read_text())) for folder in folders]


def write(case: OverlayCase, findings: Iterable[Finding]) -> None:
    """What it should give."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in case.stated.items() if key != "finding"]
    for each in findings:
        lines += ["", "[[finding]]", *_lines(each)]
    (case.folder / VERDICT).write_text("\n".join(lines) + "\n")


def _lines(finding: Finding) -> Iterator[str]:
    yield f'place = "{finding.path}:{finding.line}"'
    for name, value in finding._asdict().items():
        if value and name not in ("path", "line"):
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _finding(stated: Mapping[str, Any]) -> Finding:
    rest = {**stated, "verdict": OverlayVerdict(stated["verdict"]), "drops": tuple(stated.get("drops", ()))}
    path, _, line = rest.pop("place").rpartition(":")
    return Finding(path, int(line), **rest)
