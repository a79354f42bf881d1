"""The text of a bootstrap's pull request: title, commit, body, and what the next run has to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.bootstrap import todo, workflow_file
from flux_upgrade.bootstrap.components import FlagChange
from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions
from flux_upgrade.bootstrap.proposed import SUBJECT, Bootstrap, ProposedCluster
from flux_upgrade.manifests.options import spell
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Status
from flux_upgrade.model.markdown import bullets, code, counted, fold, inert, numbered, plain, shortened, table, visible
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.text import capped
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.proposal import ProposalContext
from flux_upgrade.pullrequests.text import commit
from flux_upgrade.pullrequests.text.boxes import REBASE_BOX, held_checks

_PATH = 200
_NAMES = 1000
_SPARE = 32  # One part in so many of the limit is left to people, and to the line that says why it was closed
_LISTS = (40, 12, 4, 1)  # Lengths of lists, one after the other, until the text fits
_LIST_ALL = "To list them, run `flux-upgrade bootstrap --dry-run`."
_ACCESS = {Auth.SSH: "an SSH key", Auth.TOKEN: "a token", Auth.APP: "a GitHub App"}


def title(proposal: Bootstrap, context: ProposalContext) -> str:
    return shortened(_headline(proposal, context, where=True), commit.TITLE)


def commit_message(proposal: Bootstrap, context: ProposalContext) -> str:
    """Subject, the user's own appendix, and trailers, which ``markers.sealed`` completes with the digest."""
    headlines = (_headline(proposal, context, where=where) for where in (True, False))
    names = ", ".join(cluster.name for cluster in proposal.changed if cluster.name)
    where = f"In {inert(shortened(names, _NAMES))}." if names else ""
    trailers = (proposal.slug, SUBJECT, proposal.target, plan_digest(proposal))
    return commit.message(headlines, where, filter(None, (_appendix(proposal),)), trailers)


def direct_message(proposal: Bootstrap) -> str:
    """Of a commit that goes straight to the branch: no next run has to know it again."""
    verb = "Add" if any(cluster.is_new for cluster in proposal.changed) or not proposal.changed else "Change"
    what = f"Flux {proposal.target} manifests" if proposal.changed else "the workflow that upgrades Flux"
    return "\n\n".join(filter(None, (f"{verb} {what}", _appendix(proposal))))


def plan_digest(proposal: Bootstrap) -> str:
    """Changes whenever a file that is replaced, or what is written in its place, does."""
    return commit.changes_digest((each.path, each.before, each.after) for each in proposal.changes)


def status(proposal: Bootstrap, context: ProposalContext) -> Status:
    """What branch protection may require of all our pull requests."""
    description = f"Files of flux bootstrap, with the manifests of {visible(proposal.target)}"
    return Status(markers.PROOF, "success", shortened(description, commit.DESCRIPTION), context.run_url)


def state(proposal: Bootstrap, context: ProposalContext) -> MarkerState:
    return MarkerState(
        group=proposal.slug,
        subject=SUBJECT,
        target=Version(proposal.target),
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
    return commit.as_in_history(headline, context)


def _appendix(proposal: Bootstrap) -> str:
    appendices = (cluster.options.commit_message_appendix.strip() for cluster in proposal.clusters)
    return "\n\n".join(dict.fromkeys(filter(None, appendices)))


def body(proposal: Bootstrap, context: ProposalContext, state: MarkerState) -> str:
    """Our block of the body; with its markers it is no longer than ``context.limit`` allows."""
    room = context.limit - context.limit // _SPARE - len(markers.block("", state))
    for most in _LISTS:
        text = "\n\n".join(_parts(proposal, context, most))
        if len(text) <= room:
            return markers.block(text, state)
    # Only where flags or paths are longer than all that may be written.
    first = _first(proposal, _tasks(proposal))
    return markers.block(f"{first}\n\nThis pull request is too large to list its required actions. {_LIST_ALL}", state)


def _parts(proposal: Bootstrap, context: ProposalContext, most: int) -> Iterator[str]:
    tasks = _tasks(proposal)
    yield _first(proposal, tasks)
    yield from _left(proposal, tasks, most)
    yield from context.remarks
    changed = proposal.changed
    yield from _differences(changed, most)
    if len(changed) == 1:
        yield f"**Settings**\n{bullets(_facts(changed[0].options))}"
    elif changed:
        yield _table(changed, most)
    yield _files(proposal, most)
    yield _end(proposal)
    yield REBASE_BOX
    yield from held_checks(context)


def _tasks(proposal: Bootstrap) -> list[str]:
    """What to do for the repository and for its only cluster. Several clusters have lists of their own."""
    tasks = [workflow_file.to_do()] if proposal.workflow is not None else []
    if len(proposal.changed) == 1:
        tasks += todo.left_to_do(proposal.changed[0], proposal.repository)
    return tasks


def _first(proposal: Bootstrap, tasks: Sequence[str]) -> str:
    changed = proposal.changed
    names = [code(changed[0].name, _PATH)] if len(changed) == 1 and changed[0].name else []
    names += [counted(len(changed), "cluster")] if len(changed) > 1 else []
    versions = dict.fromkeys(plain(cluster.options.install.version) for cluster in changed)
    what = "Upgrade workflow" if not changed else "Bootstrap" if any(c.is_new for c in changed) else "Change"
    flux = [f"Flux {', '.join(versions)}"] if changed else []
    needs = f"**{counted(len(tasks), 'action')} required**" if tasks else "no action required"
    if len(changed) > 1:
        needs = "**actions required in each cluster**"
    return " · ".join([f"**{what}**", *names, *flux, counted(len(proposal.changes), "file"), needs])


def _facts(options: BootstrapOptions) -> Iterator[str]:
    components = ", ".join(code(name) for name in options.install.components)
    yield f"**Flux:** {plain(options.install.version)} with {components}"
    yield f"**Source:** {_source(options)}"
    yield f"**Path:** {code(options.sync_path, _PATH)}"
    yield f"**Access:** {_access(options)}, in the Secret {code(f'{options.namespace}/{options.secret_name}')}"
    flags = [
        code(f"--{name}={spell(value)}", _PATH)
        for name, value in options.install.changed().items()
        if name not in ("components", "namespace")
    ]
    if flags:
        yield f"**Install flags:** {', '.join(flags)}"


def _source(options: BootstrapOptions) -> str:
    if options.oci is not None:
        return f"{code(options.oci.url, _PATH)}, checked every {code(options.interval)}"
    branch = code(options.branch, _PATH)
    return f"{code(options.url, _PATH)}, branch {branch}, checked every {code(options.interval)}"


def _access(options: BootstrapOptions) -> str:
    return "credentials of the registry" if options.oci is not None else _ACCESS[options.auth]


def _table(clusters: Sequence[ProposedCluster], most: int) -> str:
    head = ("Cluster", "Flux", "Source", "Path", "Access")
    rows = [
        (
            code(cluster.name),
            plain(cluster.options.install.version),
            _source(cluster.options),
            code(cluster.options.sync_path, _PATH),
            _access(cluster.options),
        )
        for cluster in clusters[:most]
    ]
    rest = f"\n\n… and {len(clusters) - most} more" if len(clusters) > most else ""
    return table(head, rows) + rest


def _differences(clusters: Sequence[ProposedCluster], most: int) -> Iterator[str]:
    lines = [f"{_of(clusters, each)}{_shown(flag)}" for each in clusters for flag in each.files.shown]
    if lines:
        yield f"**Changes**\n{bullets(capped(lines, most))}"
    edits = [f"{_of(clusters, each)}{code(edit, _PATH)}" for each in clusters for edit in each.files.edits]
    if edits:
        yield f"**Your manual edits (kept)**\n{bullets(capped(edits, most))}"


def _of(clusters: Sequence[ProposedCluster], cluster: ProposedCluster) -> str:
    return f"{code(cluster.name)}: " if len(clusters) > 1 else ""


def _shown(change: FlagChange) -> str:
    name = code(f"--{change.flag}") if change.flag in FLAGS else plain(change.flag)
    old, new = (code(text, _PATH) if text else "none" for text in (change.old, change.new))
    return f"{name}: {old} → {new}"


def _files(proposal: Bootstrap, most: int) -> str:
    lines = [f"{code(each.path, _PATH)}, {'new' if each.before is None else 'changed'}" for each in proposal.changes]
    kept = [code(path, _PATH) for cluster in proposal.changed for path in cluster.files.kept]
    lines += [f"{path}, unchanged" for path in kept]
    listed = bullets(capped(lines, most))
    return f"**Files**\n{listed}" if len(proposal.changed) <= 1 else fold("<b>Files</b>", listed)


def _left(proposal: Bootstrap, tasks: Sequence[str], most: int) -> Iterator[str]:
    changed = proposal.changed
    if tasks:
        yield f"**Action required**\n{numbered(tasks)}"
    if len(changed) == 1:
        if changed[0].is_new:
            yield todo.at_once(changed[0])
        return
    for cluster in changed[:most]:
        parts = [numbered(todo.left_to_do(cluster, proposal.repository))]
        parts += [todo.at_once(cluster)] if cluster.is_new else []
        yield fold(todo.heading(cluster), "\n\n".join(parts))
    if len(changed) > most:
        yield (
            f"{counted(len(changed) - most, 'more cluster')} need{'s' if len(changed) - most == 1 else ''} the same "
            f"actions. {_LIST_ALL}"
        )


def _end(proposal: Bootstrap) -> str:
    back = "revert this pull request"
    if any(cluster.is_new for cluster in proposal.changed):
        back += ". If Flux is already in the cluster, run `flux uninstall` there first"
    # Not "-": below a list, that would be more of the same list.
    return (
        f"* **Roll back:** {back}.\n"
        "* **Decline:** close this pull request. It is opened again only if you run the bootstrap yourself."
    )
