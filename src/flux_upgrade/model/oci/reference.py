"""Where an artifact is (``oci://ghcr.io/org/flux-manifests:production``), and the tags that we give."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flux_upgrade.model.errors import UntrustedArchive, UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag


def with_host(repository: str) -> str:
    """What a name without a host means to container tools: Docker Hub."""
    first = repository.partition("/")[0]
    has_host = "." in first or ":" in first or first == "localhost"
    return repository if has_host else "docker.io/" + repository


# github.com/distribution/reference, regexp.go.
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
"""Of a registry, with its port."""
PATH = re.compile(rf"{_PART}(?:/{_PART})*")  # Of a repository in it
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_ADDRESS = re.compile(
    rf"(?P<host>{HOST.pattern})/(?P<path>{PATH.pattern})"
    rf"(?::(?P<tag>{TAG.pattern}))?(?:@(?P<digest>sha256:[0-9a-f]{{64}}))?"
)
_EXAMPLE = "write it like oci://ghcr.io/org/flux-manifests:production"


class Address(NamedTuple):
    """A repository of a registry, and what in it is meant."""

    host: str  # With its port, if it is named: `ghcr.io`, `127.0.0.1:5000`
    path: str
    tag: str = ""
    digest: str = ""  # `sha256:…`

    @property
    def repository(self) -> str:
        return f"{self.host}/{self.path}"

    def __str__(self) -> str:
        tag, digest = (f":{self.tag}" if self.tag else ""), (f"@{self.digest}" if self.digest else "")
        return f"{SCHEME}{self.repository}{tag}{digest}"


def parse_address(text: str) -> Address:
    """An address with its scheme. Raises UsageError for what is none."""
    found = _ADDRESS.fullmatch(text.removeprefix(SCHEME))
    if not text.startswith(SCHEME) or found is None:
        # It is not shown: what makes it unusable may be a password in it.
        raise UsageError("the URL of the artifact is not valid", hint=_EXAMPLE)
    return Address(found["host"], found["path"], found["tag"] or "", found["digest"] or "")


_HEX = 12
_LONGEST = 128  # Characters of a tag: OCI Distribution Specification 1.1, "Pulling manifests"
_LONGEST_VERSION = "v999.999.999"
_DIGEST = rf"[0-9a-f]{{{_HEX}}}"
_IMMUTABLE = re.compile(rf"(?P<version>v[0-9].*?)-{_DIGEST}(?:-{_DIGEST})?")
_NOTE = re.compile(rf".+\.(?:(?:before|migrated)-{_DIGEST}|rejected-(?:v[0-9].*|{_DIGEST}))")


def immutable(version: str, diff_id: str) -> str:
    """``v2.9.4-0123456789ab``: a release of Flux, and the digest of the uncompressed layer with it."""
    # A tag cannot hold the plus sign of build metadata.
    return f"{version.replace('+', '_')}-{_short(diff_id)}"


def another(tag: str, digest: str) -> str:
    """``v2.9.4-0123456789ab-ba9876543210``: the same content beside other layers or annotations.

    ``tag``: as ``immutable`` gives it; ``digest``: of what is different.
    """
    return f"{tag}-{_short(digest)}"


def version_of(tag: str) -> str:
    """The release of Flux in a tag that ``immutable`` gives; empty for any other."""
    found = _IMMUTABLE.fullmatch(tag)
    version = found["version"].replace("_", "+") if found is not None else ""
    return version if is_tag(version) else ""


def is_immutable(tag: str) -> bool:
    """Whether a tag is one that ``immutable`` gives."""
    return bool(version_of(tag))


def is_ours(tag: str) -> bool:
    """Whether a tag is one of those that no cluster follows."""
    return is_immutable(tag) or _NOTE.fullmatch(tag) is not None


def before(tag: str, digest: str) -> str:
    """The tag of what ``tag`` stood for before it was moved to ``digest``. Raises as ``require_short``."""
    return _within(f"{tag}.before-{_short(digest)}", tag)


def rejected(tag: str, version: str, digest: str = "") -> str:
    """The tag of an artifact that ``tag`` was rolled back from; by its digest where no release is known."""
    return _within(f"{tag}.rejected-{version.replace('+', '_') or _short(digest)}", tag)


def migrated(tag: str, digest: str) -> str:
    """Return the tag of an artifact at which `flux migrate` ran before ``tag`` left it. Raises as ``require_short``."""
    return _within(f"{tag}.migrated-{_short(digest)}", tag)


def rejected_artifacts(tags: Iterable[str], tag: str) -> tuple[str, ...]:
    """Return those of ``tags`` that ``rejected`` gave."""
    return tuple(each for each in tags if each.startswith(f"{tag}.rejected-"))


def rejected_versions(tags: Iterable[str], tag: str) -> tuple[str, ...]:
    """The releases of Flux that ``tag`` was rolled back from."""
    rejections = rejected_artifacts(tags, tag)
    versions = (each.removeprefix(f"{tag}.rejected-").replace("_", "+") for each in rejections)
    return tuple(filter(is_tag, versions))


def require_short(tag: str) -> None:
    """Raise UsageError for a tag that ours could not be named after."""
    before(tag, "0" * _HEX)
    rejected(tag, _LONGEST_VERSION)


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:_HEX]


def _within(name: str, tag: str) -> str:
    if len(name) > _LONGEST:
        raise UsageError(
            f"the tag {tag} is too long: flux-upgrade cannot derive tags from it",
            hint="use a tag of at most 100 characters",
        )
    return name


def refused(what: str, why: str) -> UntrustedArchive:
    """The error for a part of an artifact; ``what`` names it. Either may hold text from the artifact."""
    return UntrustedArchive(
        f"{one_line(what)} failed verification: {one_line(why)}",
        hint="check the output of `flux pull artifact`, or push the artifact again (nothing was changed)",
    )
