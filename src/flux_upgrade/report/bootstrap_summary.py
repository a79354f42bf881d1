"""A bootstrap's job summary, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrapping import workflow_file
from flux_upgrade.bootstrapping.outcome import Ran
from flux_upgrade.bootstrapping.proposed import Cluster
from flux_upgrade.bootstrapping.todo import at_once, heading, left_to_do, with_new_secret
from flux_upgrade.markdown import code, counted, fold, numbered, plain, table
from flux_upgrade.report.bootstrap import what_was_done

_MOST_ROWS = 500
"""Of clusters; the report file has all of them."""
_MOST_TOLD = 40
"""Of clusters whose commands are shown."""


def bootstrap_summary(ran: Ran) -> str:
    """The whole summary: where it is, one row for each cluster, and what is left to do."""
    clusters = ran.proposal.clusters
    head = ("Cluster", "Flux", "Files", "What next")
    parts = [
        "## Flux bootstrap",
        *_deeds(ran),
        table(head, (_row(ran, each) for each in clusters[:_MOST_ROWS])),
    ]
    if len(clusters) > _MOST_ROWS:
        parts.append(f"… and {len(clusters) - _MOST_ROWS} more clusters: see the report.")
    parts += (*_left(ran), *_new_secrets(ran))
    if ran.proposal.workflow is not None and ran.published is None:
        parts.append(workflow_file.to_do())
    return "\n\n".join(parts) + "\n"


def _deeds(ran: Ran) -> Iterator[str]:
    would = "would be " if ran.is_dry else ""
    if ran.is_created:
        yield f"The repository {_link(ran.repository, ran.url)} {would or 'was '}created."
    if ran.is_pushed:
        yield f"Pushed as {code(ran.commit)}." if ran.commit else "The files would be pushed to the branch."
    if ran.artifact:
        yield f"Artifact: {code(ran.artifact, 400)}{f' ({code(ran.digest)})' if ran.digest else ''}"
    done, told = ran.published, what_was_done(ran)
    if done is not None and told:
        link = f"[#{done.number}]({done.url})" if done.number else _link(done.proposal.branch, done.url)
        yield f"Pull request {link}: {told}."
    if done is not None and done.hold is not None:
        yield f"> **{done.hold.reason}**: {plain(done.hold.detail)}. {plain(done.hold.hint)}."
    yield from (f"> **{each.slug}**: {plain(each.message)}" for each in ran.errors)


def _link(name: str, url: str) -> str:
    return f"[{plain(name)}]({url})" if url.startswith("https://") else plain(name)


def _row(ran: Ran, cluster: Cluster) -> tuple[str, str, str, str]:
    things = left_to_do(
        cluster, ran.proposal.repository, on_branch=ran.is_pushed, is_local=bool(ran.checkout)
    )
    revision = ran.ready.get(cluster.name)
    if revision is not None:
        next_ = f"ready at {code(revision)}"
    elif not cluster.changes and not cluster.commands:
        next_ = "up to date"
    else:
        next_ = f"{counted(len(things), 'thing')} to do" if things else "nothing to do"
    name = code(cluster.name) if cluster.name else "the root"
    return name, plain(cluster.options.install.version), str(len(cluster.changes)), next_


def _left(ran: Ran) -> Iterator[str]:
    for cluster in ran.proposal.moving[:_MOST_TOLD] if ran.is_under_way else ():
        things = left_to_do(
            cluster, ran.proposal.repository, on_branch=ran.is_pushed, is_local=bool(ran.checkout)
        )
        if cluster.name in ran.ready or not things:
            continue
        told = [
            numbered(things),
            *(
                [at_once(cluster, on_branch=ran.is_pushed, is_local=bool(ran.checkout))]
                if cluster.is_new
                else []
            ),
        ]
        yield fold(heading(cluster), "\n\n".join(told))


def _new_secrets(ran: Ran) -> Iterator[str]:
    for cluster in ran.proposal.clusters[:_MOST_TOLD]:
        if things := with_new_secret(cluster, ran.proposal.repository):
            yield fold(heading(cluster), numbered(things))
