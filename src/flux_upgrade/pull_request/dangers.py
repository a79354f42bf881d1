"""What an upgrade would break: as things to do before it is merged, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade import markers
from flux_upgrade.answers import minor_of
from flux_upgrade.breaks.values import Hit
from flux_upgrade.cluster_phrases import (
    unserved,
)
from flux_upgrade.impact_phrases import (
    Style,
    by_rule,
    finding_line,
    fit_line,
    hit_place,
    left_line,
    place,
    sentences,
    stored_lines,
    who,
)
from flux_upgrade.markdown import bullets, code, defused, numbered, plain, prose
from flux_upgrade.overlay.values import Verdict
from flux_upgrade.pull_request.view import Known, View
from flux_upgrade.stored.values import Refused

MARKDOWN = Style(code, prose)
_FEW = 3


def dangers(view: View) -> Iterator[str]:
    """Markdown, one thing each."""
    yield from _migrate(view)
    yield from _not_enough(view)
    yield from _past(view)
    yield from _used(view)
    yield from _patches(view, Verdict.BREAKS)
    for hits in by_rule(hit for each in view.known for hit in each.impact.breaks).values():
        yield _break(view, hits)
    yield from _patches(view, Verdict.FROZEN)
    yield from _kubernetes(view)


def after_merging(view: View) -> Iterator[str]:
    """What is to be done then, so that the next step can be proposed; with the box that says so."""
    found = [each for each in view.known if each.impact.hops]
    if found:
        hops = " or ".join(view.proposal.migrates_at)
        told = f"Once {hops} runs in {_clusters(view, found)}, run `flux migrate` there "
        told += f"with {_cli(minor_of(each.upgrade.target) for each in found)}"
        yield f"**After merging**\n{numbered([f'{told}.{_box(view)}'])}"


def kept_box(view: View) -> Iterator[str]:
    """The box that somebody has ticked: it stays, for the next run looks at it again."""
    is_elsewhere = any(each.impact.hops or _helped(each) for each in view.known)
    is_said = any(each.impact.stored.said for each in view.known)
    if view.has_boxes and is_said and not is_elsewhere:
        yield f"**Ticked already**{_box(view)}"


def _box(view: View) -> str:
    if not view.has_boxes:
        return ""
    found = [each for each in view.known if each.impact.hops or _helped(each) or each.impact.stored.said]
    told = f"`flux migrate` ran in {_clusters(view, found)}, at {', '.join(view.proposal.migrates_at)}"
    return f"\n{markers.checkbox(markers.MIGRATED, told, is_ticked=view.proposal.is_migrated)}"


def _cli(minors: Iterable[str]) -> str:
    told = sorted({plain(minor) for minor in minors if minor})
    return f"the Flux CLI {told[0]}" if len(told) == 1 else "the Flux CLI of the minor that runs there"


def _clusters(view: View, found: Sequence[Known]) -> str:
    if view.is_one:
        return "this cluster"
    return f"the cluster{'s' if len(found) > 1 else ''} of {view.places(each.plan for each in found)}"


def _migrate(view: View) -> Iterator[str]:
    """The API server refuses a CRD that lacks a stored version, whoever uses it."""
    found = [each for each in view.known if _helped(each)]
    if not found:
        return
    told = (
        f"Run `flux migrate` in {_clusters(view, found)}, with "
        f"{_cli(each.impact.stored.cli for each in found)}. The API server refuses the new CRDs otherwise, "
        "whether or not there are such objects:\n"
    )
    told += bullets(view.limited(_who_stored(view, {each.plan.path: _helped(each) for each in found})))
    is_later = any(each.impact.hops for each in view.known)
    yield told if is_later else f"{told}{_box(view)}"


def _helped(each: Known) -> tuple[Refused, ...]:
    """What `flux migrate` at the current release puts right."""
    stored = each.impact.stored
    return tuple(refused for refused in stored.refused if refused not in stored.after_migrate)


def _who_stored(view: View, refused: dict[str, tuple[Refused, ...]]) -> list[str]:
    return view.gathered(
        (
            (each.plan, line)
            for each in view.known
            for line in stored_lines(refused.get(each.plan.path, ()), each.upgrade.target, MARKDOWN)
        ),
        len(refused),
    )


def _not_enough(view: View) -> Iterator[str]:
    found = {
        each.plan.path: each.impact.stored.after_migrate
        for each in view.known
        if each.impact.stored.after_migrate and not each.impact.hops
    }
    if found:
        yield (
            "Stop at a release in between, and run `flux migrate` there: what it does at the current one is "
            "not enough. Without `--to`, and with `ladder: true` in the config file, the steps are proposed "
            f"one by one.\n{bullets(view.limited(_who_stored(view, found)))}"
        )


def _past(view: View) -> Iterator[str]:
    """Nobody knows which releases ran, and some version goes."""
    told: dict[str, list[Known]] = {}
    for each in view.known:
        stored, changes = each.impact.stored, each.impact.changes
        if stored.unknown and not stored.said and (changes is None or unserved(changes)):
            told.setdefault(stored.unknown, []).append(each)
    for why, found in told.items():
        targets = ", ".join(sorted({each.upgrade.target for each in found}))
        yield (
            f"Make sure that `flux migrate` has run in {_clusters(view, found)}: which releases ran there "
            f"before is not known ({plain(why)}), and {targets} lacks API versions that older ones stored."
        )


def _used(view: View) -> Iterator[str]:
    """What is in the repository, and would not be served."""
    target = view.proposal.target
    left = {(each.use.path, each.use.start): each for known in view.known for each in known.impact.blocking}
    if left:
        lines = [left_line(left[at], MARKDOWN) for at in sorted(left)]
        yield f"Move by hand what {target} does not serve:\n{bullets(view.limited(lines))}"
    own = {file.path for file in view.moved}
    moves = {(each.use.path, each.use.line) for known in view.known for each in known.impact.moves}
    others = [f"{path}:{line}" for path, line in sorted(moves) if path not in own]
    if others:
        yield (
            f"Merge first what moves these to API versions that {target} serves:\n"
            f"{bullets(view.limited([code(each) for each in others]))}"
        )
    orphaned = sorted({(place(use), who(use)) for known in view.known for use in known.impact.orphaned})
    if orphaned:
        lines = [f"{code(where)}: {code(what)}" for where, what in orphaned]
        yield f"Remove the resources whose controller will be gone:\n{bullets(view.limited(lines))}"


def _patches(view: View, verdict: Verdict) -> Iterator[str]:
    overlays = {each.path: each for known in view.known if (each := known.impact.overlay) is not None}
    found = [
        each
        for path in sorted(overlays)
        for each in overlays[path].findings
        if each.verdict is verdict and not each.already
    ]
    lines = [finding_line(each, MARKDOWN) for each in found]
    if verdict is Verdict.BREAKS:
        failed = [overlays[path] for path in sorted(overlays) if overlays[path].failed]
        lines += [f"{code(each.path)}: {sentences(MARKDOWN, each.failed)}" for each in failed]
    told = {
        Verdict.BREAKS: "Mend what no longer fits",
        Verdict.FROZEN: "Look at what replaces a whole list, and keeps out what the release adds to it",
    }
    if lines:
        yield f"{told[verdict]}:\n{bullets(view.limited(lines))}"


def _break(view: View, hits: Sequence[Hit]) -> str:
    """One rule: what changes, where it is met, and the line that keeps the old behaviour."""
    first = hits[0]
    source = f"([Flux {plain(first.since)}]({defused(first.source)}))"
    told, hint = f"{sentences(MARKDOWN, first.told)} {source}", sentences(MARKDOWN, first.hint)
    keeps = {hit.keep for hit in hits}
    if len(keeps) > 1:
        lines = [
            f"{hit_place(hit, MARKDOWN)}: {code(hit.keep) if hit.keep else 'look at it'}" for hit in hits
        ]
        return f"{_said(told, hint, 'To keep the old behaviour')}:\n{bullets(view.limited(lines))}"
    places = [hit_place(hit, MARKDOWN) for hit in hits]
    where = f"To keep the old behaviour: {code(first.keep)} in" if first.keep else "Met in"
    if len(places) <= _FEW:
        return _said(told, f"{where} {', '.join(places)}.", hint)
    return f"{_said(told, hint, where)}:\n{bullets(view.limited(places))}"


def _said(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _kubernetes(view: View) -> Iterator[str]:
    if not view.crosses_minor:
        return  # a patch asks for what the release before it asked for
    said = (fit_line(each.impact, each.upgrade.target, MARKDOWN) for each in view.known)
    for told in dict.fromkeys(filter(None, said)):
        yield f"Look at the clusters' Kubernetes: {told}"
