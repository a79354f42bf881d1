"""The cases of ``tests/overlay``: a kustomization around Flux's manifest, and what an upgrade does to its entries.

    Patches in the folder above, where Flux begins.

    -- settings.toml --
    manifest = "prod/flux-system/gotk-components.yaml"
    root = "prod"
    -- before/prod/kustomization.yaml --
    -- findings.toml --
    [[finding]]
    place = "prod/kustomization.yaml:7"

The manifests are those of written releases, or stand in ``before/`` and ``after/``.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import txtar
from flux_upgrade.impact.overlay.result import OverlayFinding
from flux_upgrade.manifests.options import InstallOptions
from memory import rendered

CASES = sorted(Path(__file__).resolve().parent.joinpath("overlay").glob("*.txtar"))
_FINDINGS = "findings.toml"


@dataclass(frozen=True)
class OverlayCase:
    """One repository, and the manifest in it before and after the upgrade."""

    archive: txtar.Archive
    path: str
    """Of the manifest."""
    root: str
    """The folder of the outermost kustomization that lists the manifest."""
    old: bytes
    new: bytes
    built: bool
    """Whether kustomize builds it before the upgrade."""
    compared: str
    """With kustomize's build: ``objects``; only that it ``builds``; ``nothing``: it would go online."""

    @property
    def files(self) -> dict[str, bytes]:
        """The repository, without the manifest."""
        files = self.archive.under("before")
        return {path: files[path] for path in files if path != self.path}

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = tomllib.loads(self.archive.text(_FINDINGS, "")).get("finding", [])
        return found

    @property
    def builds(self) -> tuple[bool, bool]:
        """Whether kustomize builds it with the old manifest, and with the new one."""
        return self.built, not any(each.get("fails") for each in self.findings)

    def with_result(self, findings: Sequence[OverlayFinding]) -> txtar.Archive:
        """The case, with what was found."""
        files = {name: self.archive.files[name] for name in self.archive.files if name != _FINDINGS}
        if findings:
            files[_FINDINGS] = "\n".join("".join(_lines(each)) for each in findings).encode()
        return replace(self.archive, files=files)


def case_of(path: Path) -> OverlayCase:
    archive = txtar.read(path)
    settings = tomllib.loads(archive.text("settings.toml", ""))
    where = settings.pop("manifest", "gotk-components.yaml")

    def side(folder: str, release: str, default: str) -> bytes:
        components = tuple(settings.pop(f"{release}-components", ()))
        tag = settings.pop(release, default)
        return archive.files.get(f"{folder}/{where}") or manifest(tag, components)

    case = OverlayCase(
        archive,
        where,
        settings.pop("root", posixpath.dirname(where)),
        side("before", "from", "v2.8.8"),
        side("after", "to", "v2.9.4"),
        settings.pop("built", True),
        settings.pop("compared", "objects"),
    )
    assert not settings, f"{path.name}: unknown settings {', '.join(settings)}"
    return case


@cache
def manifest(tag: str, components: tuple[str, ...] = ()) -> bytes:
    """Of a written release."""
    options = InstallOptions(version=tag)
    return rendered(options._replace(components=components) if components else options).encode()


def _lines(finding: OverlayFinding) -> Iterator[str]:
    yield f'[[finding]]\nplace = "{finding.path}:{finding.line}"\n'
    for name, value in finding._asdict().items():
        if value and name not in ("path", "line"):
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
