"""Commands in scripts and pipelines that install Flux, or its CLI, at a release: reported, and never changed.

``kubectl apply -f …/releases/download/v2.9.4/install.yaml``, ``kubectl apply -k github.com/fluxcd/flux2/…``,
``flux install --version``, ``flux bootstrap --version``, ``curl …/flux_2.9.4_linux_amd64.tar.gz``,
``curl https://fluxcd.io/install.sh | FLUX_VERSION=2.9.4 bash``, ``helm upgrade … flux2 --version``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from flux_upgrade.model.text import decoded
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.flux2_repository import judge, parse
from flux_upgrade.pins.formats.passages import Passage, whole
from flux_upgrade.pins.formats.readings import never_changed
from flux_upgrade.pins.pin import Pin, PinState, SourceFile, reported_pin

NAME = "commands"
change = never_changed
_YAML = (".yaml", ".yml")

_PIPELINE = re.compile(
    r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*|action\.ya?ml|\.?[Tt]askfiles?\b.*|[Tt]askfile.*"
    r"|\.gitlab-ci\.ya?ml|\.gitlab/.*|azure-pipelines.*|bitbucket-pipelines\.yml|\.circleci/.*|\.woodpecker.*"
    r"|\.drone\.ya?ml|(?:.*/)?(?:tasks|handlers|playbooks?|roles|ansible)/.*|playbook.*|site\.ya?ml)"
)
"""YAML whose texts are commands."""
_WORKFLOW = re.compile(r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/workflows/[^/]+|action\.ya?ml)")
_COMMENT = re.compile(r"^[ \t]*(?:#|//|<#).*|(?<=[ \t])#.*", re.MULTILINE)
_PROSE = re.compile(
    r"^[ \t-]*(?:name|desc|description|summary|msg|title|label|prompt)[ \t]*:.*"
    r"|^[ \t@-]*(?:echo|printf|log|info|Write-\w+)\b.*",
    re.MULTILINE,
)
_CONTINUED = re.compile(r"[\\`][ \t]*\r?\n")
_MORE = r"(?:[^|;&\n]|\n[ \t]+(?=--?[a-z])){0,2000}"
"""The rest of a command; in a folded scalar, its options may stand in lines of their own."""
_TEXT = r"(?:\$?\{\{[^{}\n]{0,200}\}\}|\$?\{\{.{0,200}?\}\}|\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|[^\s\"'|;&<>])*"
"""Bounded: from each of many signs that begin something, the line would be searched for its end."""
_URL = re.compile(rf"[:/]fluxcd/flux2(?:\.git)?/{_TEXT}")
_HOST = re.compile(r"(?:git::)?(?:(?:ssh|https?)://)?[\w.@-]*\Z|gh\Z")
_LONGEST_HOST = 100
_FLUX = re.compile(rf"\bflux[ \t]+(install|bootstrap)\b{_MORE}")
_HELM = re.compile(rf"\bhelm[ \t]+(?:upgrade|install|template)\b{_MORE}")
_CHART = re.compile(r"/flux2(?=[\s\"']|$)")
_VERSION = re.compile(rf"(?<=[ \t])--version[= \t]+[\"']?({_TEXT})")
_SHORT = re.compile(rf"(?<=[ \t])(?:--version|-v)[= \t]+[\"']?({_TEXT})")
_SCRIPT = re.compile(r"fluxcd\.io/install\.sh\b[^\n]*")
_ASKED = re.compile(rf"\bFLUX_VERSION=[\"']?({_TEXT})")
_VARIABLE = re.compile(
    r"v?(?:\$\{\{ *(?:env|vars)\.(\w+) *\}\}|\{\{ *\.?(\w+) *\}\}|\$\{(\w+)(?:#v)?\}|\$\((\w+)\)|\$(\w+))"
)
_SET = re.compile(
    r"^[ \t-]*(?:export |readonly |local |ARG |ENV |\$(?:env:)?)*(\w+)[ \t]*(?:\?=|:=|=|:)[ \t]*(.*)$", re.MULTILINE
)
_Assigned = Mapping[str, tuple[str, int, int] | None]
"""Variable → the text and the span of what it is set to; None where that is in several places."""
_RELEASE = re.compile(r"[\"']?(v?\d+\.\d+\.\d+[\w.-]*)[\"']?[ \t\r]*")
_INSTALLS = "reference the release from a kustomization, or commit the output of `flux install --export`"
_CLI = "set the CLI version in .tool-versions, mise.toml or fluxcd/flux2/action"
_OF_CHART = "edit the version yourself; the chart's appVersion is its Flux version"


class _CommandVersion(NamedTuple):
    where: str
    text: str
    start: int  # Offset in the file
    hint: str


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every version in a command. A variable that several commands use is one pin."""
    del context
    for file in files:
        if file.path.endswith(_YAML) and _PIPELINE.fullmatch(file.path) is None:
            continue
        original = decoded(file.content)
        text = _CONTINUED.sub(_blank, _PROSE.sub(_blank, _COMMENT.sub(_blank, original)))
        seen: set[tuple[int, str]] = set()
        passage, assigned = replace(whole(original), text=text), _assigned(text)
        for command in sorted(_versions_in(text, file.path), key=lambda each: each.start):
            pin = _pin(file, passage, assigned, command)
            if (pin.line, pin.raw) not in seen:
                seen.add((pin.line, pin.raw))
                yield pin


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _versions_in(text: str, path: str) -> Iterator[_CommandVersion]:
    for match in _URL.finditer(text):
        start = max(0, match.start() - _LONGEST_HOST)
        host = _HOST.search(text, start, match.start())
        if host is not None:
            yield from _url(host[0] + match[0], host.start())
    for match in _FLUX.finditer(text):
        asked = _SHORT.search(text, *match.span())
        if asked:
            yield _CommandVersion(f"flux {match[1]} --version", asked[1], asked.start(1), _INSTALLS)
    for match in _HELM.finditer(text):
        asked = _VERSION.search(text, *match.span()) if _CHART.search(match[0]) else None
        if asked:
            yield _CommandVersion("helm, chart flux2 --version", asked[1], asked.start(1), _OF_CHART)
    if _WORKFLOW.fullmatch(path):
        return  # the kind of workflows has them
    for match in _SCRIPT.finditer(text):
        asked = _ASKED.search(match[0])
        start = match.start() + (asked.start(1) if asked else 0)
        default = "$FLUX_VERSION" if "FLUX_VERSION" in text else "latest"
        yield _CommandVersion("install.sh of the Flux CLI", asked[1] if asked else default, start, _CLI)


def _url(url: str, start: int) -> Iterator[_CommandVersion]:
    reference = parse(url)
    if reference is None or not reference.is_flux2:
        return
    is_cli = reference.form == "release" and re.match(r"flux_.*\.(?:tar\.gz|zip)$", reference.path)
    if not is_cli and not reference.installs:
        return
    ref, at = reference.ref or "", max(reference.start, 0)
    if reference.form == "release" and reference.ref is None:
        ref, at = "latest", url.index("latest")
    where = "address of the Flux CLI" if is_cli else f"address of {reference.path}"
    yield _CommandVersion(where, ref, start + at, _CLI if is_cli else _INSTALLS)


def _pin(file: SourceFile, passage: Passage, assigned: _Assigned, command: _CommandVersion) -> Pin:
    """The release, where it is written out, or one assignment in the file says what a variable is."""
    written, start, where = command.text.rstrip("\"',]"), command.start, command.where
    written = written if "(" in written else written.rstrip(")")
    variable = _VARIABLE.fullmatch(written)
    if variable is not None:
        name = next(each for each in variable.groups() if each)
        spot = assigned.get(name)
        match = _RELEASE.fullmatch(*spot) if spot is not None else None
        if match is not None:
            written, start, where = match[1], match.start(1), f"{where}, {name}"
    pin = reported_pin(file, NAME, (passage.line(start), where, written), "", command.hint)
    if command.hint == _OF_CHART:
        return pin._replace(reason="it is a chart version in a command")
    if written == "latest":
        stands = written if passage.text.startswith(written, start) else ""
        reason = "it has no release and installs the newest"
        return pin._replace(raw=stands, state=PinState.FLOATING, reason=reason)
    tag = f"v{written.removeprefix('v')}"
    if is_tag(tag):
        return pin._replace(
            state=PinState.EXACT, version=Version(tag), reason="a command is reported but never changed"
        )
    meaning = judge(written)
    return pin._replace(state=meaning.state, reason=meaning.reason)


def _assigned(text: str) -> _Assigned:
    found: dict[str, tuple[str, int, int] | None] = {}
    for match in _SET.finditer(text):
        found[match[1]] = None if match[1] in found else (text, *match.span(2))
    return found
