"""What a place says of the chart today: one version, a range, nothing, or something that cannot be told."""

from __future__ import annotations

from flux_upgrade.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.kinds.formats import ranges
from flux_upgrade.kinds.formats.yaml_places import Value, as_number, is_variable
from flux_upgrade.kinds.parts import chart_index
from flux_upgrade.kinds.parts.chart_place import Place
from flux_upgrade.kinds.pin import Standing
from flux_upgrade.kinds.world import World
from flux_upgrade.values import NamedTuple

BY_HAND = "change it by hand"
_NEWEST = ("", "*", "latest")


class Seen(NamedTuple):
    """What a place says today."""

    standing: Standing
    version: str = ""
    reason: str = ""
    hint: str = ""


def seen(place: Place, index: chart_index.Index, world: World) -> Seen:
    """What a place says, and which Flux that is."""
    text = "" if place.version is None else place.version.text
    trouble = _trouble(place, text)
    if trouble is not None:
        return trouble
    locked = _locked(place, text)
    if isinstance(locked, Seen):
        return locked
    if place.source.reason:
        return _unknown(place.source.reason, place.source.hint)
    if not locked and text in _NEWEST:
        return Seen(Standing.FLOATING, reason="the newest version of the chart is taken, whichever it is")
    answer = index.resolve(place.source.repository, locked or text)
    if not answer.flux:
        return _unknown(answer.reason, answer.hint)
    is_exact = bool(locked) or ranges.is_exact(text)
    problem = _mismatch(place, answer.chart, world) if is_exact else None
    return problem or Seen(Standing.EXACT if is_exact else Standing.RANGE, answer.flux)


def _trouble(place: Place, text: str) -> Seen | None:
    """Why the place can neither be read nor changed safely."""
    if is_variable(text):
        return _unknown(
            f"the version is a variable: {text}", "write it out, or upgrade it where the variable is set"
        )
    if place.trouble[0]:
        return _unknown(*place.trouble)
    return None if place.version is None else _spelling(place.version, place.file.content)


def _spelling(version: Value, content: bytes) -> Seen | None:
    text = version.text
    if version.reason:
        return _unknown(version.reason, "write the version out where it is used")
    number = as_number(version, content)
    if number:
        return _unknown(number, "put the version in quotes")
    if text not in _NEWEST and ranges.parsed(text) is None:
        return _unknown(f"{text} is neither a version of a chart nor a range of them", BY_HAND)
    return None


def _locked(place: Place, text: str) -> str | Seen:
    """The version of the chart that a lock file decides; empty where there is none."""
    lock = place.lock
    if lock is None or not lock.versions:
        return ""
    wanted = "*" if text in _NEWEST else text
    able = [each for each in lock.versions if ranges.allows(wanted, chart_index.tag_of(each))]
    if able:
        return able[0]
    return _unknown(
        f"{lock.path} holds chart version {lock.versions[0]}, which is not what {text} asks for",
        f"run `{lock.command}` first",
    )


def _mismatch(place: Place, chart: str, world: World) -> Seen | None:
    """Whether a digest that stands beside the version is another's. It is what Flux goes by."""
    if place.digest is None:
        return None
    try:
        actual = world.artifacts.digest(
            chart_index.oci_name(place.source.repository), chart_index.oci_tag(chart)
        )
    except (SourceUnavailable, UntrustedArchive) as error:
        return _unknown(f"whether the digest is that of {chart} cannot be told: {error.message}", error.hint)
    if actual == place.digest.text and not place.digest.reason:
        return None
    return _unknown(
        f"the digest is not that of the tag {chart_index.oci_tag(chart)}, and Flux goes by the digest",
        "state a tag and a digest that belong together",
    )


def _unknown(reason: str, hint: str) -> Seen:
    return Seen(Standing.UNKNOWN, reason=reason, hint=hint)
