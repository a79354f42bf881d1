"""The report of a bootstrap: JSON, outputs of the Action, job summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flux_upgrade.action.action_yml import Outcome, most_severe
from flux_upgrade.action.report import failure_values, only, outcome_of_action
from flux_upgrade.bootstrap import workflow_file
from flux_upgrade.bootstrap.apply import BootstrapResult
from flux_upgrade.bootstrap.options import Auth, deploy_key_title
from flux_upgrade.bootstrap.proposed import ProposedCluster
from flux_upgrade.bootstrap.report_text import warnings_of, what_was_done
from flux_upgrade.bootstrap.todo import at_once, heading, left_to_do, with_new_secret
from flux_upgrade.model.markdown import code, counted, fold, numbered, plain, prose, table
from flux_upgrade.model.text import capitalized
from flux_upgrade.planning.proposal import Action

_MOST_ROWS = 500  # Of clusters; the report file has all of them
_MOST_SECTIONS = 40


def bootstrap_value(ran: BootstrapResult) -> dict[str, Any]:
    """The whole run as JSON: see docs/reference/bootstrap.schema.json."""
    done = ran.published
    return {
        "outcome": str(outcome_of(ran)),
        "dry-run": ran.is_dry,
        "repository": ran.repository or None,
        "repository-created": ran.is_created,
        "commit": ran.commit or None,
        "pull-request": {
            "action": str(done.action),
            "branch": done.proposal.branch,
            "number": done.number or None,
            "url": done.url or None,
            "reason": str(done.hold.reason) if done.hold is not None else None,
            "detail": done.hold.detail if done.hold is not None else None,
        }
        if done is not None
        else None,
        "clusters": [_cluster_value(ran, cluster) for cluster in ran.proposal.clusters],
        "workflow": ran.proposal.workflow.path if ran.proposal.workflow is not None else None,
        "artifact": ran.artifact or None,
        "digest": ran.digest or None,
        "warnings": warnings_of(ran),
        "failures": failure_values((each.slug, each.message, each.hint) for each in ran.errors),
        "calls": ran.calls,
    }


def outcome_of(ran: BootstrapResult) -> Outcome:
    """What the run did, in one word. In a dry run, what would have been done waits."""
    if ran.errors:
        return Outcome.FAILED
    is_written = ran.is_pushed or ran.is_created or ran.is_promoted or (ran.checkout and ran.proposal.changes)
    words = [Outcome.UPDATED] if is_written else []
    if ran.published is not None:
        words.append(outcome_of_action(ran.published.action))
    outcome = most_severe(words)
    return Outcome.HELD if ran.is_dry and outcome is not Outcome.NONE else outcome


def bootstrap_outputs(ran: BootstrapResult) -> dict[str, str]:
    done, listed, number, url = ran.published, [], "", ""
    if done is not None and done.number:
        operation = str(outcome_of_action(done.action))
        listed = [{"number": done.number, "url": done.url, "operation": operation, "target": ran.proposal.target}]
        if done.action is not Action.CLOSED:
            number, url = str(done.number), done.url
    return {
        "outcome": str(outcome_of(ran)),
        "current-version": "",
        "target-version": only({each.options.install.version for each in ran.proposal.clusters}),
        "pending-version": "",
        "pull-request-number": number,
        "pull-request-url": url,
        "pull-requests": json.dumps(listed),
        "artifact": ran.artifact,
        "digest": ran.digest,
    }


def _cluster_value(ran: BootstrapResult, cluster: ProposedCluster) -> dict[str, Any]:
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
            {"path": each.path, "action": "add" if each.before is None else "change"} for each in cluster.changes
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
        "left-to-do": _todo(ran, cluster) if cluster.name not in ran.ready else [],
        "ready": ran.ready.get(cluster.name),
    }


def bootstrap_summary(ran: BootstrapResult) -> str:
    clusters = ran.proposal.clusters
    head = ("Cluster", "Flux", "Files", "State")
    parts = ["## Flux bootstrap", *_deeds(ran), table(head, (_row(ran, each) for each in clusters[:_MOST_ROWS]))]
    if len(clusters) > _MOST_ROWS:
        parts.append(f"… and {len(clusters) - _MOST_ROWS} more clusters: see the report.")
    parts += _sections(ran)
    if ran.proposal.workflow is not None and ran.published is None:
        parts.append(workflow_file.to_do())
    return "\n\n".join(parts) + "\n"


def _deeds(ran: BootstrapResult) -> Iterator[str]:
    would = "would be " if ran.is_dry else ""
    if ran.is_created:
        yield f"The repository {_link(ran.repository, ran.url)} {would or 'was '}created."
    if ran.is_pushed:
        yield f"Pushed as {code(ran.commit)}." if ran.commit else "The files would be pushed to the branch."
    if ran.artifact:
        yield f"Artifact: {code(ran.artifact, 400)}{f' ({code(ran.digest)})' if ran.digest else ''}"
    done, deed = ran.published, what_was_done(ran)
    if done is not None and deed:
        link = f"[#{done.number}]({done.url})" if done.number else _link(done.proposal.branch, done.url)
        yield f"Pull request {link}: {deed}."
    if done is not None and done.hold is not None:
        yield f"> **{done.hold.reason}**: {prose(done.hold.detail)}. {prose(capitalized(done.hold.hint))}."
    yield from (f"> **{each.slug}**: {prose(each.message)}" for each in ran.errors)


def _link(name: str, url: str) -> str:
    return f"[{plain(name)}]({url})" if url.startswith("https://") else plain(name)


def _row(ran: BootstrapResult, cluster: ProposedCluster) -> tuple[str, str, str, str]:
    todo = _todo(ran, cluster)
    revision = ran.ready.get(cluster.name)
    if revision is not None:
        next_ = f"ready at {code(revision)}"
    elif not cluster.changes and not cluster.commands:
        next_ = "up to date"
    else:
        next_ = f"{counted(len(todo), 'action')} required" if todo else "nothing to do"
    name = code(cluster.name) if cluster.name else "the root"
    return name, plain(cluster.options.install.version), str(len(cluster.changes)), next_


def _sections(ran: BootstrapResult) -> Iterator[str]:
    for cluster in ran.proposal.moving[:_MOST_SECTIONS] if ran.is_under_way else ():
        todo = _todo(ran, cluster)
        if cluster.name not in ran.ready and todo:
            paragraphs = [numbered(todo)]
            if cluster.is_new:
                paragraphs.append(at_once(cluster, on_branch=ran.is_pushed, is_local=bool(ran.checkout)))
            yield fold(heading(cluster), "\n\n".join(paragraphs))
    for cluster in ran.proposal.clusters[:_MOST_SECTIONS]:
        if todo := with_new_secret(cluster, ran.proposal.repository):
            yield fold(heading(cluster), numbered(todo))


def _todo(ran: BootstrapResult, cluster: ProposedCluster) -> list[str]:
    repository, is_local = ran.proposal.repository, bool(ran.checkout)
    return left_to_do(cluster, repository, on_branch=ran.is_pushed, is_local=is_local)
