"""Versions of the chart, and the releases of Flux that they install (``appVersion``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.ports import Charts
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import Reading, not_looked_up, unknown
from flux_upgrade.pins.objects.chart_place import CHART

_PREFIX = re.compile(r"=?\s*v?")


class ChartRelease(NamedTuple):
    chart: str  # The chart's version
    flux: str  # The release of Flux, a tag


class Index:
    """What the repositories of charts say, each asked once."""

    def __init__(self, charts: Charts) -> None:
        self._versions, self.resolve = cache(charts.versions), cache(self._resolve)

    def _resolve(self, repository: str, text: str) -> ChartRelease | Reading:
        """What ``text``, a version or a range of the chart, installs today. Never raises."""
        try:
            return _resolved(self._versions(repository, CHART), repository, text)
        except (SourceUnavailable, UntrustedArchive) as error:
            return not_looked_up("the Flux version of the chart", error)


def _resolved(versions: Mapping[str, str], repository: str, text: str) -> ChartRelease | Reading:
    if not versions:
        return unknown(f"{repository} has no chart {CHART}", "check the repository's URL")
    is_exact = ranges.is_exact(text)
    newest = ranges.newest(text, map(tag_of, versions)).removeprefix("v")
    if not newest:
        what = f"chart version {bare(text)}" if is_exact else f"a chart version in the range {text}"
        reason = f"{what} is not in the index of {repository}"
        return unknown(reason, f"check the version; the newest is {_newest(versions)}")
    app = flux_of(versions[_key(versions, newest)])
    if not app:
        reason = f"chart version {newest} does not declare its Flux version (appVersion)"
        return unknown(reason, "use the chart of fluxcd-community")
    return ChartRelease(newest, app)


def for_release(versions: Mapping[str, str], release: str) -> str:
    """The newest stable version of the chart that installs a release, as the index spells it.

    Looks from the newest downwards, and no further than the first older Flux: a registry has to be
    asked about each version by itself. Raises ReleaseNotFound.
    """
    for version in _newest_first(versions):
        flux = flux_of(versions[version])
        if flux == release and "-" not in version:
            return version
        if flux and Version(flux) < Version(release):
            break
    newest = _newest(versions)
    newest_flux = flux_of(versions.get(newest, ""))
    raise ReleaseNotFound(
        f"the chart {CHART} has no version with appVersion {release.removeprefix('v')} yet",
        hint="run again later: the community publishes the chart after Flux"
        + (f"; its newest version is {newest}, with Flux {newest_flux}" if newest_flux else ""),
    )


def raised(text: str, chart: str, release: str, versions: Mapping[str, str]) -> str:
    """A range of chart versions that admits ``chart``, and comes to ``release``. Raises UnsupportedPin."""
    new = ranges.raised(text, tag_of(chart))
    if new is None:
        raise UnsupportedPin(
            f"the range {text} of chart versions cannot be changed safely",
            hint=f"write a range like 2.x, or set the version {chart}",
        )
    got = ranges.newest(new, map(tag_of, versions)).removeprefix("v")
    flux = flux_of(versions[_key(versions, got)]) if got else ""
    if flux != release:
        raise UnsupportedPin(
            f"the range {new} of chart versions would select {got or 'none'}"
            f" with Flux {flux or 'of no known release'}, not to {release}",
            hint=f"set the version {chart}",
        )
    return new


def exactly(text: str, chart: str) -> str:
    """One version in place of another, spelled like it: ``=v2.14.0``."""
    match = _PREFIX.match(text)
    return f"{match[0] if match else ''}{chart.removeprefix('v')}"


def bare(text: str) -> str:
    """A version without ``=`` and ``v``."""
    return text.removeprefix(exactly(text, ""))


def tag_of(version: str) -> str:
    """A chart's version as a tag, which is what versions are compared as."""
    return f"v{version.removeprefix('v')}"


def oci_name(repository: str) -> str:
    """The chart in an ``oci://`` repository, as the port Artifacts takes it."""
    return f"{repository.removeprefix('oci://')}/{CHART}"


def oci_tag(chart: str) -> str:
    """An OCI tag has no ``+``: Helm writes ``_`` for it (helm.sh, "Use OCI-based registries")."""
    return chart.replace("+", "_")


def flux_of(app_version: str) -> str:
    """The release of Flux that an ``appVersion`` names; empty where it names none."""
    tag = tag_of(app_version)
    return tag if is_tag(tag) else ""


def _key(versions: Mapping[str, str], version: str) -> str:
    return next(each for each in versions if each.removeprefix("v") == version)


def _newest_first(versions: Mapping[str, str]) -> list[str]:
    """As the index spells them; what is no semantic version is left out."""
    known = [each for each in versions if is_tag(tag_of(each))]
    return sorted(known, key=lambda each: Version(tag_of(each)), reverse=True)


def _newest(versions: Mapping[str, str]) -> str:
    return next(iter(_newest_first(versions)), "none")
