"""What came of a bootstrap → text for the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.bootstrap import workflow_file
from flux_upgrade.bootstrap.access_notes import access_lines
from flux_upgrade.bootstrap.apply import Published, Ran
from flux_upgrade.bootstrap.proposed import Cluster
from flux_upgrade.bootstrap.todo import at_once, left_to_do, with_new_secret
from flux_upgrade.model.markdown import BREAK, counted
from flux_upgrade.planning.proposal import Action
from flux_upgrade.report.wording import printable

_DONE = (Action.OPENED, Action.UPDATED, Action.CLOSED)


def bootstrap_text(ran: Ran) -> str:
    """What was done, where it is, and what is left; the commands too, where no pull request tells them."""
    lines = [
        *(line for cluster in ran.proposal.clusters for line in _cluster(ran, cluster)),
        *_workflow(ran),
        *_deeds(ran),
        *(f"warning: {each}" for each in warnings_of(ran)),
        *_left(ran),
        *_new_secrets(ran),
        *_setting(ran),
    ]
    if ran.calls:
        lines.append(f"{counted(ran.calls, 'call')} to {ran.repository}")
    return "".join(f"{printable(line)}\n" for line in lines)


def what_was_done(ran: Ran) -> str:
    """The pull request in a word or two; empty where there is none."""
    done = ran.published
    if done is None or done.action is Action.NONE:
        return ""
    return f"{'would be ' if ran.is_dry and done.action in _DONE else ''}{done.action}"


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


def _cluster(ran: Ran, cluster: Cluster) -> Iterator[str]:
    options = cluster.options
    source = options.oci.cluster_url if options.oci is not None else options.url
    parts = (cluster.name or "the root", f"Flux {options.install.version}", source)
    yield " · ".join(filter(None, parts))
    for change in cluster.changes:
        done = "new" if change.before is None else "changed"
        yield f"  {done if ran.is_under_way else 'not written'}: {change.path}"
    yield from (f"  kept: {path}" for path in cluster.files.kept)
    yield from (f"  edit kept: {edit}" for edit in cluster.files.edits)
    if not cluster.changes and not cluster.commands:
        yield "  up to date"
    yield from (
        f"  --{each.flag}: {each.old or 'none'} → {each.new or 'none'}" for each in cluster.files.shown
    )
    yield from (f"  {line}" for line in access_lines(cluster.handover.access, is_dry=ran.is_dry))


def _workflow(ran: Ran) -> Iterator[str]:
    if ran.proposal.workflow is not None:
        yield f"workflow: {ran.proposal.workflow.path}"


def _deeds(ran: Ran) -> Iterator[str]:
    would = "would be " if ran.is_dry else ""
    if ran.is_created:
        yield f"repository {ran.repository}: {would}created"
    if ran.artifact:
        yield f"artifact: {would}{ran.artifact}{f'@{ran.digest}' if ran.digest else ''}"
    if ran.is_pushed:
        yield f"commit: {would}{ran.commit or 'pushed'}"
    if ran.published is not None:
        yield from _pull(ran, ran.published)
    where = "would be in " if ran.is_dry else ""
    yield from (f"Secret: {where}{path} (for the cluster, and for nobody else)" for path in ran.secret_files)
    yield from (f"{name}: ready at {revision}" for name, revision in ran.ready.items())


def _pull(ran: Ran, done: Published) -> Iterator[str]:
    told = what_was_done(ran)
    if told:
        yield f"pull request: {told} · {done.url or done.proposal.branch}"
    if done.hold is not None:
        yield f"  {done.hold.reason}: {done.hold.detail}"
        yield f"  remedy: {done.hold.hint}"
    if done.error is not None:
        yield f"  {done.error.slug}: {done.error.message}"


def _left(ran: Ran) -> Iterator[str]:
    """A pull request tells it better, and there its reader is."""
    is_told = ran.published is not None and ran.published.action in (*_DONE, Action.UNCHANGED)
    for cluster in ran.proposal.moving if ran.is_under_way else ():
        things = left_to_do(
            cluster, ran.proposal.repository, on_branch=ran.is_pushed, is_local=bool(ran.checkout)
        )
        if cluster.name in ran.ready or not things:
            continue
        yield ""
        if is_told:
            name = cluster.name or "the root"
            yield f"{name}: {counted(len(things), 'thing')} left to do, see the pull request"
            continue
        yield f"Left to do for {cluster.name or 'the root'}:"
        yield from _numbered(things)
        if cluster.is_new:
            yield from in_terminal(at_once(cluster, on_branch=ran.is_pushed, is_local=bool(ran.checkout)))


def _new_secrets(ran: Ran) -> Iterator[str]:
    for cluster in ran.proposal.clusters:
        if things := with_new_secret(cluster, ran.proposal.repository):
            yield ""
            yield f"To do with the new Secret of {cluster.name or 'the root'}:"
            yield from _numbered(things)


def _setting(ran: Ran) -> Iterator[str]:
    """What the added workflow needs; a pull request says it itself."""
    if ran.proposal.workflow is not None and ran.published is None:
        yield ""
        yield from in_terminal(workflow_file.to_do())


def _numbered(things: Iterable[str]) -> Iterator[str]:
    for number, thing in enumerate(things, 1):
        first, *rest = in_terminal(thing)
        yield f"{number}. {first}"
        yield from rest


def warnings_of(ran: Ran) -> list[str]:
    """What a person should know, each once."""
    own = ran.published.warnings if ran.published is not None else ()
    notes = (note for cluster in ran.proposal.clusters for note in cluster.handover.access.notes)
    return list(dict.fromkeys((*ran.warnings, *notes, *own)))
