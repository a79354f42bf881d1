"""Which Git tags are releases of Flux, and what to say about one that is not there.

Tags come from users and from servers, and become parts of paths and URLs:
nothing that is not ``v`` and a semantic version gets that far. The rules are
those of semver.org, 2.0.0, written without a library because ``render`` from a
folder pays for every import.
"""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import ReleaseNotFound

_LONGEST = 64
_DIGITS = 9

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def _is_number(text: str) -> bool:
    return text.isdigit() and len(text) <= _DIGITS and (text == "0" or text[0] != "0")


def _is_identifier(text: str) -> bool:
    return text.replace("-", "x").isalnum()


def is_tag(text: str) -> bool:
    """Whether ``text`` is ``v`` and a semantic version, as Flux names its releases."""
    if not text.startswith("v") or not text.isascii() or len(text) > _LONGEST:
        return False
    rest, plus, build = text[1:].partition("+")
    core, dash, pre = rest.partition("-")
    numbers = core.split(".")
    return (
        len(numbers) == len(("major", "minor", "patch"))
        and all(map(_is_number, numbers))
        and (not plus or all(map(_is_identifier, build.split("."))))
        and (
            not dash or all(_is_number(i) or (_is_identifier(i) and not i.isdigit()) for i in pre.split("."))
        )
    )


def precedence(tag: str) -> Precedence:
    """The sort key of a tag for which ``is_tag`` holds (semver.org, 2.0.0, section 11)."""
    core, dash, pre = tag[1:].partition("+")[0].partition("-")
    major, minor, patch = map(int, core.split("."))
    identifiers = tuple(
        (not i.isdigit(), int(i) if i.isdigit() else 0, i) for i in (pre.split(".") if dash else ())
    )
    return major, minor, patch, not dash, identifiers


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
    hint = "check the version and the release source"
    if near:
        hint = f"of that minor it has {', '.join(near)}; the newest that it has is {newest_first[0]}"
    elif newest_first:
        hint = f"the newest that it has is {newest_first[0]}"
    return ReleaseNotFound(f"{one_line(source)} has no Flux release {tag}", hint=hint)
