"""How a proposal was verified, which pins and flags it changes, and which manual edits it keeps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import agrees, drift_of
from flux_upgrade.findings.yaml_values import text_of
from flux_upgrade.manifests.images import ImageState
from flux_upgrade.manifests.merge import Conflict
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, spell
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.manifests.residue import VERSION_LABEL, Edit, Op
from flux_upgrade.model.markdown import code, counted, plain, shortened, visible
from flux_upgrade.model.text import excerpts
from flux_upgrade.pullrequests.text.view import ManifestUpgrade, View, in_order
from flux_upgrade.report.wording import edit_phrase, place_of, proof_phrase

_VALUE = 60
_FLAG = 400
_WHERE = 200
_KINDS = 3
_DIGEST = re.compile(r"(\bsha256:[0-9a-f]{12})[0-9a-f]{52}")


def summed(said: Iterable[str]) -> str:
    """Several sentences as one, what is said most often first, with how often."""
    counts = Counter(said)
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    if len(ranked) == 1:
        (sentence, count), *_ = ranked
        return sentence if count == 1 else f"{sentence}, in {counted(count, 'installation')}"
    shown = [f"{sentence} ({count})" for sentence, count in ranked[:_KINDS]]
    rest = sum(count for _, count in ranked[_KINDS:])
    return "; ".join([*shown, *([f"and {rest} more"] if rest else [])])


def checksums(view: View) -> str:
    bad = sorted({each.upgrade.target for each in view.manifests if not each.change.verified})
    if bad:
        return f"There is no published checksum for the manifests of {', '.join(bad)}"
    targets = in_order(each.upgrade.target for each in view.manifests)
    return f"The manifests of {' and '.join(targets)} match their published checksum"


def proof(view: View) -> list[str]:
    """Lines of Markdown: the proof of every installation, and what the proof found to be untrue."""
    lines = view.by_installation((each.plan, plain(proof_phrase(each.proof))) for each in view.manifests)
    lines += view.by_installation((each.plan, line) for each in view.manifests for line in _untrue(each.proof))
    evidence = {(each.upgrade.target, each.change.evidence) for each in view.manifests if each.change.evidence}
    lines += [f"Flux {tag} is newer than this flux-upgrade, but {plain(why)}" for tag, why in sorted(evidence)]
    if view.manifests and all(each.change.verified for each in view.manifests):
        lines.append(plain(checksums(view)))
    if view.pins:
        lines.append(pins_phrase(view))
    return lines


def drift(view: View) -> Iterator[str]:
    """A paragraph for each cluster whose pins disagree so far."""
    for cluster in view.proposal.drifting:
        places = drift_of(cluster)
        releases = "; ".join(f"{version} in {_spots(view, pins)}" for version, pins in places.items())
        after = _afterwards(view, [pin for pins in places.values() for pin in pins])
        yield f"**Drift:** the version references of {code(cluster.name)} differ: {releases}. {after}"


def _afterwards(view: View, pins: Sequence[Member]) -> str:
    moves = {plan.pin.place(plan.path): upgrade.target for plan, upgrade in view.upgrades}
    targets = {moves[pin.place] for pin in pins if pin.place in moves}
    apart = [pin for pin in pins if pin.place not in moves and not any(agrees(pin.pin, target) for target in targets)]
    if not targets:
        return "This pull request changes none of them."
    if not apart:
        return "After the merge, they are equal."
    return f"After the merge, {_spots(view, apart)} still {'differs' if len(apart) == 1 else 'differ'}."


def _spots(view: View, pins: Sequence[Member]) -> str:
    return ", ".join(code(pin.place, _WHERE) for pin in pins[: view.most])


def pins_phrase(view: View) -> str:
    """How the pins were edited, without markup."""
    return f"{counted(len(view.pins), 'version reference')} updated, nothing else in the files changed"


def pins(view: View) -> str:
    rows = [
        (
            code(plan.pin.place(plan.path), _WHERE),
            plain(plan.pin.kind),
            version_text(plan.pin.raw),
            version_text(upgrade.change.raw),
        )
        for plan, upgrade in view.pins
    ]
    return view.table(("Where", "What", "From", "To"), rows)


def version_text(written: str) -> str:
    """A version as code, with short digests: the diff has the whole ones."""
    return code(_DIGEST.sub(r"\1…", written), _WHERE)


def pin_remarks(view: View) -> list[str]:
    """What a change of a pin brings along, and what else there is to know of it; each once."""
    by_remark: dict[str, list[str]] = {}
    for plan, upgrade in view.pins:
        for remark in (*plan.pin.remarks, *upgrade.change.remarks):
            by_remark.setdefault(remark, []).append(code(plan.pin.place(plan.path), _WHERE))
    return [f"{', '.join(dict.fromkeys(places))}: {plain(remark)}" for remark, places in by_remark.items()]


def _untrue(proof: Proof) -> Iterator[str]:
    header = proof.manifest.header_version if proof.manifest is not None else ""
    if header and header != proof.version:
        yield f"The header {code(f'# Flux Version: {header}')} is wrong: the content is {proof.version}"
    labels = sorted(set(proof.inferred.versions) - {proof.version} if proof.inferred is not None else ())
    if labels and labels != [header]:
        shown = ", ".join(code(f"{VERSION_LABEL}: {label}") for label in labels[:_KINDS])
        yield f"{shown} is wrong: the content is {proof.version}"
    bumped = [each for each in proof.controllers if each.state is ImageState.AHEAD]
    if bumped and not proof.is_withdrawn:
        names = ", ".join(f"{code(each.name)} {each.image.tag}" for each in bumped)
        yield f"{names} {'was' if len(bumped) == 1 else 'were'} already newer than the manifest"


def flags_changed(view: View) -> list[str]:
    """Flags that become others, because it was asked for."""
    return view.by_installation(
        (plan, f"{code(f'--{name}')}: {_flag_change(old, new)}")
        for plan, upgrade in view.upgrades
        for name, old, new in upgrade.flags
    )


def _flag_change(old: str, new: str) -> str:
    before, after = old.split(","), new.split(",")
    if len(before) == len(after) == 1 or set(before) == set(after):
        return f"{code(old, _FLAG)} → {code(new, _FLAG)}"
    added = [f"{code(each)} added" for each in after if each and each not in before]
    removed = [f"{code(each)} removed" for each in before if each and each not in after]
    return ", ".join([*added, *removed])


def flags_kept(view: View) -> list[str]:
    """Flags away from Flux's defaults."""
    return view.by_installation((each.plan, _flags(each)) for each in view.manifests if _flags(each))


def _flags(proved: ManifestUpgrade) -> str:
    options = proved.proof.options
    changed = {name for name, _, _ in proved.upgrade.flags}
    kept = options.changed() if options is not None else {}
    return " ".join(_flag(name, value) for name, value in kept.items() if name not in changed)


def _flag(name: str, value: str | bool | list[str]) -> str:  # noqa: FBT001 any flag's
    if isinstance(value, list) and tuple(value[: len(DEFAULT_COMPONENTS)]) == DEFAULT_COMPONENTS:
        name, value = f"{name}-extra", value[len(DEFAULT_COMPONENTS) :]
    return code(f"--{name}={spell(value)}", _FLAG)


def edits(view: View, which: str) -> list[str]:
    """The edits that were ``kept``, ``absorbed`` or ``dropped``, one line each."""
    line = given_up_line if which == "dropped" else edit_line
    return view.by_installation(
        (each.plan, line(edit))
        for each in view.manifests
        for edit in getattr(each.change.carried, which)
        if which != "kept" or not edit.is_absence
    )


def edit_line(edit: Edit) -> str:
    """One edit, as Markdown."""
    return edit_phrase(edit, _place, _values)


def given_up_line(edit: Edit) -> str:
    """One edit that is there no more, as Markdown."""
    was = "your removal" if edit.op is Op.REMOVE else f"your {_values(edit.new)[0]}" if edit.path else "your object"
    return f"{_where(edit)}: {was}"


def conflict_line(conflict: Conflict) -> str:
    """Where an edit and the release collide, and with which values."""
    where = _where(Edit(conflict.object, conflict.path, Op.REPLACE))
    mine, target = _values(conflict.mine, conflict.target)
    return f"{where}: yours {mine}, the release's {target}"


def _where(edit: Edit) -> str:
    return place_of(edit, _place)


def _place(text: str) -> str:
    return code(text, _WHERE)


def _values(*values: Any) -> list[str]:
    texts = [visible(text_of(value)) for value in values]
    cut = [shortened(text, _VALUE) for text in texts]
    shown = cut if len({*cut}) == len({*texts}) else excerpts(texts, _VALUE)
    return [text if value is None else code(text, _VALUE) for value, text in zip(values, shown, strict=True)]
