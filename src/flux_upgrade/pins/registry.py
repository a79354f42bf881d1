"""The kinds of pins, in the order in which they speak for a cluster, and which files may hold them.

A kind's module is imported where there is such a file: most repositories have a few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from flux_upgrade.kinds.formats import kustomize_files, template_lines
from flux_upgrade.kinds.pin import Pin, PinChange, SourceFile
from flux_upgrade.kinds.world import World
from flux_upgrade.values import NamedTuple


class PinKind(Protocol):
    """What a kind's module has to have."""

    NAME: str
    """Of the style, in reports and JSON: ``flux-instance``."""

    def find(self, files: Sequence[SourceFile], world: World) -> Iterator[Pin]:
        """Every pin in ``files``, which fit the kind's row; what cannot be told is UNKNOWN."""
        ...

    def change(self, pin: Pin, target: str, world: World) -> PinChange:
        """Take a movable pin to a release, a tag above its own.

        Raises UnsupportedPin where it cannot be done safely; ReleaseNotFound where what has to be
        named there is not published (yet); SourceUnavailable, UntrustedArchive.
        """
        ...


class Style(NamedTuple):
    """A kind of pins."""

    name: str
    """``NAME`` of its module."""
    where: str
    """Its module in this folder."""
    files: tuple[str, ...]
    """How the paths of the files end that it looks at."""
    marks: tuple[bytes, ...]
    """Where no file has any of these, in its path or in its text, there is no pin of this kind."""
    beside: tuple[bytes, ...] = ()
    """Files that have one of these are looked at, too, where there are others: patches, repositories."""
    begins: tuple[str, ...] = ()
    """How the names of further files begin: ``Dockerfile.``."""

    @property
    def module(self) -> PinKind:
        """Imported now, if it was not before."""
        return cast("PinKind", import_module(f"flux_upgrade.kinds.{self.where}"))

    def takes(self, path: str) -> bool:
        """Whether a file of that name may hold such a pin."""
        return path.endswith(self.files) or path.rpartition("/")[2].startswith(self.begins or ("/",))


_YAML = (".yaml", ".yml")
PIN_KINDS: tuple[Style, ...] = (
    Style(
        "flux-instance",
        "flux_instance",
        (*_YAML, ".json"),
        (b"FluxInstance", b"flux-instance"),
        (b"/distribution",),
    ),
    Style(
        "flux-manifests",
        "flux_manifests",
        (*_YAML, ".json", *template_lines.ENDS),
        (b"flux-manifests",),
        (b"OCIRepository", b"/spec"),
    ),
    Style(
        "artifact",
        "artifact",
        (*_YAML, ".json", *template_lines.ENDS),
        # An ordinary run has none: which artifact is one's own, a run about it says.
        (),
    ),
    Style(
        "helm-chart",
        "helm_chart",
        (*_YAML, ".gotmpl"),
        (b"flux2",),
        (b"HelmRepository", b"HelmRelease", b"HelmChart", b"OCIRepository"),
    ),
    Style(
        "gardener-shoot-flux",
        "gardener",
        (*_YAML, ".json"),
        (
            b"shoot-flux",
            b"flux.extensions.gardener.cloud",
            b"flux-config",
            b"/providerConfig/flux",
            b"/data/fluxVersion",
        ),
    ),
    Style(
        "kustomize-remote-base",
        "remote_base",
        (*_YAML, "Kustomization", *kustomize_files.TEMPLATES),
        (b"flux2", b"FLUX2", b"Flux2"),
        (b"GitRepository",),
    ),
    Style(
        "terraform",
        "terraform",
        (".tf", ".tofu", ".tf.json", ".tofu.json"),
        (b"flux_bootstrap_git", b"flux_install", b"flux2", b"flux-operator", b"flux-instance"),
    ),
    Style("eksctl", "eksctl", (*_YAML, ".json"), (b"eksctl.io/", b"/gitops/flux")),
    Style(
        "flux-operator",
        "flux_operator",
        (*_YAML, ".json", "Kustomization"),
        (b"flux-operator", b"flux-instance"),
    ),
    Style("workflow", "workflow", _YAML, (b"flux2", b"Flux2", b"fluxcd.io/install.sh")),
    Style(
        "tool-versions",
        "tool_versions",
        (".tool-versions", ".flux-version", ".toml", "aqua.yaml", "aqua.yml"),
        (b"flux", b"FLUX"),
    ),
    Style("devbox", "devbox", ("devbox.json",), (b"fluxcd",)),
    Style(
        "cli-image",
        "cli_image",
        (*_YAML, "Dockerfile", "Containerfile", ".dockerfile", ".containerfile"),
        (b"fluxcd/flux-cli", b"fluxcd.io/install.sh"),
        begins=("Dockerfile.", "Containerfile."),
    ),
    Style(
        "commands",
        "commands",
        (
            ".sh",
            ".bash",
            ".zsh",
            ".fish",
            ".ps1",
            ".mk",
            ".just",
            "akefile",
            "ustfile",
            "Jenkinsfile",
            "Tiltfile",
            ".yaml",
            ".yml",
        ),
        (b"fluxcd/flux2", b"fluxcd.io/install.sh", b"flux install", b"flux bootstrap", b"/flux2"),
    ),
    Style(
        "single-controllers",
        "single_controllers",
        (*_YAML, "Kustomization"),
        (b"-controller", b"source-watcher"),
    ),
    Style(
        "other-installers",
        "other_installers",
        _YAML,
        (b"flux2", b"microsoft.flux", b"Microsoft.Flux", b"operators.coreos.com"),
    ),
    Style(
        "flux-v1",
        "flux_v1",
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
)
