"""gotk-components.yaml, as ``flux bootstrap`` and ``flux install --export`` write it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial

from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.images import Image, kept_distribution
from flux_upgrade.manifests.infer import INSTANCE, PART_OF, RENDER, deployments, flux_labels, is_dump
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.parts import join
from flux_upgrade.manifests.proof import Proof, Verdict, controllers_of
from flux_upgrade.model.errors import Unreadable, Unverified
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.gotk_components.parts import Parts
from flux_upgrade.pins.gotk_components.prove import prove
from flux_upgrade.pins.pin import ManifestChange, Pin, PinState, reported_pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.file import File

NAME = "gotk-components"
INSTALL = "install"

_HEADER = re.compile(rb"^# Flux [Vv]ersion:", re.MULTILINE)
_LABELS = b"app.kubernetes.io/"  # How the names of both labels begin
_HAS_CONTENT = re.compile(rb"^(?!---$)[^\S\n]*[^\s#]", re.MULTILINE)
_PLACEHOLDER = (
    "Flux is not bootstrapped here yet",
    "run `flux bootstrap` or `flux-upgrade bootstrap`, which fill the file",
)
"""A file of comments next to a kustomization.yaml with patches, as Flux documents it for a bootstrap with patches:
https://fluxcd.io/flux/installation/configuration/boostrap-customization/."""
_STRANGER = (
    "the file has the name of Flux's manifest, but neither its header nor its controllers",
    f"restore it from Git, or regenerate it with {RENDER}",
)
_FILE_NAMES = ("gotk-components.yaml", "gotk-components.yml")


class InstallationFinder:
    """Finds the vendored manifests among the files of a tree. Identical files are proved once."""

    def __init__(self, regenerator: Regenerator) -> None:
        self._look = cache(partial(_look, regenerator))

    def at(self, path: str, content: bytes) -> Pin | None:
        """The installation that a file is; None where it is none of Flux's manifests."""
        if not may_be(path, content):
            return None
        is_named = _is_named(path)
        found = self._look(content, is_named=is_named)
        if found is not None:
            return manifest_pin(path, found[0], content, found[1])
        if not is_named or is_placeholder(content):
            return None
        proof = Proof(Verdict.UNREADABLE, parse(content), reason=_STRANGER[0], hint=_STRANGER[1])
        return manifest_pin(path, NAME, content, proof)

    def joined(self, parts: Parts) -> Pin | None:
        """Return the installation that several files are together."""
        problem, content = parts.problem, b""
        try:
            content = content if problem else join(parts.parts)
        except Unreadable as error:
            problem = error
        if problem is not None:
            names = ", ".join(part.path for part in parts.parts)
            reason = f"one installation in {len(parts.parts)} files ({names}): {problem.message}"
            return manifest_pin(parts.main, NAME, content, Proof(Verdict.UNREADABLE, reason=reason, hint=problem.hint))
        found = self._look(content, is_named=True)
        if found is None:
            return None
        kind, proof = found
        if proof.inferred is not None:  # Lines of no file
            proof = replace(proof, inferred=replace(proof.inferred, lines={}))
        return manifest_pin(parts.main, kind, content, proof)._replace(parts=parts.parts)

    def unread(self, path: str, error: Unreadable) -> Pin | None:
        """What is said of a file that cannot be read: nothing, but for one of Flux's own name."""
        return manifest_pin(path, NAME, b"", _unreadable(error)) if _is_named(path) else None


def manifest_pin(path: str, kind: str, content: bytes, proof: Proof) -> Pin:
    """A manifest with its proof. It can go nowhere if it is broken, or if its flags are unknown."""
    pin = Pin(path, kind, content, version=proof.version, reason=proof.reason, hint=proof.hint, proof=proof)
    if proof.options is not None:
        pin = pin._replace(remarks=kept_distribution(proof.options.registry))
    if proof.base is not None:
        return pin
    is_read = proof.verdict is not Verdict.UNREADABLE
    reason, error = (HoldReason.UNVERIFIED, Unverified) if is_read else (HoldReason.UNREADABLE, Unreadable)
    return pin._replace(state=PinState.UNKNOWN, held=Hold(reason, proof.reason, proof.hint, error))


def placeholder_pin(file: File) -> Pin | None:
    """A file of Flux's name that a bootstrap is to fill; None for any other."""
    if not _is_named(file.path) or not is_placeholder(file.content):
        return None
    return reported_pin(file, NAME, (1, "a placeholder for Flux's manifests", ""), *_PLACEHOLDER)


def is_placeholder(content: bytes) -> bool:
    """Whether a file has nothing but comments, to be filled by a bootstrap."""
    return _HAS_CONTENT.search(content) is None


def _is_named(path: str) -> bool:
    return path.rpartition("/")[2] in _FILE_NAMES


def may_be(path: str, content: bytes) -> bool:
    """A cheap test that no installation fails."""
    return (
        _is_named(path)
        or _has_header(content)
        or (
            content.rfind(_LABELS) >= 0
            and b"Deployment" in content
            and (PART_OF.encode() in content or INSTANCE.encode() in content)
            and (b"-controller" in content or b"source-watcher" in content)
        )
    )


def _has_header(content: bytes) -> bool:
    # Most files have no such word: to look for that takes a tenth of what the pattern does.
    return b"x" in content and content.rfind(b"# Flux ") >= 0 and _HEADER.search(content) is not None


def _look(regenerator: Regenerator, content: bytes, *, is_named: bool) -> tuple[str, Proof] | None:
    """The kind and the proof; None where the content is no manifest of Flux's."""
    try:
        manifest = parse(content)
        labelled = False
        for _, deployment in deployments(manifest):
            if is_dump(deployment):
                continue
            labels = flux_labels(deployment)
            # part-of came with v0.12.0; instance is the namespace.
            if labels.get(PART_OF) == "flux" or labels.get(INSTANCE) == deployment.key.namespace:
                labelled = True
                break
    except Unreadable as error:
        # A template or a broken file is ours to speak of only if it says that Flux made it.
        return (NAME, _unreadable(error)) if is_named or _has_header(content) else None
    if not manifest.header_line and not labelled:
        return None
    proof = prove(manifest, regenerator)
    versionless = not manifest.header_line and proof.inferred is not None and not proof.inferred.versions
    return (INSTALL if versionless else NAME), proof


def _unreadable(error: Unreadable) -> Proof:
    return Proof(Verdict.UNREADABLE, reason=error.message, hint=error.hint)


def change(
    proof: Proof, wanted: InstallOptions, regenerator: Regenerator, *, take_release: bool = False
) -> ManifestChange:
    """The file with these settings at their release, edits kept. Raises as ``Regenerator.regenerate``."""
    target = wanted.version
    rules = regenerator.rules(target)
    regenerated = regenerator.regenerate(wanted)
    # Late, as impact/ is: nearly every run finds nothing to change.
    from flux_upgrade.manifests.carry import carry

    carried = carry(proof, regenerated, take_release=take_release)
    after = {each.name: each.image for each in carried.controllers}
    return ManifestChange(
        carried=carried,
        images=tuple(
            (each.name, str(each.image), str(after[each.name])) for each in proof.controllers if each.name in after
        ),
        evidence=rules.evidence,
        verified=regenerator.manifests(target).verified,
        not_covered=tuple(wanted.changed()) if rules.not_covered else (),
    )


def shipped(target: Version, proof: Proof, regenerator: Regenerator) -> dict[str, Image]:
    """Controller → the image that ``target`` has for it, in the manifest's registry."""
    options = proof.options
    assert options is not None  # noqa: S101 only proved installations are asked about
    base = regenerator.regenerate(options._replace(version=target))
    return {each.name: each.image for each in controllers_of(base.manifest, base)}
