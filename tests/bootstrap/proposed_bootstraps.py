"""Proposed bootstraps, made from a few lines, as in ``pull_requests``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import txtar
from flux_upgrade.bootstrap.components import FlagChange
from flux_upgrade.bootstrap.files import FileChange, FilesPlan
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider, Source
from flux_upgrade.bootstrap.proposed import Bootstrap, Handover, PlaceKind, ProposedCluster, bootstrap_of, cluster_of
from flux_upgrade.bootstrap.request import BootstrapCluster
from flux_upgrade.bootstrap.workflow_file import to_be_added
from flux_upgrade.planning.proposal import ProposalContext
from parsed_flags import parse_flags

CASES = Path(__file__).resolve().parent / "pull_requests"
FILES = ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")


@dataclass(frozen=True)
class Case:
    """A file of ``pull_requests``."""

    archive: txtar.Archive
    proposal: Bootstrap
    context: ProposalContext


def names() -> list[str]:
    """Every case."""
    return sorted(path.stem for path in CASES.glob("*.txtar"))


def case(name: str) -> Case:
    """One case."""
    archive = txtar.read(CASES / f"{name}.txtar")
    stated = tomllib.loads(archive.text("settings.toml"))
    return Case(archive, _bootstrap(stated), ProposalContext((), **stated.get("around", {})))


def bootstrap(*clusters: ProposedCluster, **more: Any) -> Bootstrap:
    """Of one cluster or of several, in a repository on GitHub."""
    return bootstrap_of(clusters, "flux-upgrade/", **{"repository": "acme/fleet", **more})


def cluster(stated: Mapping[str, Any] | None = None, **flags: str | bool) -> ProposedCluster:
    """A new one; ``stated`` as in the files of the cases."""
    stated = stated or {}
    options = _options(stated, {**stated.get("flags", {}), **flags})
    made = cluster_of(
        BootstrapCluster("", options),
        stated.get("name", options.path),
        _files(stated, options),
        tuple(stated.get("commands", ())),
    )
    return made._replace(handover=_handover(stated.get("handover", {})))


def _bootstrap(stated: Mapping[str, Any]) -> Bootstrap:
    clusters = [each for one in stated["cluster"] for each in _repeated(one)]
    workflow = to_be_added(()) if stated.get("workflow") else None
    return bootstrap(*clusters, workflow=workflow, repository=stated.get("repository", "acme/fleet"))


def _repeated(stated: Mapping[str, Any]) -> Iterator[ProposedCluster]:
    """``count`` of them, with ``{n}`` in their path."""
    for number in range(stated.get("count", 1)):
        flags = {
            name: value.replace("{n}", f"{number:03}") if isinstance(value, str) else value
            for name, value in stated["flags"].items()
        }
        yield cluster({**stated, "flags": flags})


def _options(stated: Mapping[str, Any], flags: Mapping[str, Any]) -> BootstrapOptions:
    source = Source(stated.get("source", "git"))
    provider = Provider(stated.get("provider", "github"))
    if source is Source.GIT and provider is not Provider.GIT:
        flags = {"owner": "acme", "repository": "fleet", **flags}
    return parse_flags(provider, source, flags, stated.get("version", "v2.9.4"))


def _files(stated: Mapping[str, Any], options: BootstrapOptions) -> FilesPlan:
    """``changed``: the names of the files that are there already, and change."""
    version = options.install.version or stated.get("version", "v2.9.4")
    if stated.get("commands"):
        return FilesPlan(version, ())
    changed = stated.get("changed")
    changes = tuple(
        FileChange(f"{options.folder}/{name}", b"before\n" if changed else None, f"{version}\n".encode())
        for name in FILES
        if changed is None or name in changed
    )
    return FilesPlan(
        version,
        tuple(each for each in changes if not each.path.endswith(tuple(stated.get("kept", ("/none",))))),
        kept=tuple(f"{options.folder}/{name}" for name in stated.get("kept", ())),
        shown=tuple(FlagChange(*each) for each in stated.get("shown", ())),
        edits=tuple(stated.get("edits", ())),
        unlisted=tuple(stated.get("unlisted", ())),
    )


def _handover(stated: Mapping[str, Any]) -> Handover:
    given = {**stated, "place": PlaceKind(stated.get("place", "nowhere"))}
    return Handover(**given)
