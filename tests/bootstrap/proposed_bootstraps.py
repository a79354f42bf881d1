"""Bootstraps that are proposed, made from a few lines: a folder of ``pull_requests`` each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_upgrade.bootstrap.changes import FileChange, FilesPlan, FlagChange
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider, Source
from flux_upgrade.bootstrap.proposed import (
    Bootstrap,
    Handover,
    PlaceKind,
    ProposedCluster,
    bootstrap_of,
    cluster_of,
)
from flux_upgrade.bootstrap.workflow_file import to_be_added
from flux_upgrade.planning.proposal import ProposalContext
from parsed_flags import parse_flags

CASES = Path(__file__).resolve().parent / "pull_requests"
FILES = ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")


@dataclass(frozen=True)
class Case:
    """One folder."""

    folder: Path
    proposal: Bootstrap
    around: ProposalContext


def names() -> list[str]:
    """Of all cases."""
    return sorted(path.parent.name for path in CASES.glob("*/case.toml"))


def case(name: str) -> Case:
    """One of them."""
    folder = CASES / name
    stated = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    around = ProposalContext((), **stated.get("around", {}))
    return Case(folder, _bootstrap(stated), around)


def bootstrap(*clusters: ProposedCluster, **more: Any) -> Bootstrap:
    """Of one cluster or of several, in a repository on GitHub."""
    return bootstrap_of(clusters, "flux-upgrade/", **{"repository": "acme/fleet", **more})


def cluster(stated: Mapping[str, Any] | None = None, **flags: str | bool) -> ProposedCluster:
    """A new one; ``stated`` as in the files of the cases."""
    told = dict(stated or {})
    options = _options(told, {**told.get("flags", {}), **flags})
    return cluster_of(
        told.get("name", options.path),
        options,
        _files(told, options),
        _handover(told.get("handover", {})),
        tuple(told.get("commands", ())),
    )


def _bootstrap(stated: Mapping[str, Any]) -> Bootstrap:
    clusters = [each for told in stated["cluster"] for each in _repeated(told)]
    workflow = to_be_added(()) if stated.get("workflow") else None
    return bootstrap(*clusters, workflow=workflow, repository=stated.get("repository", "acme/fleet"))


def _repeated(told: Mapping[str, Any]) -> Iterator[ProposedCluster]:
    """``count`` of them, with ``{n}`` in their path."""
    for number in range(told.get("count", 1)):
        flags = {
            name: value.replace("{n}", f"{number:03}") if isinstance(value, str) else value
            for name, value in told["flags"].items()
        }
        yield cluster({**told, "flags": flags})


def _options(told: Mapping[str, Any], flags: Mapping[str, Any]) -> BootstrapOptions:
    source = Source(told.get("source", "git"))
    provider = Provider(told.get("provider", "github"))
    if source is Source.GIT and provider is not Provider.GIT:
        flags = {"owner": "acme", "repository": "fleet", **flags}
    return parse_flags(provider, source, flags, told.get("version", "v2.9.4"))


def _files(told: Mapping[str, Any], options: BootstrapOptions) -> FilesPlan:
    """``changed``: the names of the files that are there already, and change."""
    version = options.install.version or told.get("version", "v2.9.4")
    if told.get("commands"):
        return FilesPlan(version, ())
    changed = told.get("changed")
    changes = tuple(
        FileChange(f"{options.folder}/{name}", b"before\n" if changed else None, f"{version}\n".encode())
        for name in FILES
        if changed is None or name in changed
    )
    return FilesPlan(
        version,
        tuple(each for each in changes if not each.path.endswith(tuple(told.get("kept", ("/none",))))),
        kept=tuple(f"{options.folder}/{name}" for name in told.get("kept", ())),
        shown=tuple(FlagChange(*each) for each in told.get("shown", ())),
        edits=tuple(told.get("edits", ())),
        unlisted=tuple(told.get("unlisted", ())),
    )


def _handover(told: Mapping[str, Any]) -> Handover:
    given = {**told, "place": PlaceKind(told.get("place", "nowhere"))}
    return Handover(**given)
