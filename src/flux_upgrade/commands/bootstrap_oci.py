"""A bootstrap from a registry: the artifacts are pushed, and what has a cluster take them is written down."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import combinations

from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.artifacts.pull import ArtifactPorts
from flux_upgrade.bootstrap.access import AccessPlan, AccessPorts, carry_out, foresee
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.apply import BootstrapResult, write_all
from flux_upgrade.bootstrap.files import FileChange, FilesPlan
from flux_upgrade.bootstrap.kustomization import kustomization_of
from flux_upgrade.bootstrap.oci_plan import (
    OciOutcome,
    OciPlan,
    commands,
    handover,
    plan_oci,
    push_oci,
    with_shared_overlays,
)
from flux_upgrade.bootstrap.oci_sync import COMPONENTS, addresses_of, oci_options, source_secrets
from flux_upgrade.bootstrap.proposed import ProposedCluster, bootstrap_of, cluster_of, handover_of
from flux_upgrade.bootstrap.request import BootstrapCluster
from flux_upgrade.bootstrap.validation import check_version
from flux_upgrade.commands.bootstrap_cluster import ClusterStep
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller
from flux_upgrade.commands.read_bootstrap import given_of, place_of
from flux_upgrade.commands.wiring import (
    build_registry,
    build_releases,
    build_snapshot,
    build_timing,
    build_worktree,
    read_text,
)
from flux_upgrade.commands.wiring_bootstrap import BootstrapInventory
from flux_upgrade.model.errors import UsageError, known
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple


class _Ready(NamedTuple):
    asked: BootstrapCluster
    plan: OciPlan
    means: ArtifactPorts
    registry: ArtifactRegistry | None
    credentials: AccessPlan
    credential_means: AccessPorts
    cluster: ProposedCluster
    paths: Mapping[str, bytes]  # What a person applies, as `handover` gives it


def bootstrap_oci(inventory: BootstrapInventory, caller: BootstrapCaller) -> BootstrapResult:
    """One whole run. Raises as ``bootstrap_git``."""
    with ExitStack() as opened:
        is_in_cluster = bool(inventory.asked.kubernetes.kubeconfig)
        step = ClusterStep(inventory, opened, caller.progress) if is_in_cluster else None
        ready = [_planned(inventory, each, step, opened) for each in inventory.clusters]
        plans = with_shared_overlays([each.plan for each in ready])
        ready = [each._replace(plan=plan) for each, plan in zip(ready, plans, strict=True)]
        _require_agreement(ready)
        build_worktree(inventory.path, writes=False).require_room(
            change.path for each in ready for change in each.cluster.changes
        )
        if step is not None:
            step.check(ready[0].cluster, ready[0].paths)
        ran = BootstrapResult(
            bootstrap_of([each.cluster for each in ready], inventory.config.branch_prefix),
            is_dry=inventory.asked.dry_run,
            checkout=inventory.checkout.root,
        )
        pushed: dict[str, OciOutcome] = {}
        for each in ready:
            ran = _carried_out(inventory, each, ran, step, pushed)
            if ran.error is not None:
                break
        return ran


def _planned(
    inventory: BootstrapInventory, each: BootstrapCluster, step: ClusterStep | None, opened: ExitStack
) -> _Ready:
    options, found, first = each.options, addresses_of(each.options), oci_options(inventory.first)
    # The credentials that were given are for the registry that Flux's artifact is pushed to: never what
    # the cluster gets.
    registry = inventory.environment.registry._replace(
        host=found.flux.host, plain_http=first.allow_insecure_http, username=inventory.first.username
    )
    environment = inventory.environment._replace(registry=registry)
    writes = not inventory.asked.dry_run
    means = ArtifactPorts(
        build_registry(environment, found.flux, writes=writes),
        inventory.regenerator,
        opened.enter_context(Spool()),
        build_releases(environment, inventory.release_source).commit,
        datetime.fromtimestamp(build_timing(environment).now(), UTC),
    )
    own = None if found.cluster is None else build_registry(environment, found.cluster, writes=writes)
    folder, name = os.path.split(oci_options(options).kustomization)
    kustomization = kustomization_of(build_snapshot(folder or "."), name) if name or folder else None
    plan = plan_oci(options, kustomization, inventory.components, means, own)
    check_version(options, plan.manifest.version)
    place = place_of(inventory, each, None) or (step.place if step is not None else None)
    credential_means = AccessPorts(None, place, generate)
    reader = inventory.asked.credentials.secrets
    ca = read_text(options.ca_file, "check --ca-file") if options.ca_file else ""
    more = source_secrets(options, reader.cluster_username, reader.cluster_password, ca)
    given, paths = given_of(inventory, options)._replace(more=more), handover(plan)
    below = f"{each.name}/" if len(inventory.clusters) > 1 else ""
    files = FilesPlan(
        plan.manifest.version,
        # The files are for who applies them by hand.
        () if step is not None else tuple(_changes(inventory, below, paths)),
        shown=plan.manifest.shown,
        edits=plan.manifest.edits,
        manifest=plan.manifest,
    )
    cluster = cluster_of(each, each.name or str(found.flux), files, commands(plan))
    credentials = plan_access(options, given, credential_means)
    return _Ready(each, plan, means, own, credentials, credential_means, cluster, paths)


def _changes(inventory: BootstrapInventory, below: str, paths: Mapping[str, bytes]) -> Iterator[FileChange]:
    tree = build_snapshot(inventory.path)
    for path, content in sorted(paths.items()):
        name = below + path
        before = tree.read(name) if name in tree.named((name,)) else None
        if before != content:
            yield FileChange(name, before, content)


def _require_agreement(ready: Sequence[_Ready]) -> None:
    """One artifact holds one Flux. Raises UsageError."""
    for one, other in combinations(ready, 2):
        is_same = one.plan.addresses.flux == other.plan.addresses.flux
        if is_same and one.plan.files != other.plan.files:
            raise UsageError(
                f"clusters '{one.asked.name}' and '{other.asked.name}' need different files in one artifact",
                hint="use a separate url for each, or the same flags",
            )


def _carried_out(
    inventory: BootstrapInventory,
    ready: _Ready,
    ran: BootstrapResult,
    step: ClusterStep | None,
    pushed: dict[str, OciOutcome],
) -> BootstrapResult:
    """What was done before something fails is reported. ``pushed``: address → what came of it."""
    plan, address = ready.plan, str(ready.plan.addresses.flux)
    if address in pushed:
        # Another cluster takes the same artifact; its own may still have to be pushed.
        plan = plan._replace(flux=None)
    outcome = push_oci(plan, ready.means, ready.registry)
    flux = outcome.flux or (pushed[address].flux if address in pushed else None)
    pushed.setdefault(address, outcome)
    if flux is not None:
        artifact = f"{flux.address.repository}:{flux.tag}"
        ran = ran._replace(artifact=artifact, digest=flux.digest, is_promoted=not ran.is_dry)
    if outcome.failure is not None:
        return ran._replace(error=outcome.failure)
    try:
        done = (foresee if ran.is_dry else carry_out)(ready.credentials, ready.credential_means)
        if inventory.asked.credentials.secret_file and done.handed_over:
            ran = ran._replace(secret_files=(*ran.secret_files, done.where))
        cluster = ready.cluster._replace(handover=handover_of(done, in_cluster=step is not None))
        every = [cluster if each.name == cluster.name else each for each in ran.proposal.clusters]
        ran = ran._replace(proposal=ran.proposal._replace(clusters=tuple(every)))
        if step is None:
            write_all(ready.cluster.changes, build_worktree(inventory.path, writes=not ran.is_dry))
        elif not ran.is_dry:
            # As an OCIRepository has it.
            existing = plan.existing.pulled.stored.digest if plan.existing is not None else ""
            revision = f"{plan.addresses.flux.tag}@{flux.digest if flux is not None else existing}"
            step.bootstrap(ready.cluster, ready.paths, {COMPONENTS: revision})
            ran = ran._replace(ready={**ran.ready, ready.cluster.name: revision})
    except Exception as error:  # noqa: BLE001 what was done before is reported, whatever this one is
        return ran._replace(error=known(error))
    return ran
