"""The real programs that the tests of Flux run: which they are, where they come from, and where they are built."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "real-flux"

KUBERNETES = "v1.36.2"
ETCD = "v3.6.8"  # What this Kubernetes requires of its client
FLUX = "v2.9.4"
OLDER = ("v2.7.5",)
"""Releases whose `flux migrate` pull requests name, from 2.7 on. The module proxy has no CLI of 2.8."""
# Of that release, by its manifests (test_programs.py). The module proxy lacks what others need: of helm-controller the
# fork of Helm, github.com/fluxcd/helm/v4, and of older source-controllers github.com/fluxcd/pkg/artifact and /git.
CONTROLLERS = {
    "source-controller": "v1.9.4",
    "kustomize-controller": "v1.9.4",
    "notification-controller": "v1.9.3",
    "image-reflector-controller": "v1.2.4",
    "image-automation-controller": "v1.2.4",
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

    @property
    def path(self) -> Path:
        return CACHE / f"{self.name}-{self.version}-{self._recipe}" / self.name

    @property
    def _recipe(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]


# v0.18.2 cannot be had; the two differ in go.mod alone.
_ARTIFACT = (("github.com/fluxcd/pkg/artifact", "github.com/fluxcd/pkg/artifact", "v0.18.1"),)
_REPLACED = {("source-controller", "v1.9.4"): _ARTIFACT, ("image-reflector-controller", "v1.2.4"): _ARTIFACT}


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
PROGRAMS = (
    APISERVER,
    ETCD_SERVER,
    FLUX_CLI,
    *(_controller(name, version) for name, version in CONTROLLERS.items()),
    *map(_flux, OLDER),
)


def is_warm() -> bool:
    """Whether all of them are built."""
    return all(program.path.exists() for program in PROGRAMS)


def program(name: str, version: str = "") -> Path:
    """Where a program is. Raises KeyError if the table does not have it."""
    for each in PROGRAMS:
        if each.name == name and version in ("", each.version):
            return each.path
    raise KeyError(name, version)
