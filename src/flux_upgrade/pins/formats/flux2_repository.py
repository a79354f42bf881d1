"""What refers to Flux's own repository: URLs as kustomize reads them, and git references.

Rules: kustomize's ``api/internal/git/repospec.go`` (its v5 form, and what older ones took),
``api/internal/loader``, and ``examples/remoteBuild.md``.
"""

from __future__ import annotations

import re

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.text import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.readings import Reading, floating, judged, unknown
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.snapshot.yaml_places import Value, is_variable

GITHUB = ("github.com", "www.github.com", "ssh.github.com")
REPOSITORY = "fluxcd/flux2"
REWRITE = "use https://github.com/fluxcd/flux2//manifests/install?ref=<tag> instead"

_RELEASE = re.compile(
    r"https?://([^/?#]+)/(?:[^?#]*/)?([^/?#]+/[^/?#]+)/releases/(?:download/([^/?#]*)|latest/download)/([^?#]+)",
    re.IGNORECASE,
)
_GITHUB = r"https?://(?:www\.)?github\.com/(?P<repository>[^/]+/[^/]+)"
_ON_GITHUB = (
    (
        "raw",
        re.compile(
            rf"(?:https?://raw\.githubusercontent\.com/(?P<raw>[^/]+/[^/]+)|{_GITHUB}/raw)"
            r"/(?P<ref>(?:refs/(?:tags|heads)/)?[^/?#]*)/(?P<path>[^?#]+)",
            re.IGNORECASE,
        ),
        "",
    ),
    (
        "archive",
        re.compile(
            rf"{_GITHUB}/archive/(?P<ref>(?:refs/(?:tags|heads)/)?[^/?#]*?)"
            r"\.(?:zip|tar\.gz|tgz)(?://(?P<path>[^?#]*))?",
            re.IGNORECASE,
        ),
        "kustomize no longer accepts archives",
    ),
    (
        "page",
        re.compile(rf"{_GITHUB}/(?:tree|blob)/(?P<ref>[^/?#]*)/?(?P<path>[^?#]*)", re.IGNORECASE),
        "it is the address of a GitHub page, which kustomize cannot build",
    ),
)
"""Form of a URL, how it is spelled, and why kustomize does not take it."""
_INSTALLATION = re.compile(r"manifests/(?:install|crds|bases|rbac|policies|openshift)(?:/|$)")
_SCHEME = re.compile(r"(?:ssh|https?|file)://", re.IGNORECASE)
_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*@")
_TAG = re.compile(r"(?:refs/tags/|tags/)?(v.+)")
_BRANCH = re.compile(r"(?:refs/heads/.+|HEAD|main|master|release/.+)")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


class RepositoryReference(NamedTuple):
    """A URL, cut into what counts."""

    host: str  # `github.com`; `gh:` for an abbreviation in the configuration of git; else a host, or `file:`
    repository: str  # `fluxcd/flux2`, in lower case, without `.git`
    path: str  # Below the repository's root, or the name of a release's file; without `/` around it
    form: str  # `git`, `release`, `raw`, `page` or `archive`
    ref: str | None  # What is named of it: a tag, a branch, a commit. None: nothing is.
    start: int  # Offset of `ref` in the URL
    reason: str = ""  # Why it is not clear what kustomize makes of it

    @property
    def is_flux2(self) -> bool:
        """Whether it is Flux's repository, and no copy."""
        return self.host in (*GITHUB, "gh:") and self.repository == REPOSITORY

    @property
    def is_copy(self) -> bool:
        """Whether it is called like Flux's repository, and is somewhere else."""
        return not self.is_flux2 and self.repository.rpartition("/")[2] == "flux2"

    @property
    def installs(self) -> bool:
        """Whether it is (a part of) what installs Flux."""
        return self.path == "install.yaml" if self.form == "release" else is_installation(self.path)


COPY = unknown(
    "flux-upgrade does not know which releases a copy of Flux's repository has",
    "update it once the copy has the release, or use github.com/fluxcd/flux2",
)


def parse(url: str) -> RepositoryReference | None:
    """None: it is no URL, but a path."""
    if match := _RELEASE.match(url):
        host = _host_alone(match[1])
        return RepositoryReference(host, match[2].lower(), match[4], "release", match[3], match.start(3))
    for form, pattern, reason in _ON_GITHUB:
        if match := pattern.match(url):
            path = (match["path"] or "").strip("/")
            repository = (match["repository"] or match["raw"]).lower()
            return RepositoryReference("github.com", repository, path, form, match["ref"], match.start("ref"), reason)
    return _parse_git(url)


def is_installation(path: str) -> bool:
    """Whether a folder of Flux's repository is (a part of) what installs Flux.

    ``manifests/integrations`` and ``manifests/monitoring`` of older releases are things beside it.
    """
    return _INSTALLATION.match(_cleaned(path)) is not None


def judge(ref: str | None) -> Reading:
    """What a git reference in Flux's repository says of the release."""
    if not ref:
        return floating("it has no release and follows the default branch")
    if is_variable(ref):
        return unknown("a variable sets the release", "edit the variable where it is set")
    match = _TAG.fullmatch(ref)
    version = Version.parse(match[1]) if match else None
    if match is not None and version is not None:
        return Reading(PinState.EXACT, match[1])
    if _BRANCH.fullmatch(ref):
        return floating(f"it follows the branch {ref.removeprefix('refs/heads/')}")
    if _COMMIT.fullmatch(ref):
        return unknown("a commit does not show its release", "use the release's tag instead of the commit")
    return unknown(f"{ref} is neither a Flux release nor a branch", "use a release's tag, like v2.9.4")


def pin_of(pin: Pin, reading: Reading, value: Value | None = None, start: int = 0) -> Pin:
    """``pin`` with what its reference says; ``details``: the tag's offset in the file, if it may change.

    ``start``: offset of the reference in ``value``. A tag ends it.
    """
    if value is not None and value.reason:
        hint = "write the address as plain text"
        reading = unknown(value.reason, hint, reading.version)
    pin = judged(pin, reading)
    if value is None or not pin.is_movable:
        return pin
    return pin._replace(details=value.start + start + len(pin.raw) - len(pin.version))


def change_tag(pin: Pin, target: str) -> PinChange:
    if not isinstance(pin.details, int):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: it has no tag to change", hint=pin.hint)
    replacement = TextEdit(pin.details, pin.details + len(pin.version), pin.version, target)
    return PinChange((replacement,), pin.raw.replace(pin.version, target))


def _parse_git(url: str) -> RepositoryReference | None:
    rest, _, query = url.partition("?")
    rest = rest[5:] if rest[:5].lower() == "git::" else rest
    host, rest = _host(rest)
    if not host:
        return None
    repository, path = _split(rest, everything=host == "file:")
    ref, start, reason = _query(query)
    if not repository:
        return None
    offset = len(url) - len(query) + start
    clean = repository.strip("/").removesuffix(".git").lower()
    return RepositoryReference(host, clean, _cleaned(path), "git", ref, offset, reason)


def _host(text: str) -> tuple[str, str]:
    """Host and what follows it; no host where kustomize sees none."""
    if text[:3].lower() == "gh:":
        return "gh:", text[3:]
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if scheme and scheme[0].lower() == "file://":
        return "file:", rest
    user = _USER.match(rest)
    rest = rest[user.end() :] if user else rest
    is_github = rest[:11].lower() in ("github.com/", "github.com:")
    if scheme is None and user is None and not is_github:
        return "", text
    at = re.search(r"[/:]" if scheme is None else "/", rest)
    if at is None:
        return "", text
    return _host_alone(rest[: at.start()]), rest[at.end() :]


def _host_alone(text: str) -> str:
    """Without a port, and without the name and the token that may stand before it."""
    return text.rpartition("@")[2].partition(":")[0].lower()


def _split(text: str, *, everything: bool) -> tuple[str, str]:
    """Repository and the path in it: parted by ``_git/``, ``//``, ``.git``, or after two names."""
    if "_git/" in text:
        before, _, after = text.partition("_git/")
        name, _, path = after.partition("/")
        return f"{before}_git/{name}", path
    for sign in ("//", ".git"):
        if sign in text:
            repository, _, path = text.partition(sign)
            return repository, path
    if everything:
        return text, ""
    owner, _, rest = text.partition("/")
    name, _, path = rest.partition("/")
    return (f"{owner}/{name}", path) if owner and name else ("", "")


def _query(query: str) -> tuple[str | None, int, str]:
    """The reference, its offset in the query, and why it is not clear.

    The first ``ref`` counts, and ``version`` where that is absent or empty.
    """
    found: dict[str, tuple[str, int]] = {}
    offset = 0
    for part in query.split("&"):
        key, _, text = part.partition("=")
        found.setdefault(key, (text, offset + len(key) + 1))
        offset += len(part) + 1
    text, start = found.get("ref", ("", 0))
    if not text:
        text, start = found.get("version", ("", 0))
    if not is_variable(text) and any(each in query for each in "%+;#"):
        return text or None, start, "its query contains escape sequences"
    return text or None, start, ""


def _cleaned(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))
