"""The versions of Flux that commands ask for, and their places in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.flux2_repository import judge, parse

_MORE = r"(?:[^|;&\n]|\n[ \t]+(?=--?[a-z])){0,2000}"
"""The rest of a command; in a folded scalar, its options may be on separate lines."""
_TEXT = (
    r"(?:\$?\{\{[^{}\n]{0,200}\}\}|\$?\{\{.{0,200}?\}\}|\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|[^\s\"'|;&<>]){0,1000}"
)
"""Bounded: from each of many signs that begin something, the line would be searched for its end."""
_URL = re.compile(rf"[:/]fluxcd/flux2(?:\.git)?/{_TEXT}")
_HOST = re.compile(r"(?:git::)?(?:(?:ssh|https?)://)?[\w.@-]*\Z|gh\Z")
_LONGEST_HOST = 100
_ARCHIVE = re.compile(r"flux_[^/]*\.(?:tar\.gz|zip)")
_BESIDE = re.compile(
    r"flux_[^/]*_(?:checksums\.txt|sbom\.spdx\.json)(?:\.\w+)?|provenance\.intoto\.jsonl|crd-schemas\.tar\.gz"
)
"""Of a release, what is fetched together with the CLI, or to validate manifests."""
_FILE = re.compile(r"(?:://|releases/download/)[^\s\"'|;&<>]*|(?<![\w.-])flux_(\d+\.\d+\.\d+)_[a-z][\w.]*")
"""The name of a file of a release outside of addresses, which are matched so that they are left out."""
_DIRECTORY = re.compile(
    r"https?://(?:www\.)?github\.com/fluxcd/flux2/releases/download/"
    r"((?:\$?\{\{[^{}\n]{0,200}\}\}|\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|[^\s/\"'|;&<>{}()]){1,100})"
    r"/?(?=[\s\"'|;&]|\Z)"
)
_NUMBERED = re.compile(r"flux_v?\d+\.\d[^_/]*_")
_FLUX = re.compile(rf"\bflux[ \t]+(install|bootstrap)\b{_MORE}")
_HELM = re.compile(rf"\bhelm[ \t]+(?:upgrade|install|template)\b{_MORE}")
_CHART = re.compile(r"/flux2(?=[\s\"']|$)")
_VERSION = re.compile(rf"(?<=[ \t])--version[= \t]+[\"']?({_TEXT})")
_SHORT = re.compile(rf"(?<=[ \t])(?:--version|-v)[= \t]+[\"']?({_TEXT})")
_SCRIPT = re.compile(r"fluxcd\.io/install\.sh\b[^\n]*")
_ASKED = re.compile(rf"\bFLUX_VERSION=[\"']?({_TEXT})")
_TOOL = re.compile(rf"\b(?:arkade|asdf|brew|mise|rtx)[ \t]+(?:get|install|use|global|local|set)\b{_MORE}")
_OF_TOOL = re.compile(rf"(?<=[ \t/:])flux2?(?:@|[ \t]+(?=[\"'v$\d{{]))[\"']?({_TEXT})")
"""``arkade get flux@v2.9.4``, ``brew install fluxcd/tap/flux@2.9``, ``asdf install flux2 2.9.4``."""
_OF_ARKADE = re.compile(r"[ \t]flux(?=[ \t]|$)")
_INSTALLS = "reference the release from a kustomization, or commit the output of `flux install --export`"
_OF_ARCHIVE = "address of the Flux CLI"
OF_CLI = "set the CLI version in .tool-versions, mise.toml or fluxcd/flux2/action"
OF_CHART = "edit the version yourself; the chart's appVersion is its Flux version"


class CommandVersion(NamedTuple):
    where: str
    text: str
    start: int  # Offset in the file
    hint: str
    sets: str = ""  # The variable that the command itself sets to the version; empty if it sets none
    is_address: bool = False  # Whether it is in the address of a file of Flux's repository
    is_split: bool = False  # Whether the file's name has a version, too, which is not set by the same text

    @property
    def is_archive(self) -> bool:
        """Whether an archive with the CLI is fetched from the address."""
        return self.where == _OF_ARCHIVE


def file_names_in(text: str) -> Iterator[tuple[str, int]]:
    """The version, and its offset, in each name of a downloaded file: ``tar xf flux_2.9.4_linux_amd64.tar.gz``."""
    return ((match[1], match.start(1)) for match in _FILE.finditer(text) if match[1])


def versions_in(text: str, *, is_workflow: bool) -> Iterator[CommandVersion]:
    """Every one. ``is_workflow``: whether the kind of workflows looks for runs of install.sh."""
    for match in _URL.finditer(text):
        start = max(0, match.start() - _LONGEST_HOST)
        host = _HOST.search(text, start, match.start())
        if host is not None:
            yield from _url(host[0] + match[0], host.start())
    yield from _directories(text)
    for match in _FLUX.finditer(text):
        asked = _SHORT.search(text, *match.span())
        if asked:
            yield CommandVersion(f"flux {match[1]} --version", asked[1], asked.start(1), _INSTALLS)
    for match in _HELM.finditer(text):
        asked = _VERSION.search(text, *match.span()) if _CHART.search(match[0]) else None
        if asked:
            yield CommandVersion("helm, chart flux2 --version", asked[1], asked.start(1), OF_CHART)
    yield from _of_tools(text)
    if is_workflow:
        return  # the kind of workflows has them
    for match in _SCRIPT.finditer(text):
        asked = _ASKED.search(match[0])
        start = match.start() + (asked.start(1) if asked else 0)
        default = "$FLUX_VERSION" if "FLUX_VERSION" in text else "latest"
        sets = "FLUX_VERSION" if asked else ""
        yield CommandVersion("install.sh of the Flux CLI", asked[1] if asked else default, start, OF_CLI, sets)


def _of_tools(text: str) -> Iterator[CommandVersion]:
    for match in _TOOL.finditer(text):
        asked = _OF_TOOL.search(text, *match.span())
        if asked is None and _OF_ARKADE.search(match[0]):
            asked = _VERSION.search(text, *match.span())
        if asked:
            yield CommandVersion(f"{match[0].split()[0]}, tool flux", asked[1], asked.start(1), OF_CLI)


def _url(url: str, start: int) -> Iterator[CommandVersion]:
    reference = parse(url)
    if reference is None or not reference.is_flux2:
        return
    path = reference.path
    is_archive = reference.form == "release" and _ARCHIVE.fullmatch(path) is not None
    is_cli = is_archive or (reference.form == "raw" and path == "install/flux.sh")
    is_cli = is_cli or (reference.form == "release" and bool(reference.ref) and _BESIDE.fullmatch(path) is not None)
    if not is_cli and not reference.installs:
        return
    ref, at = reference.ref or "", max(reference.start, 0)
    if reference.form == "release" and reference.ref is None:
        ref, at = "latest", url.index("latest")
    where = _OF_ARCHIVE if is_archive else f"address of {path}"
    tag = judge(ref).version
    is_split = not path.startswith(f"flux_{tag[1:]}_") if tag else _NUMBERED.match(path) is not None
    hint = OF_CLI if is_cli else _INSTALLS
    is_split = is_split and path.startswith("flux_")
    yield CommandVersion(where, ref, start + at, hint, is_address=not reference.reason, is_split=is_split)


def _directories(text: str) -> Iterator[CommandVersion]:
    """``URL=https://github.com/fluxcd/flux2/releases/download/v$VERSION``: the file's name is elsewhere in the text."""
    found = [*_DIRECTORY.finditer(text)]
    if not found or "flux_" not in text:
        return
    hint = _INSTALLS if "install.yaml" in text else OF_CLI
    is_named = _NUMBERED.search(text) is not None
    for match in found:
        is_split = is_named or bool(judge(match[1]).version)
        yield CommandVersion(_OF_ARCHIVE, match[1], match.start(1), hint, is_split=is_split)
