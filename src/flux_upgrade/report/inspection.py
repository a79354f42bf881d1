"""What ``inspect`` found → text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flux_upgrade.kinds import Installation
from flux_upgrade.manifests.images import Controller, ImageState
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.residue import Edit
from flux_upgrade.report.wording import edit_line, hearsay, limited, located, printable, tag


def inspection_json(installations: Iterable[Installation]) -> str:
    """What ``inspect --json`` prints: see docs/reference/inspect.schema.json."""
    report = {"installations": [_installation(each) for each in installations]}
    return json.dumps(report, indent=2, ensure_ascii=False, default=str) + "\n"


def _installation(installation: Installation) -> dict[str, Any]:
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
        "generator": base.generator.since if base is not None and base.foreign and base.generator else None,
        "proof": str(proof.verdict),
        "reason": proof.reason or None,
        "remedy": proof.hint or None,
        "flags": flags,
        "flag-lines": {flag: lines.get(flag) for flag in flags},
        "controllers": [_controller(each, known=base is not None) for each in proof.controllers],
        "residue": [_edit(edit) for edit in proof.edits],
    }


def _controller(controller: Controller, *, known: bool) -> dict[str, Any]:
    return {
        "name": controller.name,
        "line": controller.line,
        "image": str(controller.image),
        "release-image": str(controller.release_image) if known else None,
        "state": str(controller.state) if known else None,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "object": {
            "group": edit.object.group,
            "kind": edit.object.kind,
            "namespace": edit.object.namespace,
            "name": edit.object.name,
        },
        "path": edit.where,
        "op": str(edit.op),
        "from": edit.old,
        "to": edit.new,
    }


def inspection_text(installations: Sequence[Installation], root: str) -> str:
    """One block for each installation. ``root``: the tree, as the user named it."""
    return "\n".join("".join(f"{printable(line)}\n" for line in _block(each, root)) for each in installations)


def _block(installation: Installation, root: str) -> Iterator[str]:
    proof = installation.proof
    yield located(root, installation.path)
    body = f"Flux {proof.version}" if proof.version else "no known release"
    yield f"  {body} · {proof.verdict}" + (" · Flux's install.yaml" if installation.kind == "install" else "")
    if proof.reason:
        yield f"  because {proof.reason}"
    if proof.hint:
        yield f"  remedy: {proof.hint}"
    if proof.manifest is not None and proof.version:
        yield from hearsay(installation)
    if proof.options is not None:
        yield from _flags(proof.options, proof.inferred.lines if proof.inferred else {})
    if proof.controllers:
        yield "  controllers:"
        for each in proof.controllers:
            note = (
                f" ({_state(each)})"
                if proof.base is not None and each.state is not ImageState.RELEASE
                else ""
            )
            yield f"    {each.name} {tag(each.image)}{note}"
    if proof.edits:
        yield f"  edited by hand ({len(proof.edits)}):"
        yield from limited([edit_line(edit) for edit in proof.edits])


def _flags(options: InstallOptions, lines: dict[str, int]) -> Iterator[str]:
    plain = InstallOptions(version="").flags()
    yield "  flags:"
    for flag, value in options.flags().items():
        spelled = (
            ",".join(value)
            if isinstance(value, list)
            else str(value).lower()
            if isinstance(value, bool)
            else value
        )
        where = f"line {lines[flag]}" if flag in lines else "no trace in the file"
        if flag in ("namespace", "components") or value != plain[flag]:
            yield f"    --{flag}={spelled} ({where})"


def _state(controller: Controller) -> str:
    shipped = tag(controller.release_image)
    match controller.state:
        case ImageState.AHEAD:
            return f"bumped in place, ahead of the release's {shipped}"
        case ImageState.BEHIND:
            return f"behind the release's {shipped}"
        case ImageState.PINNED:
            return "pinned by digest"
        case _:
            return f"its own image {controller.image}"
