"""``flux-upgrade bootstrap --source=oci`` pushes what clusters follow, and gives each password only to whom it is for."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import written_release
import yaml
from cluster_stand_in.api import Object
from cluster_stand_in.controllers import Artifact, Controllers

from adapters.faulty_registry import FaultyRegistry
from adapters.loopback import closed_port
from adapters.registries import PASSWORD, USERNAME, htpasswd, run_registry
from bootstrap.cli_runs import Done, Laptop, files_of
from bootstrap.mounted_secret import secret_of
from cluster import api_servers
from cluster.driving import TIMING, Driven
from error_names import error_names
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByRegistry, RegistryUnavailable, UsageError
from process_arguments import seen_arguments
from promotion.program import Seen

pytestmark = pytest.mark.real_part("docker-registry")
READER, READS = "cluster-reader", "read-only-horse-5512"
CLUSTER = {"FLUX_UPGRADE_CLUSTER_USERNAME": READER, "FLUX_UPGRADE_CLUSTER_PASSWORD": READS}
FILES = [f"flux-system/{name}" for name in ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")]


@pytest.fixture(scope="module")
def guarded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("guarded")
    yield from run_registry(folder, htpasswd(folder), in_memory=True)


@dataclass
class Site:
    """Two repositories of a registry, and the folder that files go to."""

    laptop: Laptop
    url: str
    path: str
    folder: Path

    @property
    def host(self) -> str:
        return self.url.partition("://")[2]

    @property
    def flux(self) -> str:
        return f"oci://{self.host}/{self.path}/flux:production"

    @property
    def fleet(self) -> str:
        return f"oci://{self.host}/{self.path}/fleet:production"

    def run(self, *argv: str | Path, **more: Any) -> Done:
        flags = ("--source=oci", f"--url={self.flux}", "--allow-insecure-http")
        return self.laptop.bootstrap(self.folder, *flags, *argv, **more)

    def seen(self, name: str = "flux") -> Seen:
        return Seen(self.url, f"{self.path}/{name}")


@pytest.fixture
def site(written_source: Path, proxy: FaultyRegistry, tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    (tmp_path / "files").mkdir()
    name = request.node.name.partition("[")[0].replace("_", "-")
    return Site(Laptop(written_source), proxy.url, f"org/{name}", tmp_path / "files")


@pytest.fixture
def guarded(site: Site, guarded_url: str) -> Site:
    return Site(site.laptop, guarded_url, site.path, site.folder)


def writes(proxy: FaultyRegistry) -> list[str]:
    return [f"{each.method} {each.path}" for each in proxy.passed if each.method not in ("GET", "HEAD")]


def names(layer: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        return sorted(each.name for each in tar if each.isreg())


def objects(site: Site) -> dict[str, Any]:
    documents = yaml.safe_load_all((site.folder / "flux-system" / "gotk-sync.yaml").read_text())
    return {f"{each['kind']} {each['metadata']['name']}": each["spec"] for each in documents if each}


def test_pushed_and_written_down(site: Site, registry_url: str) -> None:
    done = site.run("--version=v2.9.3", "--json").well()
    seen = Seen(registry_url, f"{site.path}/flux")
    tags = seen.tags()
    assert set(tags) == {"production", done.value["artifact"].rpartition(":")[2]}
    assert set(tags.values()) == {done.value["digest"]}
    assert seen.version() == "v2.9.3"
    assert sorted(files_of(site.folder)) == FILES
    assert done.value["outcome"] == "updated"
    assert (done.cluster["source"], done.cluster["version"], done.cluster["branch"]) == ("oci", "v2.9.3", None)
    source = objects(site)["OCIRepository flux-components"]
    assert source["ref"] == {"tag": "production"} and source["url"] == site.flux.removesuffix(":production")


def test_again_nothing_is_pushed(site: Site, proxy: FaultyRegistry) -> None:
    site.run(f"--cluster-url={site.fleet}").well()
    assert writes(proxy)
    before = files_of(site.folder)
    proxy.passed.clear()
    done = site.run(f"--cluster-url={site.fleet}", "--json").well()
    assert (done.value["outcome"], done.value["artifact"]) == ("none", None)
    assert writes(proxy) == []
    assert files_of(site.folder) == before


def test_a_dry_run_pushes_and_writes_nothing(site: Site, proxy: FaultyRegistry) -> None:
    done = site.run(f"--cluster-url={site.fleet}", "--dry-run", "--json").well()
    assert writes(proxy) == []
    assert files_of(site.folder) == {}
    assert done.value["outcome"] == "held"
    assert [each["path"] for each in done.cluster["files"]] == FILES


def test_an_empty_overlay_for_the_cluster(site: Site, registry_url: str) -> None:
    flags = (f"--cluster-url={site.fleet}", "--cluster-path=clusters/production")
    site.run(*flags).well()
    overlay = Seen(registry_url, f"{site.path}/fleet")
    assert names(overlay.layer()) == ["clusters/production/kustomization.yaml"]
    assert objects(site)["Kustomization flux-system"]["path"] == "./clusters/production"
    before = overlay.tags()
    site.run(*flags, "--log-level=debug").well()
    assert overlay.tags() == before


def test_an_own_kustomization(site: Site, registry_url: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "patches").mkdir(parents=True)
    (own / "patches" / "limits.yaml").write_text("- op: add\n  path: /metadata/labels/team\n  value: infra\n")
    listing = (
        "resources:\n- gotk-components.yaml\npatches:\n- path: patches/limits.yaml\n  target: {kind: Deployment}\n"
    )
    (own / "kustomization.yaml").write_text(listing)
    site.run(f"--kustomization={own / 'kustomization.yaml'}").well()
    layer = Seen(registry_url, f"{site.path}/flux").layer()
    assert [name.rpartition("/")[2] for name in names(layer)] == [
        "gotk-components.yaml",
        "kustomization.yaml",
        "limits.yaml",
    ]
    assert (site.folder / "flux-system" / "kustomization.yaml").read_text() == listing


def test_a_kustomization_that_is_not_there(site: Site, proxy: FaultyRegistry, tmp_path: Path) -> None:
    done = site.run(f"--kustomization={tmp_path / 'none.yaml'}")
    (name,) = error_names(done.err)
    assert (done.code, name) in ((2, "usage"), (3, "unreadable")), done.err
    assert "none.yaml" in done.err
    assert writes(proxy) == [] and files_of(site.folder) == {}


def push_flags() -> tuple[str, ...]:
    return (f"--username={USERNAME}", "--password-stdin")


def test_credentials_that_push_and_credentials_that_read(guarded: Site, tmp_path: Path) -> None:
    """Each where it belongs: those of the cluster in the file, those of the push nowhere."""
    (tmp_path / "own").mkdir(mode=0o700)
    secret = tmp_path / "own" / "secret.yaml"
    flags = (f"--cluster-url={guarded.fleet}", f"--secret-file={secret}", *push_flags())
    done = guarded.run(*flags, env=CLUSTER, stdin=f"{PASSWORD}\n").well()
    found = json.loads(secret_of(secret)[".dockerconfigjson"])["auths"][guarded.host]
    assert (found["username"], found["password"]) == (READER, READS)
    assert PASSWORD not in secret.read_text()
    packed = base64.b64encode(f"{READER}:{READS}".encode()).decode()
    said = done.out + done.err + str(files_of(guarded.folder))
    assert not [each for each in (PASSWORD, READS, packed) if each in said]
    source = objects(guarded)
    assert {source[f"OCIRepository {name}"]["secretRef"]["name"] for name in ("flux-system", "flux-components")} == {
        "flux-system"
    }
    auth = (USERNAME, PASSWORD)
    for name in ("flux", "fleet"):
        listed = requests.get(f"{guarded.url}/v2/{guarded.path}/{name}/tags/list", auth=auth, timeout=5)
        assert "production" in listed.json()["tags"]
    again = guarded.run(*flags, "--json", env=CLUSTER, stdin=f"{PASSWORD}\n").well()
    assert again.value["outcome"] == "none"


def test_no_argument_of_a_process_has_a_password(guarded: Site, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    flags = (
        "--source=oci",
        f"--url={guarded.flux}",
        "--allow-insecure-http",
        f"--secret-file={tmp_path / 'own' / 's.yaml'}",
        f"--username={USERNAME}",
    )
    env = {**CLUSTER, "FLUX_UPGRADE_REGISTRY_PASSWORD": PASSWORD}
    with seen_arguments() as seen:
        process = guarded.laptop.process(guarded.folder, *flags, env=env)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert any(b"--source=oci" in line for line in seen)
    for each in (PASSWORD, READS):
        assert not [line for line in seen if each.encode() in line]
        assert each not in out + err


@pytest.mark.parametrize(
    ("flags", "stdin", "error"),
    [
        ((), "", ForbiddenByRegistry),
        ((f"--username={USERNAME}", "--password-stdin"), "wrong\n", ForbiddenByRegistry),
        (push_flags(), "", UsageError),
        (("--password-stdin",), "horse\n", UsageError),
    ],
    ids=["none", "wrong", "empty-stdin", "no-user"],
)
def test_credentials_that_do_not_push(
    guarded: Site, flags: tuple[str, ...], stdin: str, error: type[FluxUpgradeError]
) -> None:
    guarded.run(*flags, stdin=stdin).refused(error)
    assert files_of(guarded.folder) == {}
    answer = requests.get(f"{guarded.url}/v2/{guarded.path}/flux/tags/list", auth=(USERNAME, PASSWORD), timeout=5)
    assert answer.status_code == 404


def test_the_next_release_comes_by_an_upgrade(site: Site, registry_url: str) -> None:
    site.run("--version=v2.9.3").well()
    flags = ("--plain-http", f"--release-source={site.laptop.source}")
    site.laptop.run("upgrade", site.flux, *flags).well()
    seen = Seen(registry_url, f"{site.path}/flux")
    assert seen.version() == "v2.9.4"
    promoted = seen.digest()
    done = site.run("--json").well()
    assert done.cluster["version"] == "v2.9.4"
    assert seen.digest() == promoted


def test_other_flags_make_another_artifact(site: Site, registry_url: str) -> None:
    site.run("--version=v2.9.3").well()
    seen = Seen(registry_url, f"{site.path}/flux")
    before = seen.digest()
    done = site.run("--components-extra=image-reflector-controller", "--json").well()
    assert done.cluster["version"] == "v2.9.3"
    assert [each["flag"] for each in done.cluster["differences"]] == ["components"]
    assert seen.digest() == done.value["digest"] != before


REFUSED = {
    "no-url": ((), "--url"),
    "no-tag": (("--url=oci://registry.example.com/org/flux",), "tag"),
    "git": (("--url=ssh://git@example.com/fleet",), "--url"),
    "push": (("--url=oci://registry.example.com/org/flux:x", "--push"), "--push"),
    "path": (("--url=oci://registry.example.com/org/flux:x", "--path=clusters/x"), "--path"),
    "same": (
        ("--url=oci://registry.example.com/org/flux:x", "--cluster-url=oci://registry.example.com/org/flux:x"),
        "cluster-url",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_flags_that_do_not_fit(site: Site, case: str) -> None:
    flags, message = REFUSED[case]
    site.laptop.bootstrap(site.folder, "--source=oci", *flags).refused(UsageError, message)
    assert files_of(site.folder) == {}


def test_a_registry_that_is_down(site: Site) -> None:
    flux = f"--url=oci://127.0.0.1:{closed_port()}/org/flux:production"
    site.laptop.bootstrap(site.folder, "--source=oci", flux, "--allow-insecure-http").refused(RegistryUnavailable)
    assert files_of(site.folder) == {}


def config_of(site: Site, staging: str, production: str) -> str:
    config = site.folder / "config.yaml"
    config.write_text(
        f"bootstrap:\n  source: oci\n  flags: {{url: '{site.flux}', allow-insecure-http: true}}\n  clusters:\n"
        f"    staging: {{cluster-path: staging, {staging}}}\n    production: {{cluster-path: production, {production}}}\n"
    )
    return f"--config={config}"


def test_clusters_with_the_same_flux(site: Site, registry_url: str) -> None:
    """It is pushed once, and an overlay for each of them."""
    config = config_of(
        site, f"cluster-url: '{site.fleet}'", f"cluster-url: '{site.fleet.replace('/fleet:', '/live:')}'"
    )
    done = site.laptop.bootstrap(site.folder, config, "--json").well()
    assert [each["name"] for each in done.value["clusters"]] == ["staging", "production"]
    written = [f"{name}/{file}" for name in ("staging", "production") for file in FILES]
    assert sorted(files_of(site.folder)) == sorted(["config.yaml", *written])
    assert len(Seen(registry_url, f"{site.path}/flux").tags()) == 2
    for name, path in (("fleet", "staging"), ("live", "production")):
        assert names(Seen(registry_url, f"{site.path}/{name}").layer()) == [f"{path}/kustomization.yaml"]
    again = site.laptop.bootstrap(site.folder, config, "--json").well()
    assert again.value["outcome"] == "none"


def test_clusters_with_the_same_artifact_of_their_own(site: Site, registry_url: str) -> None:
    config = config_of(site, f"cluster-url: '{site.fleet}'", f"cluster-url: '{site.fleet}'")
    site.laptop.bootstrap(site.folder, config).well()
    overlay = Seen(registry_url, f"{site.path}/fleet")
    assert names(overlay.layer()) == ["production/kustomization.yaml", "staging/kustomization.yaml"]
    assert site.laptop.bootstrap(site.folder, config, "--json").well().value["outcome"] == "none"


def test_one_artifact_cannot_hold_two_fluxes(site: Site, proxy: FaultyRegistry) -> None:
    fleet = f"cluster-url: '{site.fleet}'"
    config = config_of(site, fleet, f"{fleet}, network-policy: false")
    site.laptop.bootstrap(site.folder, config).refused(UsageError, "one artifact", "staging", "production")
    assert writes(proxy) == []


def with_artifacts(folder: Path) -> Path:
    """A release whose source-controller has OCIRepository, too."""
    contents = written_release.files("v2.9.4")
    controller = contents["source-controller.yaml"]
    kind, _, _ = controller.partition("---\n")
    for old, new in (
        ("GitRepository", "OCIRepository"),
        ("gitrepositories", "ocirepositories"),
        ("gitrepository", "ocirepository"),
    ):
        kind = kind.replace(old, new)
    source = written_release.write_source(folder, ("v2.9.3",))
    written_release.write_release(source, "v2.9.4", {**contents, "source-controller.yaml": f"{kind}---\n{controller}"})
    return source


def test_into_a_cluster(site: Site, registry_url: str, tmp_path: Path) -> None:
    """Pushed, applied, and waited for until both artifacts are reconciled; files are for who has no cluster here."""

    def look(source: Object, secret: Object | None) -> Artifact:
        assert secret is not None
        name = source["spec"]["url"].rpartition("/")[2]
        tag = source["spec"]["ref"]["tag"]
        return Artifact(f"{tag}@{Seen(registry_url, f'{site.path}/{name}').digest(tag)}")

    (tmp_path / "releases").mkdir()
    site.laptop = Laptop(with_artifacts(tmp_path / "releases"), CLUSTER, TIMING)
    with api_servers.stand_in(tmp_path) as server:
        flags = (
            f"--cluster-url={site.fleet}",
            f"--kubeconfig={server.kubeconfig}",
            "--timeout=20s",
            "--version=v2.9.4",
            "--json",
        )
        driven = Driven(server)
        driven.controllers = Controllers(server.api, look)
        with driven.running():
            done = site.run(*flags).well()
            assert done.cluster["ready"] == f"production@{done.value['digest']}"
            secret = driven.object("api/v1/namespaces/flux-system/secrets/flux-system")
            assert secret is not None and READS in base64.b64decode(secret["data"][".dockerconfigjson"]).decode()
            before = driven.everything()
            again = site.run(*flags).well()
            assert (again.value["outcome"], again.cluster["ready"]) == ("none", done.cluster["ready"])
            assert driven.everything() == before
    assert READS not in done.out + done.err
    assert files_of(site.folder) == {}
