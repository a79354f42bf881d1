"""What stands in a pull request that moves resources to other versions of their APIs, and in no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flux_upgrade.findings.kinds import left_finding
from flux_upgrade.findings.phrases import MARKDOWN, is_broken_already, kept_sentence, place, uses_of, who
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.model.markdown import bullets, code, counted, fold, plain, prose
from flux_upgrade.model.text import enumeration, first_few
from flux_upgrade.pullrequests.text.view import View, in_order

_FEW = 3


def what(view: View, name: str) -> str:
    """For the title, without markup. ``name``: of the place, or empty."""
    where = f" in {name}" if name else ""
    return f"Migrate {uses_of(_moves(view))}{where} to API versions that Flux {view.proposal.target} serves"


def size(view: View) -> str:
    """For the first line."""
    return f"{uses_of(_moves(view))} in {counted(len(view.moved), 'file')} · before {view.proposal.target}"


def history_sentence(view: View) -> str:
    """For the commit message, without markup."""
    kinds = ", ".join(f"{kind} {old} → {new}" for (_, old, new), each in _steps(view) for kind in sorted(each))
    places = counted(len(_moves(view)), "place")
    return (
        f"{kinds}: {_who_serves(view)}. {places} edited in {counted(len(view.moved), 'file')}, every other "
        "byte of the files is as it was"
    )


def along(view: View) -> Iterator[str]:
    if view.moved:
        files = counted(len(view.moved), "file")
        phrase = f"{uses_of(_moves(view))} in {files}, to API versions that {view.proposal.target} serves"
        yield f"**API migrations in this pull request:** {phrase}\n\n{_table(view)}"
        yield from _details(view)


def middle(view: View) -> Iterator[str]:
    yield _table(view)
    yield from _today(view)
    yield from _details(view)
    yield from _left(view)


def refusal(view: View) -> str:
    """What comes of it if it is closed."""
    return (
        f"close this. The upgrade to Flux {view.answer} then waits until you migrate the manifests or approve it. "
        "With `migrate: with-upgrade` in the config file, the upgrade's own commit migrates them"
    )


def roll_back(view: View) -> str:
    broken, way = (len(_broken(view)), f"revert this pull request while {enumeration(_versions(view))} runs")
    return f"{way}. Flux then still cannot apply what it cannot apply today." if broken else f"{way}."


def _moves(view: View) -> list[Move]:
    return [move for file in view.moved for move in file.moves]


def _versions(view: View) -> tuple[str, ...]:
    return in_order(plan.pin.version for plan, _ in view.upgrades)


def _broken(view: View) -> list[Move]:
    """Those from a version that the clusters do not serve."""
    return [move for move in _moves(view) if is_broken_already(move)]


def _currents(view: View, *, serve: bool = True) -> str:
    versions = _versions(view)
    verbs = ("serves", "does not serve") if len(versions) == 1 else ("serve", "do not serve")
    return f"{enumeration(versions)} {verbs[not serve]}"


def _who_serves(view: View) -> str:
    """Which release serves which of the versions, in a few words."""
    target, broken = view.proposal.target, len(_broken(view))
    if broken == len(_moves(view)):
        return f"{_currents(view, serve=False)} the old either, {target} only the new"
    but = f" but for {counted(broken, 'place')}, which Flux cannot apply today" if broken else ""
    return f"{_currents(view)} both{but}, {target} only the new"


def _today(view: View) -> Iterator[str]:
    """What is broken as it stands, what is not, and who waits."""
    broken, target = _broken(view), view.proposal.target
    waiting = enumeration(code(each) for each in view.waiting) or "the cluster"
    cannot = "Flux cannot apply these manifests today."
    if len(broken) == len(_moves(view)):
        yield f"{_currents(view, serve=False)} the old versions either: {cannot}"
        yield f"The upgrade of {waiting} to {target} waits for this pull request."
        return
    if broken:
        places = bullets(view.limited([code(place(move.use)) for move in broken]))
        yield f"{_currents(view, serve=False)} the old version of these either: {cannot}\n{places}"
    yield (
        f"You can merge this at any time, because {_currents(view)} both versions{' of the others' if broken else ''}. "
        f"The upgrade of {waiting} waits for it, because {target} no longer serves the old ones."
    )


def _steps(view: View) -> list[tuple[tuple[str, str, str], Counter[str]]]:
    """Group, old and new version; how many of each kind."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for move in _moves(view):
        step = (move.use.group, move.use.version, move.to)
        found.setdefault(step, Counter())[move.use.kind or "any kind"] += 1
    return sorted(found.items())


def _table(view: View) -> str:
    rows = [
        (code(group), code(old), code(new), ", ".join(f"{plain(kind)} ({kinds[kind]})" for kind in sorted(kinds)))
        for (group, old, new), kinds in _steps(view)
    ]
    return view.table(("API", "From", "To", "Kinds"), rows)


def _details(view: View) -> Iterator[str]:
    fields: dict[str, list[str]] = {}
    kept: dict[str, list[str]] = {}
    for move in _moves(view):
        for each in move.fields:
            fields.setdefault(each, []).append(code(place(move.use)))
        if move.kept_by:
            kept.setdefault(kept_sentence(move), []).append(code(place(move.use)))
    for heading, found, shown in (
        ("**Fields that change**", fields, prose),
        ("**Not to the newest version**", kept, plain),
    ):
        lines = [f"{shown(each)} ({first_few(places, _FEW)})" for each, places in sorted(found.items())]
        yield from view.listed(heading, lines)
    items = [_file(view, file) for file in view.moved if file.moves]
    yield fold(f"<b>{counted(len(items), 'file')}</b>", bullets(view.limited(items)))


def _file(view: View, file: Migrated) -> str:
    lines = [
        f"line {move.use.line}: {code(who(move.use))}, {code(move.use.version)} → {code(move.to)}"
        for move in sorted(file.moves, key=lambda move: move.use.start)
    ]
    if len(lines) == 1:
        return f"{code(file.path)}, {lines[0]}"
    return f"{code(file.path)}\n{bullets(view.limited(lines))}"


def left_to_you(view: View) -> Iterator[str]:
    """Yield the manifests that flux-upgrade cannot migrate, and that the release no longer serves."""
    lines = [left_finding(each).worded(MARKDOWN) for each in _blocking(view)]
    yield from view.listed(f"**Left to you:** migrate these before the upgrade to {view.proposal.target}", lines)


def count_left(view: View) -> int:
    return len({(each.use.path, each.use.start) for each in _blocking(view)})


def _blocking(view: View) -> list[Left]:
    return [each for each in _lefts(view) if each.blocks]


def _left(view: View) -> Iterator[str]:
    found = [(each, left_finding(each).worded(MARKDOWN)) for each in _lefts(view)]
    texts = [line for each, line in found if each.reason is Reason.TEXT]
    unchecked = [line for each, line in found if each.reason is Reason.UNCHECKED]
    broken = [line for each, line in found if is_broken_already(each)]
    yield from view.listed("**Not migrated, and already broken today**", broken)
    if unchecked:
        title = f"{counted(len(unchecked), 'object')} in scripts or programs, not checked"
        yield fold(title, bullets(view.limited(unchecked)))
    if texts:
        yield fold(f"{counted(len(texts), 'mention')} in texts, left as they are", bullets(view.limited(texts)))


def _lefts(view: View) -> list[Left]:
    """Of the files that are changed, and of all others that those who wait have to do with."""
    waiting = (impact for plan in view.held for impact in plan.impacts.values())
    found = [left for file in view.moved for left in file.lefts]
    found += [left for impact in waiting for left in impact.lefts]
    return sorted(set(found), key=lambda left: (left.use.path, left.use.start))
