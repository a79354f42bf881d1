"""What came of a bootstrap → text for the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.bootstrap import workflow_file
from flux_upgrade.bootstrap.access import Access
from flux_upgrade.bootstrap.apply import BootstrapResult, Published
from flux_upgrade.bootstrap.known_hosts import shown_key
from flux_upgrade.bootstrap.proposed import ProposedCluster
from flux_upgrade.bootstrap.todo import at_once, left_to_do, with_new_secret
from flux_upgrade.model.markdown import BREAK, counted
from flux_upgrade.model.text import printable_lines
from flux_upgrade.planning.proposal import Action

_DONE = (Action.OPENED, Action.UPDATED, Action.CLOSED)


def bootstrap_text(result: BootstrapResult) -> str:
    """What was done, where it is, and what is left; the commands too, where no pull request tells them."""
    lines = [
        *(line for cluster in result.proposal.clusters for line in _cluster(result, cluster)),
        *_deeds(result),
        *(f"warning: {each}" for each in warnings_of(result)),
        *_left(result),
    ]
    for cluster in result.proposal.clusters:
        if tasks := with_new_secret(cluster, result.proposal.repository):
            lines += ["", f"Action required for the new Secret of {cluster.name or 'the root'}:", *_numbered(tasks)]
    if result.proposal.workflow is not None and result.published is None:
        # A pull request says itself what the added workflow needs.
        lines += ["", *in_terminal(workflow_file.to_do())]
    if result.calls:
        lines.append(f"{counted(result.calls, 'call')} to {result.repository}")
    return printable_lines(lines)


def what_was_done(result: BootstrapResult) -> str:
    """The pull request in a word or two; empty where there is none."""
    published = result.published
    if published is None or published.action is Action.NONE:
        return ""
    return f"{'would be ' if result.is_dry and published.action in _DONE else ''}{published.action}"


def in_terminal(markdown: str) -> Iterator[str]:
    """Lines of our own Markdown as a terminal shows them: what is code is indented, and can be pasted."""
    is_code = False
    for line in markdown.replace(BREAK, "").splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif is_code:
            yield f"    {line}"
        elif line:
            yield line.replace("**", "")


def _cluster(result: BootstrapResult, cluster: ProposedCluster) -> Iterator[str]:
    options = cluster.options
    source = options.oci.cluster_url if options.oci is not None else options.url
    parts = (cluster.name or "the root", f"Flux {options.install.version}", source)
    yield " · ".join(filter(None, parts))
    for change in cluster.changes:
        done = "new" if change.before is None else "changed"
        yield f"  {done if result.is_under_way else 'not written'}: {change.path}"
    yield from (f"  kept: {path}" for path in cluster.files.kept)
    yield from (f"  manual edit kept: {edit}" for edit in cluster.files.edits)
    if not cluster.changes and not cluster.commands:
        yield "  up to date"
    yield from (f"  --{each.flag}: {each.old or 'none'} → {each.new or 'none'}" for each in cluster.files.shown)
    yield from (f"  {line}" for line in access_lines(cluster.handover.access, is_dry=result.is_dry))


def _deeds(result: BootstrapResult) -> Iterator[str]:
    if result.proposal.workflow is not None:
        yield f"workflow: {result.proposal.workflow.path}"
    would = "would be " if result.is_dry else ""
    if result.is_created:
        yield f"repository {result.repository}: {would}created"
    if result.artifact:
        yield f"artifact: {would}{result.artifact}{f'@{result.digest}' if result.digest else ''}"
    if result.is_pushed:
        yield f"commit: {would}{result.commit or 'pushed'}"
    if result.published is not None:
        yield from _pull(result, result.published)
    where = "would be in " if result.is_dry else ""
    yield from (f"Secret: {where}{path} (for the cluster only, do not commit it)" for path in result.secret_files)
    yield from (f"{name}: ready at {revision}" for name, revision in result.ready.items())


def _pull(result: BootstrapResult, published: Published) -> Iterator[str]:
    outcome = what_was_done(result)
    if outcome:
        yield f"pull request: {outcome} · {published.url or published.proposal.branch}"
    if published.hold is not None:
        yield f"  {published.hold.reason}: {published.hold.detail}"
        yield f"  to unblock: {published.hold.hint}"
    if published.error is not None:
        yield f"  {published.error.slug}: {published.error.message}"


def _left(result: BootstrapResult) -> Iterator[str]:
    """A pull request tells it better, and there its reader is."""
    is_in_pull_request = result.published is not None and result.published.action in (*_DONE, Action.UNCHANGED)
    for cluster in result.proposal.moving if result.is_under_way else ():
        tasks = left_to_do(
            cluster, result.proposal.repository, on_branch=result.is_pushed, is_local=bool(result.checkout)
        )
        if cluster.name in result.ready or not tasks:
            continue
        yield ""
        if is_in_pull_request:
            name = cluster.name or "the root"
            yield f"{name}: {counted(len(tasks), 'action')} required, see the pull request"
            continue
        yield f"{counted(len(tasks), 'action')} required for {cluster.name or 'the root'}:"
        yield from _numbered(tasks)
        if cluster.is_new:
            yield ""
            yield from in_terminal(at_once(cluster, on_branch=result.is_pushed, is_local=bool(result.checkout)))


def _numbered(tasks: Iterable[str]) -> Iterator[str]:
    for number, task in enumerate(tasks, 1):
        first, *rest = in_terminal(task)
        yield f"{number}. {first}"
        yield from rest


def warnings_of(result: BootstrapResult) -> list[str]:
    own = result.published.warnings if result.published is not None else ()
    notes = (note for cluster in result.proposal.clusters for note in cluster.handover.access.notes)
    return list(dict.fromkeys((*result.warnings, *notes, *own)))


def access_lines(access: Access, *, is_dry: bool = False) -> Iterator[str]:
    """``deploy key: TITLE (SHA256:…) registered``; none without a key. ``is_dry``: of ``foresee``."""
    if not access.title:
        return
    shown = f" ({shown_key(access.public)})" if access.public else ""
    may = "" if access.is_read_only or access.is_elsewhere else ", write access"
    yield f"deploy key: {access.title}{shown} {_deed(access, is_dry=is_dry)}{may}"


def _deed(access: Access, *, is_dry: bool) -> str:
    would = "would be " if is_dry else ""
    if access.registered:
        return would + ("replaced" if access.removed else "registered")
    if access.is_registered:
        others = f", {len(access.removed)} with its title {would}removed" if access.removed else ""
        return f"kept{others}"
    if access.is_elsewhere:
        return "kept"
    return f"{would}created: register it" if access.is_new_key else "kept: register it unless it is registered"
