"""What ``inspect`` found → text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.groups import drift_of
from flux_upgrade.findings.json_fields import fields
from flux_upgrade.manifests.images import Controller, ImageState
from flux_upgrade.manifests.options import InstallOptions, spell
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import printable_lines
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.report.graph import graph_value
from flux_upgrade.report.plans import drift_lines, drift_value
from flux_upgrade.report.wording import edit_lines, hearsay, located, tag

_ROLES = {Role.CLI: " · Flux CLI", Role.OPERATOR: " · flux-operator", Role.REPORTED: " · listed, never changed"}


class Inspected(NamedTuple):
    """What ``inspect`` found."""

    installations: tuple[Pin, ...]
    pins: tuple[Pin, ...]
    clusters: tuple[Cluster, ...]
    graph: ClusterGraph | None = None  # Where it was asked for


def inspection_json(found: Inspected) -> str:
    """What ``inspect --json`` prints: see docs/reference/inspect.schema.json."""
    clusters = {id(member.pin): cluster for cluster in found.clusters for member in cluster.members}
    report: dict[str, Any] = {
        "drift": drift_value(found.clusters),
        "installations": [_installation(each) for each in found.installations],
        "pins": [_pin(each, clusters.get(id(each))) for each in found.pins],
        "counts": _counts(found),
    }
    if found.graph is not None:
        report["graph"] = graph_value(found.graph)
    return json.dumps(report, indent=2, ensure_ascii=False, default=str) + "\n"


def _installation(installation: Pin) -> dict[str, Any]:
    proof = installation.proof
    manifest, base = proof.manifest, proof.base
    flags = proof.options.flags() if proof.options is not None else {}
    lines = proof.inferred.lines if proof.inferred is not None else {}
    return {
        "path": installation.path,
        "kind": installation.kind,
        "version": proof.version or None,
        "header-version": (manifest.header_version if manifest is not None else "") or None,
        "header-components": list(manifest.header_components) if manifest is not None else [],
        "label-versions": list(proof.inferred.versions) if proof.inferred is not None else [],
        "generator": base.foreign.since if base is not None and base.foreign is not None else None,
        "proof": str(proof.verdict),
        **fields(proof, "reason", "hint"),
        "flags": flags,
        "flag-lines": {flag: lines.get(flag) for flag in flags},
        "controllers": [
            {
                "name": each.name,
                "line": each.line,
                "image": str(each.image),
                "release-image": str(each.release_image) if base is not None else None,
                "state": str(each.state) if base is not None else None,
            }
            for each in proof.controllers
        ],
        "edits": [
            {"object": edit.object._asdict(), "path": edit.where, "op": str(edit.op), "from": edit.old, "to": edit.new}
            for edit in proof.edits
        ],
    }


def _pin(pin: Pin, cluster: Cluster | None) -> dict[str, Any]:
    return {
        "path": pin.path,
        **fields(pin, "line", "kind"),
        "role": str(pin.role),
        "standing": str(pin.state),
        "where": pin.where,
        "written": pin.raw,
        "version": pin.version or None,
        "cluster": cluster.name if cluster is not None else None,
        "serves": list(cluster.served) if cluster is not None else [],
        **fields(pin, "reason", "hint", "remarks"),
    }


def _counts(found: Inspected) -> dict[str, int]:
    pins = [pin for pin in found.pins if pin.role is not Role.REPORTED]
    return {
        "installations": sum(not cluster.is_tools for cluster in found.clusters),
        "pins": len(found.installations) + len(pins),
        "kinds": len({each.kind for each in found.installations} | {each.kind for each in pins}),
        "drifting": sum(bool(drift_of(cluster)) for cluster in found.clusters),
    }


def inspection_text(found: Inspected, root: str) -> str:
    """What disagrees, one block for each manifest and pin, cluster by cluster, and how many there are.

    ``root``: the tree, as the user named it.
    """
    counts = _counts(found)
    kinds = counted(counts["kinds"], "kind")
    references = f"{counted(counts['pins'], 'version reference')} of {kinds}"
    numbers = [counted(counts["installations"], "installation"), references, f"{counts['drifting']} drifting"]
    listed = sum(pin.role is Role.REPORTED for pin in found.pins)
    numbers += [f"{listed} listed, never changed"] if listed else []
    ordered = [(each.pin, cluster) for cluster in found.clusters for each in cluster.members]
    blocks: list[list[str]] = [
        list(drift_lines(found.clusters)),
        *(
            list(_block(each, root) if each.is_manifest else _pin_block(each, cluster, root))
            for each, cluster in ordered
        ),
        *(list(_pin_block(pin, None, root)) for pin in found.pins if pin.role is Role.REPORTED),
        [", ".join(numbers)],
    ]
    return "\n".join(map(printable_lines, filter(None, blocks)))


def _pin_block(pin: Pin, cluster: Cluster | None, root: str) -> Iterator[str]:
    yield f"{located(root, pin.path)}:{pin.line}"
    version = f"Flux {pin.version}" if pin.version else "no known release"
    version += " today" if pin.version and pin.state is PinState.RANGE else ""
    yield f"  {version} · {pin.state} · {pin.kind}" + _ROLES.get(pin.role, "")
    yield f"  {pin.where}" + (f": {pin.raw}" if pin.raw else "")
    if cluster is not None:
        name = ", ".join(cluster.served) or "no cluster in this directory" if cluster.is_tools else cluster.name
        yield f"  {'serves' if pin.role is Role.CLI else 'cluster'}: {name}"
    if pin.reason:
        yield f"  reason: {pin.reason}"
    if pin.hint:
        yield f"  next step: {pin.hint}"
    yield from (f"  note: {remark}" for remark in pin.remarks)


def _block(installation: Pin, root: str) -> Iterator[str]:
    proof = installation.proof
    yield located(root, installation.path)
    body = f"Flux {installation.stated_version}" if installation.stated_version else "no known release"
    yield f"  {body} · {proof.verdict}" + (" · Flux's install.yaml" if installation.kind == "install" else "")
    if proof.reason:
        yield f"  reason: {proof.reason}"
    if proof.hint:
        yield f"  next step: {proof.hint}"
    if proof.manifest is not None and proof.version:
        yield from hearsay(proof)
    if proof.options is not None:
        yield from _flags(proof.options, proof.inferred.lines if proof.inferred else {})
    if proof.controllers:
        yield "  controllers:"
        for each in proof.controllers:
            is_known = proof.base is None or each.state is ImageState.RELEASE
            yield f"    {each.name} {tag(each.image)}" + ("" if is_known else f" ({_state(each)})")
    absent = [edit for edit in proof.edits if edit.is_absence]
    edits = [edit for edit in proof.edits if not edit.is_absence]
    for heading, listed in (("edited manually", edits), ("not in the file", absent)):
        if listed:
            yield f"  {heading} ({len(listed)}):"
            yield from edit_lines(listed)
    yield from (f"  note: {remark}" for remark in installation.remarks)


def _flags(options: InstallOptions, lines: dict[str, int]) -> Iterator[str]:
    plain = InstallOptions(version="").flags()
    yield "  flags:"
    for flag, value in options.flags().items():
        where = f"line {lines[flag]}" if flag in lines else "not shown in the file"
        if flag in ("namespace", "components") or value != plain[flag]:
            yield f"    --{flag}={spell(value)} ({where})"


def _state(controller: Controller) -> str:
    shipped = tag(controller.release_image)
    match controller.state:
        case ImageState.AHEAD:
            return f"bumped separately, ahead of {shipped} in the release"
        case ImageState.BEHIND:
            return f"behind {shipped} in the release"
        case ImageState.PINNED:
            return "pinned by digest"
        case _:
            return f"custom image {controller.image}"
