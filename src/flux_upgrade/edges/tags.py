"""Which Git tags are releases of Flux, and what to say about one that is not there.

Tags come from users and from servers, and become parts of paths and URLs:
nothing that is not ``v`` and a semantic version gets that far.
"""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import ReleaseNotFound
from flux_upgrade.versions import is_tag, precedence


def require_tag(tag: str) -> None:
    """Raise ReleaseNotFound unless ``tag`` is ``v`` and a semantic version."""
    if not is_tag(tag):
        hint = f"did you mean v{tag}?" if is_tag(f"v{tag}") else "name it as Flux does, for example v2.9.4"
        raise ReleaseNotFound(f"there is no Flux release named '{one_line(tag)}'", hint=hint)


def not_found(tag: str, source: str, known: Iterable[str] = ()) -> ReleaseNotFound:
    """The error for a well-formed ``tag`` that ``source`` does not have, naming those it has."""
    newest_first = sorted(filter(is_tag, known), key=precedence, reverse=True)
    major, minor, *_ = precedence(tag)
    near = [t for t in newest_first if t.startswith(f"v{major}.{minor}.")][:3]
    if tag in newest_first:
        return ReleaseNotFound(
            f"{one_line(source)} lists the Flux release {tag}, and has no manifests for it",
            hint="assets appear some minutes after the release: try again later",
        )
    hint = "check the version and the release source"
    if near:
        hint = f"of that minor it has {', '.join(near)}; the newest that it has is {newest_first[0]}"
    elif newest_first:
        hint = f"the newest that it has is {newest_first[0]}"
    return ReleaseNotFound(f"{one_line(source)} has no Flux release {tag}", hint=hint)
