"""The real programs that the tests of Flux run: which they are, where they come from, and where they are built."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _cache() -> Path:
    """Return the user's cache directory, so that a fresh clone finds what another one built."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"  # noqa: TID251  (where the tests keep programs)
    return Path(base).expanduser() / "flux-upgrade" / "real-flux"


CACHE = _cache()

# The scheduled workflow runs everything a second time on these.
IS_OLDEST = os.environ.get("FLUX_UPGRADE_OLDEST_PARTS") == "1"  # noqa: TID251  (a switch of the tests)
KUBERNETES = "v1.33.13" if IS_OLDEST else "v1.36.2"
"""The oldest that Flux 2.9 supports, or the newest."""
ETCD = "v3.6.8"  # What Kubernetes 1.36 requires of its client
FLUX = "v2.9.4"
OLDER = ("v2.7.5", "v2.0.1") if IS_OLDEST else ("v2.7.5",)
"""2.7: the first whose `flux migrate` pull requests name. The module proxy has no CLI of 2.8."""
# Of that release, by its manifests (test_programs.py). The module proxy lacks what older source-controllers need,
# github.com/fluxcd/pkg/artifact and /git.
CONTROLLERS = {
    "source-controller": "v1.9.4",
    "kustomize-controller": "v1.9.4",
    "notification-controller": "v1.9.3",
    "image-reflector-controller": "v1.2.4",
    "image-automation-controller": "v1.2.4",
    "helm-controller": "v1.6.3",
}


@dataclass(frozen=True)
class Program:
    """A program of a Go module."""

    name: str
    module: str
    version: str
    package: str  # Import path of its main package
    settings: tuple[tuple[str, str], ...] = ()  # Variables that the linker sets, as `import/path.name` and value
    replaced: tuple[tuple[str, str, str], ...] = ()  # Module, the module that takes its place, version
    staged: str = ""  # Version of the modules that the program's own go.mod replaces by `./staging/src/…`
    embeds_manifests: bool = False  # Whether the manifests of its release have to lie in `cmd/flux/manifests`
    tags: str = field(default="", repr=False)  # Of the build
    reads: tuple[str, ...] = field(default=(), repr=False)  # Folders of its module that are put beside it
    toolchain: str = field(default="", repr=False)  # GOTOOLCHAIN of its build; empty: as Go is configured

    @property
    def path(self) -> Path:
        return CACHE / f"{self.name}-{self.version}-{self._recipe}" / self.name

    @property
    def _recipe(self) -> str:
        return hashlib.sha256("".join((repr(self), self.tags, *self.reads, self.toolchain)).encode()).hexdigest()[:8]


# v0.18.2 cannot be had; the two differ in go.mod alone.
_ARTIFACT = (("github.com/fluxcd/pkg/artifact", "github.com/fluxcd/pkg/artifact", "v0.18.1"),)
# The fork that helm-controller replaces Helm by cannot be had either; it is built with the Helm that was forked.
_HELM = (("helm.sh/helm/v4", "helm.sh/helm/v4", "v4.2.4"),)
_REPLACED = {
    ("source-controller", "v1.9.4"): _ARTIFACT,
    ("image-reflector-controller", "v1.2.4"): _ARTIFACT,
    ("helm-controller", "v1.6.3"): _HELM,
}


def _controller(name: str, version: str) -> Program:
    module = f"github.com/fluxcd/{name}"
    return Program(name, module, version, module, replaced=_REPLACED.get((name, version), ()))


def _flux(version: str) -> Program:
    module = "github.com/fluxcd/flux2/v2"
    said = (("main.VERSION", version.removeprefix("v")),)
    return Program("flux", module, version, f"{module}/cmd/flux", settings=said, embeds_manifests=True)


APISERVER = Program(
    "kube-apiserver",
    "k8s.io/kubernetes",
    KUBERNETES,
    "k8s.io/kubernetes/cmd/kube-apiserver",
    settings=(("k8s.io/component-base/version.gitVersion", KUBERNETES),),
    staged=KUBERNETES.replace("v1.", "v0."),
)
ETCD_SERVER = Program("etcd", "go.etcd.io/etcd/server/v3", ETCD, "go.etcd.io/etcd/server/v3")
FLUX_CLI = _flux(FLUX)
# What else writes Flux's resources: test_following.py.
HELM = Program("helm", "helm.sh/helm/v3", "v3.19.0", "helm.sh/helm/v3/cmd/helm")
TOFU = Program("tofu", "github.com/opentofu/opentofu", "v1.8.0", "github.com/opentofu/opentofu/cmd/tofu")
KUBECTL_PROVIDER = Program(
    "terraform-provider-kubectl",
    "github.com/gavinbunney/terraform-provider-kubectl",
    "v1.19.0",
    "github.com/gavinbunney/terraform-provider-kubectl",
)
# A server with AGit: test_gitea.py. It needs a C compiler, for SQLite. Its module has no web assets: its API needs none.
GITEA = Program(
    "gitea",
    "code.gitea.io/gitea",
    "v1.26.0",
    "code.gitea.io/gitea",
    tags="sqlite sqlite_unlock_notify",
    reads=("options", "public", "templates"),
)
# flate reads repositories of Flux without a cluster: test_judge_graph.py. Its module needs a newer Go than the others.
FLATE = Program(
    "flate",
    "github.com/home-operations/flate",
    "v0.6.5",
    "github.com/home-operations/flate/cmd/flate",
    toolchain="go1.27.0+auto",
)
PROGRAMS = (
    APISERVER,
    ETCD_SERVER,
    FLUX_CLI,
    *(_controller(name, version) for name, version in CONTROLLERS.items()),
    *map(_flux, OLDER),
    HELM,
    TOFU,
    KUBECTL_PROVIDER,
    GITEA,
    FLATE,
)


def control_plane() -> Path:
    """Return the directory with kube-apiserver and etcd, for KUBEBUILDER_ASSETS. Its name has both recipes."""
    return CACHE / f"{APISERVER.path.parent.name}-{ETCD_SERVER.path.parent.name}"


def is_warm() -> bool:
    """Whether all of them are built."""
    return all(program.path.exists() for program in PROGRAMS) and control_plane().exists()


def program(name: str, version: str = "") -> Path:
    """Where a program is. Raises KeyError if the table does not have it."""
    for each in PROGRAMS:
        if each.name == name and version in ("", each.version):
            return each.path
    raise KeyError(name, version)


def require_built(name: str, version: str = "") -> Path:
    """Return where a program is. Skips the test outside of `make test-flux`, which builds it in half an hour."""
    path = program(name, version)
    if "KUBEBUILDER_ASSETS" not in os.environ or not path.exists():  # noqa: TID251  (what `make test-flux` sets)
        # Half an hour of building is too much for the other tests. `make test-flux` builds first, and skips nothing.
        pytest.skip(f"`make test-flux` builds and runs {path.parent.name}")
    return path


def run_flux(*arguments: str, version: str = "", at: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the Flux CLI, without a cluster. Skips the test as ``require_built`` does."""
    command, own = [str(require_built("flux", version)), *arguments], {"HOME": "/nonexistent"}
    return subprocess.run(command, cwd=at, check=False, capture_output=True, timeout=120, env=own)  # noqa: S603  (ours)
