"""The kinds of findings, in the order of the text report: whatever an upgrade breaks is a row here.

A new kind is a function that yields findings, and its row: text, Markdown, JSON and annotations have it then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding, FindingKind, KnownChange, Severity
from flux_upgrade.findings.known_facts import known_line
from flux_upgrade.findings.patch_findings import left_out, patches, turned_off
from flux_upgrade.findings.phrases import (
    OPERATOR_MIGRATES,
    TEXT,
    Style,
    api,
    fit_sentence,
    managed_line,
    move_line,
    names,
    place,
    sentences,
    stored_lines,
    unserved_line,
    who,
)
from flux_upgrade.impact.impact import EarlierTries, Harm
from flux_upgrade.impact.migrate.result import Left, Move
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import enumeration, first_few
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason


def _flux_migrate(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    """Pull requests have it in paragraphs of their own, with the clusters' names and boxes to tick."""
    stored, managed = impact.stored, impact.managed
    why = [managed_line(managed, target, style)] if managed is not None and not managed.is_done else []
    run = "run `flux migrate` with the Flux CLI"
    before = "before the tag moves" if impact.by_tag else "before merging"
    if managed is not None and managed.is_after:
        yield from _in_cluster(f"right after merging: {run} {managed.cli} in the cluster", why)
        why = []
    if stored.refused or why:
        lines = [*stored_lines(stored.refused, target, style), *why]
        yield from _in_cluster(f"{before}: {run} {impact.cli} in the cluster", lines)
    if stored.after_migrate and not impact.upgrade_path:
        heading = f"{before}: upgrade to an intermediate release first, and run `flux migrate` there too"
        yield from _in_cluster(heading, stored_lines(stored.after_migrate, target, style))
    if impact.waits_for_operator:
        yield from _in_cluster("before merging: check that the FluxInstance is ready", [OPERATOR_MIGRATES])
    if impact.is_confirmed:
        yield from _in_cluster("", ["`flux migrate` ran in the cluster: you confirmed it"], Severity.NOTE)
    elif stored.unknown and not why and impact.drops_versions and not impact.by_operator:
        lacking = f"{target} drops API versions that older releases stored, and the earlier releases are unknown"
        heading = f"{before}: check that `flux migrate` has run in the cluster"
        yield from _in_cluster(heading, [f"{lacking}: {stored.unknown}"])


def _in_cluster(heading: str, lines: Sequence[str], severity: Severity = Severity.BREAKS) -> list[Finding]:
    return [Finding(severity, heading=heading, wording=line) for line in lines]


def _base(impact: Assessment, target: Version, _: Style) -> Iterator[Finding]:
    """Yield which release the cluster runs, if it is not that of the file, or is not certain and matters."""
    base, is_uncertain = impact.base, impact.is_base_uncertain(target)
    if base is None or not (is_uncertain or base.is_behind):
        return
    if isinstance(base.pin, Unknown):
        heading = f"before merging: check with `flux version` that the cluster runs {base.written}"
        yield from _in_cluster(heading, [f"the checkout does not show it: {base.pin}"])
    elif is_uncertain:
        said = f"the checked-out commit has {base.pin.version}, and the upgrade is checked from there: {base.branch}"
        yield Finding(Severity.REVIEW, heading="", wording=said, task="Check which release the cluster runs")
    else:
        said = f"{base.place} has {base.pin.version}, and the upgrade is checked from there"
        yield Finding(Severity.NOTE, heading="", wording=said)


def _absent_crds(impact: Assessment, target: Version, _: Style) -> Iterator[Finding]:
    if impact.absent_crds:
        before = "before the tag moves" if impact.by_tag else "before merging"
        yield Finding(
            Severity.BREAKS,
            heading=f"{before}: apply the CRDs of {target} in the cluster",
            wording=f"the manifest does not have them: {first_few(impact.absent_crds, 3)}",
            task="Apply the CRDs of {target} first: the manifest does not have them",
        )


def _unserved(impact: Assessment, _: str, style: Style) -> Iterator[Finding]:
    gone = unserved_line(known_or(impact.crds, ()), style)
    if gone:
        yield Finding(Severity.NOTE, heading="", wording=f"no longer served: {gone}")


def _by_hand(impact: Assessment, target: Version, _: Style) -> Iterator[Finding]:
    for left in impact.blocking:
        others = enumeration(left.after)
        heading = f"migrate these once the clusters at {others} are upgraded:" if left.after else _BY_HAND
        first = f"Upgrade the clusters at {others} first: they read manifests that {{target}} no longer serves"
        yield left_finding(left)._replace(
            heading=heading,
            task=first if left.after else "Migrate the manifests that {target} no longer serves",
            after=left.after,
            holds=(HoldReason.BLOCKED_BY_API_REMOVAL,),
            title=_not_served(left, target),
            message=sentences(TEXT, f"{who(left.use)}: {left.detail or left.reason}", left.hint),
            order=(left.use.path, left.use.start),
        )


_BY_HAND = "migrate these yourself:"


def _metrics(impact: Assessment, target: Version, _: Style) -> Iterator[Finding]:
    for left in impact.lefts:
        if left.ends:
            yield left_finding(left)._replace(
                severity=Severity.RISKS,
                heading="metrics that end:",
                task=_METRICS,
                title=_not_served(left, target),
                message=sentences(TEXT, f"{who(left.use)}: {left.detail}", left.hint),
                order=(left.use.path, left.use.start),
            )


_METRICS = "Change the metrics of API versions that {target} no longer serves"


def left_finding(left: Left) -> Finding:
    """What stays as it is, and what to do about it."""
    use = left.use
    what = left.detail or left.reason.replace("-", " ")
    return Finding(Severity.BREAKS, use.path, use.line, names(use), what, left.hint)


def _not_served(each: Move | Left, target: Version) -> str:
    return f"{target} does not serve {api(each.use)}"


def _moves(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    for move in impact.moves:
        use = move.use
        yield Finding(
            Severity.BREAKS if move.blocks else Severity.RISKS,
            use.path,
            use.line,
            task="Merge the API migration first: {target} no longer serves these" if move.blocks else _METRICS,
            holds=(HoldReason.MIGRATION_PENDING, HoldReason.BLOCKED_BY_API_REMOVAL),
            title=_not_served(move, target),
            message=f"{who(use)} is migrated to {move.to}.",
            wording=move_line(move, style),
            item=style.code(place(use)),
            order=(use.path, use.line),
        )


def _orphaned(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    for use in impact.orphaned:
        where = place(use)
        yield Finding(
            Severity.BREAKS,
            use.path,
            use.line,
            names(use),
            heading="resources whose controller the upgrade removes:",
            task="Remove the resources whose controller the upgrade removes",
            holds=(HoldReason.COMPONENT_IN_USE,),
            title=f"The upgrade to {target} removes the controller of {use.kind}",
            message=f"No controller would reconcile {who(use)}.",
            item=f"{style.code(where)}: {style.code(who(use))}",
            order=(where, who(use)),
        )


_SEVERITIES = {Harm.BREAKS: Severity.BREAKS, Harm.MAY_BREAK: Severity.RISKS, Harm.DIFFERS: Severity.CHANGES}


def hits(impact: Assessment, _: Version, style: Style) -> Iterator[Finding]:
    """Known changes of behavior, place by place."""
    for hit in impact.breaks:
        name = "/".join(filter(None, (hit.namespace, hit.name)))
        parts = (style.code(f"{hit.path}:{hit.line}"), style.plain(f"{hit.kind} {name}{hit.what and f': {hit.what}'}"))
        keep = f"to keep the old behavior: {hit.keep}" if hit.keep else ""
        yield Finding(
            _SEVERITIES[hit.harm],
            hit.path,
            hit.line,
            (f"{hit.kind} {name}",),
            remedy=hit.keep,
            task=hit.change,
            title=f"Flux {hit.since} changes this: {hit.rule}",
            message=f"{sentences(TEXT, hit.change, hit.hint, keep)} See {hit.source}",
            wording=" ".join(filter(None, parts)),
            change=KnownChange(hit.since, hit.rule, hit.change, hit.source, hit.hint, hit.harm),
        )


def _earlier(impact: Assessment, _: Version, style: Style) -> Iterator[Finding]:
    earlier = known_or(impact.earlier, EarlierTries())
    back, returns = earlier.taken_back, earlier.returns
    if back is not None:
        since, until = back.since[:10], back.until[:10]
        when = f"on {until}" if since == until else f"from {since} to {until}"
        said = f"{back.release} was installed {when}; {style.code(back.commit[:8])} rolled back to {back.back_to}"
        yield Finding(Severity.REVIEW, heading="", wording=said, task="Find out why this upgrade was rolled back")
    if returns is not None:
        said = (
            f"since {returns.since[:10]}, the manifest returned to earlier content {returns.times} times, "
            f"most recently in {style.code(returns.commit[:8])}: two programs write it"
        )
        yield Finding(Severity.REVIEW, heading="", wording=said, task="Let only one program write the manifest")


def _broken_files(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    for use in impact.broken_files:
        yield Finding(
            Severity.RISKS,
            use.path,
            use.line,
            heading="files that Flux cannot read:",
            task=_BROKEN,
            title=f"Not checked for {target}",
            message=sentences(TEXT, f"Flux cannot read this file, so it was not checked for {target}: {use.why}"),
            wording=f"{style.code(place(use))}: {sentences(style, use.why)}",
        )


_BROKEN = "Fix the files that Flux cannot read: they were not checked for {target}"


def _not_applied(impact: Assessment, _: Version, style: Style) -> Iterator[Finding]:
    unapplied = impact.not_applied
    if unapplied is None:
        return
    place, names = style.code(unapplied.path), enumeration(map(style.code, (*unapplied.suspended, *unapplied.roots)))
    if unapplied.suspended:
        why = f"{names}, which applies {place}, is suspended, or its source is"
    else:
        why = f"nothing that Flux reads from {names} applies {place}"
    if unapplied.unfollowed:
        why += f"; {counted(unapplied.unfollowed, 'step')} could not be followed: see `inspect --graph`"
    heading = "before merging: check that Flux applies the manifest:"
    yield Finding(Severity.RISKS, heading=heading, task=_NOT_APPLIED, wording=why)


_NOT_APPLIED = "Make Flux apply the manifest, or the merge changes nothing in the cluster"


def _unread(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    if impact.unread:
        files = first_few(list(map(style.code, impact.unread)), _FEW)
        what = f"use API versions that {target} does not serve. List them under `ignore`, or set `include: all`"
        yield Finding(Severity.NOTE, heading="", wording=f"no cluster reads these files, which {what}: {files}")


def _unfollowed(impact: Assessment, _: Version, style: Style) -> Iterator[Finding]:
    """Steps that the graph could not follow."""
    for trouble in impact.unfollowed[:_FEW]:
        said = f"not followed: {style.code(trouble.place)}: {style.plain(trouble.said)}"
        yield Finding(Severity.NOTE, heading="", wording=said)
    more = len(impact.unfollowed) - _FEW
    if more > 0:
        said = f"not followed: {counted(more, 'more step')}: see {style.code('flux-upgrade inspect --graph')}"
        yield Finding(Severity.NOTE, heading="", wording=said)


_FEW = 3


def _known(impact: Assessment, _: Version, style: Style) -> Iterator[Finding]:
    for entry in impact.known:
        yield Finding(Severity.NOTE, heading="", wording=f"known: {known_line(entry, style)}")


def _kubernetes(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    fit = known_or(impact.kubernetes, None)
    if fit is not None and (fit.is_too_old or fit.is_untested):
        yield Finding(
            Severity.REVIEW,  # what is too old is held
            heading="",
            task="Check the clusters' Kubernetes version",
            holds=(HoldReason.KUBERNETES_TOO_OLD,) if fit.is_too_old else (),
            wording=fit_sentence(fit, target, style),
        )


def _identical(impact: Assessment, target: Version, _: Style) -> Iterator[Finding]:
    if impact.identical_to:
        said = f"the files of {target} are identical to those of {impact.identical_to}"
        task = "Compare {target} with Flux's releases first"
        yield Finding(Severity.REVIEW, heading="", wording=said, task=task)


FINDING_KINDS = (
    FindingKind(_base),
    FindingKind(_flux_migrate),
    FindingKind(_not_applied),
    FindingKind(_broken_files, rank=1),
    FindingKind(_absent_crds),
    FindingKind(_unserved),
    FindingKind(_by_hand, rank=0),
    FindingKind(_moves, rank=3),
    FindingKind(_metrics, rank=3),
    FindingKind(_orphaned, rank=0),
    FindingKind(hits, rank=2),
    FindingKind(turned_off, rank=0),
    FindingKind(left_out, rank=0),
    FindingKind(_unread),
    FindingKind(_unfollowed),
    FindingKind(_known),
    FindingKind(_earlier),
    FindingKind(patches, rank=1),
    FindingKind(_kubernetes, is_for_minors=True),
    FindingKind(_identical),
)


def in_the_way(hold: Hold, impact: Assessment, style: Style) -> list[str]:
    """What a hold is about, line by line: the places of the first kind that has any for its reason."""
    for kind in FINDING_KINDS:
        findings = kind.find(impact, hold.target, style)
        lines = [each.worded(style) for each in findings if hold.reason in each.holds and each.path]
        if lines:
            return lines
    return []
