"""Every line of a repository that names Flux with what may be a version, by search, and why some set none.

The search knows nothing of formats: it is what a maintainer does with ``git grep`` to check a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

_API = re.compile(r"[\w.-]*\.toolkit\.fluxcd\.io(?:/\w+)?|(?:[\w-]+\.)*fluxcd\.controlplane\.io(?:/\w+)?")
"""An API group is use of Flux, and no version of it: `flux-upgrade check` speaks of these lines."""
_NAME = re.compile(
    r"(?<![a-z])(?:fluxcd|flux2|flux[-_ ]?(?:operator|instance|manifests|cli|version)|flux +(?:install|bootstrap)"
    r"|flux_(?:install|bootstrap)|shoot-flux|weaveworks/flux|microsoft\.flux)",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"(?<![\w.])v?\d+\.(?:\d+|x)(?:\.(?:\d+|x|\*))?|latest|sha256:[0-9a-f]|@(?:main|master)|refs/heads/|ref=|:\d+\b|\$\{"
)
"""A release, a range, a digest, a branch, or a variable."""
_REFERENCE = re.compile(
    r"ghcr\.io/(?:fluxcd|controlplaneio-fluxcd)/|fluxcd/(?:flux|tap)|flux +(?:install|bootstrap)|fluxcd\.io/install"
    r"|FluxInstance|FLUX_?VERSION|flux_(?:install|bootstrap)|charts?:.*flux",
    re.IGNORECASE,
)
"""What can carry a version, even where it does not."""
_SEPARATOR = re.compile(r"---(?:\s|$)")
_YAML = (".yaml", ".yml", ".yaml.gotmpl")
_INSTALLING = re.compile(
    r"^kind: *(?:HelmRelease|HelmRepository|HelmChart|OCIRepository|GitRepository|FluxInstance|ResourceSet|Deployment)\b",
    re.MULTILINE,
)
_VERSION_KEY = re.compile(
    r"^[ \t-]*[\w-]*(?:(?<!api)version|(?<!api)Version|tag|semver|digest|revision|image|chart)[\"']?:", re.MULTILINE
)


class Found(NamedTuple):
    """A line that the search finds, and the object that it is in."""

    path: str
    line: int
    text: str
    block: str
    lines: range  # Of the block


class Place(NamedTuple):
    """What ``inspect`` names: a line, or a whole file."""

    path: str
    line: int
    kind: str


def searched(root: Path) -> Iterator[Found]:
    """In all text files below a directory."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(root).as_posix()
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
            yield from _in_file(name, lines)


def _in_file(name: str, lines: Sequence[str]) -> Iterator[Found]:
    blocks = list(_blocks(name, lines))
    for number, text in enumerate(lines, start=1):
        bare = _API.sub("", text)
        if _NAME.search(bare):
            extent = next(each for each in blocks if number in each)
            block = "\n".join(lines[extent.start - 1 : extent.stop - 1])
            if _VERSION.search(bare) or _REFERENCE.search(bare) or _VERSION.search(_API.sub("", block)):
                yield Found(name, number, text, block, extent)


def _blocks(name: str, lines: Sequence[str]) -> Iterator[range]:
    """The documents of YAML with an object of Kubernetes, else what empty lines divide; lines from 1."""
    is_yaml = name.endswith(_YAML)
    ends = [0, *(at for at, line in enumerate(lines, start=1) if is_yaml and _SEPARATOR.match(line)), len(lines) + 1]
    for begin, end in pairwise(ends):
        document = lines[max(begin - 1, 0) : end - 1]
        start = max(begin, 1)
        if is_yaml and any(line.startswith("kind:") for line in document):
            yield range(start, end)
            continue
        for at, line in enumerate(document, start=start):
            if not line.strip():
                yield range(start, at + 1)
                start = at + 1
        yield range(start, end)


def named_by(report: Mapping[str, Any]) -> list[Place]:
    """The places in the report of ``inspect --json``."""
    return [
        *(Place(each["path"], 0, each["kind"]) for each in report["installations"]),
        *(Place(each["path"], each["line"], each["kind"]) for each in report["pins"]),
    ]


def is_named(found: Found, places: Sequence[Place]) -> bool:
    """Whether a place is in the line's object, or its whole file."""
    return any(each.path == found.path and (not each.line or each.line in found.lines) for each in places)


class Rule(NamedTuple):
    """Why a line that names Flux sets no version of it."""

    name: str
    reason: str
    fits: Callable[[Found, Sequence[Place]], bool]


def _line(pattern: str) -> Callable[[Found, Sequence[Place]], bool]:
    compiled = re.compile(pattern)
    return lambda found, _: compiled.search(found.text) is not None


def _file(pattern: str) -> Callable[[Found, Sequence[Place]], bool]:
    compiled = re.compile(pattern)
    return lambda found, _: compiled.search(found.path) is not None


def _is_name_only(found: Found, _: Sequence[Place]) -> bool:
    """Not in an object that installs something or has a version, nor with a version on the line."""
    is_plain = _VERSION.search(_API.sub("", found.text)) is None
    is_inert = _INSTALLING.search(found.block) is None and _VERSION_KEY.search(found.block) is None
    is_name = re.match(r"[\w ./\"'-]+(?::|$|\" \(printf)", found.text) is not None
    return is_plain and is_inert and is_name


def _of_the_file(kind: str, pattern: str) -> Callable[[Found, Sequence[Place]], bool]:
    compiled = re.compile(pattern)
    return lambda found, places: (
        compiled.search(found.text) is not None
        and any(each.path == found.path and each.kind == kind for each in places)
    )


def _is_provider(found: Found, places: Sequence[Place]) -> bool:
    """Of the Terraform resource that is named in the same directory."""
    directory = found.path.rpartition("/")[0]
    near = any(each.kind == "terraform" and each.path.rpartition("/")[0] == directory for each in places)
    return near and 'source = "fluxcd/flux"' in re.sub(" +", " ", found.text)


RULES = (
    Rule("comment", "comments set no version", _line(r"^\s*(?:#|//)")),
    Rule(
        "lock file",
        "written by the tool whose file it locks",
        _file(r"(?:^|/)[^/]*\.lock(?:\.json|\.hcl)?$|-lock\.yaml$"),
    ),
    Rule(
        "configuration of a bot",
        "names packages that Renovate groups or ignores, and no version",
        lambda found, _: re.search(r"renovate", found.path) is not None and _VERSION.search(found.text) is None,
    ),
    Rule(
        "dashboard",
        "a dashboard of Flux's metrics, which installs nothing, at whatever release",
        _line(r"fluxcd/(?:flux2?|flux-operator|flux2-monitoring-example)/.*dashboards?/|dashboard"),
    ),
    Rule("another program", "has flux-operator in its name, and releases of its own", _line(r"flux-operator-mcp")),
    Rule("Homebrew", "a formula carries no version: brew installs the newest", _line(r"fluxcd/tap")),
    Rule("provider of Terraform", "reported with the resource that uses it", _is_provider),
    Rule(
        "command or output of an installed CLI",
        "runs, or prints the version of, the CLI that inspect names in the same workflow",
        _of_the_file("workflow", r"flux install|flux_version|FluxCD|flux version|releases/tag/\$\{\{"),
    ),
    Rule(
        "computed by a script",
        "a variable that a command fills from a manifest, and its default for manifests without a version",
        lambda found, _: (
            found.path.endswith(".sh")
            and re.search(r"flux_version|FLUX_VERSIONS", found.text) is not None
            and re.search(r"\d+\.\d+\.\d+", found.text) is None
        ),
    ),
    Rule("metric", "a query for the version that runs", _line(r"flux_instance_info|\bid: flux_version")),
    Rule(
        "chart reference",
        "the version is in the OCIRepository of the chart, which inspect names",
        lambda found, places: (
            re.search(r"chartRef:\s+kind: OCIRepository\s+name: flux-operator", found.block) is not None
            and any(each.kind == "flux-operator" for each in places)
        ),
    ),
    Rule("message", "text that a script prints", _line(r"^\s*echo ")),
    Rule(
        "annotation or label",
        "switches a controller, for its API and not its version",
        _line(r"fluxcd\.(?:io|controlplane\.io)/\w+:"),
    ),
    Rule(
        "setting of a role",
        "tells a role of Ansible what to bootstrap, and no version",
        _line(r"^fluxcd_bootstrap_\w+:"),
    ),
    Rule("name or path", "a name or a path, in an object that installs nothing", _is_name_only),
)
