"""What becomes of a step: what it does with the new manifest, against what it did with the old one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.impact.overlay.overridden import (
    UNNAMED,
    OverriddenField,
    images_of_both,
    overridden_fields,
    overridden_images,
)
from flux_upgrade.impact.overlay.result import OverlayFinding, OverlayVerdict
from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Step, StepResult, Touch
from flux_upgrade.kustomize.json_patch import Landing
from flux_upgrade.kustomize.kustomization import Location
from flux_upgrade.manifests.images import Image, controlplane_registry
from flux_upgrade.manifests.node_copies import represent
from flux_upgrade.manifests.nodes import SequenceNode
from flux_upgrade.manifests.residue import labelled
from flux_upgrade.model.markdown import counted, shortened
from flux_upgrade.model.text import first_few

_NAMED = 3
_VERSIONS = "/spec/versions"
_LONGEST = 60
_REMOVE = "remove it, or point it to the replacement"


def judge(step: Step, was: StepResult, now: StepResult, *, is_open: bool) -> OverlayFinding:
    """The finding of one step. ``is_open``: some of the objects are not known."""
    found = at(step.location, step.what)
    if now.fault is not None:
        # What was not found before either may be among the objects that are not known.
        is_unsure = is_open and was.fault is not None
        return faulty(found, now.fault, already=was.fault is not None, is_unsure=is_unsure)
    if not now.touched:
        already = was.fault is None and not was.touched
        return _switches(found, was) or _without_target(found, already=already, is_open=is_open)
    moved = next(_moved(was.touched, now.touched), None)
    if moved is not None:
        line, pointer, name, change = moved
        # Of a patch that says which object it is for, it is said already.
        detail = f"{pointer} {change}" if step.what.endswith(f" {name}") else f"{pointer} of {name} {change}"
        hint = "change the index in this upgrade, or the patch changes a different item"
        return found._replace(line=line, verdict=OverlayVerdict.BREAKS, detail=detail, hint=hint)
    return _frozen(found, step, was, now) or _behind(found, was, now) or _idle(found, was, now) or found


def faulty(
    found: OverlayFinding, fault: CannotBuild | CannotTell, *, already: bool, is_unsure: bool = False
) -> OverlayFinding:
    if isinstance(fault, CannotTell) or is_unsure:
        return found._replace(verdict=OverlayVerdict.UNKNOWN, detail=fault.message)
    today = " (the build already fails today)" if already else ""
    return found._replace(
        line=fault.line or found.line,
        verdict=OverlayVerdict.BREAKS,
        detail=f"kustomize fails: {fault.message}{today}",
        hint=fault.hint or "remove it, or adapt it to the release",
        fails=True,
        already=already,
    )


def at(location: Location, what: str) -> OverlayFinding:
    """The beginning of a finding about something that is no step."""
    return OverlayFinding(location.path, location.line, what, OverlayVerdict.APPLIES)


def _switches(found: OverlayFinding, was: StepResult) -> OverlayFinding | None:
    """An image override without which another distribution of Flux is installed."""
    for touch in was.touched:
        for release, mine in images_of_both(touch.before.data, touch.after.data) if touch.after else ():
            if controlplane_registry(mine.repository) and not controlplane_registry(release.repository):
                detail = f"nothing matches it anymore, so {mine.repository} of ControlPlane's distribution is replaced"
                return found._replace(verdict=OverlayVerdict.BREAKS, detail=detail, hint="keep the registry in `flags`")
    return None


def _without_target(found: OverlayFinding, *, already: bool, is_open: bool) -> OverlayFinding:
    if already and is_open:
        detail = "its target is not a known object"
        return found._replace(verdict=OverlayVerdict.UNKNOWN, detail=detail)
    fact = "nothing matched it before the upgrade either" if already else "nothing matches it anymore"
    return found._replace(
        verdict=OverlayVerdict.IDLE, detail=f"{fact} (kustomize does not report that)", hint=_REMOVE, already=already
    )


def _idle(found: OverlayFinding, was: StepResult, now: StepResult) -> OverlayFinding | None:
    if any(touch.is_changed for touch in now.touched):
        return None
    already = not any(touch.is_changed for touch in was.touched)
    detail = "it changes nothing, before the upgrade as after it" if already else "the release has it now"
    return found._replace(verdict=OverlayVerdict.IDLE, detail=detail, hint="remove it", already=already)


def _moved(was: Sequence[Touch], now: Sequence[Touch]) -> Iterator[tuple[int, str, str, str]]:
    """Indices that find another item than before: the line, the pointer, the object, and what is found."""
    before = {touch.before.current.unversioned: touch for touch in was}
    for touch in now:
        other = before.get(touch.before.current.unversioned)
        for old, new in zip(other.landings if other else (), touch.landings, strict=False):
            names = _other_item(old, new)
            if old.pointer == new.pointer and names is not None:
                change = f"was {names[0]}, and is {names[1]}"
                yield new.operation.line, f"{new.pointer}/{new.at}", str(touch.before.current), change


def _other_item(old: Landing, new: Landing) -> tuple[str, str] | None:
    """How both are called; None where they are the same item."""
    match represent([*old.items]), represent([*new.items]):
        case (SequenceNode() as first, SequenceNode() as second):
            before, after = (list(each) for each in labelled(first, second))
        case _:
            return None
    mine, its = before[old.at], after[new.at]
    # The label of a mapping without a name is all that it holds: changed in its place, it is the same one.
    are_unnamed = mine.startswith(UNNAMED) and its.startswith(UNNAMED)
    if mine == its or (are_unnamed and mine not in after and its not in before):
        return None
    return _shown(mine), _shown(its)


def _shown(label: str) -> str:
    return shortened(label[1:-1].removeprefix("name="), _LONGEST)


def _behind(found: OverlayFinding, was: StepResult, now: StepResult) -> OverlayFinding | None:
    """A patch that counts the versions of a CRD, and does not get to the one that is stored from now on."""
    before = {touch.before.current.unversioned: touch for touch in was.touched}
    for touch in now.touched:
        other = before.get(touch.before.current.unversioned)
        old, new = (_stored(each) for each in (other, touch)) if other is not None else (None, None)
        if other is None or old is None or new is None or _VERSIONS not in {each.pointer for each in touch.landings}:
            continue
        changed = _versions(touch)
        if old[0] in _versions(other) and new[0] not in changed:
            detail = f"it changes {first_few(changed, _NAMED)}, but not {new[0]}, which the release stores"
            hint = f"patch {_VERSIONS}/{new[1]} as well or instead"
            return found._replace(verdict=OverlayVerdict.BEHIND, detail=detail, hint=hint)
    return None


def _stored(touch: Touch) -> tuple[str, int] | None:
    """The version of a CRD that is stored: its name and its index."""
    match touch.before.data:
        case {"kind": "CustomResourceDefinition", "spec": {"versions": [*versions]}}:
            entries = ((each, at) for at, each in enumerate(versions) if isinstance(each, dict))
            return next(((str(each.get("name")), at) for each, at in entries if each.get("storage") is True), None)
    return None


def _versions(touch: Touch) -> list[str]:
    """Names of the versions of a CRD that a JSON patch finds by counting."""
    landings = (each for each in touch.landings if each.pointer == _VERSIONS)
    found = (each.items[each.at] for each in landings)
    return list(dict.fromkeys(str(each.get("name")) for each in found if isinstance(each, dict)))


def _frozen(found: OverlayFinding, step: Step, was: StepResult, now: StepResult) -> OverlayFinding | None:
    images = [
        f"{_version(mine)} of {new.repository.rpartition('/')[2]} instead of the release's {_version(new)}"
        for touch in now.touched
        if touch.after is not None and touch.before.is_release and not step.follows_tag
        for new, mine in overridden_images(touch.before.data, touch.after.data)
    ]
    kept = [each for touch in now.touched for each in _overridden_fields(step, was.touched, touch)]
    sentences = [f"it keeps {first_few(list(dict.fromkeys(images)), _NAMED)}"] if images else []
    sentences += _field_sentences(kept)
    if not sentences:
        return None
    drops = tuple(dict.fromkeys(each.entry for each in kept if each.is_dropped))
    hint = "remove it unless you need the old value"
    if images:
        hint = "remove the tag to use the release's tag"
    elif drops:
        hint = "append single items with a JSON patch, or copy the new items into the patch's list"
    return found._replace(verdict=OverlayVerdict.FROZEN, detail="; ".join(sentences), hint=hint, drops=drops)


def _overridden_fields(step: Step, was: Sequence[Touch], touch: Touch) -> list[OverriddenField]:
    if touch.after is None or not touch.before.is_release or not touch.is_changed:
        return []
    name = touch.before.current.unversioned
    old = next((each.before for each in was if each.before.current.unversioned == name), None)
    kept = overridden_fields(None if old is None else old.data, touch.before.data, touch.after.data)
    # What an operation removes was meant to go, whatever its value is now.
    return [each for each in kept if not (step.removes and each.is_dropped and each.old is not None)]


def _version(image: Image) -> str:
    return "@".join(filter(None, (image.tag, image.digest[:19]))) or "latest"


def _field_sentences(kept: Sequence[OverriddenField]) -> Iterator[str]:
    added = [each for each in kept if each.is_dropped]
    if added:
        where = first_few(list(dict.fromkeys(each.where for each in added)), _NAMED)
        count = counted(len(dict.fromkeys(each.entry for each in added)), "new item")
        are = "is" if count.startswith("1 ") else "are"
        yield f"it overrides {where}, so {count} of the release {are} not applied"
    for each in kept:
        if each.is_dropped:
            continue
        if each.new is not None:
            yield f"it keeps {_spelled(each)} at {_text(each.old)}, and the release has {_text(each.new)}"
        else:
            yield f"it keeps {_spelled(each)}, which the release no longer has"


def _spelled(each: OverriddenField) -> str:
    where, last = each.where, each.path[-1]
    return f"{where}{last}" if last.startswith("[") else f"{where}.{last}".lstrip(".")


def _text(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)
