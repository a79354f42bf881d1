"""What ``check`` and ``migrate`` found → text, JSON, and annotations on the very lines."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.coverage import Coverage
from flux_upgrade.assessment.repository import RepositoryAssessment
from flux_upgrade.assessment.running import manifest_apis
from flux_upgrade.findings.finding import Finding, by_change, hit_value, use_value
from flux_upgrade.findings.kinds import hits
from flux_upgrade.findings.known_facts import known_line, known_values
from flux_upgrade.findings.phrases import TEXT, api, in_order, kept_sentence, undeclared_sentence
from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.migrate.result import NOT_MANIFESTS, Left, Migrated, Move, Reason
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import enumeration, printable, printable_lines
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.report.impact_json import unfollowed_value
from flux_upgrade.report.impact_text import changed_lines
from flux_upgrade.report.wording import Annotation, Level, located

_MOST = 10  # Steps that are listed


class ApiUsesReport(NamedTuple):
    """What ``check`` and ``migrate`` report."""

    assessed: RepositoryAssessment
    root: str
    below: str  # Where it begins in the repository
    failures: Mapping[str, FluxUpgradeError] = {}
    moved: frozenset[str] = frozenset()  # Paths of the files that were written, or, in a dry run, would be
    is_dry: bool = True

    @property
    def uses(self) -> Assessment:
        return self.assessed.uses

    @property
    def breaking(self) -> tuple[Move | Left, ...]:
        """What is still there and would break, in the order of the files."""
        return tuple(each for file in self.uses.files for each in in_order(file) if self.breaks(each))

    @property
    def waiting(self) -> tuple[Left, ...]:
        """Return the uses that can be migrated once other clusters are upgraded."""
        return tuple(left for left in self.by_hand if left.after)

    @property
    def failing(self) -> tuple[Move | Left, ...]:
        """Return the uses that the run fails for: of those that wait for other clusters, only if it moved no other."""
        return tuple(use for use in self.breaking if not self.moved or use not in self.waiting)

    @property
    def by_hand(self) -> tuple[Left, ...]:
        """What cannot be moved, and is broken under the target, even if it is broken today, too."""
        return tuple(left for left in self.uses.lefts if self.breaks(left))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was looked at, so that nothing is known."""
        return not (self.assessed.coverage.manifests or self.breaking or self.failures)

    def breaks(self, each: Move | Left) -> bool:
        """Whether a use is still there, and is broken under the target."""
        if each.use.place is UsePlace.METRIC:
            return False
        if isinstance(each, Left):
            return each.reason not in NOT_MANIFESTS
        return each.use.path not in self.moved

    def place(self, path: str) -> str:
        """A path of the repository as it is reached from the working directory."""
        if not path.startswith(self.below):
            return located(self.repository, path)
        return located(self.root, path.removeprefix(self.below))

    @property
    def repository(self) -> str:
        """Its root, as it is reached from the working directory; ``root`` is a directory of it."""
        above = [".."] * self.below.count("/")
        return posixpath.normpath(posixpath.join(self.root, *above))


def check_text(found: ApiUsesReport) -> str:
    """A line for each use, to be read as compilers' are; then how many there are."""
    lines = [
        f"{found.place(each.use.path)}:{each.use.line}: {sentence(found, each)}"
        for file in found.uses.files
        for each in in_order(file)
    ]
    changes = [line for known in by_change(_hits(found)) for line in changed_lines(*known)]
    blocks = [block for block in (lines, changes, list(_summary(found))) if block]
    return printable_lines([line for block in blocks for line in (*block, "")][:-1])


def _hits(found: ApiUsesReport) -> Iterator[Finding]:
    for each in hits(found.uses, Version(found.assessed.target), TEXT):
        # Paths are shown as they are reached from the working directory.
        yield each._replace(wording=each.wording.replace(each.path, found.place(each.path), 1))


def sentence(found: ApiUsesReport, each: Move | Left) -> str:
    what = f"{_what(each.use)} is not served by {found.assessed.target}"
    if isinstance(each, Move):
        today = "" if each.was_served else ", nor by the releases that run today"
        return f"{what}{today}: `flux-upgrade migrate` changes it to {each.to}"
    if each.reason is Reason.TEXT:
        return f"{what}, but only text mentions it: nothing breaks"
    if each.reason is Reason.UNCHECKED:
        return f"{what}: not checked: a script or a program may apply it"
    if each.reason is Reason.UNREAD:
        return f"{what}, but no cluster reads this file: nothing breaks"
    return f"{what}: {each.reason}: {each.detail} {each.hint}".rstrip()


def _what(use: ApiUse) -> str:
    who = "/".join(filter(None, (use.kind, use.name)))
    return f"{who}: {api(use)}" if who else api(use)


def migrate_text(found: ApiUsesReport) -> str:
    """What was done, or would be, file by file; then how much of it there is."""
    blocks = (_block(found, file) for file in found.uses.files)
    return printable_lines([*(line for block in blocks for line in (*block, "")), *_summary(found)])


def _block(found: ApiUsesReport, file: Migrated) -> Iterator[str]:
    yield found.place(file.path)
    failure = found.failures.get(file.path)
    if failure is not None:
        yield f"  failed: {failure.message}"
    if file.moves and (failure is None or file.path in found.moved):
        done = "not written: dry run" if found.is_dry else "written"
        yield f"  {counted(len(file.moves), 'use')} migrated · {done}"
    lines: tuple[str, ...]
    for each in in_order(file):
        if isinstance(each, Left):
            yield f"  line {each.use.line}: {_what(each.use)} is not migrated: {each.reason}"
            lines = (each.detail, each.hint) if each.reason is not Reason.TEXT else ()
        else:
            yield f"  line {each.use.line}: {_what(each.use)} → {each.to}"
            lines = (*each.fields, kept_sentence(each) if each.kept_by else "", undeclared_sentence(each))
        yield from (f"    {line}" for line in lines if line)


def _summary(found: ApiUsesReport) -> Iterator[str]:
    target, uses, by_hand = found.assessed.target, found.uses, found.by_hand
    yield _looked_at(found.assessed.coverage)
    removed: tuple[Move | Left, ...] = (*uses.moves, *by_hand)
    if removed:
        yield from _running(found.assessed)
        files = counted(len({each.use.path for each in removed}), "file")
        moved = "migrated" if found.moved and not found.is_dry else "to migrate"
        waiting = len(found.waiting)
        parts = [(len(uses.moves), moved), (len(by_hand) - waiting, "to fix manually")]
        parts.append((waiting, "to migrate once other clusters are upgraded"))

        of_them = ", ".join(f"{count} {what}" for count, what in parts if count)
        count = counted(len(removed), "use")
        yield f"{count} of API versions that {target} does not serve, in {files}: {of_them}"
    elif found.assessed.coverage.manifests:
        is_all = not (found.assessed.by_text or found.assessed.outside or _unchecked(uses))
        nothing = "nothing" if is_all else "nothing that was checked"
        yield f"{nothing} uses an API version that {target} does not serve"
    yield from _others(found)
    if found.assessed.behaviour is not None:
        yield f"not checked: changes of behavior, because {found.assessed.behaviour}: set it with --from"
    yield from _not_followed(found)
    yield from (f"known: {known_line(entry, TEXT)}" for entry in found.assessed.known)
    if found.assessed.ignored:
        files = counted(found.assessed.ignored, "file")
        yield f"{files} with Flux's APIs skipped (`ignore` in the config file)"


def _others(report: ApiUsesReport) -> Iterator[str]:
    """Yield what does not count as a use: metrics, texts, and what was not checked."""
    uses = report.uses
    texts, unreadable, unread, metrics = _harmless(uses)
    if metrics:
        yield f"also {counted(metrics, 'kind')} in kube-state-metrics to change: metrics end, and nothing else breaks"
    if report.assessed.by_text:
        counts = [known_or(count, 0) for count in report.assessed.by_text.values()]
        yield f"also {counted(sum(counts), 'use')} in the text of {counted(len(counts), 'file')} not read to the end"
    if texts:
        yield f"also {counted(texts, 'mention')} in text, where nothing breaks"
    if unchecked := _unchecked(uses):
        yield f"not checked: {counted(unchecked, 'object')} in scripts or programs, which may apply them"
    if unreadable:
        yield f"also {counted(unreadable, 'mention')} in invalid YAML, which Flux cannot apply"
    if unread:
        yield f"also {counted(unread, 'use')} in files that no cluster reads"
        yield "To leave these files out, add to the config file:"
        yield from ("  ignore:", *(f"  - {pattern}" for pattern in report.assessed.unread))
        yield "To migrate these files too, use --include=all."


def _not_followed(report: ApiUsesReport) -> Iterator[str]:
    troubles = report.assessed.unfollowed
    yield from (f"not followed: {report.place(each.path)}{each.at_line}: {each.said}" for each in troubles[:_MOST])
    if len(troubles) > _MOST:
        yield f"not followed: {counted(len(troubles) - _MOST, 'more step')}: see `flux-upgrade inspect --graph`"


def _looked_at(coverage: Coverage) -> str:
    if not coverage.manifests:
        return "no Kubernetes manifest was looked at"
    manifests, files = counted(coverage.manifests, "manifest"), counted(coverage.files, "file")
    rest = "" if coverage.of_flux else ": none uses Flux's APIs"
    return f"looked at {manifests} in {files}{rest}"


def _harmless(uses: Assessment) -> Iterator[int]:
    """Yield how many uses are in texts, in what is no YAML, in files that no cluster reads, and in metrics."""
    reasons = [each.reason for each in uses.lefts]
    yield from map(reasons.count, (Reason.TEXT, Reason.UNREADABLE, Reason.UNREAD, Reason.METRIC))


def _unchecked(uses: Assessment) -> int:
    return sum(left.reason is Reason.UNCHECKED for left in uses.lefts)


def _age(version: str) -> tuple[bool, tuple[object, ...], str]:
    """Sort key; what is no release comes last."""
    is_known = is_tag(version)
    return not is_known, (Version(version),) if is_known else (), version


def _versions(assessed: RepositoryAssessment) -> list[str]:
    """Return all that runs, oldest first."""
    versions = (each.version for each in assessed.unverified)
    return sorted({*assessed.running, *filter(None, versions)}, key=_age)


def _running(assessed: RepositoryAssessment) -> Iterator[str]:
    for tag in assessed.unknown:
        yield f"note: a cluster here runs {tag}, which the release source does not have: skipped"
    for each in assessed.unverified:
        name = f"{each.path} ({each.version or 'no known release'})"
        effect = "its manifests are migrated only to those versions"
        served = f"{name} has the CRDs that this cluster serves: {effect}"
        unread = f"{name} has no readable CRDs: manifests that this cluster may read are not migrated"
        yield f"note: {unread if isinstance(manifest_apis(each), Unknown) else served}"
    for place in assessed.unasked:
        yield (
            f"note: the release of {place} is unknown, because `check` and `migrate` contact no host that the "
            "repository names: set it with --from"
        )
    versions = _versions(assessed)
    if versions:
        how = "" if assessed.is_given else " (found in this repository)"
        yield f"clusters run {', '.join(versions)}{how}"
    elif not assessed.unverified:
        yield (
            f"no Flux release was found here: manifests are migrated to versions that {assessed.target} stores. "
            "If your clusters do not serve these, set their release with --from."
        )


def remedy(found: ApiUsesReport) -> str:
    moves = sum(isinstance(each, Move) for each in found.failing)
    waiting = {release: None for left in found.waiting if left in found.failing for release in left.after}
    others = any(isinstance(use, Left) and not use.after for use in found.failing)
    by_hand = f"fix {'the others' if moves or waiting else 'each one'} manually, as shown" if others else ""
    first = f"upgrade the clusters at {enumeration(waiting)} first" if waiting else ""
    by_us = f"run `flux-upgrade migrate --to {found.assessed.target}` to migrate {moves} of them" if moves else ""
    return "; ".join(filter(None, (by_us, first, by_hand)))


def api_uses_json(found: ApiUsesReport) -> str:
    """Return the report of ``check --json`` and ``migrate --json``: see docs/reference/api-uses.schema.json."""
    assessed, uses, by_hand = found.assessed, found.uses, found.by_hand
    texts, unreadable, unread, metrics = _harmless(uses)
    report = {
        "target": assessed.target,
        "running": list(filter(is_tag, _versions(assessed))),
        "unknown": list(assessed.unknown),
        "unasked": list(assessed.unasked),
        "unverified": [
            {"path": each.path, "version": each.version or None, "read": not isinstance(manifest_apis(each), Unknown)}
            for each in assessed.unverified
        ],
        "uses": [_value(found, each) for file in uses.files for each in in_order(file)],
        "breaks": list(map(hit_value, uses.breaks)),
        "failures": [_failure(found, path, error) for path, error in found.failures.items()],
        "unread": list(assessed.unread),
        "unfollowed": unfollowed_value(assessed.unfollowed),
        "known": known_values(assessed.known),
        "behavior-unknown": str(assessed.behaviour) if assessed.behaviour is not None else None,
        "ignored": assessed.ignored,
        "looked-at": {"manifests": assessed.coverage.manifests, "files": assessed.coverage.files},
        "counts": {
            "moves": len(uses.moves),
            "by-hand": len(by_hand),
            "texts": texts,
            "unreadable": unreadable,
            "unchecked": _unchecked(uses),
            "unread": unread,
            "metrics": metrics,
            "by-text": sum(known_or(count, 0) for count in assessed.by_text.values()),
            "breaking": len(found.breaking),
        },
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _failure(report: ApiUsesReport, path: str, error: FluxUpgradeError) -> dict[str, Any]:
    uses = known_or(report.assessed.by_text.get(path), None)
    return {"path": path, "name": error.slug, "reason": error.message, "remedy": error.hint or None, "uses": uses}


def _value(found: ApiUsesReport, each: Move | Left) -> dict[str, Any]:
    is_written = isinstance(each, Move) and each.use.path in found.moved and not found.is_dry
    return {**use_value(each), "written": is_written, "breaks": found.breaks(each)}


def line_annotations(found: ApiUsesReport) -> Iterator[Annotation]:
    """One for each use that breaks, and for whatever behaves differently, on its own line."""
    for each in found.breaking:
        title = f"{found.assessed.target} does not serve {api(each.use)}"
        yield Annotation(Level.ERROR, printable(sentence(found, each)), title, each.use.path, each.use.line)
    for left in found.uses.lefts:
        if left.ends or left.reason is Reason.UNCHECKED:
            title = f"{found.assessed.target} does not serve {api(left.use)}"
            yield Annotation(Level.WARNING, printable(sentence(found, left)), title, left.use.path, left.use.line)
    for hit in hits(found.uses, Version(found.assessed.target), TEXT):
        yield Annotation(Level.WARNING, printable(hit.message), hit.title, hit.path, hit.line)
