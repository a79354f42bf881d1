"""flux-upgrade predicts which CRDs of real releases a real API server refuses."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from cluster_stand_in.api import Api

from cluster.api_servers import Server
from conformance.real_releases import ALL, DEFAULT, Minor, Pair, Real, minor_of, pairs
from flux_upgrade.impact.stored_versions.refused import stored
from flux_upgrade.manifests.crds import Crd
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from real_parts import require_shared

pytestmark = [pytest.mark.real_part("shared data"), pytest.mark.cluster]

CRDS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULE = re.compile(r": 422 .*status\.storedVersions\[\d+\]: Invalid value: .*spec\.versions")
"""Kubernetes 1.34 says "missing from spec.versions", older ones "must appear in spec.versions"."""
FIRST_COMPARED = (2, 0)
TRIES = 20
"""The API server itself writes into the status of what is new."""


@dataclass
class Cluster:
    """The CRDs of one cluster, and the releases that they were of."""

    api: Api
    real: Real
    components: tuple[str, ...]
    history: list[str] = field(default_factory=list)
    migrated: list[str] = field(default_factory=list)

    def refused(self, tag: str) -> set[Pair]:
        """What the API server says of a release's CRDs, without taking them."""
        found = set()
        for crd in self.real.crds(tag, self.components):
            if not self._put(crd, "?dryRun=All"):
                lacking = [each for each in self._stored(crd.name) if crd.version(each) is None]
                assert lacking, crd.name
                found |= {(crd.kind, version) for version in lacking}
        return found

    def predicted(self, tag: str) -> set[Pair]:
        """What flux-upgrade predicts that the API server refuses."""
        return pairs(self.real.stored(self.history, tag, self.components, self.migrated).refused)

    def apply(self, tag: str, components: tuple[str, ...] | None = None) -> None:
        """As Flux does, which removes what is no longer there."""
        self.components = components or self.components
        crds = self.real.crds(tag, self.components)
        gone = {each["metadata"]["name"] for each in self.api.items(CRDS)} - {crd.name for crd in crds}
        for name in gone:
            delete(self.api, name)
        for crd in crds:
            assert self._put(crd), f"{crd.name} of {tag} is refused after {self.history}"
        self.history.append(tag)

    def migrate(self) -> None:
        """What `flux migrate` leaves behind."""
        for each in self.api.items(CRDS):
            storage = next(version["name"] for version in each["spec"]["versions"] if version["storage"])
            path = f"{CRDS}/{each['metadata']['name']}/status"
            assert self.api.ask("PATCH", path, {"status": {"storedVersions": [storage]}})
        self.migrated.append(self.history[-1])

    def _stored(self, name: str) -> list[str]:
        found = self.api.ask("GET", f"{CRDS}/{name}")
        return [] if found is None else list(found["status"]["storedVersions"])

    def _put(self, crd: Crd, query: str = "") -> bool:
        """Create or replace; False: it is refused for its stored versions."""
        for _ in range(TRIES):
            there = self.api.ask("GET", f"{CRDS}/{crd.name}")
            if there is None:
                taken = self.api.ask("POST", CRDS + query, crd.document.data)
            else:
                metadata = {**crd.document.data["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}
                body = {**crd.document.data, "metadata": metadata, "status": there["status"]}
                try:
                    taken = self.api.ask("PUT", f"{CRDS}/{crd.name}{query}", body)
                except AssertionError as error:
                    if RULE.search(str(error)) is None:
                        raise
                    return False
            if taken is not None:
                return True
        raise AssertionError(f"{crd.name} changes all the time")


def delete(api: Api, name: str) -> None:
    """Nothing is stored there: without its finalizer, which looks again after five seconds."""
    api.ask("DELETE", f"{CRDS}/{name}")
    api.ask("PATCH", f"{CRDS}/{name}", {"metadata": {"finalizers": None}})
    until = time.monotonic() + 30
    while api.ask("GET", f"{CRDS}/{name}") is not None:
        assert time.monotonic() < until, name
        time.sleep(0.02)


@pytest.fixture(scope="module")
def real() -> Real:
    return Real(require_shared("conformance", "releases"))


@pytest.fixture
def api(real_server: Server) -> Iterator[Api]:
    yield real_server.api
    for each in real_server.api.items(CRDS):
        delete(real_server.api, each["metadata"]["name"])


def later(real: Real, tag: str) -> list[str]:
    tags = list(real.last.values())
    return tags[tags.index(tag) + 1 :]


@pytest.mark.parametrize("components", [DEFAULT, ALL])
@pytest.mark.parametrize("first", [(0, 31), (0, 41), *((2, minor) for minor in range(9))])
def test_a_release_ran_and_any_later_one_comes(api: Api, real: Real, first: Minor, components: tuple[str, ...]) -> None:
    cluster = Cluster(api, real, components)
    cluster.apply(real.last[first])
    for target in later(real, real.last[first]):
        assert cluster.predicted(target) == cluster.refused(target), target


@pytest.mark.parametrize("components", [DEFAULT, ALL])
@pytest.mark.parametrize("first", [(0, 28), (2, 0), (2, 3)])
def test_one_minor_after_the_other(api: Api, real: Real, first: Minor, components: tuple[str, ...]) -> None:
    """At each of them, any later one; `flux migrate` runs where the next one needs it."""
    cluster = Cluster(api, real, components)
    cluster.apply(real.last[first])
    for tag in later(real, real.last[first]):
        for target in later(real, cluster.history[-1]) if minor_of(tag) > FIRST_COMPARED else ():
            assert cluster.predicted(target) == cluster.refused(target), f"{cluster.history} → {target}"
        if cluster.predicted(tag):
            cluster.migrate()
            assert cluster.predicted(tag) == cluster.refused(tag) == set()
        cluster.apply(tag)


def test_controllers_that_were_removed_and_came_back(api: Api, real: Real) -> None:
    """Flux removes their CRDs, and what was stored with them."""
    cluster = Cluster(api, real, ALL)
    past = []
    for tag, components in (("v2.3.0", ALL), ("v2.5.1", DEFAULT), ("v2.7.5", ALL)):
        cluster.apply(tag, components)
        past.append(FileRevision("", "", real.content(tag, components)))
    for target in ("v2.8.8", "v2.9.4"):
        predicted = stored(FileRevisions(tuple(past)), past[-1].content, real.crds(target, ALL))
        assert pairs(predicted.refused) == cluster.refused(target)
    assert not {kind for kind, _ in cluster.refused("v2.9.4") if kind.startswith("Image")}
    assert ("OCIRepository", "v1beta2") in cluster.refused("v2.8.8")


def test_a_release_that_was_taken_back(api: Api, real: Real) -> None:
    """What a newer one stored stays in the list, so that not every way back is open."""
    cluster = Cluster(api, real, DEFAULT)
    for tag in ("v2.5.1", "v2.7.5", "v2.6.4", "v2.7.5"):
        cluster.apply(tag)
        for target in real.last.values():
            assert cluster.predicted(target) == cluster.refused(target), f"{cluster.history} → {target}"
    assert ("OCIRepository", "v1") in cluster.refused("v2.5.1")
    cluster.migrate()
    for target in real.last.values():
        assert cluster.predicted(target) == cluster.refused(target), f"{cluster.history}, migrated → {target}"
    assert cluster.refused("v2.8.8") == cluster.refused("v2.9.4") == set()


@pytest.mark.parametrize("components", [DEFAULT, ALL])
@pytest.mark.parametrize("start", ["v2.0.1", "v2.2.3", "v2.5.1", "v2.6.4"])
def test_the_hops_lead_there(api: Api, real: Real, start: str, components: tuple[str, ...]) -> None:
    """With `flux migrate` at each release that is left."""
    cluster = Cluster(api, real, components)
    cluster.apply(start)
    way = real.upgrade_path(start, "v2.9.4", components)
    assert way is not None
    for tag in way or ("v2.9.4",):
        cluster.migrate()
        cluster.apply(tag)
