"""What an upgrade would break: as things to do before it is merged, the most severe first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.impact.impact import Hit
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.model.markdown import bullets, code, defused, plain, prose
from flux_upgrade.pullrequests.text.view import View
from flux_upgrade.report.impact_phrases import (
    Style,
    by_rule,
    finding_line,
    fit_line,
    hit_place,
    left_line,
    place,
    sentences,
    who,
)

MARKDOWN = Style(code, prose)
_FEW = 3


def dangers(view: View) -> Iterator[str]:
    """Markdown, one thing each."""
    yield from _used(view)
    yield from _patches(view, OverlayVerdict.BREAKS)
    for hits in by_rule(hit for each in view.analyzed for hit in each.impact.breaks).values():
        yield _break(view, hits)
    yield from _patches(view, OverlayVerdict.FROZEN)
    yield from _kubernetes(view)


def _used(view: View) -> Iterator[str]:
    """What is in the repository, and would not be served."""
    target = view.proposal.target
    left = {
        (each.use.path, each.use.start): each for known in view.analyzed for each in known.impact.blocking
    }
    if left:
        lines = [left_line(left[at], MARKDOWN) for at in sorted(left)]
        yield f"Move by hand what {target} does not serve:\n{bullets(view.limited(lines))}"
    own = {file.path for file in view.moved}
    moves = {(each.use.path, each.use.line) for known in view.analyzed for each in known.impact.moves}
    others = [f"{path}:{line}" for path, line in sorted(moves) if path not in own]
    if others:
        yield (
            f"Merge first what moves these to API versions that {target} serves:\n"
            f"{bullets(view.limited([code(each) for each in others]))}"
        )
    orphaned = sorted({(place(use), who(use)) for known in view.analyzed for use in known.impact.orphaned})
    if orphaned:
        lines = [f"{code(where)}: {code(what)}" for where, what in orphaned]
        yield f"Remove the resources whose controller will be gone:\n{bullets(view.limited(lines))}"


def _patches(view: View, verdict: OverlayVerdict) -> Iterator[str]:
    overlays = {each.path: each for known in view.analyzed if (each := known.impact.overlay) is not None}
    found = [
        each
        for path in sorted(overlays)
        for each in overlays[path].findings
        if each.verdict is verdict and not each.already
    ]
    lines = [finding_line(each, MARKDOWN) for each in found]
    if verdict is OverlayVerdict.BREAKS:
        failed = [overlays[path] for path in sorted(overlays) if overlays[path].failed]
        lines += [f"{code(each.path)}: {sentences(MARKDOWN, each.failed)}" for each in failed]
    heading = (
        "Mend what no longer fits"
        if verdict is OverlayVerdict.BREAKS
        else "Look at what replaces a whole list, and keeps out what the release adds to it"
    )
    if lines:
        yield f"{heading}:\n{bullets(view.limited(lines))}"


def _break(view: View, hits: Sequence[Hit]) -> str:
    """One rule: what changes, where it is met, and the line that keeps the old behaviour."""
    first = hits[0]
    source = f"([Flux {plain(first.since)}]({defused(first.source)}))"
    change, hint = f"{sentences(MARKDOWN, first.change)} {source}", sentences(MARKDOWN, first.hint)
    keeps = {hit.keep for hit in hits}
    if len(keeps) > 1:
        lines = [
            f"{hit_place(hit, MARKDOWN)}: {code(hit.keep) if hit.keep else 'look at it'}" for hit in hits
        ]
        return f"{_said(change, hint, 'To keep the old behaviour')}:\n{bullets(view.limited(lines))}"
    places = [hit_place(hit, MARKDOWN) for hit in hits]
    where = f"To keep the old behaviour: {code(first.keep)} in" if first.keep else "Met in"
    if len(places) <= _FEW:
        return _said(change, f"{where} {', '.join(places)}.", hint)
    return f"{_said(change, hint, where)}:\n{bullets(view.limited(places))}"


def _said(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _kubernetes(view: View) -> Iterator[str]:
    if not view.crosses_minor:
        return  # a patch asks for what the release before it asked for
    said = (fit_line(each.impact, each.upgrade.target, MARKDOWN) for each in view.analyzed)
    for line in dict.fromkeys(filter(None, said)):
        yield f"Look at the clusters' Kubernetes: {line}"
