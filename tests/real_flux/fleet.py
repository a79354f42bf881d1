"""A repository behind a real Git server, a cluster with Flux's real controllers that follows it, and its owner."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bootstrap.cli_runs import Done, Laptop, clone_with
from flux_upgrade.model.timing import Timing
from git_servers import READ, WRITE, Bare, HttpHost, git
from real_flux import controllers
from real_flux.control_plane import ControlPlane, Object

CLUSTER = "clusters/staging"
_KUSTOMIZATION = "apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/flux-system"
_PATIENCE = 90.0
TIMING = Timing(time.time, time.sleep, random.random)


@dataclass
class Fleet:
    plane: ControlPlane
    host: HttpHost
    bare: Bare
    laptop: Laptop
    folder: Path  # With the owner's clone, `ann`

    @property
    def clone(self) -> Path:
        return self.folder / "ann"

    @property
    def place(self) -> list[str]:
        where = [f"--hostname={self.host.url}", "--repository=octo/fleet", f"--path={CLUSTER}", "--token-auth"]
        return ["--provider=gitea", *where]

    def bootstrap(self, version: str, *more: str) -> Done:
        kubeconfig = f"--kubeconfig={self.plane.server.kubeconfig}"
        (self.folder / "here").mkdir(exist_ok=True)
        words = [*self.place, kubeconfig, f"--version={version}", "--timeout=2m", *more]
        done = self.laptop.bootstrap(self.folder / "here", *words).well()
        git("pull", "--quiet", str(self.bare.folder), "main", at=self.clone)
        return done

    def run(self, *words: str) -> Done:
        """A command of ours in the clone, offline."""
        return self.laptop.run(*words, self.clone, f"--release-source={self.laptop.source}")

    def merge(self, message: str, files: Mapping[str, str] = {}) -> str:
        """Commit what is in the clone, with ``files``, and push it; the revision."""
        for path, content in files.items():
            (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / path).write_text(content)
        git("add", "--all", at=self.clone)
        git("commit", "--quiet", f"--message={message}", at=self.clone)
        return self.push()

    def push(self) -> str:
        git("push", "--quiet", str(self.bare.folder), "HEAD:main", at=self.clone)
        return f"main@sha1:{git('rev-parse', 'HEAD', at=self.clone)}"

    def reconcile(self) -> str:
        """Have Flux reconcile now; empty: it is ready at the head, else what it says."""
        self.plane.flux("reconcile", "source", "git", "flux-system", "--timeout=60s")
        token, until = str(time.time_ns()), time.monotonic() + _PATIENCE
        self.plane.annotate(_KUSTOMIZATION, {"reconcile.fluxcd.io/requestedAt": token})
        while self.status.get("lastHandledReconcileAt") != token:
            assert time.monotonic() < until, self.status
            time.sleep(0.1)
        (ready,) = (each for each in self.status["conditions"] if each["type"] == "Ready")
        if ready["status"] != "True":
            return str(ready["message"])
        head = git("rev-parse", "main", at=self.bare.folder)
        assert self.status["lastAppliedRevision"] == f"main@sha1:{head}"
        return ""

    @property
    def status(self) -> Object:
        found: Object = self.plane.get(_KUSTOMIZATION)["status"]
        return found


@contextmanager
def running(
    plane: ControlPlane, folder: Path, releases: Path, gates: str = "", names: Sequence[str] = controllers.SYNC
) -> Iterator[Fleet]:
    """``names``: the controllers that run."""
    for name in ("flux", "served"):
        (folder / name).mkdir(parents=True)
    with HttpHost(folder / "served") as host, controllers.running(plane, folder / "flux", gates, names):
        bare = Bare.make(host.root / "octo" / "fleet.git")
        git("push", "--quiet", bare.folder, "main", at=clone_with(folder / "ann"))
        laptop = Laptop(releases, {"GITEA_TOKEN": WRITE, "FLUX_UPGRADE_SYNC_TOKEN": READ}, TIMING)
        yield Fleet(plane, host, bare, laptop, folder)
