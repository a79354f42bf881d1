"""``flux-upgrade bootstrap`` creates the repository, its deploy key and its pull request by calls that GitHub's API takes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster_stand_in.controllers import Controllers
from cluster_stand_in.sources import GitSources
from github_stand_in import Repository, StandIn

from bootstrap.cli_runs import FILES, Done, Laptop
from bootstrap.mounted_secret import secret_of
from bootstrap.watched_runs import killing_at, writes
from cluster import api_servers
from cluster.driving import TIMING, Driven
from flux_upgrade.model.errors import ClusterUnfit, ForbiddenByForge, RepositoryUnfit
from git_servers import PERSON
from stand_in.checked import checked

TITLE = "flux-system-main-flux-system-./clusters/staging"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPxN0Yr5BBcY2Tn6tIWHdGQ7q4LCrhGW5n2Rm0xAtTQd"


@dataclass
class Site:
    """An Enterprise Server, and somebody with a token for it."""

    hub: StandIn
    laptop: Laptop
    folder: Path
    hosts: Path

    @property
    def flags(self) -> list[str]:
        place = ["--hostname=127.0.0.1", "--repository=acme/fleet", "--path=clusters/staging"]
        return ["--provider=github", *place, f"--known-hosts={self.hosts}"]

    def run(self, *argv: str) -> Done:
        return self.laptop.bootstrap(self.folder, *self.flags, *argv)

    @property
    def fleet(self) -> Repository:
        return self.hub.repositories["acme/fleet"]


@pytest.fixture
def site(written_source: Path, tmp_path: Path) -> Iterator[Site]:
    for name in ("hub", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "hosts").write_text(f"127.0.0.1 {HOST_KEY}\n")
    with checked(tmp_path / "hub") as hub:
        hub.add_organization("acme")
        env = {
            "GITHUB_TOKEN": hub.token("classic").value,
            "GITHUB_SERVER_URL": hub.url,
            "GITHUB_API_URL": hub.api_url,
            "GITHUB_GRAPHQL_URL": hub.graphql_url,
        }
        yield Site(hub, Laptop(written_source, env, TIMING), tmp_path / "here", tmp_path / "hosts")


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    """A cluster; what Flux clones over ssh is on this machine."""
    with api_servers.stand_in(tmp_path) as server:
        driven = Driven(server)
        urls = {"ssh://git@127.0.0.1/acme/fleet": str(tmp_path / "fleet.git")}
        driven.controllers = Controllers(server.api, GitSources(PERSON, urls).look)
        with driven.running():
            yield driven


def test_a_new_repository_its_key_and_its_cluster(site: Site, driven: Driven, tmp_path: Path) -> None:
    """From nothing to Ready by one command."""
    site.hub.create_repository("acme/fleet")
    (tmp_path / "fleet.git").symlink_to(site.fleet.store.path)
    kubeconfig = f"--kubeconfig={driven.server.kubeconfig}"
    done = site.run(kubeconfig, "--json").well()
    assert sorted(site.fleet.files()) == FILES
    assert done.cluster["ready"] == f"main@sha1:{site.fleet.head()}"
    assert done.cluster["access"]["registered"] is True
    (key,) = site.fleet.deploy_keys
    assert (key.title, key.read_only) == (TITLE, True)
    secret = driven.object("api/v1/namespaces/flux-system/secrets/flux-system")
    assert secret is not None
    data = {name: b64decode(value).decode() for name, value in secret["data"].items()}
    assert " ".join(data["identity.pub"].split()[:2]) == key.key == done.cluster["access"]["public-key"]
    assert data["known_hosts"] == f"127.0.0.1 {HOST_KEY}\n"
    site.hub.forget()
    again = site.run(kubeconfig, "--json").well()
    assert again.value["outcome"] == "none"
    assert not site.hub.writes
    assert again.cluster["ready"] == done.cluster["ready"] == f"main@sha1:{site.fleet.head()}"


@pytest.mark.parametrize("what", ["customresourcedefinitions/", "secrets/", "gitrepositories/"])
def test_killed_and_run_again(site: Site, driven: Driven, tmp_path: Path, what: str) -> None:
    """A key whose private part was lost on the way is replaced; one that arrived is kept."""
    site.hub.create_repository("acme/fleet")
    (tmp_path / "fleet.git").symlink_to(site.fleet.store.path)
    assert driven.server.stand_in is not None
    kubeconfig = f"--kubeconfig={driven.server.kubeconfig}"
    with killing_at(driven.server.stand_in, what) as victims:
        process = site.laptop.process(site.folder, *site.flags, kubeconfig)
        victims.put(process)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -9, err
    (before,) = site.fleet.deploy_keys
    head = site.fleet.head()
    done = site.run(kubeconfig, "--json").well()
    (key,) = site.fleet.deploy_keys
    assert (key.key == before.key) is (what != "customresourcedefinitions/")
    assert done.cluster["access"]["public-key"] == key.key
    assert done.cluster["ready"] == f"main@sha1:{head}"
    assert site.fleet.head() == head


@pytest.mark.parametrize("what", ["secrets/", "gitrepositories/"])
def test_a_rotation_that_is_killed_cuts_no_cluster_off(site: Site, driven: Driven, tmp_path: Path, what: str) -> None:
    """The old key stays registered until the cluster is ready with the new one."""
    site.hub.create_repository("acme/fleet")
    (tmp_path / "fleet.git").symlink_to(site.fleet.store.path)
    assert driven.server.stand_in is not None
    kubeconfig = f"--kubeconfig={driven.server.kubeconfig}"
    site.run(kubeconfig).well()
    (first,) = site.fleet.deploy_keys
    with killing_at(driven.server.stand_in, what) as victims:
        process = site.laptop.process(site.folder, *site.flags, kubeconfig, "--rotate-key")
        victims.put(process)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -9, err
    assert first in site.fleet.deploy_keys and len(site.fleet.deploy_keys) == 2
    done = site.run(kubeconfig, "--rotate-key", "--json").well()
    (key,) = site.fleet.deploy_keys
    assert key.key == done.cluster["access"]["public-key"] != first.key
    secret = driven.object("api/v1/namespaces/flux-system/secrets/flux-system")
    assert secret is not None
    assert b64decode(secret["data"]["identity.pub"]).decode().split()[:2] == key.key.split()


def test_a_cluster_that_is_too_old_costs_nothing(site: Site, driven: Driven) -> None:
    """No commit, no deploy key, no object."""
    assert driven.server.stand_in is not None
    driven.server.stand_in.version = "v1.24.0"
    site.hub.create_repository("acme/fleet", {"README.md": b"# Fleet\n"})
    head = site.fleet.head()
    for how in ("--push", "--pull-request"):
        site.run(f"--kubeconfig={driven.server.kubeconfig}", how).refused(ClusterUnfit, "1.24")
    assert site.fleet.head() == head
    assert site.fleet.deploy_keys == [] and not site.hub.writes
    assert writes(driven.server.stand_in) == []


def test_a_repository_is_created_and_its_key_is_in_the_file(site: Site, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    secret = tmp_path / "own" / "secret.yaml"
    flags = ("--create-repository", "--description=Clusters", "--push", f"--secret-file={secret}", "--json")
    done = site.run(*flags).well()
    assert done.value["repository-created"] is True
    assert sorted(site.fleet.files()) == FILES
    (key,) = site.fleet.deploy_keys
    assert " ".join(secret_of(secret)["identity.pub"].split()[:2]) == key.key
    before = secret.read_bytes()
    again = site.run(*flags).well()
    assert (again.value["outcome"], again.value["repository-created"]) == ("none", False)
    assert secret.read_bytes() == before and len(site.fleet.deploy_keys) == 1


def test_a_pull_request(site: Site) -> None:
    site.hub.create_repository("acme/fleet", {"README.md": b"# Fleet\n"})
    done = site.run("--pull-request", "--json").well()
    (number,) = site.fleet.pulls
    assert done.value["pull-request"]["number"] == number
    assert list(site.fleet.files()) == ["README.md"]
    assert sorted(site.fleet.files(done.value["pull-request"]["branch"])) == ["README.md", *FILES]
    assert not site.fleet.deploy_keys
    again = site.run("--pull-request", "--json").well()
    assert again.value["pull-request"]["action"] == "unchanged"


@pytest.mark.parametrize("how", ["--push", "--pull-request"])
def test_without_a_token(site: Site, how: str) -> None:
    site.hub.create_repository("acme/fleet", {"README.md": b"# Fleet\n"})
    site.laptop.env = {**site.laptop.env, "GITHUB_TOKEN": ""}
    site.run(how).refused(ForbiddenByForge, "GITHUB_TOKEN")
    assert list(site.fleet.files()) == ["README.md"] and not site.hub.writes


def test_a_repository_that_is_not_there(site: Site) -> None:
    site.run("--push").refused(RepositoryUnfit, "--create-repository")
    assert not site.hub.writes
