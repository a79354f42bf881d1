"""A repository with every removed API version gets from v2.5.1 to v2.9.4, one pull request after the other."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

import txtar
from conformance.real_files import regenerator_of, tell
from conformance.real_releases import Real
from convergence.fleet import Fleet, fleet_at
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model import markers
from real_parts import require_program
from small_api_server import RefusedError, SmallApiServer

pytestmark = pytest.mark.real_part("shared data")

FIRST, STOP, LAST = "v2.5.1", "v2.7.5", "v2.9.4"
CASE = Path(__file__).parent / "every_removed_api.txtar"
FOLDER = "clusters/production"
MANIFEST = f"{FOLDER}/flux-system/gotk-components.yaml"
BUILT = (f"{FOLDER}/flux-system", "infrastructure")
COMPONENTS = (
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
)
BOX = "I ran `flux migrate` in"
FLUX = ".toolkit.fluxcd.io"
NAMED = re.compile(rb"\b([a-z]+\.toolkit\.fluxcd\.io)/(v\w+)")
OLD = re.compile(rb"\.toolkit\.fluxcd\.io/v[12]beta[12]\b|version: .?v[12]beta[12]\b")
PATCHED = ["file", "file", "inline", "json-6902", "json-file", "json-inline", "strategic-list"]
EXPECTED = {
    "before": [
        f"Migrate 19 places in {FOLDER} to API versions that Flux {STOP} serves",
        f"Upgrade Flux to {STOP} in {FOLDER}",
        f"Migrate 23 places in {FOLDER} to API versions that Flux {LAST} serves",
        f"Upgrade Flux to {LAST} in {FOLDER}",
    ],
    "with-upgrade": [f"Upgrade Flux to {STOP} in {FOLDER}", f"Upgrade Flux to {LAST} in {FOLDER}"],
}
Resource = Mapping[str, Any]


@dataclass
class ClusterRepository:
    """A repository on the stand-in, its cluster, and the person who merges."""

    fleet: Fleet
    built: Path
    migrate: str
    """The setting."""
    cluster: SmallApiServer = field(default_factory=SmallApiServer)
    merged: list[str] = field(default_factory=list)
    """The titles of the pull requests, in their order."""

    def reconcile(self) -> None:
        """Flux applies what is at the base; each resource must be one that it takes as it is."""
        files = self.files
        self.cluster.apply(files[MANIFEST])
        found = [*written_in(files), *self._build(files)]
        faults = [fault for each in found for fault in self.cluster.faults(each)]
        assert not faults, "\n".join(faults)
        # References, and patches that another program applies, name versions as well.
        named = {match.groups() for path in files.keys() - {MANIFEST} for match in NAMED.finditer(files[path])}
        assert {(group.decode(), version.decode()) for group, version in named} <= self.cluster.served

    def _build(self, files: Mapping[str, bytes]) -> Iterator[Resource]:
        """As kustomize builds it, with all of its patches."""
        root = self.built / self.fleet.repository.head()
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        patched = []
        for folder in BUILT:
            for each in flux_resources(yaml.load_all(built(root / folder), yaml.CSafeLoader)):
                patched += each["metadata"].get("annotations", {}).values()
                yield each
        # kustomize finds what a patch is for by its version: none may be lost, none may find more.
        assert sorted(patched) == PATCHED

    def run(self) -> None:
        ran = self.fleet.run()
        assert ran.code == 0, ran.log + ran.err

    def merge(self) -> int:
        """The one that is open. Returns its number."""
        (number,) = self.open
        self.merged.append(self.title(number))
        self.fleet.people.merge(number, "squash")
        return number

    @property
    def open(self) -> list[int]:
        return [number for number, pull in self.fleet.repository.pulls.items() if pull.state == "open"]

    def title(self, number: int) -> str:
        return self.fleet.repository.pulls[number].title

    def is_open_box(self, number: int) -> bool:
        """Whether it asks for `flux migrate`, and nobody has answered."""
        body = self.fleet.repository.pulls[number].body
        return markers.MIGRATED in body and not markers.is_ticked(body, markers.MIGRATED)

    @property
    def files(self) -> Mapping[str, bytes]:
        """At the base."""
        return self.fleet.repository.files()

    @property
    def manifest(self) -> bytes:
        return self.files[MANIFEST]

    @property
    def at(self) -> str:
        """The release at the base."""
        return self.manifest.split(b"# Flux Version: ")[1].split(b"\n")[0].decode()


def built(folder: Path) -> bytes:
    """What kustomize makes of it."""
    command = (require_program("kustomize"), "build", folder)
    return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 the real one


def is_move(title: str) -> bool:
    return title.startswith("Migrate ")


def flux_resources(documents: Any) -> Iterator[Resource]:
    """Those of Flux's groups, those in Lists as well."""
    for each in documents:
        if each and each.get("kind") == "List":
            yield from flux_resources(each["items"])
        elif each and each.get("apiVersion", "").partition("/")[0].endswith(FLUX):
            yield each


def written_in(files: Mapping[str, bytes]) -> Iterator[Resource]:
    """The resources of a repository as they are written, without what patches them."""
    for path, content in files.items():
        if path.endswith((".yaml", ".json")) and "/patches/" not in path and path != MANIFEST:
            yield from flux_resources(yaml.load_all(content, yaml.CSafeLoader))


def written() -> dict[str, bytes]:
    return txtar.read(CASE).under("before")


@pytest.fixture(params=["before", "with-upgrade"])
def repository(request: pytest.FixtureRequest, releases: Path, tmp_path: Path) -> Iterator[ClusterRepository]:
    config = f"policy: minor\nmigrate: {request.param}\nflags:\n  components-extra: [source-watcher]\n"
    with fleet_at(tmp_path, {**written(), MANIFEST: manifest(releases, FIRST)}, config) as fleet:
        fleet.hub.clock.set("2026-08-20T06:00:00Z")
        fleet.source = releases
        yield ClusterRepository(fleet, tmp_path / "built", request.param)


def manifest(releases: Path, tag: str) -> bytes:
    """As ``flux install --export`` prints it."""
    options = InstallOptions(tag)._replace(components=COMPONENTS)
    return regenerator_of(releases).regenerate(options).text.encode()


def test_the_case_is_laid_out_as_update_golden_would() -> None:
    assert txtar.render(txtar.read(CASE)) == CASE.read_text()


def test_every_version_that_went_is_in_use(releases: Path) -> None:
    real = Real(releases)
    first, last = real.served(FIRST).kinds, real.served(LAST).kinds
    gone = {
        (group, version, kind)
        for (group, kind), crd in first.items()
        for version in crd.served - last[group, kind].served
    }
    used = {(*each["apiVersion"].split("/"), each["kind"]) for each in written_in(written())}
    assert used >= gone
    tell(f"multi-step: {len(gone)} versions of {len({each[2] for each in gone})} kinds went from {FIRST} to {LAST}")


def test_one_jump_is_refused(releases: Path) -> None:
    cluster = SmallApiServer()
    cluster.apply(manifest(releases, FIRST))
    cluster.migrate()
    with pytest.raises(RefusedError, match=r"'v1beta2'\] must appear in spec.versions"):
        cluster.apply(manifest(releases, LAST))


def test_merged_one_by_one(repository: ClusterRepository) -> None:
    repository.reconcile()
    careless = SmallApiServer()
    careless.apply(repository.manifest)
    for _ in range(10):
        repository.run()
        if not repository.open:
            break
        number = repository.merge()
        repository.reconcile()
        if repository.at != LAST:
            careless.apply(repository.manifest)
        if repository.is_open_box(number):
            # Nothing goes on before somebody has said that the cluster is ready.
            repository.run()
            assert all(is_move(repository.title(each)) for each in repository.open)
            repository.cluster.migrate()
            repository.fleet.people.tick(number, BOX)
    assert (repository.at, repository.merged) == (LAST, EXPECTED[repository.migrate])
    for number, title in enumerate(repository.merged, start=1):
        tell(f"ladder, migrate {repository.migrate}: {number}. {title}")
    assert "artifactgenerators.source.extensions.fluxcd.io" in repository.cluster.crds
    texts = {path: content for path, content in repository.files.items() if path != MANIFEST}
    assert not [path for path, content in texts.items() if OLD.search(content)]
    # Whoever only ticks the box hears it from the API server.
    with pytest.raises(RefusedError):
        careless.apply(repository.manifest)
