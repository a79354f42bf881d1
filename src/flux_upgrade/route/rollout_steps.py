"""Steps after files were written: a merge, and Flux's reconciliation."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.assessment.assessment import Assessment, ClusterBase
from flux_upgrade.model.text import capitalized
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.later_steps import rollout_before
from flux_upgrade.policy.decision import Hold
from flux_upgrade.route.rows import Row
from flux_upgrade.route.step import Need, Stage, Step, Task

_MERGE = "Review the changed files, commit them, and merge them"


def is_unknown_branch(step: Step) -> bool:
    """Return whether a step merges files into a branch that is not known."""
    return step.task is Task.MERGE and step.sentence == _MERGE


def after_writing(row: Row) -> Iterator[Step]:
    """Yield what follows an upgrade that is in the files."""
    impact = row.plan.impact_of(row.decision)
    base = impact.base if impact is not None else None
    later = impact.upgrade_path[1:] if impact is not None else ()
    merge, merged = _MERGE, f"the branch that Flux follows has {row.target}"
    if base is not None and isinstance(base.pin, Unknown):
        reconciled = f"`flux version` shows that the cluster runs {row.target}"
    else:
        reconciled = f"Flux has reconciled {row.target}"
        merge += f" into {base.branch}" if base is not None and not isinstance(base.branch, Unknown) else ""
    sentence = f"{merge}. Wait until {reconciled}" if later else merge
    yield Step(Stage.MERGE, Task.MERGE, sentence, afterwards=reconciled.replace("`", "") if later else merged)
    if later:
        yield _go_on(later[0], base)


def after_rollout(impact: Assessment, hold: Hold) -> Iterator[Step]:
    """Yield what comes before a step that starts from a release which is only in a file."""
    base = impact.base
    if base is not None:
        rollout = capitalized(rollout_before(impact.upgrade_path, base))
        done = f"the cluster runs {base.written}"
        yield Step(Stage.ROLLOUT, Task.MERGE, rollout, afterwards=done, places=(hold.detail,))
    yield _go_on(hold.target, base)


def _go_on(release: Version, base: ClusterBase | None) -> Step:
    branch = base.branch if base is not None and not isinstance(base.branch, Unknown) else ""
    place = f", on an up-to-date {branch}" if branch else ""
    sentence = f"Plan the next step, to {release}{place}"
    return Step(Stage.THEN, Task.PLAN, sentence, needs=(Need.RECONCILIATION,), afterwards="the next step is planned")
