"""A real registry takes a bootstrap, other programs read what it pushed, and after any fault the next run finishes."""

from __future__ import annotations

import json
import subprocess
import tarfile
from contextlib import chdir, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.faulty_registry import Fault, FaultyRegistry
from adapters.registries import NoCredentials
from bootstrap.oci_bootstraps import FILE, TAG, options
from flows import manifest
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.artifacts.pull import ArtifactPorts
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.kustomization import DEFAULT, EMPTY
from flux_upgrade.bootstrap.oci_plan import OciOutcome, plan_oci, push_oci
from flux_upgrade.bootstrap.options import BootstrapOptions, OciOptions
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.timing import Timing
from flux_upgrade.pins.regenerate import Regenerator
from memory import regenerator
from promotion.program import NOW, Seen, entries, skopeo
from promotion.program import Site as Program
from real_parts import require_program, require_shared

pytestmark = pytest.mark.real_part("docker-registry")
FOREVER = -1
_USING = regenerator()


@dataclass
class Place:
    """Two repositories of a registry, of one test."""

    url: str
    path: str

    def options(self, version: str = "", **flags: Any) -> BootstrapOptions:
        host = self.url.partition("://")[2]
        oci = OciOptions(
            f"oci://{host}/{self.path}/flux:{TAG}",
            f"oci://{host}/{self.path}/fleet:{TAG}",
            "clusters/production",
            allow_insecure_http=True,
        )
        return options(version, oci, **flags)

    def bootstrap(self, asked: BootstrapOptions, using: Regenerator = _USING) -> OciOutcome:
        """One run; a failure before the first write is an outcome as well."""
        slept: list[float] = []
        timing = Timing(now=lambda: NOW + sum(slept), sleep=slept.append, jitter=lambda: 0.5)
        with Spool() as spool, closing(Client(timing)) as client:
            flux, fleet = self._opened(client, "flux"), self._opened(client, "fleet")
            now = datetime.fromtimestamp(NOW, UTC)
            ports = ArtifactPorts(flux, using, spool, lambda _: "", now)
            return push_oci(plan_oci(asked, None, RenderedComponents(using), ports, fleet), ports, fleet)

    def _opened(self, client: Client, name: str) -> OciArtifactRegistry:
        host = self.url.partition("://")[2]
        return OciArtifactRegistry(client, host, f"{self.path}/{name}", NoCredentials(), plain_http=True)


def name_of(request: pytest.FixtureRequest) -> str:
    name: str = request.node.name
    return name.partition("[")[0].removeprefix("test_").replace("_", "-")


@pytest.fixture
def place(proxy: FaultyRegistry, request: pytest.FixtureRequest) -> Place:
    return Place(proxy.url, f"org/{name_of(request)}")


@pytest.fixture
def flux(registry_url: str, place: Place) -> Seen:
    return Seen(registry_url, f"{place.path}/flux")


@pytest.fixture
def fleet(registry_url: str, place: Place) -> Seen:
    return Seen(registry_url, f"{place.path}/fleet")


def writes(proxy: FaultyRegistry) -> list[str]:
    return [each for each in proxy.asked if not each.startswith(("GET", "HEAD"))]


def test_what_is_pulled_is_what_was_pushed(place: Place, flux: Seen, fleet: Seen) -> None:
    outcome = place.bootstrap(place.options("v2.9.4"))

    assert outcome.failure is None
    assert outcome.flux is not None
    assert flux.tags() == {TAG: outcome.flux.digest, outcome.flux.tag: outcome.flux.digest}
    found = [(each[0], each[2], each[-1]) for each in entries(flux.layer())]
    assert found == [
        (".", "0o755", b""),
        ("flux-system", "0o755", b""),
        (FILE, "0o644", manifest("v2.9.4")),
        ("flux-system/kustomization.yaml", "0o644", DEFAULT),
    ]
    assert [each[0] for each in entries(fleet.layer())] == [
        *(".", "clusters", "clusters/production"),
        "clusters/production/kustomization.yaml",
    ]
    assert entries(fleet.layer())[-1][-1] == EMPTY


@pytest.mark.real_part("skopeo")
def test_skopeo_copies_it(place: Place, flux: Seen, tmp_path: Path) -> None:
    asked = place.options("v2.9.4")
    assert place.bootstrap(asked).failure is None
    assert asked.oci is not None
    address = asked.oci.url.replace("oci://", "docker://")

    skopeo("copy", "--src-tls-verify=false", address, f"dir:{tmp_path / 'copy'}")

    assert json.loads((tmp_path / "copy" / "manifest.json").read_text()) == flux.manifest()


@pytest.mark.real_part("kubectl")
def test_kubectl_builds_it(place: Place, flux: Seen, tmp_path: Path) -> None:
    place.bootstrap(place.options("v2.9.4"))
    (tmp_path / "layer.tar").write_bytes(flux.layer())
    with tarfile.open(tmp_path / "layer.tar") as tar:
        tar.extractall(tmp_path / "out", filter="data")
    # What kustomize-controller makes of a path without a kustomization.
    (tmp_path / "out" / "kustomization.yaml").write_text("resources: [flux-system]\n")
    command = [require_program("kubectl"), "kustomize", str(tmp_path / "out")]

    built = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  (ours)

    assert built.stdout.count("kind: Deployment\n") == 4


def test_a_second_run_writes_nothing(place: Place, proxy: FaultyRegistry) -> None:
    place.bootstrap(place.options("v2.9.4"))
    assert writes(proxy)
    proxy.passed.clear()

    outcome = place.bootstrap(place.options("v2.9.4"))

    assert (outcome.failure, outcome.flux, outcome.plan.overlay) == (None, None, None)
    assert writes(proxy) == []
    assert len(proxy.asked) == 5


def test_the_next_upgrade_takes_it_further_with_no_configuration(
    place: Place, registry_url: str, flux: Seen, written_source: Path, tmp_path: Path
) -> None:
    place.bootstrap(place.options("v2.8.7"))
    first = flux.digest()

    with chdir(tmp_path):  # in no checkout, whose config file would count
        ran = Program(registry_url, written_source, f"{place.path}/flux").run("upgrade")

    assert ran.exit_code == 0, ran.err
    assert flux.version() == "v2.8.8"
    assert flux.manifest()["annotations"]["flux-upgrade.previous"] == first
    # And the next bootstrap finds nothing to do.
    before = flux.tags()
    outcome = place.bootstrap(place.options())
    assert (outcome.failure, outcome.flux) == (None, None)
    assert flux.tags() == before


STEPS = {
    "look at the tag": ("HEAD", "/flux/manifests/production"),
    "look at the cluster's": ("HEAD", "/fleet/manifests/production"),
    "push the overlay's blobs": ("POST", "/fleet/blobs/uploads/"),
    "move the cluster's tag": ("PUT", "/fleet/manifests/production"),
    "look at the immutable tag": ("GET", "/flux/manifests/v2.9.4-"),
    "begin an upload": ("POST", "/flux/blobs/uploads/"),
    "upload": ("PUT", "/flux/blobs/uploads/"),
    "push": ("PUT", "/flux/manifests/v2.9.4-"),
    "move the tag": ("PUT", "/flux/manifests/production"),
}
FAULTS = {
    "no connection": Fault(drop="request"),
    "no answer": Fault(drop="answer"),
    "500": Fault(status=500),
    "forbidden": Fault(status=403, body=b'{"errors":[{"code":"DENIED","message":"no"}]}'),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_whatever_goes_wrong_the_next_run_finishes(
    step: str, fault: str, proxy: FaultyRegistry, registry_url: str
) -> None:
    at = Place(proxy.url, f"faults/{step}-{fault}".replace(" ", "-").replace("'", ""))
    seen = Seen(registry_url, f"{at.path}/flux")
    proxy.spoil(*STEPS[step], FAULTS[fault], times=FOREVER)

    # Where a moved tag is not confirmed, it is looked at.
    is_seen = step.startswith("move") and fault == "no answer"
    assert (_failure(at) is None) == is_seen
    proxy.heal()

    assert at.bootstrap(at.options("v2.9.4")).failure is None
    tags = seen.tags()
    assert len(tags) == 2
    assert len(set(tags.values())) == 1
    assert seen.version() == "v2.9.4"


def _failure(at: Place) -> FluxUpgradeError | None:
    try:
        return at.bootstrap(at.options("v2.9.4")).failure
    except FluxUpgradeError as error:
        return error


@pytest.mark.real_part("shared data")
def test_the_real_release(place: Place, flux: Seen) -> None:
    from conformance.real_files import regenerator_of

    using = regenerator_of(require_shared("conformance", "releases"))

    outcome = place.bootstrap(place.options("v2.9.4"), using)

    assert outcome.failure is None
    assert flux.version() == "v2.9.4"
    assert place.bootstrap(place.options("v2.9.4"), using).flux is None
