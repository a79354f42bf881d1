"""What is known of a proposal: how it was proved, what it changes, what it keeps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from flux_upgrade.manifests.images import Image, ImageState, tag_order
from flux_upgrade.manifests.merge import Conflict
from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, spell
from flux_upgrade.manifests.residue import VERSION_LABEL, Edit, Op
from flux_upgrade.markdown import code, counted, plain, table
from flux_upgrade.phrases import edit_phrase, place_of, proof_phrase
from flux_upgrade.plan import Plan, Upgrade
from flux_upgrade.pull_request.view import View

_VALUE = 60
_FLAG = 400
_WHERE = 200
_KINDS = 3


def summed(said: Iterable[str]) -> str:
    """Several sentences as one, what is said most often first, with how often."""
    counts = Counter(said)
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    if len(ranked) == 1:
        (told, count), *_ = ranked
        return told if count == 1 else f"{told}, in {counted(count, 'installation')}"
    shown = [f"{told} ({count})" for told, count in ranked[:_KINDS]]
    rest = sum(count for _, count in ranked[_KINDS:])
    return "; ".join([*shown, *([f"and {rest} more"] if rest else [])])


def checksums(view: View) -> str:
    """Whether the releases' manifests were checked."""
    bad = sorted({upgrade.target for _, upgrade in view.upgrades if not upgrade.change.verified})
    if bad:
        return f"There is no checksum for the manifests of {', '.join(bad)}"
    return f"The manifests of {' and '.join(view.targets)} match their checksum"


def proof(view: View) -> list[str]:
    """Lines of Markdown: the proof of every installation, and what the proof found to be untrue."""
    lines = view.gathered((plan, plain(proof_phrase(plan.installation.proof))) for plan, _ in view.upgrades)
    lines += view.gathered((plan, line) for plan, _ in view.upgrades for line in _untrue(plan))
    evidence = {
        (upgrade.target, upgrade.change.evidence) for _, upgrade in view.upgrades if upgrade.change.evidence
    }
    lines += [
        f"{tag} is newer than the rules of this flux-upgrade, but {plain(why)}"
        for tag, why in sorted(evidence)
    ]
    if all(upgrade.change.verified for _, upgrade in view.upgrades):
        lines.append(plain(checksums(view)))
    return lines


def _untrue(plan: Plan) -> Iterator[str]:
    proof = plan.installation.proof
    told = proof.manifest.header_version if proof.manifest is not None else ""
    if told and told != proof.version:
        yield f"{code(f'# Flux Version: {told}')} is not true: the objects are those of {proof.version}"
    labels = sorted(set(proof.inferred.versions) - {proof.version} if proof.inferred is not None else ())
    if labels and labels != [told]:
        shown = ", ".join(code(f"{VERSION_LABEL}: {label}") for label in labels[:_KINDS])
        yield f"{shown} is not true: the objects are those of {proof.version}"
    bumped = [each for each in proof.controllers if each.state is ImageState.AHEAD]
    if bumped:
        names = ", ".join(f"{code(each.name)} {each.image.tag}" for each in bumped)
        yield f"{names} ran ahead of the objects"


def controllers(view: View) -> tuple[str, int]:
    """A table of the controllers' versions, from → to, and the number of its rows."""
    rows: dict[tuple[tuple[str, str], ...], list[Plan]] = {}
    for plan, upgrade in view.upgrades:
        cells = tuple(sorted((name, _from_to(old, new)) for name, old, new in upgrade.change.images))
        rows.setdefault(cells, []).append(plan)
    known = {name: place for place, name in enumerate(COMPONENTS)}
    names = sorted(
        {name for cells in rows for name, _ in cells}, key=lambda name: (known.get(name, 99), name)
    )
    first = [""] if len(rows) > 1 else []
    lines = [
        [*([view.places(plans)] if first else ()), *(dict(cells).get(name, "") for name in names)]
        for cells, plans in rows.items()
    ]
    shown = lines[: view.most]
    if len(shown) < len(lines):
        shown.append([f"… and {len(lines) - len(shown)} more", *([""] * len(names))])
    return table([*first, *(plain(name.removesuffix("-controller")) for name in names)], shown), len(lines)


def _from_to(old: str, new: str) -> str:
    before, after = _tag(Image.parse(old)), _tag(Image.parse(new))
    return after if before == after else f"{before} → {after}"


def _tag(image: Image) -> str:
    if not image.tag:
        return code(image.digest, 20) if image.digest else "no tag"
    return image.tag.removeprefix("v") if tag_order(image.tag) is not None else code(image.tag, _VALUE)


def flags_changed(view: View) -> list[str]:
    """Flags that become others, because it was asked for."""
    return view.gathered(
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
    return view.gathered(
        (plan, _flags(plan, upgrade)) for plan, upgrade in view.upgrades if _flags(plan, upgrade)
    )


def _flags(plan: Plan, upgrade: Upgrade) -> str:
    options = plan.installation.proof.options
    changed = {name for name, _, _ in upgrade.flags}
    kept = options.changed() if options is not None else {}
    return " ".join(_flag(name, value) for name, value in kept.items() if name not in changed)


def _flag(name: str, value: str | bool | list[str]) -> str:  # noqa: FBT001 any flag's
    if isinstance(value, list) and tuple(value[: len(DEFAULT_COMPONENTS)]) == DEFAULT_COMPONENTS:
        name, value = f"{name}-extra", value[len(DEFAULT_COMPONENTS) :]
    return code(f"--{name}={spell(value)}", _FLAG)


def edits(view: View, which: str) -> list[str]:
    """The edits that were ``kept``, ``absorbed`` or ``dropped``, one line each."""
    line = given_up_line if which == "dropped" else edit_line
    return view.gathered(
        (plan, line(edit))
        for plan, upgrade in view.upgrades
        for edit in getattr(upgrade.change.carried, which)
    )


def edit_line(edit: Edit) -> str:
    """One edit, as Markdown."""
    return edit_phrase(edit, _place, _value)


def given_up_line(edit: Edit) -> str:
    """One edit that is there no more, as Markdown."""
    was = (
        "your removal" if edit.op is Op.REMOVE else f"your {_value(edit.new)}" if edit.path else "your object"
    )
    return f"{_where(edit)}: {was}"


def conflict_line(conflict: Conflict) -> str:
    """Where an edit and the release collide, and with which values."""
    where = _where(Edit(conflict.object, conflict.path, Op.REPLACE))
    return f"{where}: yours {_value(conflict.mine)}, the release's {_value(conflict.target)}"


def _where(edit: Edit) -> str:
    return place_of(edit, _place)


def _place(text: str) -> str:
    return code(text, _WHERE)


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    return code(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), _VALUE
    )
