"""The tags that we give: all that one run leaves for the next, besides the artifacts themselves.

``v2.9.4-0123456789ab`` is written once. So is ``production.rejected-v2.9.4``.
``production.before-0123456789ab`` is written again where the same artifact is promoted in place of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flux_upgrade.errors import UsageError
from flux_upgrade.versions import is_tag

_HEX = 12
_LONGEST = 128
"""Characters of a tag: OCI Distribution Specification 1.1, "Pulling manifests"."""
_LONGEST_VERSION = "v999.999.999"
_DIGEST = rf"[0-9a-f]{{{_HEX}}}"
_IMMUTABLE = re.compile(rf"(?P<version>v[0-9].*?)-{_DIGEST}(?:-{_DIGEST})?")
_NOTE = re.compile(rf".+\.(?:before-{_DIGEST}|rejected-(?:v[0-9].*|{_DIGEST}))")


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


def rejected_versions(tags: Iterable[str], tag: str) -> tuple[str, ...]:
    """The releases of Flux that ``tag`` was rolled back from."""
    prefix = f"{tag}.rejected-"
    versions = (each.removeprefix(prefix).replace("_", "+") for each in tags if each.startswith(prefix))
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
            f"the tag {tag} is too long: no tag can be named after it",
            hint="promote a tag of at most 100 characters",
        )
    return name
