"""``flux-upgrade bootstrap --kubeconfig`` ends with Flux ready at the pushed commit, also after it was killed at any step."""

from __future__ import annotations

import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import written_release
from cluster_stand_in.controllers import Controllers
from cluster_stand_in.sources import GitSources

from bootstrap.cli_runs import COMPONENTS, FILES, SYNC, Done, Laptop, clone_with
from bootstrap.watched_runs import killing_at, writes
from cluster import api_servers
from cluster.api_servers import Server
from cluster.driving import TIMING, Driven
from error_names import require_error
from flux_upgrade.model.errors import AlreadyBootstrapped, ClusterUnavailable, ClusterUnfit, NotReady, UsageError
from git_servers import PERSON, READ, WRITE, Bare, HttpHost, git
from real_parts import require_program

PATH = "--path=clusters/staging"
BRANCH = "flux-upgrade/clusters.staging/bootstrap"
OBJECTS = "apis/{}/v1/namespaces/flux-system/{}/flux-system"
SECRET = "api/v1/namespaces/flux-system/secrets/flux-system"
LISTING = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- gotk-components.yaml\n- gotk-sync.yaml\n"


@dataclass
class Site:
    """A repository behind a server, a cluster that follows it, and somebody with access to both."""

    laptop: Laptop
    host: HttpHost
    bare: Bare
    driven: Driven
    folder: Path

    @property
    def flags(self) -> list[str]:
        place = [f"--hostname={self.host.url}", "--repository=octo/fleet", PATH, "--token-auth"]
        return ["--provider=gitea", *place, f"--kubeconfig={self.driven.server.kubeconfig}"]

    def run(self, *argv: str) -> Done:
        return self.laptop.bootstrap(self.folder, *self.flags, *argv)

    def process(self, *argv: str) -> subprocess.Popen[str]:
        return self.laptop.process(self.folder, *self.flags, *argv)

    @property
    def revision(self) -> str:
        return f"main@sha1:{git('rev-parse', 'main', at=self.bare.folder)}"

    def is_ready(self) -> bool:
        """Source and Kustomization have come to what is on the branch."""
        kustomization = self.driven.object(OBJECTS.format("kustomize.toolkit.fluxcd.io", "kustomizations"))
        status = (kustomization or {}).get("status", {})
        return bool(status.get("lastAppliedRevision") == self.revision)

    def writes(self) -> list[str]:
        assert self.driven.server.stand_in is not None
        return writes(self.driven.server.stand_in)

    def generations(self) -> set[int | None]:
        """Of everything in the cluster: how often its content was changed."""
        return {generation for generation, _, _ in self.driven.everything().values()}


@contextmanager
def site_on(server: Server, source: Path, folder: Path) -> Iterator[Site]:
    (folder / "served").mkdir()
    (folder / "here").mkdir()
    env = {"GITEA_TOKEN": WRITE, "FLUX_UPGRADE_SYNC_TOKEN": READ}
    with HttpHost(folder / "served") as host:
        bare = Bare.make(host.root / "octo" / "fleet.git")
        git("push", "--quiet", bare.folder, "main", at=clone_with(folder / "ann"))
        driven = Driven(server)
        # Flux reads with what the Secret holds, and nothing else.
        driven.controllers = Controllers(server.api, GitSources(PERSON, {}).look)
        with driven.running():
            yield Site(Laptop(source, env, TIMING), host, bare, driven, folder / "here")


@pytest.fixture
def site(written_source: Path, tmp_path: Path) -> Iterator[Site]:
    with api_servers.stand_in(tmp_path) as server, site_on(server, written_source, tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with api_servers.real(tmp_path_factory.mktemp("control-plane")) as server:
        yield server


def converged(site: Site, times: int = 1) -> None:
    """One commit of ours, every object once, and Flux ready at that very commit."""
    assert site.is_ready()
    assert git("rev-list", "--count", "main", at=site.bare.folder) == str(1 + times)
    listed = git("ls-tree", "-r", "--name-only", "main", at=site.bare.folder).splitlines()
    assert sorted(listed) == ["README.md", *FILES]
    # A real API server counts none for what has no spec.
    assert site.generations() <= {1, None}


def test_all_the_way(site: Site) -> None:
    done = site.run("--json").well()
    converged(site)
    assert done.cluster["ready"] == site.revision
    assert done.cluster["left-to-do"] == []
    assert done.cluster["access"]["place"] == "cluster"
    assert done.value["commit"] == site.revision.rpartition(":")[2]
    secret = site.driven.object(SECRET)
    assert secret is not None
    assert b64decode(secret["data"]["password"]).decode() == READ
    assert "Kustomization flux-system/flux-system is ready" in done.err
    assert not [each for each in (READ, WRITE) if each in done.out + done.err]
    assert site.writes()
    assert not list(site.folder.iterdir())


def served_in_earnest(folder: Path) -> Path:
    """A release whose kinds take all that Flux's own take, and have a status."""
    contents = written_release.files("v2.9.4")
    for old, new in (
        (
            "            type: object\n        type: object\n",
            "            type: object\n            x-kubernetes-preserve-unknown-fields: true\n          status:\n            type: object\n            x-kubernetes-preserve-unknown-fields: true\n        type: object\n",
        ),
        ("    storage: true\n", "    storage: true\n    subresources:\n      status: {}\n"),
    ):
        contents = {name: text.replace(old, new) for name, text in contents.items()}
    source = written_release.write_source(folder, ())
    written_release.write_release(source, "v2.9.4", contents)
    return source


@pytest.mark.cluster
def test_all_the_way_on_a_real_api_server(real_server: Server, tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    with site_on(real_server, served_in_earnest(tmp_path / "releases"), tmp_path) as site:
        done = site.run("--version=v2.9.4", "--json").well()
        converged(site)
        assert done.cluster["ready"] == site.revision
        again = site.run("--json").well()
        assert again.cluster["ready"] == site.revision
        converged(site)
        site.driven.empty()


def test_again_nothing_is_done_twice(site: Site) -> None:
    site.run().well()
    before, pushed = site.driven.everything(), site.bare.pushes()
    again = site.run("--json").well()
    assert again.value["outcome"] == "none"
    assert again.cluster["ready"] == site.revision
    assert site.driven.everything() == before
    assert site.bare.pushes() == pushed
    converged(site)


def test_other_flags_are_left_to_flux(site: Site) -> None:
    """The branch gets them; what is in the cluster, Flux reconciles itself by then."""
    site.run().well()
    done = site.run("--interval=3m", "--log-level=debug", "--json").well()
    assert {each["flag"] for each in done.cluster["differences"]} == {"interval", "log-level"}
    assert done.cluster["ready"] == site.revision
    assert site.is_ready()
    assert "--log-level=debug" in site.bare.content(f"main:{COMPONENTS}")


@pytest.mark.parametrize("flags", [(), ("--pull-request",)], ids=["push", "pull-request"])
def test_a_cluster_that_is_too_old(site: Site, flags: tuple[str, ...]) -> None:
    """Said before the first write, wherever that would be."""
    assert site.driven.server.stand_in is not None
    site.driven.server.stand_in.version = "v1.24.0"
    before = site.bare.refs()
    site.run(*flags).refused(ClusterUnfit, "1.24", "--version")
    assert site.bare.refs() == before
    assert site.writes() == []


def test_a_path_that_is_synced_from_elsewhere(site: Site) -> None:
    site.run().well()
    before, written = site.bare.refs(), len(site.writes())
    site.run("--path=clusters/other").refused(AlreadyBootstrapped, "clusters/staging")
    assert site.bare.refs() == before and len(site.writes()) == written


def test_one_of_several_clusters(site: Site) -> None:
    (site.folder / ".github").mkdir()
    (site.folder / ".github" / "flux-upgrade.yaml").write_text(
        f"bootstrap:\n  provider: gitea\n  flags: {{hostname: '{site.host.url}', repository: octo/fleet, token-auth: true}}\n"
        "  clusters:\n    staging: {path: clusters/staging}\n    production: {path: clusters/production}\n"
    )
    kubeconfig = f"--kubeconfig={site.driven.server.kubeconfig}"
    words = ("--cluster=staging", f"--hostname={site.host.url}", kubeconfig, "--json")
    done = site.laptop.bootstrap(site.folder, *words).well()
    assert (done.cluster["name"], done.cluster["ready"]) == ("staging", site.revision)
    converged(site)


def test_a_dry_run(site: Site) -> None:
    before = site.bare.refs()
    done = site.run("--dry-run", "--json").well()
    assert done.value["outcome"] == "held"
    assert done.cluster["ready"] is None
    assert (site.bare.refs(), site.writes()) == (before, [])


def test_a_pull_request_first_and_the_cluster_once_it_is_merged(site: Site) -> None:
    site.bare.take_agit()
    first = site.run("--pull-request", "--json").well()
    assert first.value["pull-request"]["action"] == "opened"
    assert any("after merging the pull request" in each for each in first.value["warnings"])
    assert first.cluster["ready"] is None
    assert site.writes() == []
    waiting = site.run("--pull-request", "--json").well()
    assert waiting.value["pull-request"]["action"] == "unchanged"
    assert site.writes() == []
    head = next(oid for ref, oid in site.bare.refs().items() if ref.startswith("refs/pull"))
    git("update-ref", "refs/heads/main", head, at=site.bare.folder)
    merged = site.run("--pull-request", "--json").well()
    assert merged.cluster["ready"] == site.revision
    converged(site)


def test_what_is_not_ready_is_reported_with_its_reasons(site: Site) -> None:
    site.driven.controllers.broken["source-controller"] = "Back-off pulling image"
    done = site.run("--timeout=1s").refused(NotReady, "source-controller")
    assert "ImagePullBackOff" in done.err and "Back-off pulling image" in done.err
    assert not site.is_ready()
    site.driven.controllers.broken.clear()
    site.run().well()
    converged(site)


def test_a_token_that_flux_cannot_read_with(site: Site) -> None:
    site.laptop.env = {**site.laptop.env, "FLUX_UPGRADE_SYNC_TOKEN": "expired-token-99"}
    done = site.run("--timeout=1s")
    require_error(NotReady, done.code, done.err)
    assert "GitRepository flux-system/flux-system" in done.err
    assert "failed to checkout and determine revision" in done.err
    assert "expired-token" not in done.out + done.err
    site.laptop.env = {**site.laptop.env, "FLUX_UPGRADE_SYNC_TOKEN": READ}
    site.run().well()
    assert site.is_ready()


@pytest.mark.parametrize(
    ("flag", "word"),
    [("--kubeconfig=/nowhere/config", "/nowhere/config"), ("--context=prod", "prod"), ("--timeout=5", "duration")],
)
def test_a_cluster_that_cannot_be_found(site: Site, flag: str, word: str) -> None:
    before = site.bare.refs()
    site.run(flag).refused(UsageError, word)
    assert site.bare.refs() == before


def test_a_cluster_that_does_not_answer(site: Site) -> None:
    assert site.driven.server.stand_in is not None
    site.driven.server.stand_in.faults.append(lambda _, path: 503 if path.startswith("/version") else None)
    before = site.bare.refs()
    site.run().refused(ClusterUnavailable)
    assert site.bare.refs() == before


def test_without_the_extra(site: Site, tmp_path: Path) -> None:
    """An installation that has no Kubernetes client."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "kubernetes.py").write_text("raise ImportError('there is none')\n")
    before = site.bare.refs()
    process = site.laptop.process(site.folder, *site.flags, env={"PYTHONPATH": str(tmp_path / "without")})
    out, err = process.communicate(timeout=60)
    Done(process.returncode, out, err).refused(ClusterUnfit, "flux-upgrade[cluster]")
    assert site.bare.refs() == before


def ended(process: subprocess.Popen[str]) -> int:
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, -9), out + err
    return process.returncode


def killed_at(site: Site, what: str) -> None:
    assert site.driven.server.stand_in is not None
    with killing_at(site.driven.server.stand_in, what) as victims:
        process = site.process()
        victims.put(process)
        assert ended(process) == -9, what


STEPS = (
    "namespaces/flux-system?",
    "customresourcedefinitions/",
    "deployments/",
    "secrets/",
    "gitrepositories/",
    "kustomizations/",
)


def test_killed_at_each_step_and_run_again(site: Site) -> None:
    """Again and again, each time a step later; then everything is there once."""
    for what in STEPS:
        killed_at(site, what)
    site.run().well()
    converged(site)


@pytest.mark.parametrize("hook", ["pre-receive", "post-receive"])
def test_killed_while_it_pushes(site: Site, tmp_path: Path, hook: str) -> None:
    """Before the server has taken it, and after."""
    number = tmp_path / "number"
    script = f"#!/bin/sh\ncat > /dev/null\nwhile [ ! -s {number} ]; do sleep 0.01; done\nkill -9 $(cat {number})\n"
    plain = (site.bare.folder / "hooks" / "pre-receive").read_text()
    site.bare.write_hook(hook, script + ("exit 1\n" if hook == "pre-receive" else ""))
    process = site.process()
    number.write_text(str(process.pid))
    assert ended(process) == -9
    assert site.writes() == []
    site.bare.write_hook("pre-receive", plain)
    site.bare.write_hook("post-receive", "#!/bin/sh\ncat > /dev/null\n")
    deadline = time.monotonic() + 10
    while hook == "post-receive" and COMPONENTS not in git("ls-tree", "-r", "--name-only", "main", at=site.bare.folder):
        assert time.monotonic() < deadline
    site.run().well()
    converged(site)


def test_a_kustomization_with_patches_is_built(site: Site, tmp_path: Path) -> None:
    """By the program that does it on this machine; without one it is refused before the first write."""
    ann = tmp_path / "ann"
    folder = ann / "clusters" / "staging" / "flux-system"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text(LISTING + "patches: [{path: patch.yaml, target: {kind: Deployment}}]\n")
    (folder / "patch.yaml").write_text("[]\n")
    git("add", ".", at=ann)
    git("commit", "--quiet", "--message=Patches", at=ann)
    git("push", "--quiet", site.bare.folder, "main", at=ann)
    before = site.bare.refs()
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    for name in ("git", "env"):
        (nothing / name).symlink_to(require_program(name))
    site.laptop.env = {**site.laptop.env, "PATH": str(nothing)}
    site.run().refused(ClusterUnfit, "kustomize")
    assert (site.bare.refs(), site.writes()) == (before, [])
    built = nothing / "kustomize"
    built.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nfolder = pathlib.Path(sys.argv[-1])\n"
        "for name in ('gotk-components.yaml', 'gotk-sync.yaml'):\n"
        "    for line in (folder / name).read_text().replace('replicas: 1', 'replicas: 2').splitlines():\n"
        "        print('' if line.startswith('#') else line)\n"
    )
    built.chmod(0o755)
    site.run().well()
    deployment = site.driven.object("apis/apps/v1/namespaces/flux-system/deployments/source-controller")
    assert deployment is not None and deployment["spec"]["replicas"] == 2
    assert "replicas: 1" in site.bare.content(f"main:{COMPONENTS}")
    assert site.host.url in site.bare.content(f"main:{SYNC}")
