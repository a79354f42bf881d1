"""Title, commit and status of a bootstrap's pull request, and what the next run has to know of it."""

from __future__ import annotations

import textwrap

from flux_upgrade.bootstrap.proposed import SUBJECT, Bootstrap
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Status
from flux_upgrade.model.markdown import counted, inert, shortened, visible
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.planning.proposal import ProposalContext
from flux_upgrade.pullrequests import text

_TITLE = 250
"""GitHub takes 256 characters."""
_SUBJECT = 72
"""Characters that Git's own tools show of a subject line."""
_DESCRIPTION = 140
"""What GitHub takes of a status."""
_NAMES = 1000


def title(proposal: Bootstrap, context: ProposalContext) -> str:
    """The pull request's title."""
    return shortened(_headline(proposal, context, where=True), _TITLE)


def commit_message(proposal: Bootstrap, context: ProposalContext) -> str:
    """Subject, the user's own appendix, and trailers, which ``markers.sealed`` completes with the digest."""
    whole = _headline(proposal, context, where=True)
    subject = whole
    if len(whole) > _SUBJECT:
        subject = shortened(_headline(proposal, context, where=False), _SUBJECT)
    names = ", ".join(cluster.name for cluster in proposal.changed if cluster.name)
    where = f"In {inert(shortened(names, _NAMES))}." if subject != whole and names else ""
    values = (proposal.slug, SUBJECT, proposal.target, plan_digest(proposal))
    trailers = zip(("Group", "Subject", "Target", "Plan"), values, strict=True)
    parts = (
        subject,
        textwrap.fill(where, _SUBJECT),
        _appendix(proposal),
        "".join(f"Flux-Upgrade-{name}: {visible(value)}\n" for name, value in trailers),
    )
    return "\n\n".join(filter(None, parts))


def direct_message(proposal: Bootstrap) -> str:
    """Of a commit that goes straight to the branch: no next run has to know it again."""
    verb = "Add" if any(cluster.is_new for cluster in proposal.changed) or not proposal.changed else "Change"
    what = f"Flux {proposal.target} manifests" if proposal.changed else "the workflow that upgrades Flux"
    return "\n\n".join(filter(None, (f"{verb} {what}", _appendix(proposal))))


def plan_digest(proposal: Bootstrap) -> str:
    """Changes whenever a file that is replaced, or what is written in its place, does."""
    return text.changes_digest((each.path, each.before, each.after) for each in proposal.changes)


def status(proposal: Bootstrap, context: ProposalContext) -> Status:
    """What branch protection may require of all our pull requests."""
    description = f"The files of flux bootstrap, from the manifests of {visible(proposal.target)}"
    return Status(markers.PROOF, "success", shortened(description, _DESCRIPTION), context.run_url)


def state(proposal: Bootstrap, context: ProposalContext) -> MarkerState:
    """What the next run has to know."""
    return MarkerState(
        group=proposal.slug,
        subject=SUBJECT,
        target=proposal.target,
        title=markers.digest_of(title(proposal, context)),
    )


def _headline(proposal: Bootstrap, context: ProposalContext, *, where: bool) -> str:
    if not proposal.changed:
        headline = "Add a workflow that upgrades Flux"
    elif any(cluster.is_new for cluster in proposal.changed):
        headline = f"Bootstrap Flux {proposal.target}"
    else:
        headline = "Change the bootstrap of Flux"
    if where and len(proposal.changed) == 1 and proposal.changed[0].name:
        headline += f" in {proposal.changed[0].name}"
    elif where and len(proposal.changed) > 1:
        headline += f" in {counted(len(proposal.changed), 'cluster')}"
    if context.conventional:
        headline = f"{context.conventional}: {headline[0].lower()}{headline[1:].replace('Flux', 'flux', 1)}"
    return inert(headline)


def _appendix(proposal: Bootstrap) -> str:
    appendices = (cluster.options.commit_message_appendix.strip() for cluster in proposal.clusters)
    return "\n\n".join(dict.fromkeys(filter(None, appendices)))
