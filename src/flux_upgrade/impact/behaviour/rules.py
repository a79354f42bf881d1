"""What a rule is: one change of a release that no schema shows, and the conditions of whom it concerns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from flux_upgrade.impact.api_uses.flux_file import FluxObject, UsePlace
from flux_upgrade.impact.impact import Harm
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.snapshot.yaml_places import Step, Value, is_variable

# In an action of a Go template.
_REMOVED = re.compile(r"\{\{[^{}]*?(\.Updated|\.Changed\.ImageResult)\b")
_TRUE = ("true", "yes", "on")
_SCHEME = "oci://"
_PUBLIC = re.compile(r"(?:public\.ecr|ecr-public)\.aws(?:\.com)?")
_HOSTS = {
    "aws": re.compile(
        r"[0-9]+\.dkr[.-]ecr(?:-fips)?\.[^/.]+\.(?:amazonaws\.com(?:\.cn)?|on\.aws|on\.amazonwebservices\.com\.cn"
        rf"|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)|{_PUBLIC.pattern}"
    ),
    "azure": re.compile(r".+\.azurecr\.(?:io|cn|de|us)"),
    "gcp": re.compile(r"(?:.+\.)?gcr\.io|.+-docker\.pkg\.dev"),
}
_PRIVATE = ("aws", "azure")  # Whose registries are rarely read without logging in; of Google's, many are public
_SERVICE = re.compile(r"https?://notification-controller\.([a-z0-9-]+)(?:\.svc[a-z0-9.-]*)?\.?(?::([0-9]+))?(?=/|$)")
Path = tuple[str, ...]  # keys that lead to a field


class AffectedLine(NamedTuple):
    line: int  # 1-based: where the change matters, or where a line has to be added
    keep: str = ""  # what keeps the old behaviour of this very resource; empty: what the rule says


Match = Callable[[FluxObject], Iterable[AffectedLine]]


class Span(NamedTuple):
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
    match: Match  # The places of a resource of these kinds that are concerned
    keep: str = ""  # The line that keeps the old behaviour; empty where there is none, or where each has its own
    keep_since: str = ""  # the first release that knows the field in it; empty: all of them
    hint: str = ""  # what else to do, sentences without markup
    kept_by: tuple[Path, ...] = ()  # fields that decide it already: a resource that has one is not concerned
    is_refused: bool = False  # Whether the controllers refuse such a resource from then on, whatever else it says
    harm: Harm = Harm.DIFFERS
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
        order = f"The field that keeps the old behavior requires Flux {minor}: add it after the upgrade."
        return f"{order} {self.hint}".rstrip()


def has_reached(tag: str, release: str) -> bool:
    """Whether a release is another one or a later one; a prerelease counts as what it leads to."""
    return Version(tag).numbers >= Version(release).numbers


def outdated_template(automation: FluxObject) -> Iterator[AffectedLine]:
    """Those whose commit message is made from data that is gone."""
    value = automation.at("spec", "git", "commit", "messageTemplate")
    if value is None or _REMOVED.search(value.text) is None:
        return
    passage = automation.document.passage
    spelled = _REMOVED.search(passage.file, value.start, value.end)
    yield AffectedLine(passage.line(spelled.start(1)) if spelled else value.line)


def says(pattern: str, *path: Step) -> Match:
    """Those whose text at a path begins like that."""

    def match(resource: FluxObject) -> Iterator[AffectedLine]:
        value = resource.at(*path)
        if value is not None and re.match(pattern, value.text):
            yield AffectedLine(value.line)

    return match


def lists(*path: Step) -> Match:
    """Those with items in the list at a path."""

    def match(resource: FluxObject) -> Iterator[AffectedLine]:
        if resource.count(*path):
            yield AffectedLine(resource.key_line_at(*path))

    return match


def variables_substituted(kustomization: FluxObject) -> Iterator[AffectedLine]:
    """Those that put in variables; where there are none, nothing is substituted."""
    build = ("spec", "postBuild")
    if kustomization.keys(*build, "substitute") or kustomization.count(*build, "substituteFrom"):
        yield AffectedLine(kustomization.key_line_at(*build))


def waits_for_resources(release: FluxObject) -> Iterator[AffectedLine]:
    """Those that wait for what they install, as all do by default."""
    off = (release.text_at("spec", action, "disableWait").lower() in _TRUE for action in ("install", "upgrade"))
    if not all(off):
        yield from any_release(release)


def any_release(release: FluxObject) -> Iterator[AffectedLine]:
    if release.keys("spec"):
        yield AffectedLine(release.line_at("spec"))


def dropped_fields(resource: FluxObject) -> Iterator[AffectedLine]:
    """Fields that are read no longer; of a HelmRelease, or of a HelmChart."""
    chart = ("spec",) if resource.kind == "HelmChart" else ("spec", "chart", "spec")
    file = resource.text_at(*chart, "valuesFile")
    if file:
        # It was merged before the others, and is the first of them now.
        others = (resource.text_at(*entry) for entry in resource.entries(*chart, "valuesFiles"))
        line = resource.key_line_at(*chart, "valuesFile")
        yield AffectedLine(line, f"valuesFiles: [{', '.join((file, *others))}]")
    for renderer in resource.entries("spec", "postRenderers"):
        for name in ("patchesStrategicMerge", "patchesJson6902"):
            yield from lists(*renderer, "kustomize", name)(resource)


def foreign_provider(resource: FluxObject) -> Iterator[AffectedLine]:
    """Those that log in to one cloud, and read from elsewhere."""
    value, host = resource.at("spec", "provider"), _host(resource)
    if value is not None and value.text in _HOSTS and host and not _HOSTS[value.text].fullmatch(host):
        yield AffectedLine(value.line)


def service_account(resource: FluxObject) -> Iterator[AffectedLine]:
    value = resource.at("spec", "serviceAccountName")
    if value is not None and value.text and resource.text_at("spec", "provider") in _HOSTS:
        yield AffectedLine(value.line)


def without_provider(repository: FluxObject) -> Iterator[AffectedLine]:
    """Those of a cloud registry that cannot be read without logging in."""
    host = _host(repository)
    provider = next((name for name in _PRIVATE if _HOSTS[name].fullmatch(host)), "")
    if provider and not _PUBLIC.fullmatch(host):
        yield AffectedLine(repository.line_at("spec", "image"), f"provider: {provider}")


def _host(resource: FluxObject) -> str:
    """Of the registry; empty where it is unknown, or where there is none."""
    if resource.kind == "ImageRepository":
        address = resource.text_at("spec", "image")
    else:
        url = resource.text_at("spec", "url")
        address = url.removeprefix(_SCHEME) if url.startswith(_SCHEME) else ""
    host = address.partition("/")[0].partition(":")[0]
    return "" if is_variable(address) or "." not in host else host


def events_across_namespaces(release: FluxObject) -> Iterator[AffectedLine]:
    """HelmReleases of another namespace whose values have events sent to notification-controller."""
    if "notification-controller." not in release.document.text:
        return
    where = release.text_at("spec", "targetNamespace") or release.namespace
    if not where or is_variable(where):
        return
    for value in _texts(release, ("spec", "values")):
        match = _SERVICE.match(value.text)
        if match and match[1] != where and match[2] != "9292":
            yield AffectedLine(value.line)


def _texts(release: FluxObject, path: tuple[Step, ...]) -> Iterator[Value]:
    value = release.at(*path)
    if value is not None:
        yield value
    for step in (*release.keys(*path), *range(release.count(*path))):
        yield from _texts(release, (*path, step))
