"""A bootstrap ends with a Flux that is ready, by its real controllers, and leaves what `flux bootstrap` leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.registries import run_registry
from bootstrap.cli_runs import clone_with
from git_servers import READ, WRITE, Bare, SshHost, git
from real_flux.conftest import Start
from real_flux.control_plane import ControlPlane
from real_flux.fleet import CLUSTER, Fleet, running
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

_NAMESPACED = "namespaces/flux-system"
_KINDS = (
    "api/v1/namespaces",
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    *(f"api/v1/{_NAMESPACED}/{each}" for each in ("secrets", "services", "serviceaccounts", "resourcequotas")),
    f"apis/apps/v1/{_NAMESPACED}/deployments",
    f"apis/networking.k8s.io/v1/{_NAMESPACED}/networkpolicies",
    f"apis/source.toolkit.fluxcd.io/v1/{_NAMESPACED}/gitrepositories",
    f"apis/kustomize.toolkit.fluxcd.io/v1/{_NAMESPACED}/kustomizations",
)


def test_over_http_and_again(fleet: Fleet) -> None:
    fleet.bootstrap("v2.9.4")
    assert not fleet.reconcile()
    generation = fleet.status["observedGeneration"]
    fleet.bootstrap("v2.9.4")
    assert not fleet.reconcile()
    assert fleet.status["observedGeneration"] == generation


def test_over_ssh(fleet: Fleet, tmp_path: Path) -> None:
    bare = Bare.make(tmp_path / "fleet.git")
    git("push", "--quiet", bare.folder, "main", at=clone_with(tmp_path / "bob"))
    keys = tmp_path / "ssh"
    with SshHost(keys) as host:
        done = fleet.laptop.bootstrap(
            *("--provider=git", f"--url={host.url(bare.folder)}", f"--path={CLUSTER}", "--push", "--version=v2.9.4"),
            *(f"--private-key-file={keys / 'reader'}", f"--known-hosts={keys / 'known_hosts'}"),
            *(f"--kubeconfig={fleet.plane.server.kubeconfig}", "--timeout=2m"),
            env={"GIT_SSH_COMMAND": host.command("writer")},
        )
        assert "Kustomization flux-system/flux-system is ready" in done.well().err
    assert fleet.status["lastAppliedRevision"] == f"main@sha1:{git('rev-parse', 'main', at=bare.folder)}"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "registry").mkdir()
    yield from run_registry(tmp_path / "registry", in_memory=True)


def test_from_artifacts(fleet: Fleet, registry: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    where = f"oci://{registry.partition('://')[2]}/org"
    done = fleet.laptop.bootstrap(
        *(
            tmp_path / "files",
            "--source=oci",
            f"--url={where}/flux:production",
            f"--cluster-url={where}/fleet:production",
        ),
        *("--allow-insecure-http", "--version=v2.9.4", "--timeout=2m", "--oci-provider=generic"),
        f"--kubeconfig={fleet.plane.server.kubeconfig}",
        env={"FLUX_UPGRADE_CLUSTER_USERNAME": "flux", "FLUX_UPGRADE_CLUSTER_PASSWORD": READ},
    )
    assert "is ready" in done.well().err
    found = fleet.plane.get(f"apis/kustomize.toolkit.fluxcd.io/v1/{_NAMESPACED}/kustomizations")["items"]
    assert found
    for each in found:
        assert each["status"]["lastAppliedRevision"].startswith("production@sha256:")


class Seen(NamedTuple):
    managers: frozenset[tuple[str, str, str]]  # Manager, operation, subresource
    labels: dict[str, str]
    keys: tuple[str, ...]  # Of a Secret
    type: str


def seen(plane: ControlPlane) -> dict[str, Seen]:
    """All that a bootstrap leaves, by kind and name."""
    found = {}
    for path in _KINDS:
        for each in plane.get(path)["items"]:
            metadata = each["metadata"]
            if "flux-system" not in (metadata["name"], metadata.get("namespace")) and "toolkit" not in metadata["name"]:
                continue
            entries = metadata.get("managedFields", [])
            managers = frozenset((it["manager"], it["operation"], it.get("subresource", "")) for it in entries)
            keys = tuple(sorted(each.get("data", ())))
            found[f"{path.rpartition('/')[2]}/{metadata['name']}"] = Seen(
                managers, metadata.get("labels", {}), keys, each.get("type", "")
            )
    return found


def test_side_by_side_with_the_flux_cli(start: Start, tmp_path: Path) -> None:
    """Once Flux has reconciled itself. `flux` as a manager stays for good, see ``MANAGER`` in bootstrap/cluster."""
    both = []
    for name in ("ours", "theirs"):
        with running(start(), tmp_path / name, require_shared("conformance", "releases")) as fleet:
            if name == "ours":
                fleet.bootstrap("v2.9.4")
            else:
                where = (f"--url={fleet.host.url}/octo/fleet.git", "--branch=main", f"--path={CLUSTER}")
                login = ("--username=git", f"--password={WRITE}", "--token-auth", "--allow-insecure-http")
                fleet.plane.flux("bootstrap", "git", *where, *login, "--silent")
            assert not fleet.reconcile()
            both.append(seen(fleet.plane))
    ours, theirs = both
    assert ours.keys() == theirs.keys()
    assert len(ours) > 20
    for name, own in ours.items():
        their = theirs[name]
        assert own[1:] == their[1:], name
        if name == "secrets/flux-system":
            assert own.managers == {("kubectl", "Apply", "")}
            assert their.managers == {("flux", "Update", "")}
        else:
            assert their.managers - own.managers <= {("flux", "Apply", "")}, name
            assert own.managers <= their.managers, name
