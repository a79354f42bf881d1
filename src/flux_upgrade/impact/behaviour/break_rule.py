"""A rule: one change of a release that no schema shows, and which resources it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flux_upgrade.impact.api_uses.flux_file import FluxObject, UsePlace
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

Path = tuple[str, ...]  # keys that lead to a field


class AffectedLine(NamedTuple):
    """A line of a resource that a change of a release concerns."""

    line: int  # 1-based: where the change matters, or where a line has to be added
    keep: str = ""  # what keeps the old behaviour of this very resource; empty: what the rule says


class Span(NamedTuple):
    """Releases that behave in the new way."""

    first: str  # `v2.9.0`
    end: str = ""  # the first that does so no longer; empty: there is none yet

    def has(self, tag: str) -> bool:
        return has_reached(tag, self.first) and not (self.end and has_reached(tag, self.end))


class BreakRule(NamedTuple):
    """One change of a release, and how to find the resources that it concerns."""

    slug: str  # `helm-post-render`
    spans: tuple[Span, ...]  # in order. An upgrade is concerned if it ends in one of them, and began in none.
    kinds: tuple[str, ...]  # of the resources that may be concerned
    change: str  # what changes, a sentence without markup
    source: str  # where Flux says so: an address
    match: Callable[[FluxObject], Iterable[AffectedLine]]
    """The places of a resource of these kinds that are concerned."""
    keep: str = ""
    """The line that keeps the old behaviour; empty where there is none, or where each has its own."""
    keep_since: str = ""  # the first release that knows the field in it; empty: all of them
    hint: str = ""  # what else to do, sentences without markup
    kept_by: tuple[Path, ...] = ()  # fields that decide it already: a resource that has one is not concerned
    gate: str = ""  # the controllers' feature gate that decides for all resources; empty where there is none
    takes_patches: bool = False  # whether a patch alone can show that it is concerned
    until: Mapping[str, str] = {}
    """API version → the release that no longer serves it, from which on its migration speaks of the
    same; resources of other versions are not concerned. Empty: of whatever version."""

    def entered(self, current: str, target: str) -> Span | None:
        """The releases that an upgrade enters; None where it is not concerned."""
        if any(span.has(current) for span in self.spans):
            return None
        return next((span for span in self.spans if span.has(target)), None)

    def concerns(self, resource: FluxObject, target: str) -> bool:
        if resource.kind not in self.kinds or (resource.place is UsePlace.PATCH and not self.takes_patches):
            return False
        if self.until and has_reached(target, self.until.get(resource.version, "v0.0.0")):
            return False
        return not any(resource.has(*path) for path in self.kept_by)

    def line_to_keep(self, found: AffectedLine, target: str) -> str:
        """The line for one place; empty where the target would not know it."""
        is_known = not self.keep_since or has_reached(target, self.keep_since)
        return (found.keep or self.keep) if is_known else ""

    def hint_for(self, target: str) -> str:
        if not self.keep_since or not has_reached(target, self.keep_since):
            return self.hint
        # What the API server says of a field that it does not know: https://github.com/fluxcd/flux2/issues/4479
        minor = Version(self.keep_since).minor
        order = (
            f"The field for it comes with {minor}: add it once the upgrade is done, "
            "since the API server refuses it before."
        )
        return f"{order} {self.hint}".rstrip()


def has_reached(tag: str, release: str) -> bool:
    """Whether a release is another one or a later one; a prerelease counts as what it leads to."""
    return Version(tag).numbers >= Version(release).numbers
