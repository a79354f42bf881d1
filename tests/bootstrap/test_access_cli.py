"""Users of the command line hand over their own keys, tokens and Secrets, and each mistake is refused before a write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from github_stand_in import StandIn

from adapters.registries import running_registry
from bootstrap.cli_runs import Laptop, clone_with, files_of
from bootstrap.mounted_secret import made_key, secret_of
from cluster import api_servers
from cluster.driving import TIMING
from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.model.errors import UsageError

PATH = "--path=clusters/staging"
OPEN = "open sesame"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return clone_with(tmp_path / "fleet", "https://gitlab.example.com/octo/fleet.git")


def of_gitlab(tmp_path: Path) -> list[str]:
    hosts = tmp_path / "known_hosts"
    hosts.write_text(f"gitlab.example.com {generate().public}\n")
    where = ["--provider=gitlab", "--hostname=gitlab.example.com", "--repository=octo/fleet", PATH]
    return [*where, f"--known-hosts={hosts}"]


def test_an_encrypted_key_and_its_passphrase(laptop: Laptop, checkout: Path, secret: Path, tmp_path: Path) -> None:
    flags = [
        *of_gitlab(tmp_path),
        f"--private-key-file={made_key(tmp_path / 'users', OPEN)}",
        f"--secret-file={secret}",
    ]
    laptop.bootstrap(checkout, *flags).refused(UsageError, "GIT_PASSWORD")
    done = laptop.bootstrap(checkout, *flags, env={"GIT_PASSWORD": OPEN}).well()
    assert secret_of(secret)["password"] == OPEN
    assert OPEN not in done.out + done.err


@pytest.mark.parametrize("place", [True, False])
def test_a_key_that_is_not_there(laptop: Laptop, checkout: Path, secret: Path, tmp_path: Path, *, place: bool) -> None:
    flags = [*of_gitlab(tmp_path), f"--private-key-file={tmp_path}/none"]
    flags += [f"--secret-file={secret}"] if place else []
    laptop.bootstrap(checkout, *flags).refused(UsageError, "--private-key-file")
    assert list(files_of(checkout)) == ["README.md"]


def test_what_is_left_to_do_is_with_the_key_that_was_named(laptop: Laptop, checkout: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(generate().private)
    done = laptop.bootstrap(checkout, *of_gitlab(tmp_path), f"--private-key-file={key}", "--json").well()
    things = "\n".join(done.cluster["left-to-do"])
    assert "cp PRIVATE_KEY_FILE identity" in things
    assert "ssh-keygen -t" not in things
    assert str(key) not in things


def test_credentials_that_cannot_be(laptop: Laptop, checkout: Path, secret: Path, tmp_path: Path) -> None:
    key = tmp_path / "app.pem"
    key.write_text("no key at all\n")
    place = ["--provider=github", "--owner=octo", "--repository=fleet", PATH, f"--secret-file={secret}"]
    app = ["--app-id=1", "--app-installation-id=2", f"--app-private-key={key}"]
    laptop.bootstrap(checkout, *place, *app).refused(UsageError, "GitHub App is not in PEM format")
    env = {"FLUX_UPGRADE_SYNC_TOKEN": "two words"}
    laptop.bootstrap(checkout, *place, "--token-auth", env=env).refused(UsageError, "the token for Flux")
    assert list(files_of(checkout)) == ["README.md"]
    assert not secret.exists()


@pytest.mark.parametrize("place", ["--secret-file=/nowhere/secret.yaml", "--actions-secret=FLUX"])
def test_a_cluster_takes_its_secret_itself(laptop: Laptop, checkout: Path, place: str) -> None:
    flags = ["--provider=github", "--owner=octo", "--repository=fleet", PATH, "--kubeconfig=none", place]
    laptop.bootstrap(checkout, *flags).refused(
        UsageError, "--kubeconfig cannot be combined with --secret-file or --actions-secret"
    )


@pytest.mark.real_part("docker-registry")
def test_a_cluster_that_would_wait_for_credentials_that_nobody_has(laptop: Laptop, tmp_path: Path) -> None:
    """An artifact of a registry is read with a Secret: one that is there already will do."""
    (tmp_path / "files").mkdir()
    laptop = Laptop(laptop.source, {}, TIMING)
    with running_registry(tmp_path, in_memory=True) as url, api_servers.stand_in(tmp_path) as server:
        host = url.partition("://")[2]
        flags = ["--source=oci", f"--url=oci://{host}/org/flux:production", "--allow-insecure-http"]
        flags += [f"--kubeconfig={server.kubeconfig}", "--timeout=1s"]
        done = laptop.bootstrap(tmp_path / "files", *flags).refused(UsageError, "has no Secret flux-system/flux-system")
        assert "FLUX_UPGRADE_CLUSTER_PASSWORD" in done.err
        assert server.stand_in is not None
        assert server.stand_in.writes("flux-upgrade") == []
        place = "api/v1/namespaces/flux-system"
        server.api.ask(
            "POST", "api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}
        )
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "flux-system", "namespace": "flux-system"}}
        server.api.ask("POST", f"{place}/secrets", secret)
        assert "has no Secret" not in laptop.bootstrap(tmp_path / "files", *flags).err


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path / "hub") as running:
        running.create_repository("octo/fleet", {"README.md": b"fleet\n"})
        yield running


def on_github(laptop: Laptop, hub: StandIn) -> Laptop:
    env = {
        "GITHUB_TOKEN": hub.token("classic").value,
        "GITHUB_SERVER_URL": hub.url,
        "GITHUB_API_URL": hub.api_url,
        "GITHUB_GRAPHQL_URL": hub.graphql_url,
    }
    return Laptop(laptop.source, env)


def test_a_secret_file_that_was_applied_and_removed(laptop: Laptop, hub: StandIn, secret: Path, tmp_path: Path) -> None:
    here = clone_with(tmp_path / "here", f"{hub.url}/octo/fleet.git")
    laptop, flags = on_github(laptop, hub), [PATH, f"--secret-file={secret}", "--json"]
    first = laptop.bootstrap(here, *flags).well().cluster["access"]
    secret.unlink()
    hub.forget()
    again = laptop.bootstrap(here, *flags).well().cluster["access"]
    assert hub.writes == []
    assert not secret.exists()
    assert (again["public-key"], again["registered"]) == (first["public-key"], True)
    assert (first["place"], again["place"]) == ("file", "nowhere")
    rotated = laptop.bootstrap(here, *flags, "--rotate-key").well().cluster["access"]
    assert [each.key for each in hub.repositories["octo/fleet"].deploy_keys] == [rotated["public-key"]]
    assert rotated["public-key"] != first["public-key"]


def test_a_secret_of_actions_beside_a_key_that_is_registered_already(
    laptop: Laptop, hub: StandIn, tmp_path: Path
) -> None:
    here, fleet = clone_with(tmp_path / "here", f"{hub.url}/octo/fleet.git"), hub.repositories["octo/fleet"]
    laptop, flags = on_github(laptop, hub), [PATH, "--actions-secret=FLUX", "--json"]
    laptop.bootstrap(here, *flags).well()
    sealed = fleet.actions.secrets.pop("FLUX")
    hub.forget()
    done = laptop.bootstrap(here, *flags).well()
    assert (done.cluster["access"]["place"], hub.writes) == ("nowhere", [])
    laptop.bootstrap(here, *flags, "--rotate-key").well()
    assert fleet.actions.secrets["FLUX"] != sealed
    hub.forget()
    settled = laptop.bootstrap(here, *flags).well()
    assert (settled.cluster["access"]["place"], hub.writes) == ("actions-secret", [])


def test_a_sealed_token_is_put_there_once(laptop: Laptop, hub: StandIn, tmp_path: Path) -> None:
    here = clone_with(tmp_path / "here", f"{hub.url}/octo/fleet.git")
    laptop, flags = on_github(laptop, hub), [PATH, "--token-auth", "--actions-secret=FLUX", "--json"]
    laptop.bootstrap(here, *flags).refused(UsageError, "can do more than that", "set FLUX_UPGRADE_SYNC_TOKEN")
    assert hub.writes == []
    own = {"FLUX_UPGRADE_SYNC_TOKEN": "github_pat_that_reads"}
    laptop.bootstrap(here, *flags, env=own).well()
    hub.forget()
    again = laptop.bootstrap(here, *flags, env=own).well()
    assert (again.cluster["access"]["place"], hub.writes) == ("actions-secret", [])
    assert "FLUX" in hub.repositories["octo/fleet"].actions.secrets
