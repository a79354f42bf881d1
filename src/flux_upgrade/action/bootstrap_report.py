"""What came of a bootstrap → JSON, and outputs of the Action."""

from __future__ import annotations

import json
from typing import Any

from flux_upgrade.action_yml import Outcome, gravest
from flux_upgrade.bootstrap.names import deploy_key_title
from flux_upgrade.bootstrap.options import Auth
from flux_upgrade.bootstrapping.outcome import Ran
from flux_upgrade.bootstrapping.proposed import Cluster
from flux_upgrade.bootstrapping.publishing import Published
from flux_upgrade.bootstrapping.todo import left_to_do
from flux_upgrade.report.bootstrap import warnings_of
from flux_upgrade.report.run import only
from flux_upgrade.results import Action


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
        "left-to-do": left_to_do(
            cluster, ran.proposal.repository, on_branch=ran.is_pushed, is_local=bool(ran.checkout)
        )
        if cluster.name not in ran.ready
        else [],
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
