"""When to run `flux migrate` in a cluster: before merging, right after it, or after a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.findings.phrases import MARKDOWN, OPERATOR_MIGRATES, managed_line, place, stored_lines, who
from flux_upgrade.impact.impact import Refused
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.model import markers
from flux_upgrade.model.markdown import bullets, code, plain
from flux_upgrade.model.text import enumeration
from flux_upgrade.pullrequests.text.view import AnalyzedUpgrade, View, in_order
from flux_upgrade.route.step import Stage, Task

AFTER = "**After merging:**"
_OPERATOR = f"{OPERATOR_MIGRATES}. With an older one, run `flux migrate` there."
_MANAGED = (
    "Flux fails to apply objects whose `metadata.managedFields` use a removed API version: `request to "
    "convert CR to an invalid group/version`."
)


def right_after_merging(view: View) -> list[str]:
    """What is to be done then, because manifests are moved."""
    if view.is_migration:
        return list(_after_moving(view))
    found = [each for each in view.analyzed if each.takes(Task.FLUX_MIGRATE, Stage.AFTER_READY)]
    if not found:
        return []
    targets = " or ".join(in_order(each.upgrade.target for each in found))
    task = (
        f"{AFTER} run `flux migrate` in {_clusters(view, found)} ({_cli_of(found)}) as soon as {targets} runs there. "
        f"Until then, {_MANAGED}\n{bullets(view.limited(_who_used(view, found, len(found))))}"
    )
    return [f"{task}{_box(view)}" if any(each.impact.upgrade_path for each in view.analyzed) else task]


def _after_moving(view: View) -> Iterator[str]:
    """The release that runs serves both versions, and still refuses some moves."""
    moves = [move for file in view.moved for move in file.moves if move.undeclared]
    if not moves:
        return
    versions = in_order(plan.pin.version for plan, _ in view.upgrades)
    where = enumeration(code(each) for each in view.waiting) or "the cluster"
    lines = [f"{code(place(move.use))}, {code(who(move.use))}: {code(move.undeclared)}" for move in moves]
    yield (
        f"{AFTER} run `flux migrate` in {where}, with {_cli(map(cli_for, versions))}. Until then, Flux may fail to "
        f"apply these objects (`field not declared in schema`): {enumeration(versions)} adds a field to them that "
        f"their old API version does not have.\n{bullets(view.limited(lines))}"
    )


def after_merging(view: View) -> Iterator[str]:
    """What is to be done then, so that the next step can be proposed; with the box that says so."""
    by_operator = [each for each in view.analyzed if each.takes(Task.CHECK_FLUX_INSTANCE, Stage.THEN)]
    if by_operator:
        where, tags = _clusters(view, by_operator), in_order(each.upgrade.target for each in by_operator)
        yield f"{AFTER} wait until the FluxInstance of {where} is ready at {' or '.join(tags)}: {_OPERATOR}"
    found = [each for each in view.analyzed if each.takes(Task.FLUX_MIGRATE, Stage.THEN)]
    if found and not right_after_merging(view):
        releases = " or ".join(view.proposal.migrates_at)
        task = f"{AFTER} once {releases} runs in {_clusters(view, found)}, run `flux migrate` there "
        task += f"with {_cli(cli_for(each.upgrade.target) for each in found)}. The next step waits for it"
        yield f"{task}.{_box(view)}"


def kept_box(view: View) -> Iterator[str]:
    """The box that is ticked already: it stays, because the next run looks at it again."""
    is_elsewhere = any(map(_has_box, view.analyzed))
    # A box for what the config file says would outlast its entry.
    is_ticked = any(each.impact.is_confirmed and not _is_stated(each) for each in view.analyzed)
    if view.has_boxes and is_ticked and not is_elsewhere:
        yield f"**Confirmed**{_box(view)}"


def _box(view: View) -> str:
    if not view.has_boxes:
        return ""
    found = [each for each in view.analyzed if _has_box(each) or each.impact.is_confirmed]
    label = f"I ran `flux migrate` in {_clusters(view, found)}, at {', '.join(view.proposal.migrates_at)}"
    return f"\n{markers.checkbox(markers.MIGRATED, label, is_ticked=view.proposal.is_migrated)}"


def _has_box(analyzed: AnalyzedUpgrade) -> bool:
    return _is_before(analyzed) or analyzed.takes(Task.FLUX_MIGRATE, Stage.THEN)


def _is_stated(analyzed: AnalyzedUpgrade) -> bool:
    """Return whether the config file says that `flux migrate` has run."""
    return any(entry.migrated for entry in analyzed.impact.known)


def _cli(minors: Iterable[str]) -> str:
    versions = sorted({plain(minor) for minor in minors if minor})
    return f"the Flux CLI {versions[0]}" if len(versions) == 1 else "the Flux CLI of the minor that runs there"


def _clusters(view: View, found: Sequence[AnalyzedUpgrade]) -> str:
    if view.is_one:
        return "this cluster"
    return f"the cluster{'s' if len(found) > 1 else ''} of {view.places(each.plan for each in found)}"


def steps(view: View) -> Iterator[str]:
    """What is to be done before merging: Markdown, one thing each."""
    yield from _migrate(view)
    waiting = [each for each in view.analyzed if each.takes(Task.CHECK_FLUX_INSTANCE, Stage.BEFORE_READY)]
    if waiting:
        versions = " or ".join(in_order(each.plan.pin.version for each in waiting))
        yield f"Check that the FluxInstance of {_clusters(view, waiting)} is ready at {versions}: {_OPERATOR}"
    yield from _not_enough(view)
    yield from _past(view)


def _migrate(view: View) -> Iterator[str]:
    """The API server refuses a CRD that lacks a stored version, and objects with a removed one."""
    found = [each for each in view.analyzed if _is_before(each)]
    if not found:
        return
    used = [each for each in found if each.impact.has_to_migrate]
    helped = {each.plan.path: refused for each in found if (refused := each.refused(Task.FLUX_MIGRATE))}
    if helped:
        task = (
            f"Run `flux migrate` in {_clusters(view, found)}, with "
            f"{_cli(each.impact.cli for each in found)}, before merging. Otherwise, the API server rejects the new "
            f"CRDs, even if there are no such objects{f'. Also, {_MANAGED}' if used else ':'}\n"
        )
    else:
        task = (
            f"Run `flux migrate` in {_clusters(view, found)} ({_cli_of(found)}) before merging. Otherwise, {_MANAGED}\n"
        )
    task += bullets(
        view.limited([*_who_stored(view, helped, len(found) if used else 0), *_who_used(view, used, len(found))])
    )
    is_later = any(each.impact.upgrade_path for each in view.analyzed)
    yield task if is_later else f"{task}{_box(view)}"


def _is_before(each: AnalyzedUpgrade) -> bool:
    """Return whether `flux migrate` has to run before merging, for whatever reason."""
    return each.takes(Task.FLUX_MIGRATE, Stage.BEFORE_READY)


def _cli_of(found: Sequence[AnalyzedUpgrade]) -> str:
    """Of those that have to because of managed fields."""
    minors = (each.impact.managed.cli for each in found if each.impact.managed is not None)
    return _cli(minors).removeprefix("the ")


def _who_used(view: View, found: Sequence[AnalyzedUpgrade], among: int) -> list[str]:
    said = [
        (each.plan, managed_line(each.impact.managed, each.upgrade.target, MARKDOWN))
        for each in found
        if each.impact.managed is not None
    ]
    return view.by_installation(said, among)


def _who_stored(view: View, refused: dict[str, tuple[Refused, ...]], among: int = 0) -> list[str]:
    return view.by_installation(
        (
            (each.plan, line)
            for each in view.analyzed
            for line in stored_lines(refused.get(each.plan.path, ()), each.upgrade.target, MARKDOWN)
        ),
        among or len(refused),
    )


def _not_enough(view: View) -> Iterator[str]:
    found = {each.plan.path: refused for each in view.analyzed if (refused := each.refused(Task.UPGRADE_IN_BETWEEN))}
    if found:
        yield (
            "Upgrade to a release in between first, and run `flux migrate` there. At the current release, it is not "
            "enough. Without `--to`, and with `multi-step: true` in the config file, flux-upgrade proposes each "
            f"step.\n{bullets(view.limited(_who_stored(view, found)))}"
        )


def _past(view: View) -> Iterator[str]:
    """Nobody knows which releases ran, and some version goes."""
    by_reason: dict[str, list[AnalyzedUpgrade]] = {}
    for each in view.analyzed:
        unknown = each.impact.stored.unknown
        if unknown is not None and each.takes(Task.CHECK_FLUX_MIGRATE, Stage.BEFORE_READY):
            by_reason.setdefault(unknown.reason, []).append(each)
    for why, found in by_reason.items():
        targets = ", ".join(sorted({each.upgrade.target for each in found}))
        yield (
            f"Make sure that `flux migrate` has run in {_clusters(view, found)}. Flux {targets} drops API versions "
            f"that older releases stored, and the earlier releases are unknown ({plain(why)})."
        )
