"""What changes in the cluster: controllers, images, objects; which patches still apply; the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from flux_upgrade.findings.known_facts import known_line
from flux_upgrade.findings.patch_findings import applied, idle_line, is_reportable, patch_line, patches_line, remarkable
from flux_upgrade.findings.phrases import MARKDOWN, detour_sentence, hops_line, sentences, support_line, unserved_line
from flux_upgrade.impact.diff.changes import Changes, CrdChange
from flux_upgrade.impact.diff.sentences import lines
from flux_upgrade.impact.kubernetes_versions import support
from flux_upgrade.manifests.images import Image, tag_order
from flux_upgrade.manifests.options import COMPONENTS
from flux_upgrade.model.markdown import bullets, code, counted, fold, plain
from flux_upgrade.model.markers import WayBack
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.planning.plan import Plan
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.pullrequests.text.verification import version_text
from flux_upgrade.pullrequests.text.view import AnalyzedUpgrade, View
from flux_upgrade.report.listed_changes import in_cluster, said_apart

_SHORT = 8  # Lines of what changes that are not folded
_FEW = 3
_VALUE = 60  # Characters of a tag that are shown


def besides(view: View) -> Iterator[str]:
    """Yield paragraphs about files that stay as they are, and about steps to files that could not be followed."""
    own = {file.path for file in view.moved}
    broken = (each for plan, _ in view.upgrades for each in plan.broken_today if each.path not in own)
    lines = dict.fromkeys(
        f"{code(f'{each.path}:{each.line}')}: {sentences(MARKDOWN, each.sentence)}" for each in broken
    )
    yield from view.listed("**Already broken today**, independent of this upgrade:", list(lines))
    unread = sorted({path for each in view.analyzed for path in each.impact.unread})
    what = f"but these files use API versions that {enumeration(view.targets)} does not serve. They are unchanged"
    yield from view.listed(f"**Read by no cluster**, {what}:", list(map(code, unread)))
    troubles = [trouble for each in view.analyzed for trouble in each.impact.unfollowed]
    steps = dict.fromkeys(f"{code(trouble.place)}: {plain(trouble.said)}" for trouble in troubles)
    yield from view.listed("**Not followed**, from where Flux starts to read:", list(steps))
    facts = dict.fromkeys(known_line(entry, MARKDOWN) for each in view.analyzed for entry in each.impact.known)
    yield from view.listed("**Known from the config file**, because the repository does not show it:", list(facts))


def upgrade_path(view: View) -> Iterator[str]:
    """A paragraph where one step is not enough: what comes next, and when."""
    said = dict.fromkeys(hops_line(each.impact.upgrade_path) for each in view.analyzed if each.impact.upgrade_path)
    if said:
        when = "once this is merged and the box is ticked" if view.has_boxes else "once this is merged"
        why = dict.fromkeys(
            detour_sentence(each.impact.detour, each.upgrade.target, MARKDOWN)
            for each in view.analyzed
            if each.impact.detour is not None
        )
        yield " ".join([f"**Multi-step upgrade:** {'; '.join(said)}, {when}.", *filter(None, why)])


def changes(view: View) -> Iterator[str]:
    """What changes in the cluster: the short form, and the rest folded."""
    found = [(each, shown) for each in view.analyzed if not isinstance(shown := in_cluster(each.impact), Unknown)]
    among = len({each.plan.path for each, _ in found})
    items = view.by_installation(
        ((each.plan, line) for each, shown in found for line in _lines(each, shown, among)), among
    )
    first = [
        *view.by_installation(((each.plan, line) for each, _ in found for line in _gone(each, view)), among),
        *items[:_SHORT],
        *view.by_installation(((each.plan, line) for each, shown in found for line in _same(shown)), among),
    ]
    if view.crosses_minor:
        first += dict.fromkeys(support_line(support(each.upgrade.target)) for each, _ in found)
    if found:
        yield bullets(view.limited(first))
    rest = items[_SHORT:]
    if rest:
        yield fold(f"<b>{counted(len(rest), 'more change')}</b>", bullets(view.limited(rest)))


def _lines(known: AnalyzedUpgrade, shown: Changes, among: int) -> list[str]:
    apart = said_apart(shown, known_or(known.impact.changes, shown))
    # What is counted alone differs by cluster, and tells nothing about it.
    return lines(apart._replace(noise=() if among > 1 else apart.noise), code)


def unseen(view: View) -> Iterator[str]:
    """A paragraph where clusters are known by pins alone: nobody has what these bring, or what patches it."""
    found = [each.plan for each in view.analyzed if isinstance(each.impact.changes, Unknown)]
    if found:
        of = "" if len(found) == len(view.analyzed) else f" of {view.places(found)}"
        yield f"**Not checked:** changes in the cluster{of}, and patches of its manifests."


def _gone(known: AnalyzedUpgrade, view: View) -> Iterator[str]:
    versions = unserved_line(known_or(known.impact.crds, ()), MARKDOWN)
    if versions:
        own = {file.path for file in view.moved}
        moved = sum(each.use.path in own for each in known.impact.moves)
        left = len(known.impact.blocking) + len(known.impact.moves) - moved
        used = [f"{counted(moved, 'use')} here, migrated below"] if moved else []
        used += [f"{counted(left, 'use')} left here"] if left else []
        yield f"No longer served: {versions} · {', '.join(used) or 'not used here'}"


def _same(changes: Changes) -> Iterator[str]:
    """What users look for first, where nothing of it changed."""
    same = [] if changes.rules else ["RBAC"]
    if ChangeKind.NETWORK_POLICY not in changes.contents:
        same.append("NetworkPolicies")
    if ChangeKind.ARGUMENTS not in changes.contents:
        same.append("the controllers' arguments, environment, resources and ports")
    if same:
        yield f"Unchanged: {enumeration(same)}"


def patches(view: View) -> Iterator[str]:
    """How many patches still apply, and what there is to say of the others; a line each."""
    known = (known_or(each.impact.overlay, None) for each in view.analyzed)
    overlays = {overlay.path: overlay for overlay in known if overlay is not None}
    found = [each for path in sorted(overlays) if is_reportable(each := overlays[path])]
    if len(found) > _FEW:
        still, of = (sum(counts) for counts in zip(*map(applied, found), strict=True))
        yield f"{still}/{of} patches of {len(found)} kustomizations still apply"
    else:
        yield from (patches_line(each, MARKDOWN) for each in found)
    for overlay in found:
        yield from (patch_line(each, MARKDOWN).rstrip(".") for each in remarkable(overlay))
        yield from filter(None, [idle_line(overlay, MARKDOWN)])


def way_back_line(view: View) -> str:
    """Whether the API server takes the CRDs of before back, as far as that is known."""
    found = [crds for each in view.analyzed if not isinstance(crds := each.impact.crds, Unknown)]
    others = [each.plan for each in view.analyzed if isinstance(each.impact.crds, Unknown)]
    if not found:
        return (
            "Not checked: whether the cluster stores objects in API versions that the older CRDs do not have. The API "
            "server would reject those CRDs."
        )
    return _storage(found) + (f" What {view.places(others)} would bring back is not known." if others else "")


def way_back_of(view: View) -> WayBack:
    """The same, for a run after the merge."""
    found = [each.impact.crds for each in view.analyzed]
    known = [crds for crds in found if not isinstance(crds, Unknown)]
    if _stored_anew(known, had_version=False):
        return WayBack.REFUSED
    return WayBack.SAFE if known and len(known) == len(found) else WayBack.UNKNOWN


def _storage(found: Sequence[Sequence[CrdChange]]) -> str:
    refused = _stored_anew(found, had_version=False)
    if refused:
        return (
            f"A revert is not enough: {refused} after the upgrade, which the older CRDs do not have. The API server "
            "rejects them while `status.storedVersions` contains it."
        )
    kept = _stored_anew(found, had_version=True)
    if kept:
        return f"Reverting is safe: {kept} from then on, which the older CRDs have, too."
    return "Reverting is safe: both releases store objects in the same API versions."


def _stored_anew(found: Iterable[Sequence[CrdChange]], *, had_version: bool) -> str:
    """What is stored in another version from then on; empty: nothing. ``had_version``: one that its CRD had before."""
    kinds: dict[str, set[str]] = {}
    for crd in chain.from_iterable(found):
        if crd.storage is not None and (crd.storage[1] not in crd.added) is had_version:
            kinds.setdefault(crd.storage[1], set()).add(crd.kind)
    phrases = (
        f"{enumeration(map(code, sorted(each)))} {'are' if len(each) > 1 else 'is'} stored as {code(version)}"
        for version, each in sorted(kinds.items())
    )
    return ", ".join(phrases)


def controllers(view: View) -> tuple[str, int]:
    """A table of the controllers' versions, from → to, and the number of its rows."""
    rows: dict[tuple[tuple[str, str], ...], list[Plan]] = {}
    for each in view.manifests:
        cells = tuple(sorted((name, _from_to(old, new)) for name, old, new in each.change.images))
        rows.setdefault(cells, []).append(each.plan)
    known = {name: place for place, name in enumerate(COMPONENTS)}
    names = sorted({name for cells in rows for name, _ in cells}, key=lambda name: (known.get(name, 99), name))
    first = [""] if len(rows) > 1 else []
    lines = [
        [*([view.places(plans)] if first else ()), *(dict(cells).get(name, "") for name in names)]
        for cells, plans in rows.items()
    ]
    head = [*first, *(plain(name.removesuffix("-controller")) for name in names)]
    return view.table(head, lines), len(lines)


def _from_to(old: str, new: str) -> str:
    before, after = _tag(Image.parse(old)), _tag(Image.parse(new))
    return after if before == after else f"{before} → {after}"


def _tag(image: Image) -> str:
    if not image.tag:
        return code(image.digest, 20) if image.digest else "no tag"
    return image.tag.removeprefix("v") if tag_order(image.tag) is not None else code(image.tag, _VALUE)


def digests(view: View) -> list[str]:
    """Images that are pinned by the digest of another image than before, as they are now."""
    return sorted(
        {
            version_text(new)
            for each in view.manifests
            for _, old, new in each.change.images
            if old != new and Image.parse(old).digest and Image.parse(new).digest
        }
    )
