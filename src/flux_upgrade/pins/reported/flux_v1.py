"""Flux v1 and its Helm Operator, which were archived in November 2022: reported, with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.text import decoded
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.readings import never_changed
from flux_upgrade.pins.pin import Pin, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import whole
from flux_upgrade.snapshot.yaml_places import Object, Step

NAME = "flux-v1"
change = never_changed
_MANIFESTS = (".yaml", ".yml")
REASON = "Flux v1 was archived in November 2022 and gets no fixes"
_FLUX = "migrate to Flux 2: https://fluxcd.io/flux/migration/flux-v1-migration/"
_HELM = "migrate to HelmReleases of Flux 2: https://fluxcd.io/flux/migration/helm-operator-migration/"

_IMAGE = re.compile(
    r"(?:[\w.:-]+/)*(?:fluxcd|weaveworks)/(flux|helm-operator)(?:-prerelease)?(?::([\w.-]+))?(?:@sha256:\w+)?"
)
_GROUPS = ("helm.fluxcd.io/", "flux.weave.works/", "helm.integrations.flux.weave.works/")
"""Of the Helm Operator's HelmRelease: from 1.0, before, and at first."""
_CHARTS = re.compile(
    r"""^[^#\n]*?(?:\b(?:repository|repoURL|repo|url)["']?[ \t]*[:=][ \t]*"""
    r"""|\bhelm[ \t]+repo[ \t]+add[ \t]+\S+[ \t]+)"""
    r"""["']?(https://(?:charts\.fluxcd\.io|(?:fluxcd|weaveworks)\.github\.io/(?:flux|helm-operator)))"""
    r"""/?(?=["'\s,}]|$)""",
    re.MULTILINE,
)
_RELEASES = ("HelmRelease", "FluxHelmRelease")
_GENERATION = ("patchUpdated", "commandUpdated", "scanForFiles")
_CONTAINERS: tuple[tuple[Step, ...], ...] = (
    ("spec", "template", "spec"),
    ("spec",),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every image, chart and object of theirs. The HelmReleases, perhaps hundreds, are one pin."""
    del context
    releases: list[Pin] = []
    for file in files:
        passage = whole(decoded(file.content))
        for match in _CHARTS.finditer(passage.text):
            line = passage.line(match.start(1))
            yield _pin(file, line, "Helm repository of Flux v1 and the Helm Operator", match[1], _FLUX)
        if not file.path.endswith(_MANIFESTS):
            continue
        name = file.path.rpartition("/")[2]
        for each in file.readable:
            yield from _images(file, each)
            api_version, is_release = each.text_at("apiVersion"), each.text_at("kind") in _RELEASES
            if is_release and api_version.startswith(_GROUPS):
                where = f"{each.called()} of the Helm Operator"
                releases.append(_pin(file, each.line_at("apiVersion"), where, api_version, _HELM))
            if name == ".flux.yaml" and any(map(each.has, _GENERATION)):
                yield _pin(file, each.line, "manifest generation of Flux v1, .flux.yaml", "", _FLUX)
    if releases:
        paths = {pin.path for pin in releases}
        remark = f"HelmReleases of the Helm Operator in this repository: {len(releases)}, in files: {len(paths)}"
        yield releases[0]._replace(remarks=(remark,))


def _images(file: File, found: Object) -> Iterator[Pin]:
    for above in _CONTAINERS:
        for field in ("initContainers", "containers"):
            for at in found.entries(*above, field):
                value = found.at(*at, "image")
                match = _IMAGE.fullmatch(value.text) if value is not None else None
                if value is None or match is None:
                    continue
                where = f"{found.called()}, container {found.text_at(*at, 'name')}".rstrip()
                hint = _FLUX if match[1] == "flux" else _HELM
                yield _pin(file, value.line, where, match[2] or "", hint)


def _pin(file: File, line: int, where: str, written: str, hint: str) -> Pin:
    return reported_pin(file, NAME, (line, where, written), REASON, hint)
