"""Steps after files were written: a merge, and Flux's reconciliation."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.assessment.assessment import Assessment, ClusterBase
from flux_upgrade.model.text import capitalized
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.terraform_files import is_for_terraform
from flux_upgrade.planning.later_steps import rollout_before
from flux_upgrade.policy.decision import Hold
from flux_upgrade.route.impact_steps import right_after
from flux_upgrade.route.rows import Row
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task

_MERGE = "Review the changed files, commit them, and merge them"


def is_unknown_branch(step: Step) -> bool:
    """Return whether a step merges files into a branch that is not known."""
    return step.task is Task.MERGE and step.sentence == _MERGE


def after_writing(row: Row) -> Iterator[Step]:
    """Yield what follows an upgrade that is in the files, or to which a tag points."""
    impact = row.plan.impact_of(row.decision)
    base = impact.base if impact is not None else None
    later = impact.upgrade_path[1:] if impact is not None else ()
    # Flux may fail to apply objects until `flux migrate` has run: another step has that.
    waits_after = bool(later) and any(right_after(impact, row.decision.target, is_ready=True) if impact else ())
    if not row.is_tag:
        yield merge(row.plan.path, row.target, base, is_last=not later or waits_after)
        if waits_after:
            sentence = f"Wait until Flux has reconciled {row.target}"
            yield Step(
                Stage.AFTER_READY, Task.WAIT, sentence, Actor.FLUX, (Need.STEP,), f"the cluster runs {row.target}"
            )
    elif later:
        sentence = f"Wait until Flux has reconciled {row.target} in every cluster that follows the tag"
        yield Step(Stage.ROLLOUT, Task.WAIT, sentence, afterwards=f"the clusters run {row.target}")
    if later:
        yield _go_on(later[0], base)


def merge(path: str, release: str, base: ClusterBase | None, *, is_last: bool = True) -> Step:
    """Return the step that merges a changed file. ``is_last``: no other step waits until the cluster runs it."""
    sentence, reconciled = _MERGE, f"Flux has reconciled {release}"
    if base is not None and isinstance(base.pin, Unknown):
        reconciled = f"`flux version` shows that the cluster runs {release}"
    elif base is not None and not isinstance(base.branch, Unknown):
        sentence += f" into {base.branch}"
    after = ["apply the changed Terraform files"] if is_for_terraform(path) else []
    after += [] if is_last else [f"wait until {reconciled}"]
    sentence = ". ".join(filter(None, [sentence, capitalized(", and ".join(after))]))
    done = f"the branch that Flux follows has {release}" if is_last else f"the cluster runs {release}"
    return Step(Stage.MERGE, Task.MERGE, sentence, afterwards=done)


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
