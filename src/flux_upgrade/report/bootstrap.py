"""What came of a bootstrap → text for the log, JSON, outputs of the action."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flux_upgrade.action_yml import Outcome, gravest
from flux_upgrade.bootstrap.names import deploy_key_title
from flux_upgrade.bootstrap.options import Auth
from flux_upgrade.bootstrapping.outcome import Ran
from flux_upgrade.bootstrapping.proposed import Cluster
from flux_upgrade.bootstrapping.publishing import Published
from flux_upgrade.bootstrapping.todo import at_once, left_to_do
from flux_upgrade.markdown import BREAK, counted
from flux_upgrade.report.run import only
from flux_upgrade.report.wording import printable
from flux_upgrade.results import Action

_DONE = (Action.OPENED, Action.UPDATED, Action.CLOSED)


def bootstrap_text(ran: Ran) -> str:
    """What was done, where it is, and what is left; the commands too, where no pull request tells them."""
    lines = [
        *(line for cluster in ran.proposal.clusters for line in _cluster(cluster)),
        *_workflow(ran),
        *_deeds(ran),
        *(f"warning: {each}" for each in warnings_of(ran)),
        *_left(ran),
    ]
    if ran.calls:
        lines.append(f"{counted(ran.calls, 'call')} to {ran.repository}")
    return "".join(f"{printable(line)}\n" for line in lines)


def bootstrap_value(ran: Ran) -> dict[str, Any]:
    """The whole run as JSON: see docs/reference/bootstrap.schema.json."""
    return {
        "outcome": str(outcome_of(ran)),
        "dry-run": ran.is_dry,
        "repository": ran.repository or None,
        "repository-created": ran.is_created,
        "commit": ran.commit or None,
        "pull-request": _pull_value(ran.published) if ran.published is not None else None,
        "clusters": [_cluster_value(ran, cluster) for cluster in ran.proposal.clusters],
        "workflow": ran.proposal.workflow.path if ran.proposal.workflow is not None else None,
        "artifact": ran.artifact or None,
        "digest": ran.digest or None,
        "warnings": warnings_of(ran),
        "failures": [
            {"slug": each.slug, "message": each.message, "remedy": each.hint} for each in ran.errors
        ],
        "calls": ran.calls,
    }


def outcome_of(ran: Ran) -> Outcome:
    """What the run did, in one word. In a dry run, what would have been done waits."""
    if ran.errors:
        return Outcome.FAILED
    is_written = ran.is_pushed or ran.is_created or ran.is_promoted or (ran.checkout and ran.proposal.changes)
    words = [Outcome.UPDATED] if is_written else []
    if ran.published is not None and ran.published.action is not Action.UNCHANGED:
        words.append(Outcome(str(ran.published.action)))
    outcome = gravest(words)
    return Outcome.HELD if ran.is_dry and outcome is not Outcome.NONE else outcome


def bootstrap_outputs(ran: Ran, report: str) -> dict[str, str]:
    """The outputs of the action. ``report``: ``bootstrap_value`` as JSON."""
    done = ran.published
    is_open = done is not None and bool(done.number) and done.action is not Action.CLOSED
    listed = [_listed(ran, done)] if done is not None and done.number else []
    return {
        "outcome": str(outcome_of(ran)),
        "current-version": "",
        "target-version": only({each.options.install.version for each in ran.proposal.clusters}),
        "pending-version": "",
        "pull-request-number": str(done.number) if done is not None and is_open else "",
        "pull-request-url": done.url if done is not None and is_open else "",
        "pull-requests": json.dumps(listed),
        "artifact": ran.artifact,
        "digest": ran.digest,
        "report": report,
    }


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


def _cluster(cluster: Cluster) -> Iterator[str]:
    options = cluster.options
    yield f"{cluster.name or 'the root'} · Flux {options.install.version} · {options.url or options.path}"
    for change in cluster.changes:
        yield f"  {'new' if change.before is None else 'changed'}: {change.path}"
    yield from (f"  kept: {path}" for path in cluster.files.kept)
    yield from (f"  edit kept: {edit}" for edit in cluster.files.edits)
    if not cluster.changes and not cluster.commands:
        yield "  up to date"
    yield from (
        f"  --{each.flag}: {each.old or 'none'} → {each.new or 'none'}" for each in cluster.files.shown
    )


def _workflow(ran: Ran) -> Iterator[str]:
    if ran.proposal.workflow is not None:
        yield f"workflow: {ran.proposal.workflow.path}"


def _deeds(ran: Ran) -> Iterator[str]:
    would = "would be " if ran.is_dry else ""
    if ran.is_created:
        yield f"repository {ran.repository}: {would}created"
    if ran.artifact:
        yield f"artifact: {ran.artifact}{f'@{ran.digest}' if ran.digest else ''}"
    if ran.is_pushed:
        yield f"commit: {would}{ran.commit or 'pushed'}"
    if ran.published is not None:
        yield from _pull(ran, ran.published)
    yield from (f"Secret: {path} (for the cluster, and for nobody else)" for path in ran.secret_files)
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
    for cluster in ran.proposal.moving:
        things = left_to_do(cluster, ran.proposal.repository)
        if cluster.name in ran.ready or not things:
            continue
        yield ""
        if is_told:
            name = cluster.name or "the root"
            yield f"{name}: {counted(len(things), 'thing')} left to do, see the pull request"
            continue
        yield f"Left to do for {cluster.name or 'the root'}:"
        for number, thing in enumerate(things, 1):
            first, *rest = in_terminal(thing)
            yield f"{number}. {first}"
            yield from rest
        if cluster.is_new:
            yield from in_terminal(at_once(cluster))


def warnings_of(ran: Ran) -> list[str]:
    """What a person should know, each once."""
    own = ran.published.warnings if ran.published is not None else ()
    return list(dict.fromkeys((*ran.warnings, *own)))


def _pull_value(done: Published) -> dict[str, Any]:
    return {
        "action": str(done.action),
        "branch": done.proposal.branch,
        "number": done.number or None,
        "url": done.url or None,
        "reason": str(done.hold.reason) if done.hold is not None else None,
        "detail": done.hold.detail if done.hold is not None else None,
    }


def _cluster_value(ran: Ran, cluster: Cluster) -> dict[str, Any]:
    options, handover = cluster.options, cluster.handover
    is_ssh = options.oci is None and options.auth is Auth.SSH
    return {
        "name": cluster.name,
        "path": options.sync_path,
        "version": options.install.version,
        "source": str(options.source),
        "url": options.url if options.oci is None else options.oci.url,
        "branch": options.branch if options.oci is None else None,
        "files": [
            {"path": each.path, "action": "add" if each.before is None else "change"}
            for each in cluster.changes
        ],
        "kept": list(cluster.files.kept),
        "edits": list(cluster.files.edits),
        "differences": [each._asdict() for each in cluster.files.shown],
        "access": {
            "auth": str(options.auth) if options.oci is None else None,
            "secret": f"{options.namespace}/{options.secret_name}",
            "place": str(handover.place),
            "deploy-key": deploy_key_title(options) if is_ssh else None,
            "public-key": handover.public_key or None,
            "registered": handover.is_registered,
        },
        "left-to-do": left_to_do(cluster, ran.proposal.repository) if cluster.name not in ran.ready else [],
        "ready": ran.ready.get(cluster.name),
    }


def _listed(ran: Ran, done: Published) -> dict[str, Any]:
    operation = Outcome.NONE if done.action is Action.UNCHANGED else Outcome(str(done.action))
    return {
        "number": done.number,
        "url": done.url,
        "operation": str(operation),
        "target": ran.proposal.target,
    }
