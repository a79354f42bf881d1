"""The kinds of pins, in the order in which they speak for a cluster, and which files may hold them.

Adding a kind takes a folder in ``pins`` with a ``pin.py`` (``NAME``, ``find``, ``change``: see KindModule),
one row in PIN_KINDS, and a folder in ``tests/kinds``. A kind's module is imported if a file may hold such a
pin: most repositories have few kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.pins.pin import Pin, PinChange
from flux_upgrade.snapshot import kustomize_files, passages
from flux_upgrade.snapshot.file import File


class KindModule(Protocol):
    NAME: str  # Of the kind, in reports and JSON: `flux-instance`

    def find(self, files: Sequence[File], context: PinContext) -> Iterator[Pin]:
        """Every pin in ``files``, which fit the kind's row. What is unclear is UNKNOWN."""
        ...

    def change(self, pin: Pin, target: Version, context: PinContext) -> PinChange:
        """Take a movable pin to a release, a tag above its own.

        Raises UnsupportedPin if it cannot be done safely; ReleaseNotFound if what would be
        written there is not published (yet); SourceUnavailable, UntrustedArchive.
        """
        ...


class PinKind(NamedTuple):
    name: str  # `NAME` of its module
    where: str  # Its module below `flux_upgrade.pins`: `flux_instance.pin`
    files: tuple[str, ...]  # How the paths of the files end that it looks at
    marks: tuple[bytes, ...]  # Where no file has any of these, in its path or in its text, there is no pin of this kind
    beside: tuple[bytes, ...] = ()
    """Files that have one of these are looked at, too, where there are others: patches, repositories."""
    begins: tuple[str, ...] = ()  # How the names of further files begin: `Dockerfile.`
    is_bare: bool = False  # Whether it also looks at files whose names have no extension: scripts

    @property
    def module(self) -> KindModule:
        """Imported now, if it was not before."""
        return cast("KindModule", import_module(f"flux_upgrade.pins.{self.where}"))

    def takes(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return path.endswith(self.files) or name.startswith(self.begins or ("/",)) or (self.is_bare and "." not in name)


ALSO = "also"  # The kind of the places that only the config file knows
_YAML = (".yaml", ".yml")
_DOCKERFILES = ("Dockerfile", "Containerfile", ".dockerfile", ".containerfile")
_SCRIPTS = (".sh", ".bash", ".zsh", ".fish", ".ps1", ".mk", ".just")
PIN_KINDS: tuple[PinKind, ...] = (
    PinKind(
        "flux-instance",
        "flux_instance.pin",
        (*_YAML, ".json", ".gotmpl", *TERRAFORM_FILES),
        (b"FluxInstance", b"flux-instance"),
        (b"/distribution", b"chartRef"),
    ),
    PinKind(
        "flux-manifests",
        "flux_manifests.pin",
        (*_YAML, ".json", *passages.ENDS),
        (b"flux-manifests",),
        (b"OCIRepository", b"/spec"),
    ),
    PinKind(
        "artifact",
        "own_artifact.pin",
        (*_YAML, ".json", *passages.ENDS),
        # An ordinary run has none: which artifact is one's own, a run about it says.
        (),
    ),
    PinKind(
        "helm-chart",
        "helm_chart.pin",
        (*_YAML, ".gotmpl", *TERRAFORM_FILES),
        (b"flux2",),
        (b"HelmRepository", b"HelmRelease", b"HelmChart", b"OCIRepository"),
    ),
    PinKind(
        "gardener-shoot-flux",
        "gardener.pin",
        (*_YAML, ".json"),
        (
            b"shoot-flux",
            b"flux.extensions.gardener.cloud",
            b"flux-config",
            b"/providerConfig/flux",
            b"/data/fluxVersion",
        ),
    ),
    PinKind(
        "kustomize-remote-base",
        "remote_base.pin",
        (*_YAML, "Kustomization", *kustomize_files.TEMPLATES),
        (b"flux2", b"FLUX2", b"Flux2"),
        (b"GitRepository",),
    ),
    PinKind("terraform", "terraform.pin", TERRAFORM_FILES, (b"flux_bootstrap_git", b"flux_install", b"flux2")),
    PinKind("eksctl", "eksctl.pin", (*_YAML, ".json"), (b"eksctl.io/", b"/gitops/flux")),
    PinKind(
        "flux-operator",
        "flux_operator.pin",
        (*_YAML, ".json", ".gotmpl", "Kustomization", *TERRAFORM_FILES),
        (b"flux-operator", b"flux-instance"),
        (b"chartRef",),
    ),
    PinKind("workflow", "cli.workflow", _YAML, (b"flux2", b"Flux2", b"fluxcd.io/install.sh", b"-fluxcd/distribution/")),
    PinKind(
        "tool-versions",
        "cli.tool_versions",
        (".tool-versions", ".flux-version", ".toml", "aqua.yaml", "aqua.yml"),
        (b"flux", b"FLUX"),
    ),
    PinKind("devbox", "cli.devbox", ("devbox.json",), (b"fluxcd",)),
    PinKind(
        "cli-image",
        "cli.cli_image",
        (*_YAML, *_DOCKERFILES),
        (b"fluxcd/flux-cli", b"fluxcd.io/install.sh"),
        begins=("Dockerfile.", "Containerfile."),
    ),
    PinKind(
        "flux-operator-cli",
        "cli.operator_cli",
        (*_YAML, *_SCRIPTS, ".envrc", ".env", ".tool-versions", ".toml", "devbox.json", *_DOCKERFILES),
        (b"flux-operator", b"fluxcd-operator"),
        begins=("Dockerfile.", "Containerfile."),
        is_bare=True,
    ),
    PinKind(
        "commands",
        "cli.commands",
        (*_YAML, *_SCRIPTS, ".envrc", ".env", ".gotmpl", *_DOCKERFILES),
        (
            b"fluxcd/flux2",
            b"fluxcd.io/install.sh",
            b"flux install",
            b"flux bootstrap",
            b"/flux2",
            b"fluxcd/flux-cli",
            b"flux@",
            b"flux2@",
            b"flux2 ",
            b"get flux",
        ),
        begins=("Dockerfile.", "Containerfile."),
        is_bare=True,
    ),
    PinKind(
        "single-controllers",
        "reported.single_controllers",
        (*_YAML, "Kustomization"),
        (b"-controller", b"source-watcher"),
    ),
    PinKind(
        "other-installers",
        "reported.other_installers",
        _YAML,
        (b"flux2", b"flux-operator", b"flux-instance", b"microsoft.flux", b"Microsoft.Flux", b"operators.coreos.com"),
    ),
    PinKind(
        "flux-v1",
        "reported.flux_v1",
        (*_YAML, ".tf", ".sh", ".bash", "Makefile"),
        (
            b"fluxcd/flux",
            b"weaveworks/flux",
            b"helm-operator",
            b"helm.fluxcd.io/",
            b"flux.weave.works",
            b"charts.fluxcd.io",
            b"fluxcd.github.io",
            b"weaveworks.github.io",
            b"patchUpdated",
            b"commandUpdated",
            b"scanForFiles",
        ),
    ),
    PinKind(ALSO, "also.pin", (), ()),  # Its files are those that the config file names: see `discover`
)
_ENDS = tuple({end for kind in PIN_KINDS for end in kind.files})
_BEGINS = tuple({begin for kind in PIN_KINDS for begin in kind.begins})


def may_take(path: str) -> bool:
    """Whether a file of that name may hold a pin of any kind."""
    name = path.rpartition("/")[2]
    return path.endswith(_ENDS) or "." not in name or name.startswith(_BEGINS)
